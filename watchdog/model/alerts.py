"""Alerts: one instance of a rule, its timers and what it has seen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from watchdog.model.labels import Labels


class AlertState(StrEnum):
    """Prometheus's states; ``unknown`` is a flag beside them."""

    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"


@dataclass(frozen=True, slots=True)
class Alert:
    """One instance of a rule: its identity, its timers and what it has seen."""

    rule: str
    """The rule's name (``alert =`` in the rules file)."""
    fingerprint: str
    """Identity: the rule's name and the identifying labels; neither value nor annotations."""
    labels: Labels
    """With ``alertname`` and the rule's own labels."""
    instance: Labels
    """The labels of the series that the rule found, without the rule's own; identifying ones only."""
    state: AlertState
    active_at: float
    """Since when the condition has held without a break (frozen time not counted)."""
    fired_at: float | None = None
    resolved_at: float | None = None
    keep_firing_since: float | None = None
    unknown_since: float | None = None
    """Set while the alert is frozen because its data is stale or its source is down."""
    last_seen_at: float | None = None
    """The last evaluation at which the condition held."""
    value: float | None = None
    value_at_fire: float | None = None
    worst: float | None = None
    summary: str = ""
    description: str = ""
    runbook_url: str = ""
    end_reason: str = ""
    """Why a closed alert closed: ``resolved``, ``job completed``, ``rule removed``, …"""
    no_data: bool = False
    """True when it fires because data is missing (``no_data = "alert"``)."""
    event: bool = False
    """Said once, never resolved."""

    @property
    def severity(self) -> str:
        """The ``severity`` label, or an empty string."""
        return dict(self.labels).get("severity", "")

    @property
    def label_map(self) -> dict[str, str]:
        """The labels as a dictionary."""
        return dict(self.labels)
