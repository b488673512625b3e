from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from watchdog.delivery import EventKind, Policy, Sender, SenderEvent
from watchdog.errors import DeliveryError, StoreError
from watchdog.model import Changes, Notification, Receipt
from watchdog.ports import Delivery
from watchdog.store import SqlStore

Make = Callable[..., Notification]
Failure = Callable[..., DeliveryError]
Answer = Exception | Receipt | Callable[[Delivery], Receipt]


@dataclass
class FakeReceiver:
    """Answers as it is told to, then takes everything; writes down what it was handed."""

    name: str = "slack"
    coalesces: bool = True
    answers: list[Answer] = field(default_factory=list)
    seen: list[Delivery] = field(default_factory=list)
    on_delivery: Callable[[], None] = lambda: None

    def deliver(self, delivery: Delivery) -> Receipt:
        self.seen.append(delivery)
        self.on_delivery()
        answer = self.answers.pop(0) if self.answers else {"told": delivery.notifications[-1].id}
        if isinstance(answer, Exception):
            raise answer
        return answer(delivery) if callable(answer) else answer

    def close(self) -> None:
        """Nothing to free."""

    @property
    def batches(self) -> list[list[str]]:
        return [[one.id for one in delivery.notifications] for delivery in self.seen]


class BrokenStore(SqlStore):
    """A store whose next writes fail, by method."""

    def __init__(self) -> None:
        super().__init__("sqlite://")
        self.broken: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in object.__getattribute__(self, "__dict__").get("broken", ()):
            raise StoreError("disk full")
        return super().__getattribute__(name)


