"""Draining: what is due, receiver beside receiver, once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest

from watchdog.delivery import Policy, Sender, drain
from watchdog.errors import DeliveryError
from watchdog.model import Changes, Notification, Receipt
from watchdog.ports import Delivery
from watchdog.store import SqlStore

Make = Callable[..., Notification]
Failure = Callable[..., DeliveryError]


@dataclass
class FakeReceiver:
    """Does what ``act`` does, then takes the message; writes down what it took."""

    name: str
    act: Callable[[], None] = lambda: None
    taken: list[str] = field(default_factory=list)
    coalesces: bool = True

    def deliver(self, delivery: Delivery) -> Receipt:
        self.act()
        self.taken += [one.id for one in delivery.notifications]
        return {}

    def close(self) -> None:
        """Nothing to free."""


@pytest.fixture
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    """A store in a file, which several threads write to."""
    with SqlStore(f"sqlite:///{tmp_path_factory.mktemp('store')}/w.db") as opened:
        yield opened


@pytest.fixture
def sender(shared: SqlStore, notification: Make) -> Callable[..., Sender]:
    """Put rows into the outbox of a receiver, and return its sender."""

    def make(receiver: FakeReceiver, *rows: str) -> Sender:
        shared.commit(Changes(at=0.0, outbox=tuple(notification(name, receiver.name) for name in rows)))
        return Sender(receiver, shared, clock=lambda: 100.0, on_event=lambda _: None, policy=Policy(batch=1))

    return make


def raising(*errors: Exception) -> Callable[[], None]:
    left = list(errors)

    def act() -> None:
        if left:
            raise left.pop(0)

    return act


@pytest.mark.parametrize(
    ("kinds", "delivered"),
    [([], True), (["content"], True), (["content", "content"], False), (["transient"], False), (["permanent"], False)],
)
def test_draining_says_whether_all_was_delivered(
    sender: Callable[..., Sender], failure: Failure, kinds: list[str], delivered: bool
) -> None:
    bad = FakeReceiver("slack", raising(*(failure(kind) for kind in kinds)))
    pager = FakeReceiver("pager")
    assert drain([[sender(bad, "a1", "b1")], [sender(pager, "c1")]], 100.0) is delivered
    assert pager.taken == ["c1"]


def test_nothing_to_drain_is_all_delivered() -> None:
    assert drain([], 100.0) is True


def test_queues_run_at_the_same_time(sender: Callable[..., Sender]) -> None:
    barrier = threading.Barrier(12, timeout=10.0)

    def meet() -> None:
        barrier.wait()

    receivers = {name: FakeReceiver(name, meet) for name in "abcdefghijkl"}
    assert drain([[sender(one, f"{name}1")] for name, one in receivers.items()], 100.0)
    assert [one.taken for one in receivers.values()] == [[f"{name}1"] for name in receivers]


def test_within_a_queue_one_comes_after_the_other(sender: Callable[..., Sender]) -> None:
    said: list[str] = []
    queue = [sender(FakeReceiver(name, partial(said.append, name)), f"{name}1", f"{name}2") for name in "zam"]
    assert drain([queue], 100.0)
    assert said == ["z", "z", "a", "a", "m", "m"]


def test_what_a_receiver_should_not_raise_comes_out_after_the_others_are_done(sender: Callable[..., Sender]) -> None:
    broken = threading.Event()

    def breaks() -> None:
        broken.set()
        raise KeyError("bug")

    def waits() -> None:
        assert broken.wait(10.0)

    pager = FakeReceiver("pager", waits)
    with pytest.raises(KeyError, match="bug"):
        drain([[sender(FakeReceiver("slack", breaks), "a1")], [sender(pager, "b1", "c1")]], 100.0)
    assert pager.taken == ["b1", "c1"]
