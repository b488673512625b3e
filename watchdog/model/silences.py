"""Silences: a word of a person that some alerts need nobody's attention for a while."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from watchdog.model.jobs import JobKey


class SilenceState(StrEnum):
    """Alertmanager's states of a silence."""

    PENDING = "pending"
    ACTIVE = "active"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Silence:
    """Mutes the pings of matching alerts in ``starts_at <= now < ends_at``."""

    id: str
    matchers: tuple[str, ...]
    """As written: ``job="a"``. All must hold."""
    starts_at: float
    ends_at: float
    created_by: str
    comment: str
    updated_at: float
    until_job_ends: JobKey | None = None
    """Ends with this job, if that is before ``ends_at``."""

    def state(self, now: float) -> SilenceState:
        """Return the state at a time."""
        if now < self.starts_at:
            return SilenceState.PENDING
        return SilenceState.ACTIVE if now < self.ends_at else SilenceState.EXPIRED
