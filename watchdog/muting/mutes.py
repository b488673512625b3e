"""Whether an alert is muted now, and by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchdog.muting.inhibition import inhibitor
from watchdog.muting.silences import Silences
from watchdog.muting.times import holds
from watchdog.rules.model import Inhibit, MuteTime


@dataclass(frozen=True, slots=True)
class Mutes:
    """Everything that mutes at one time."""

    silences: Silences
    inhibits: Sequence[Inhibit]
    times: Mapping[str, MuteTime]
    """By name."""
    firing: Sequence[Mapping[str, str]]
    """The labels of all alerts that fire."""
    now: float

    def why(self, labels: Mapping[str, str]) -> str:
        """Return what mutes an alert with these labels everywhere; empty if nothing does."""
        for silence in self.silences.muting(labels, self.now):
            who = f" by {silence.created_by}" if silence.created_by else ""
            return f"silenced{who}" + (f": {silence.comment}" if silence.comment else "")
        source = inhibitor(labels, self.firing, self.inhibits)
        return f"{source.get('alertname', 'another alert')} fires" if source is not None else ""

    def silenced_by(self, labels: Mapping[str, str]) -> Sequence[str]:
        """Return the ids of the silences that mute an alert with these labels."""
        return [silence.id for silence in self.silences.muting(labels, self.now)]

    def inhibited_by(self, labels: Mapping[str, str]) -> Sequence[str]:
        """Return the name of the alert that inhibits one with these labels, if one does."""
        source = inhibitor(labels, self.firing, self.inhibits)
        return [] if source is None else [source.get("alertname", "")]

    def time(self, names: Sequence[str]) -> str:
        """Return which of a route's mute times it is now; empty if none."""
        return next((f"muted by {name}" for name in names if holds(self.times[name], self.now)), "")