@dataclass
class Bench:
    """One sender on a virtual clock, over a real store."""

    store: SqlStore
    make: Make
    receiver: FakeReceiver = field(default_factory=FakeReceiver)
    now: float = 100.0
    policy: Policy = field(default_factory=Policy)
    events: list[SenderEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.sender = Sender(
            self.receiver,
            self.store,
            clock=lambda: self.now,
            on_event=self.events.append,
            policy=self.policy,
            random=lambda: 0.0,
        )

    def commit(self, *names: str, at: float | None = None) -> None:
        created = self.now if at is None else at
        rows = tuple(self.make(name, self.receiver.name, created) for name in names)
        self.store.commit(Changes(at=created, outbox=rows))

    def step(self) -> float:
        return self.sender.step(self.now)

    def run_until(self, end: float) -> None:
        """Step whenever the sender wants to, as its thread would."""
        while (resume := self.step()) <= end:
            self.now = max(self.now, resume)
        self.now = end

    @property
    def kinds(self) -> list[str]:
        return [event.kind.value for event in self.events]


@pytest.fixture
def bench(store: SqlStore, notification: Make) -> Bench:
    return Bench(store, notification)


@pytest.fixture
def broken(notification: Make) -> Iterator[tuple[Bench, BrokenStore]]:
    with BrokenStore() as store:
        yield Bench(store, notification), store


def waiting(bench: Bench) -> Sequence[str]:
    return [row.notification.id for row in bench.store.due(bench.receiver.name, float("inf"), 99)]


def test_nothing_due_means_coming_back_within_half_a_minute(bench: Bench) -> None:
    assert bench.step() == 130.0
    assert bench.receiver.seen == []


def test_a_delivery_is_handed_over_recorded_and_told(bench: Bench) -> None:
    bench.commit("a1")
    assert bench.step() == 130.0
    (delivery,) = bench.receiver.seen
    assert (delivery.now, delivery.plain, delivery.maybe_sent, delivery.receipt) == (100.0, False, False, None)
    assert delivery.current == delivery.notifications[0].view
    assert waiting(bench) == []
    assert bench.store.receipt("a", "slack") == {"told": "a1"}
    assert bench.events == [SenderEvent(EventKind.SENT, "slack", ("a1",))]


def test_the_receipt_comes_back_at_the_next_delivery(bench: Bench) -> None:
    bench.commit("a1", "b1")
    bench.step()
    bench.commit("a2")
    bench.step()
    assert [delivery.receipt for delivery in bench.receiver.seen] == [None, None, {"told": "a1"}]


def test_what_waits_of_an_incident_goes_out_as_one_where_the_receiver_can(bench: Bench) -> None:
    bench.commit("a1", "b1", "a2")
    bench.commit("a3")
    bench.step()
    assert bench.receiver.batches == [["a1", "a2", "a3"], ["b1"]]
    assert bench.receiver.seen[0].current.group_key == "a3"
    assert [event.ids for event in bench.events] == [("a1", "a2", "a3"), ("b1",)]


def test_each_goes_out_alone_elsewhere_and_knows_how_things_stand_now(bench: Bench) -> None:
    bench.receiver.coalesces = False
    bench.commit("a1", "b1", "a2")
    bench.step()
    assert bench.receiver.batches == [["a1"], ["b1"], ["a2"]]
    assert [delivery.current.group_key for delivery in bench.receiver.seen] == ["a2", "b1", "a2"]


def test_rows_of_other_receivers_are_left_alone(bench: Bench, notification: Make) -> None:
    bench.store.commit(Changes(at=1.0, outbox=(notification("a1", "pager"),)))
    bench.step()
    assert bench.receiver.seen == []
    assert bench.store.outbox_depth() == {"pager": 1}


@pytest.mark.parametrize(("age", "late"), [(119.9, None), (120.0, None), (120.5, 120.5)])
def test_a_message_is_late_after_two_minutes(bench: Bench, age: float, late: float | None) -> None:
    bench.now = 1000.0
    bench.commit("a1", at=1000.0 - age)
    bench.commit("a2")
    bench.step()
    assert bench.events[0].late_seconds == late


# --- transient --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "sent"), [(29.9, False), (30.0, True), (30.1, True)])
def test_retry_after_silences_the_whole_receiver_exactly_so_long(
    bench: Bench, failure: Failure, after: float, sent: bool
) -> None:
    bench.receiver.answers = [failure("transient", 30.0)]
    bench.commit("a1", "b1")
    assert bench.step() == 130.0
    assert bench.receiver.batches == [["a1"]], "b1 must not go out either"
    bench.commit("c1")
    bench.now += after
    bench.step()
    assert bench.receiver.batches[1:] == ([["a1"], ["b1"], ["c1"]] if sent else [])


def test_a_wait_for_years_becomes_an_hour_that_is_logged(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure("transient", 86_400_000.0)]
    bench.commit("a1")
    bench.step()
    assert [event.held_until for event in bench.events] == [3700.0]
    bench.restart()
    bench.now = 3699.9
    bench.step()
    assert len(bench.receiver.seen) == 1
    bench.now = 3700.0
    bench.step()
    assert bench.kinds == ["retry", "sent"]


def test_a_stored_wait_that_lies_too_far_ahead_becomes_an_hour_too(bench: Bench) -> None:
    """Written by an earlier version, or while the clock was wrong."""
    bench.store.hold("slack", 86_400_000.0)
    bench.commit("a1")
    bench.step()
    bench.now = 3699.9
    bench.step()
    assert bench.receiver.seen == []
    bench.now = 3700.0
    bench.step()
    assert bench.kinds == ["sent"]


@pytest.mark.parametrize(("after", "sent"), [(29.9, False), (30.0, True)])
def test_retry_after_is_obeyed_over_a_restart(bench: Bench, failure: Failure, after: float, sent: bool) -> None:
    bench.receiver.answers = [failure("transient", 30.0)]
    bench.commit("a1", "b1")
    bench.step()
    bench.now += after
    bench.restart()
    bench.step()
    assert len(bench.receiver.seen) == (3 if sent else 1)


def test_the_wait_counts_from_the_answer_not_from_the_question(bench: Bench, failure: Failure) -> None:
    def slow() -> None:
        bench.now += 25.0

    bench.receiver.answers = [failure("transient", 30.0)]
    bench.receiver.on_delivery = slow
    bench.commit("a1")
    bench.sender.step(100.0)
    bench.receiver.on_delivery = lambda: None
    bench.now = 154.9
    bench.step()
    assert len(bench.receiver.seen) == 1
    bench.now = 155.0
    bench.step()
    assert len(bench.receiver.seen) == 2


def test_a_receiver_that_is_down_is_asked_less_and_less_for_days_and_nothing_is_lost(
    bench: Bench, failure: Failure
) -> None:
    bench.policy = Policy(idle_wait=300.0)
    bench.restart()
    times: list[float] = []
    bench.receiver.on_delivery = lambda: times.append(bench.now - 100.0)
    bench.receiver.answers = [failure() for _ in range(1000)]
    bench.commit("a1")
    bench.run_until(100.0 + 86400)
    assert times[:10] == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]
    assert {later - earlier for earlier, later in pairwise(times[9:])} == {300.0}
    assert waiting(bench) == ["a1"]
    bench.receiver.answers = []
    bench.run_until(bench.now + 300)
    assert bench.kinds[-1] == "sent"
    assert bench.events[-1].attempts == len(times)
    assert bench.events[-1].late_seconds == pytest.approx(times[-1])


