"""What the health endpoints tell of the loop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Health:
    """What the health endpoints tell; written by the loop, read by the HTTP server."""

    last_tick: float | None = None
    """Monotonic seconds of the last tick that came to its end."""
    ticks: int = 0
    last_commit_failed: str = ""
    """Why the store does not take writes now; empty while it does."""
    failed_commits: int = 0
    unwritten: int = 0
    """Messages that the store has not taken yet."""
    unwritten_since: float | None = None
    """Unix seconds of the oldest of them."""
    missed_ticks: int = 0
    jobs: int = 0
    firing: int = 0
    sources_down: tuple[str, ...] = ()
    rules_checksum: str = ""
    """Of the rules in force; empty where nobody says."""
    rules_loaded_at: float = 0.0
    """Unix seconds."""
    rules_refused: str = ""
    """Why the rules file as it is now is not in force; empty if it is."""
