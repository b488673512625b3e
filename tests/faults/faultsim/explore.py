"""Many histories, each checked: what was broken, and how much was tried."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from faultsim.invariants import violations
from faultsim.run import run

_MEMORY = Path("/dev/shm")  # noqa: S108  # a file system in memory, where there is one: an fsync costs nothing there


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of some seeds."""

    seeds: int = 0
    crashes: int = 0
    faults: int = 0
    messages: int = 0
    """Posts and replies that Slack holds at the ends."""
    transitions: int = 0
    """Taken by the webhook, copies not counted."""
    copies: int = 0
    """Taken by the webhook twice."""
    broken: tuple[str, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        """Return both as one."""
        return Tally(
            self.seeds + other.seeds,
            self.crashes + other.crashes,
            self.faults + other.faults,
            self.messages + other.messages,
            self.transitions + other.transitions,
            self.copies + other.copies,
            self.broken + other.broken,
        )

    def __str__(self) -> str:
        """Return one line for people."""
        return (
            f"{self.seeds} seeds, {self.faults} faults, {self.crashes} crashes: {self.messages} messages in Slack, "
            f"{self.transitions} transitions and {self.copies} copies at the webhook, {len(self.broken)} violations"
        )


def explore(seeds: Iterable[int]) -> Tally:
    """Run and check the histories of these seeds."""
    total = Tally()
    for seed in seeds:
        with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
            history = run(seed, Path(folder))
            broken = tuple(f"seed {seed}: {text}" for text in violations(history))
        ids = {item.id for item in history.hook}
        total += Tally(
            seeds=1,
            crashes=history.crashes,
            faults=history.dice.drawn.total(),
            messages=len(history.slack.workspace.messages),
            transitions=len(ids),
            copies=len(history.hook) - len(ids),
            broken=broken,
        )
    return total
