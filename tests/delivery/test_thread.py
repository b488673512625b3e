"""The threads, on a real clock: every wait is for an event, with a limit that only a failure reaches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from watchdog.delivery import Policy, Sender, SenderThread
from watchdog.errors import DeliveryError
from watchdog.model import Changes, Notification, Receipt
from watchdog.ports import Delivery
from watchdog.store import SqlStore

LIMIT = 20.0
Make = Callable[..., Notification]
Failure = Callable[..., DeliveryError]


@dataclass
class Gate:
    """A receiver that blocks in each delivery until it is let through."""

    name: str = "slack"
    coalesces: bool = False
    errors: list[Exception] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    open: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    closed: threading.Event = field(default_factory=threading.Event)

    def deliver(self, delivery: Delivery) -> Receipt:
        self.entered.release()
        assert self.open.acquire(timeout=LIMIT)
        if self.errors:
            raise self.errors.pop(0)
        self.taken.append(delivery.notifications[0].id)
        return {}

    def close(self) -> None:
        self.closed.set()


def guard(_: str, job: Callable[[], None]) -> bool:
    try:
        job()
    except KeyError:
        return False
    return True


def thread_of(receiver: Gate, store: SqlStore, now: float = 0.0, speed: float = 1.0) -> SenderThread:
    sender = Sender(receiver, store, clock=lambda: now, on_event=lambda _: None, policy=Policy(idle_wait=3600.0))
    return SenderThread(sender, guard, speed)


def commit(store: SqlStore, *rows: Notification) -> None:
    store.commit(Changes(at=0.0, outbox=rows))


def test_a_receiver_that_hangs_delays_no_other(store: SqlStore, notification: Make) -> None:
    commit(store, notification("a1", "hung"), notification("a1x"[:2] + "2", "pager"))
    hung, pager = Gate("hung"), Gate("pager")
    threads = [thread_of(hung, store), thread_of(pager, store)]
    for thread in threads:
        thread.start()
    assert hung.entered.acquire(timeout=LIMIT)
    pager.open.release()
    assert threads[1].stop(LIMIT)
    assert pager.taken == ["a12"]
    hung.open.release()
    assert threads[0].stop(LIMIT)


def test_a_wake_up_is_answered_at_once(store: SqlStore, notification: Make) -> None:
    gate = Gate()
    thread = thread_of(gate, store)
    thread.start()
    for name in ("a1", "a2"):
        commit(store, notification(name))
        thread.wake()
        gate.open.release()
        assert gate.entered.acquire(timeout=LIMIT)
    assert thread.stop(LIMIT)
    assert gate.taken == ["a1", "a2"]


def test_stopping_delivers_what_is_due(store: SqlStore, notification: Make) -> None:
    commit(store, notification("a1"), notification("b1"), notification("c1"))
    gate = Gate()
    thread = thread_of(gate, store)
    thread.start()
    assert gate.entered.acquire(timeout=LIMIT)
    thread.finish()
    for _ in range(3):
        gate.open.release()
    assert thread.stop(LIMIT)
    assert gate.taken == ["a1", "b1", "c1"]


def test_stopping_leaves_the_rest_when_its_time_is_over(store: SqlStore, notification: Make) -> None:
    commit(store, notification("a1"), notification("b1"))
    gate = Gate()
    thread = thread_of(gate, store)
    thread.start()
    assert gate.entered.acquire(timeout=LIMIT)
    assert not thread.stop(0.0)
    gate.open.release()
    assert thread.stop(LIMIT), "the delivery under way came to its end"
    assert gate.taken == ["a1"]
    assert store.outbox_depth() == {"slack": 1}


def test_stopping_does_not_wait_for_a_receiver_that_asked_for_silence(
    store: SqlStore, notification: Make, failure: Failure
) -> None:
    commit(store, notification("a1"))
    gate = Gate(errors=[failure("transient", 3600.0)])
    gate.open.release()
    thread = thread_of(gate, store)
    thread.start()
    assert gate.entered.acquire(timeout=LIMIT)
    assert thread.stop(LIMIT)
    assert store.outbox_depth() == {"slack": 1}


def test_a_bug_in_a_receiver_does_not_end_the_thread(store: SqlStore, notification: Make) -> None:
    commit(store, notification("a1"), notification("b1"))
    gate = Gate(errors=[KeyError("bug")])
    gate.open.release()
    gate.open.release()
    thread = thread_of(gate, store, speed=1e6)
    thread.start()
    assert gate.entered.acquire(timeout=LIMIT)
    assert gate.entered.acquire(timeout=LIMIT)
    assert thread.stop(LIMIT)
    assert gate.taken == ["b1"]


def test_stopping_ends_although_the_last_step_failed(store: SqlStore, notification: Make) -> None:
    commit(store, notification("a1"))
    gate = Gate(errors=[KeyError("bug")])
    thread = thread_of(gate, store)
    thread.start()
    assert gate.entered.acquire(timeout=LIMIT)
    thread.finish()
    gate.open.release()
    assert thread.stop(LIMIT)
    assert store.outbox_depth() == {"slack": 1}


def test_a_reset_tries_a_stopped_receiver_now(store: SqlStore, notification: Make, failure: Failure) -> None:
    commit(store, notification("a1"))
    gate = Gate(errors=[failure("permanent")])
    thread = thread_of(gate, store)
    thread.start()
    gate.open.release()
    assert gate.entered.acquire(timeout=LIMIT)
    while not store.due("slack", 0.0, 1)[0].attempts:
        pass  # until the refusal is written down
    gate.open.release()
    thread.reset()
    assert gate.entered.acquire(timeout=LIMIT)
    assert thread.stop(LIMIT)
    assert gate.taken == ["a1"]


def test_a_receiver_is_replaced_between_two_deliveries(store: SqlStore, notification: Make) -> None:
    commit(store, notification("a1"), notification("b1"))
    old, new = Gate(), Gate()
    thread = thread_of(old, store)
    thread.start()
    assert old.entered.acquire(timeout=LIMIT)
    thread.replace(new)
    assert not old.closed.is_set(), "a delivery is under way"
    old.open.release()
    assert new.entered.acquire(timeout=LIMIT)
    assert old.closed.is_set()
    new.open.release()
    assert thread.stop(LIMIT)
    assert (old.taken, new.taken) == (["a1"], ["b1"])
    assert new.closed.is_set()


def test_a_refusing_receiver_that_is_replaced_is_tried_at_once(
    store: SqlStore, notification: Make, failure: Failure
) -> None:
    commit(store, notification("a1"))
    old, new = Gate(errors=[failure("permanent")]), Gate()
    thread = thread_of(old, store)
    thread.start()
    old.open.release()
    assert old.entered.acquire(timeout=LIMIT)
    thread.replace(new)
    assert new.entered.acquire(timeout=LIMIT)
    new.open.release()
    assert thread.stop(LIMIT)
    assert new.taken == ["a1"]


def test_one_that_was_never_used_is_closed_too(store: SqlStore) -> None:
    old, new = Gate(), Gate()
    thread = thread_of(old, store)
    thread.replace(new)
    thread.start()
    assert thread.stop(LIMIT)
    assert old.closed.is_set()
    assert new.closed.is_set()
