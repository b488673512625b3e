"""Virtual time: agents that are due one after the other, and sleepers that let the others go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn


class CrashError(BaseException):
    """The process dies here. No ``except Exception`` of the service may hold it up."""


class Pulse:
    """Whether a process lives. A dead one does nothing more, whatever its ``finally`` clauses would like to."""

    def __init__(self) -> None:
        self.dead = False

    def check(self) -> None:
        """Raise CrashError if the process is dead."""
        if self.dead:
            raise CrashError

    def crash(self) -> NoReturn:
        """Kill the process here."""
        self.dead = True
        raise CrashError


@dataclass(slots=True)
class Agent:
    """Something with a thread of its own in the real service."""

    step: Callable[[], float]
    """Does what is due and returns when to come back."""
    due: float
    busy: bool = False
    woken: bool = False

    def wake(self, now: float) -> None:
        """Come as soon as possible."""
        self.woken = True
        self.due = min(self.due, now)


class Timeline:
    """The clock of one history. While an agent sleeps, the others run, as threads do."""

    def __init__(self, start: float) -> None:
        self.now = start
        self.agents: list[Agent] = []

    def clock(self) -> float:
        """Return the time; implements ``ports.Clock``."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass for whoever calls, and for everybody else."""
        self.run_until(self.now + seconds)

    def run_until(self, until: float) -> None:
        """Run agents in the order in which they are due."""
        while (agent := self._next(until)) is not None:
            self.now = max(self.now, agent.due)
            agent.busy, agent.woken = True, False
            try:
                back = agent.step()
            finally:
                agent.busy = False
            agent.due = self.now if agent.woken else back
        self.now = max(self.now, until)

    def _next(self, until: float) -> Agent | None:
        idle = [agent for agent in self.agents if not agent.busy]
        first = min(idle, key=lambda agent: agent.due, default=None)
        return first if first is not None and first.due <= until else None