def test_many_incidents_do_not_knock_more_often_at_a_receiver_that_is_down(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure() for _ in range(1000)]
    bench.commit(*(f"{letter}1" for letter in "abcdefgh"))
    bench.run_until(100.0 + 127)
    assert len(bench.receiver.seen) == 8, "at 0, 1, 3, 7, 15, 31, 63, 127"


def test_order_within_an_incident_is_kept_through_failures(bench: Bench, failure: Failure) -> None:
    bench.receiver.coalesces = False
    bench.receiver.answers = [failure(), failure()]
    bench.commit("a1", "a2")
    bench.run_until(200.0)
    assert bench.receiver.batches == [["a1"], ["a1"], ["a1"], ["a2"]]


def test_a_message_that_always_fails_does_not_block_other_incidents(bench: Bench, failure: Failure) -> None:
    """Its receiver is sound: it alone backs off."""
    error = failure()

    def deliver(delivery: Delivery) -> Receipt:
        if delivery.current.id == "a":
            raise error
        return {}

    bench.receiver.answers = [deliver] * 100
    bench.commit("a1")
    for number in range(1, 9):
        bench.commit(f"b{number}")
        bench.run_until(bench.now + 60)
    assert [batch for batch in bench.receiver.batches if batch[0].startswith("b")] == [[f"b{n}"] for n in range(1, 9)]
    assert waiting(bench) == ["a1"]
    sent = [event for event in bench.events if event.kind is EventKind.SENT]
    assert all(event.late_seconds is None for event in sent)


@pytest.mark.parametrize("ambiguous", [True, False])
def test_a_receiver_is_told_that_the_last_try_was_ambiguous(bench: Bench, failure: Failure, ambiguous: bool) -> None:
    bench.receiver.answers = [failure(ambiguous=ambiguous)]
    bench.commit("a1")
    bench.run_until(110.0)
    assert [delivery.maybe_sent for delivery in bench.receiver.seen] == [False, ambiguous]


def test_an_ambiguous_try_stays_ambiguous_until_the_receiver_has_answered(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure(ambiguous=True), failure()]
    bench.commit("a1")
    bench.run_until(110.0)
    assert [delivery.maybe_sent for delivery in bench.receiver.seen] == [False, True, True]


# --- content ----------------------------------------------------------------------------------------


def test_refused_content_goes_out_as_plain_text_at_once(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure("content")]
    bench.commit("a1", "b1")
    bench.step()
    assert [(d.notifications[0].id, d.plain) for d in bench.receiver.seen] == [
        ("a1", False),
        ("a1", True),
        ("b1", False),
    ]
    assert bench.kinds == ["retry", "sent", "sent"]
    assert [event.attempts for event in bench.events] == [1, 2, 1]
    assert waiting(bench) == []


def test_content_refused_twice_is_parked_with_the_reason_and_the_rest_goes_on(bench: Bench, failure: Failure) -> None:
    bench.receiver.coalesces = False
    bench.receiver.answers = [failure("content"), failure("content")]
    bench.commit("a1", "a2", "b1")
    assert bench.step() == 130.0
    assert bench.receiver.batches == [["a1"], ["a1"], ["a2"], ["b1"]]
    assert bench.kinds == ["retry", "parked", "sent", "sent"]
    assert bench.events[1] == SenderEvent(EventKind.PARKED, "slack", ("a1",), "content_code", attempts=2)
    (parked,) = [entry for entry in bench.store.delivered_log(9) if entry.parked]
    assert (parked.id, parked.error, parked.attempts) == ("a1", "channel refused: content", 2)
    assert bench.receiver.seen[2].receipt is None, "the first message of the incident never came"


def test_plain_text_stays_plain_through_an_outage_and_a_restart(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure("content"), failure(), failure("content")]
    bench.commit("a1")
    bench.step()
    bench.restart()
    bench.run_until(140.0)
    assert [delivery.plain for delivery in bench.receiver.seen] == [False, True, True]
    assert bench.kinds == ["retry", "retry", "parked"]


# --- permanent and quota ------------------------------------------------------------------------------


