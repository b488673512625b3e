"""At least once, in order, never too early: through every fault there is, with crashes in between."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from watchdog.delivery import Sender
from watchdog.errors import DeliveryError
from watchdog.model import Changes, Notification, Receipt
from watchdog.ports import Delivery
from watchdog.store import SqlStore

DIE_AFTER_THE_RECEIVER_TOOK_IT = """
import os, signal, sys
from watchdog.delivery import Sender
from watchdog.store import SqlStore

class Receiver:
    name, coalesces = "slack", True
    def deliver(self, delivery):
        delivery.keep({"ts": "1"})
        os.kill(os.getpid(), signal.SIGKILL)

Sender(Receiver(), SqlStore(sys.argv[1]), clock=lambda: 5.0, on_event=print).step(5.0)
"""


class CrashError(Exception):
    """The process dies here."""


class Faulty:
    """A receiver with a seed: takes, refuses, asks for silence, hangs after taking, dies after taking."""

    name = "slack"

    def __init__(self, seed: int, failure: Callable[..., DeliveryError]) -> None:
        self.random = random.Random(seed)
        self.failure = failure
        self.coalesces = bool(seed % 2)
        self.calm = False
        self.silent_until = 0.0
        self.taken: list[str] = []
        """Every notification, each time it was taken."""
        self.refused_plain: set[str] = set()
        self.early: list[float] = []
        self.unwarned: list[str] = []

    def deliver(self, delivery: Delivery) -> Receipt:
        names = [one.id for one in delivery.notifications]
        if delivery.now < self.silent_until:
            self.early.append(delivery.now)
        if set(names) & set(self.taken) and not delivery.maybe_sent:
            self.unwarned += names
        fault = "" if self.calm else self.random.choice(["", "", "429", "503", "timeout", "crash", "content"])
        if fault in ("429", "503", "content"):
            raise self.refusal(fault, delivery, names)
        self.taken += names
        if fault:
            raise CrashError if fault == "crash" else self.failure(ambiguous=True)
        return {"told": names[-1]}

    def refusal(self, fault: str, delivery: Delivery, names: list[str]) -> DeliveryError:
        if fault == "429":
            wait = self.random.choice([1.0, 30.0, 300.0])
            self.silent_until = delivery.now + wait
            return self.failure("transient", wait)
        if fault == "content" and delivery.plain:
            self.refused_plain |= set(names)
        return self.failure("content") if fault == "content" else self.failure()

    def close(self) -> None:
        """Nothing to free."""


class Forgetful(SqlStore):
    """A store that dies with the process: after a crash nothing more is written."""

    dead = False

    def postpone(self, *args: object, **more: object) -> None:
        if self.dead:
            raise CrashError
        super().postpone(*args, **more)  # type: ignore[arg-type]


def live(receiver: Faulty, store: Forgetful, now: float, until: float) -> float:
    """Run senders one after the other, each until it crashes; return the time."""

    class Dying(Faulty):
        """The same receiver; its crash takes the store with it."""

        def __init__(self) -> None:
            self.__dict__ = receiver.__dict__

        def deliver(self, delivery: Delivery) -> Receipt:
            try:
                return super().deliver(delivery)
            except CrashError:
                store.dead = True
                raise

    def clock() -> float:
        return now

    while now < until:
        sender = Sender(Dying(), store, clock=clock, on_event=lambda _: None, random=receiver.random.random)
        store.dead = False
        try:
            while now < until:
                now = max(now, sender.step(now))
        except CrashError:
            now += receiver.random.choice([0.0, 3.0])
    return now


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens(
    seed: int, notification: Callable[..., Notification], failure: Callable[..., DeliveryError]
) -> None:
    receiver, now = Faulty(seed, failure), 0.0
    names: list[str] = []
    with Forgetful("sqlite://") as store:
        for number in range(1, 9):
            fresh = [f"{incident}{number}" for incident in "abc"]
            names += fresh
            store.commit(Changes(at=now, outbox=tuple(notification(name, created_at=now) for name in fresh)))
            now = live(receiver, store, now, now + 120.0)
        receiver.calm = True
        live(receiver, store, now, now + 3600.0)
        log = store.delivered_log(999)
        parked = {entry.id for entry in log if entry.parked}
        assert store.outbox_depth() == {}, "nothing is lost"
    assert {entry.id for entry in log} == set(names)
    assert set(names) - set(receiver.taken) <= parked <= receiver.refused_plain
    assert receiver.early == [], "never before Retry-After, restarts or not"
    assert receiver.unwarned == [], "never twice without a word"
    for incident in "abc":
        first = list(dict.fromkeys(name for name in receiver.taken if name[0] == incident))
        assert first == sorted(first), "in order"


def test_a_kill_9_after_the_receiver_took_it_is_known_to_be_ambiguous(
    tmp_path: Path, notification: Callable[..., Notification]
) -> None:
    url = f"sqlite:///{tmp_path}/watchdog.db"
    with SqlStore(url) as store:
        store.commit(Changes(at=1.0, outbox=(notification("a1"), notification("b1"))))
    dead = subprocess.run([sys.executable, "-c", DIE_AFTER_THE_RECEIVER_TOOK_IT, url], check=False)
    assert dead.returncode == -signal.SIGKILL
    with SqlStore(url) as store:
        first, second = store.due("slack", 5.0, 9)
        assert (first.notification.id, first.maybe_sent) == ("a1", True), "at once, and with a warning"
        assert (second.notification.id, second.maybe_sent) == ("b1", False)
        assert store.receipt("a", "slack") == {"ts": "1"}
