"""The simulated histories notice when a safeguard is taken out: each of these must be found within a few seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import faultsim.dice
import pytest
from faultsim.explore import explore

import watchdog.delivery.sender
import watchdog.receivers.slack.receiver
import watchdog.store.sqlite
from watchdog.delivery.decide import Decision, decide
from watchdog.model import Notification
from watchdog.receivers.base import Pacer
from watchdog.store.outbox import SqlOutbox

SEEDS = range(40)
Patch = pytest.MonkeyPatch


def often(patch: Patch, **chances: float) -> None:
    """Let some faults happen more often than usual."""
    for name, chance in chances.items():
        patch.setitem(faultsim.dice.CLASSES, name.replace("_", " "), chance)


def without_fsync(patch: Patch) -> None:
    def set_up(connection: Any, record: Any) -> None:
        original(connection, record)
        connection.execute("PRAGMA synchronous = NORMAL").close()

    original = watchdog.store.sqlite._set_up
    patch.setattr(watchdog.store.sqlite, "_set_up", set_up)


def without_sequence_check(patch: Patch) -> None:
    def everything(notifications: Sequence[Notification], told: int) -> list[Notification]:
        return list(notifications)

    patch.setattr(watchdog.receivers.slack.receiver, "not_yet_told", everything)


def without_retry_after(patch: Patch) -> None:
    def impatient(*given: Any) -> Decision:
        found = decide(*given)
        return replace(found, not_before=given[2] + 1, resume_at=given[2] + 1, hold=False) if found.hold else found

    patch.setattr(watchdog.delivery.sender, "decide", impatient)
    patch.setattr(Pacer, "held", lambda self, kind: 0.0)


def without_a_note_before_the_try(patch: Patch) -> None:
    patch.setattr(SqlOutbox, "trying", lambda self, ids: None)


def restarts_under_limits(patch: Patch) -> None:
    often(patch, limited=0.2, crash_after_commit=0.03)


def without_the_hold_over_restarts(patch: Patch) -> None:
    restarts_under_limits(patch)
    patch.setattr(SqlOutbox, "hold", lambda self, receiver, until: None)


def with_delivery_noted_too_early(patch: Patch) -> None:
    def trying(self: SqlOutbox, ids: Sequence[str]) -> None:
        self._change(ids, {"state": "delivered", "finished_at": 0.0})

    patch.setattr(SqlOutbox, "trying", trying)


def test_without_a_mutation_the_same_seeds_hold(monkeypatch: Patch) -> None:
    restarts_under_limits(monkeypatch)
    assert explore(SEEDS).broken == ()


@pytest.mark.parametrize(
    ("mutate", "found"),
    [
        (without_fsync, ("rest", "slack", "truth", "hook")),
        (without_sequence_check, ("copies",)),
        (without_retry_after, ("silence",)),
        (without_a_note_before_the_try, ("copies",)),
        (without_the_hold_over_restarts, ("silence",)),
        (with_delivery_noted_too_early, ("slack", "hook")),
    ],
)
def test_a_safeguard_that_is_taken_out_is_noticed(
    mutate: Callable[[Patch], None], found: Sequence[str], monkeypatch: Patch
) -> None:
    mutate(monkeypatch)
    broken = explore(SEEDS).broken
    assert any(f": {name}: " in text for name in found for text in broken), broken