def test_a_receiver_that_refuses_for_good_is_stopped_keeps_its_rows_and_is_looked_at_again(
    bench: Bench, failure: Failure
) -> None:
    times: list[float] = []
    bench.receiver.on_delivery = lambda: times.append(bench.now)
    bench.receiver.answers = [failure("permanent") for _ in range(3)]
    bench.commit("a1", "b1")
    bench.run_until(1000.0)
    bench.commit("a2")
    bench.run_until(1800.0)
    assert times == [100.0, 700.0, 1300.0]
    assert bench.sender.stopped
    assert waiting(bench) == ["a1", "b1", "a2"]
    assert bench.kinds == ["stopped", "retry", "retry"], "said once"
    bench.run_until(1900.0)
    assert bench.kinds[3:] == ["sent", "recovered", "sent"], "only once all that it refused is taken"
    assert bench.receiver.batches == [["a1"], ["b1"], ["a1", "a2"], ["b1"], ["a1", "a2"]], "each is tried in turn"
    assert not bench.sender.stopped


def test_what_a_receiver_takes_beside_what_it_refuses_is_no_recovery(bench: Bench, failure: Failure) -> None:
    """Else one message that is refused for good would make it stop and recover for ever."""
    error = failure("permanent")

    def deliver(delivery: Delivery) -> Receipt:
        if delivery.current.id == "a":
            raise error
        return {}

    bench.receiver.answers = [deliver] * 100
    bench.commit("a1")
    for number in range(1, 4):
        bench.commit(f"b{number}")
        bench.run_until(bench.now + 600)
    assert [kind for kind in bench.kinds if kind in ("stopped", "recovered")] == ["stopped"]
    assert bench.kinds.count("sent") >= 2
    bench.receiver.answers = []
    bench.run_until(bench.now + 601)
    assert [kind for kind in bench.kinds if kind in ("stopped", "recovered")] == ["stopped", "recovered"]


def test_what_a_receiver_refused_and_gave_up_later_ends_the_stop(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure("permanent"), failure("content"), failure("content")]
    bench.commit("a1")
    bench.run_until(701.0)
    assert bench.kinds == ["stopped", "retry", "recovered", "parked"]


def test_a_receiver_may_ask_what_it_learnt_with_any_incident(bench: Bench) -> None:
    bench.commit("a1")
    bench.step()
    assert bench.receiver.seen[0].recent() == {"told": "a1"}
    bench.now += 1
    bench.commit("b1")
    bench.step()
    assert bench.receiver.seen[1].recent() == {"told": "b1"}


def test_a_stopped_receiver_is_tried_at_once_after_a_reset_or_a_restart(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure("permanent"), failure("permanent")]
    bench.commit("a1")
    bench.step()
    bench.step()
    assert len(bench.receiver.seen) == 1
    bench.sender.reset()
    bench.step()
    assert len(bench.receiver.seen) == 2
    bench.restart()
    bench.step()
    assert len(bench.receiver.seen) == 3
    assert waiting(bench) == []


def test_a_reset_does_not_cut_short_the_wait_that_a_receiver_asked_for(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure("transient", 30.0)]
    bench.commit("a1")
    bench.step()
    bench.sender.reset()
    bench.step()
    assert len(bench.receiver.seen) == 1


def test_a_quota_is_waited_out_for_ten_minutes_and_said(bench: Bench, failure: Failure) -> None:
    times: list[float] = []
    bench.receiver.on_delivery = lambda: times.append(bench.now)
    bench.receiver.answers = [failure("quota")]
    bench.commit("a1")
    bench.run_until(800.0)
    assert times == [100.0, 700.0]
    assert [(event.kind, event.reason) for event in bench.events] == [("retry", "quota_code"), ("sent", "")]


# --- what should not happen ------------------------------------------------------------------------------


def test_a_bug_in_a_receiver_goes_through_and_blocks_only_its_incident(bench: Bench) -> None:
    bench.receiver.answers = [KeyError("bug")]
    bench.commit("a1", "b1")
    with pytest.raises(KeyError):
        bench.step()
    assert bench.events == [SenderEvent(EventKind.RETRY, "slack", ("a1",), "unexpected")]
    assert bench.step() == 101.0
    assert bench.receiver.batches == [["a1"], ["b1"]]
    bench.run_until(101.0)
    assert bench.receiver.batches[2:] == [["a1"]]
    assert bench.receiver.seen[-1].maybe_sent


