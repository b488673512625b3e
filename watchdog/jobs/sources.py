"""What is known of each source: is it up, how long did it take, when did it last answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from watchdog.model import Poll

SILENT_POLLS = 3
"""A source that has not finished a poll for this many intervals (and 5 minutes) is taken to be down."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """The constants of one source that the core needs."""

    name: str
    interval: float
    step: float
    stale_after: float


@dataclass(frozen=True, slots=True)
class SourceState:
    """The last known state of one source; None before its first poll of this process."""

    info: SourceInfo
    up: bool | None = None
    error: str = ""
    seconds: float | None = None
    finished_at: float | None = None
    last_success: float | None = None
    since: float = 0.0
    """When it was first configured in this process."""


class Sources:
    """The states of all configured sources."""

    def __init__(self, infos: Iterable[SourceInfo], now: float) -> None:
        self._states: dict[str, SourceState] = {}
        self.configure(infos, now)

    def __iter__(self) -> Iterator[SourceState]:
        return iter(self._states.values())

    def get(self, name: str) -> SourceState | None:
        """Return the state of a source; None if it is not configured."""
        return self._states.get(name)

    def configure(self, infos: Iterable[SourceInfo], now: float) -> None:
        """Go on with these sources; what is known of those that stay is kept."""
        before = self._states
        self._states = {
            info.name: replace(before[info.name], info=info) if info.name in before else SourceState(info, since=now)
            for info in infos
        }

    def apply(self, polls: Iterable[Poll], now: float) -> None:
        """Take in polls, and take a source that has been silent too long for down."""
        for poll in polls:
            state = self._states.get(poll.source)
            if state is not None:
                self._states[poll.source] = replace(
                    state,
                    up=poll.up,
                    error=poll.error,
                    seconds=poll.finished_at - poll.started_at,
                    finished_at=now,
                    last_success=now if poll.up else state.last_success,
                )
        for name, state in self._states.items():
            since = state.since if state.finished_at is None else state.finished_at
            if now - since > max(SILENT_POLLS * state.info.interval, 300.0):
                self._states[name] = replace(state, up=False, error=state.error or "no poll has finished for a while")

    def down(self, name: str) -> bool:
        """Whether a source is not known to be up. One that is not configured is not down, it is gone."""
        state = self._states.get(name)
        return state is not None and not state.up

    def any_down(self) -> bool:
        """Whether any source is not known to be up."""
        return any(not state.up for state in self._states.values())

    def stale_after(self, name: str | None) -> float:
        """Return after how many seconds without a sample a metric of this source is unknown."""
        state = self._states.get(name) if name is not None else None
        if state is not None:
            return state.info.stale_after
        return max((state.info.stale_after for state in self._states.values()), default=300.0)
