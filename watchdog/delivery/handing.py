"""What a sender hands to a receiver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from watchdog.model import IncidentView, Notification, Receipt


@dataclass(frozen=True, slots=True)
class SenderDelivery:
    """Implements ``ports.Delivery``."""

    notifications: Sequence[Notification]
    current: IncidentView
    receipt: Receipt | None
    now: float
    plain: bool
    maybe_sent: bool
    keeper: Callable[[Receipt], None]
    newest: Callable[[], Receipt | None] = lambda: None

    def keep(self, receipt: Receipt) -> None:
        """Write ``receipt`` durably now. Raises StoreError."""
        self.keeper(receipt)

    def recent(self) -> Receipt | None:
        """Return the newest receipt of any incident of this receiver. Raises StoreError."""
        return self.newest()