def test_a_receipt_that_is_kept_in_the_middle_survives(bench: Bench, failure: Failure) -> None:
    error = failure(ambiguous=True)

    def half(delivery: Delivery) -> Receipt:
        delivery.keep({"ts": "1"})
        raise error

    bench.receiver.answers = [half]
    bench.commit("a1")
    bench.run_until(101.0)
    assert [delivery.receipt for delivery in bench.receiver.seen] == [None, {"ts": "1"}]


def test_nothing_is_sent_that_cannot_be_written_down(broken: tuple[Bench, BrokenStore]) -> None:
    bench, store = broken
    bench.commit("a1")
    store.broken = {"trying"}
    with pytest.raises(StoreError):
        bench.step()
    assert bench.receiver.seen == []


def test_what_was_sent_is_written_down_later_and_not_sent_again(broken: tuple[Bench, BrokenStore]) -> None:
    """A disk that fills up between the try and its record: no second message, and no other one before the record."""
    bench, store = broken
    bench.commit("a1", "b1")
    store.broken = {"delivered"}
    for _ in range(3):
        with pytest.raises(StoreError):
            bench.step()
    assert bench.receiver.batches == [["a1"]]
    assert bench.events == []
    store.broken = set()
    bench.step()
    assert bench.receiver.batches == [["a1"], ["b1"]]
    assert bench.kinds == ["sent", "sent"]


@pytest.mark.parametrize("kind", ["transient", "content"])
def test_a_failure_is_written_down_later_too(broken: tuple[Bench, BrokenStore], failure: Failure, kind: str) -> None:
    bench, store = broken
    bench.receiver.answers = [failure(kind), failure(kind)]
    bench.commit("a1")
    store.broken = {"postpone", "park"}
    with pytest.raises(StoreError):
        bench.step()
    assert bench.receiver.batches == [["a1"]]
    store.broken = set()
    bench.run_until(110.0)
    assert bench.kinds == {"transient": ["retry", "retry", "sent"], "content": ["retry", "parked"]}[kind]


# --- backlog ------------------------------------------------------------------------------------------


def test_a_backlog_larger_than_a_batch_goes_on_at_once(store: SqlStore, notification: Make) -> None:
    bench = Bench(store, notification, policy=Policy(batch=2))
    bench.commit("a1", "b1", "c1")
    assert bench.step() == bench.now
    assert bench.step() == 130.0
    assert bench.receiver.batches == [["a1"], ["b1"], ["c1"]]


def test_an_interruption_leaves_the_rest_to_the_next_step(bench: Bench) -> None:
    bench.commit("a1", "b1")
    answers = iter([False, True])
    assert bench.sender.step(bench.now, lambda: next(answers)) == bench.now
    assert bench.receiver.batches == [["a1"]]
    assert waiting(bench) == ["b1"]


def test_events_are_counted(bench: Bench, failure: Failure) -> None:
    bench.receiver.answers = [failure("content")]
    bench.commit("a1", "b1")
    bench.step()
    assert bench.sender.counts == {EventKind.RETRY: 1, EventKind.SENT: 2}


@pytest.mark.parametrize("retry_after", [30.0, None])
def test_a_clock_that_is_set_back_holds_a_receiver_no_longer_than_it_asked(
    bench: Bench, failure: Failure, retry_after: float | None
) -> None:
    bench.now = 100_000.0
    bench.receiver.answers = [failure("transient", retry_after)]
    bench.commit("a1")
    wait = 1.0 if retry_after is None else retry_after
    assert bench.step() == 100_000.0 + wait
    bench.now = 90_000.0
    assert bench.step() == 90_000.0 + wait
    bench.commit("b1")
    bench.now = 90_000.0 + wait - 0.1
    bench.step()
    assert bench.receiver.batches == [["a1"]]
    bench.now = 90_000.0 + wait
    bench.step()
    assert sorted(bench.receiver.batches[1:]) == [["a1"], ["b1"]]


@pytest.mark.parametrize(("back", "sent"), [(3569.0, False), (3570.0, False), (3571.0, True)])
def test_a_stored_row_waits_an_hour_at_most_when_the_clock_was_set_back(
    bench: Bench, failure: Failure, back: float, sent: bool
) -> None:
    bench.now = 100_000.0
    bench.commit("a1")
    bench.store.postpone(["a1"], 100_030.0, error="x", plain=False, maybe_sent=False)
    bench.now -= back
    bench.step()
    assert bool(bench.receiver.seen) is sent
