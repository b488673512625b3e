"""The borders of the core: what a source, a receiver, a store and a secret keeper must do.

Adapters implement these; the core and the service know nothing else of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from watchdog.model import (
    Changes,
    IncidentView,
    Notification,
    Pending,
    Poll,
    PollRequest,
    Receipt,
    Remark,
    Snapshot,
)

Clock = Callable[[], float]
"""Returns unix seconds (UTC). Only the composition root knows the real one."""


class Secrets(Protocol):
    """Finds secrets by the name of their environment variable; read anew at each call, so keys rotate."""

    def find(self, name: str) -> str | None:
        """Return the secret, from ``NAME``, ``NAME_FILE`` or ``/run/secrets/NAME``; None if not set."""
        ...


class RotatingSecrets(Secrets, Protocol):
    """Secrets of which can be told whether they have changed."""

    def version(self) -> int:
        """Return a number that is another one once a secret that was asked for has changed."""
        ...


class Source(Protocol):
    """A provider account that is polled."""

    @property
    def name(self) -> str:
        """The source's name in the rules file."""
        ...

    @property
    def provider(self) -> str:
        """The kind of provider, such as ``baseten``."""
        ...

    @property
    def step(self) -> float:
        """Seconds between two samples of a series, as asked of or expected from the provider."""
        ...

    def poll(self, request: PollRequest) -> Poll:
        """Read the provider once: which jobs there are, their state and their newest samples.

        Never raises for what a provider does: a source that cannot be read is a Poll with ``error``.
        One job that cannot be read is a reading with ``failed_metrics``; the others are not harmed.
        May block, up to its own deadline; called from one thread at a time.
        """
        ...

    def close(self) -> None:
        """Free connections. A poll under way ends soon after."""
        ...


class Receiver(Protocol):
    """A place where people or programs are told. Knows its service, nothing of rules or stores."""

    @property
    def name(self) -> str:
        """The receiver's name in the rules file."""
        ...

    @property
    def coalesces(self) -> bool:
        """Whether several waiting notifications of one incident may go out as one message."""
        ...

    def deliver(self, delivery: Delivery) -> Receipt:
        """Deliver and return the receipt for the next delivery of the same incident.

        Raises DeliveryError. A receipt that must survive a crash in the middle (the parent message is
        posted, the reply is not) is handed to ``delivery.keep`` at once.
        """
        ...

    def close(self) -> None:
        """Free connections."""
        ...


class Delivery(Protocol):
    """What a sender hands to a receiver (a frozen dataclass of the delivery stage)."""

    @property
    def notifications(self) -> Sequence[Notification]:
        """One or more of one incident, in order; more than one only if the receiver coalesces."""
        ...

    @property
    def current(self) -> IncidentView:
        """How the incident stands now: the newest view known, at or after the notifications' own."""
        ...

    @property
    def receipt(self) -> Receipt | None:
        """What the last delivery of this incident returned; None at the first."""
        ...

    @property
    def now(self) -> float:
        """The time of this delivery; late if more than 120 s after a notification's ``created_at``."""
        ...

    @property
    def plain(self) -> bool:
        """Send as plain text: the rich form was refused."""
        ...

    @property
    def maybe_sent(self) -> bool:
        """The last try was ambiguous: look whether it arrived, where the service allows."""
        ...

    def keep(self, receipt: Receipt) -> None:
        """Write ``receipt`` durably now."""
        ...

    def recent(self) -> Receipt | None:
        """Return the newest receipt of any incident of this receiver: what it learnt of its service."""
        ...


@runtime_checkable
class Triable(Protocol):
    """A source or a receiver that can be tried before anything depends on it."""

    def try_out(self) -> Sequence[Remark]:
        """Try credential, address and names really, but post and change nothing; return what was found.

        Never raises for what the other side does: that is a remark. May block as long as a few calls do.
        """
        ...


class Store(Protocol):
    """Durable state. Raises StoreError."""

    def load(self) -> Snapshot:
        """Return what a restarted engine needs."""
        ...

    def commit(self, changes: Changes) -> None:
        """Write all of ``changes`` in one transaction; idempotent, so that it may be repeated."""
        ...

    def close(self) -> None:
        """Release the file or the connections."""
        ...


class Outbox(Protocol):
    """The sender's side of the store. Raises StoreError."""

    def due(self, receiver: str, now: float, limit: int) -> Sequence[Pending]:
        """Return waiting rows of ``receiver`` in order (oldest first) that may be sent at ``now``.

        Order within an incident is kept: a row whose predecessor still waits is not returned, unless
        the predecessor is returned before it.
        """
        ...

    def receipt(self, incident: str, receiver: str) -> Receipt | None:
        """Return the newest receipt for this incident and receiver."""
        ...

    def recent_receipt(self, receiver: str) -> Receipt | None:
        """Return the newest receipt of ``receiver``, whatever the incident."""
        ...

    def keep_receipt(self, incident: str, receiver: str, receipt: Receipt) -> None:
        """Write a receipt now, before the delivery is complete."""
        ...

    def trying(self, ids: Sequence[str]) -> None:
        """Write down that a try begins: should it never report back, the rows read as ``maybe_sent``."""
        ...

    def hold(self, receiver: str, until: float) -> None:
        """Write down that ``receiver`` asked for silence: nothing of it is due before ``until``.

        One that lies further ahead than ``waiting.MAX_RETRY_AFTER`` counts as that.
        """
        ...

    def delivered(self, ids: Sequence[str], receiver: str, incident: str, receipt: Receipt, now: float) -> None:
        """Mark rows as sent and keep the receipt, in one transaction."""
        ...

    def postpone(self, ids: Sequence[str], not_before: float, *, error: str, plain: bool, maybe_sent: bool) -> None:
        """Count a failed try and set when the next may be made."""
        ...

    def park(self, ids: Sequence[str], *, error: str, now: float) -> None:
        """Give rows up with a reason (content refused twice); later rows go on."""
        ...

    def waiting(self) -> Sequence[tuple[str, int, float]]:
        """Return receiver, rows that wait, and the time of the oldest of them; none for one without any."""
        ...
