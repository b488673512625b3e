from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import IncidentView, Notification, Reason
from watchdog.store import SqlStore


@pytest.fixture
def store() -> Iterator[SqlStore]:
    with SqlStore("sqlite://") as opened:
        yield opened


@pytest.fixture
def notification() -> Callable[..., Notification]:
    """Make ``a1``: the first of incident a. Its view says which it is."""

    def make(name: str, receiver: str = "slack", created_at: float = 0.0) -> Notification:
        incident, sequence = name[0], int(name[1:])
        view = IncidentView(incident, name, (), "firing", "warning", 0.0, None, (), None)
        return Notification(name, incident, receiver, sequence, Reason.FIRST, True, created_at, ("f",), view)

    return make


@pytest.fixture
def failure() -> Callable[..., DeliveryError]:
    def make(kind: str = "transient", retry_after: float | None = None, *, ambiguous: bool = False) -> DeliveryError:
        return DeliveryError(
            DeliveryErrorKind(kind),
            f"channel refused: {kind}",
            reason=f"{kind}_code",
            retry_after=retry_after,
            ambiguous=ambiguous,
        )

    return make
