"""Other receivers hear that one is stopped: with real senders over a real store, across restarts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from watchdog.delivery import EventKind, Policy, Sender, SenderEvent
from watchdog.errors import DeliveryError, DeliveryErrorKind, StoreError
from watchdog.model import Changes, IncidentView, Notification, Reason, Receipt
from watchdog.ports import Delivery
from watchdog.receivers.text.wording import headline
from watchdog.service.notices import Notices
from watchdog.store import SqlStore

NOON = 1_772_452_800.0


@dataclass
class FakeReceiver:
    """Refuses as it is told to, else takes everything."""

    name: str
    refuses: DeliveryErrorKind | None = None
    coalesces: bool = False
    taken: list[Notification] = field(default_factory=list)

    def deliver(self, delivery: Delivery) -> Receipt:
        if self.refuses is not None:
            raise DeliveryError(self.refuses, "refused", reason="channel_not_found")
        self.taken += delivery.notifications
        return {}

    def close(self) -> None:
        """Nothing to free."""

    @property
    def heard(self) -> list[str]:
        """What it was told of other receivers."""
        return [headline(note.view) for note in self.taken if note.incident.startswith("receiver-")]


class Town:
    """Receivers a, b and quiet (which wants no ends), their senders, and what the service remembers."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.now = NOON
        self.receivers = {name: FakeReceiver(name) for name in ("a", "b", "quiet")}
        self.restart()

    def restart(self) -> None:
        wants_ends = {name: name != "quiet" for name in self.receivers}

        def waiting(name: str) -> int:
            return self.store.outbox_depth().get(name, 0)

        meta = self.store.load().meta
        self.notices = Notices(wants_ends, meta, self.store.commit, waiting, lambda: self.now)
        policy = Policy(probe_wait=60.0)
        self.senders = [
            Sender(receiver, self.store, clock=lambda: self.now, on_event=self.notices.tell, policy=policy)
            for receiver in self.receivers.values()
        ]

    def put(self, name: str, receiver: str = "a") -> None:
        view = IncidentView(name, name, (), "firing", "warning", self.now, None, (), None)
        row = Notification(f"{name}-{receiver}", name, receiver, 1, Reason.FIRST, True, self.now, (), view)
        self.store.commit(Changes(at=self.now, outbox=(row,)))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now <= end:
            for sender in self.senders:
                sender.step(self.now)
            self.now += 30

    def heard(self, name: str) -> list[str]:
        return self.receivers[name].heard


@pytest.fixture
def town() -> Iterator[Town]:
    with SqlStore("sqlite://") as store:
        yield Town(store)


PERMANENT, CONTENT = DeliveryErrorKind.PERMANENT, DeliveryErrorKind.CONTENT
STOPPED = "Critical: receiver a refuses messages: channel_not_found; 2 transitions wait"


def test_a_stop_and_its_end_are_said_once_to_all_others(town: Town) -> None:
    town.receivers["a"].refuses = PERMANENT
    town.put("x")
    town.put("y")
    town.run(600)
    assert town.heard("b") == town.heard("quiet") == [STOPPED]
    assert town.store.outbox_depth() == {"a": 2}
    town.receivers["a"].refuses = None
    town.run(600)
    assert len(town.heard("b")) == 2
    assert town.heard("b")[1].startswith("Resolved after 11m")
    assert "ReceiverStopped on receiver a" in town.heard("b")[1]
    assert town.heard("quiet") == [STOPPED], "it wants no ends"
    assert town.heard("a") == []
    first, second = (note for note in town.receivers["b"].taken)
    assert (first.sequence, second.sequence, first.incident == second.incident) == (1, 2, True)
    assert (first.ping, second.ping, first.view.status, second.view.status) == (True, False, "firing", "resolved")
    assert (first.view.closed_at, second.view.opened_at) == (None, first.created_at)


def test_one_transition_waits(town: Town) -> None:
    town.receivers["a"].refuses = PERMANENT
    town.put("x")
    town.run(0)
    town.run(0)
    assert town.heard("b") == ["Critical: receiver a refuses messages: channel_not_found; 1 transition waits"]


@pytest.mark.parametrize("repaired", [False, True])
def test_a_restart_says_nothing_again_and_forgets_no_end(town: Town, repaired: bool) -> None:
    town.receivers["a"].refuses = PERMANENT
    town.put("x")
    town.put("y")
    town.run(120)
    town.receivers["a"].refuses = None if repaired else PERMANENT
    town.restart()
    town.run(120)
    assert town.heard("b")[0] == STOPPED
    assert len(town.heard("b")) == (2 if repaired else 1)
    town.receivers["a"].refuses = None
    town.run(120)
    town.restart()
    town.put("z")
    town.run(120)
    assert len(town.heard("b")) == 2


def test_a_second_stop_is_another_story(town: Town) -> None:
    for name in ("x", "y"):
        town.receivers["a"].refuses = PERMANENT
        town.put(name)
        town.run(120)
        town.receivers["a"].refuses = None
        town.run(120)
    assert len(town.heard("b")) == 4
    assert len({note.incident for note in town.receivers["b"].taken}) == 2


def test_two_stopped_receivers_say_it_once_each_and_no_more(town: Town) -> None:
    del town.receivers["quiet"]
    town.restart()
    town.receivers["a"].refuses = town.receivers["b"].refuses = PERMANENT
    town.put("x")
    town.run(7200)
    assert town.store.outbox_depth() == {"a": 2, "b": 1}
    town.restart()
    town.run(7200)
    assert town.store.outbox_depth() == {"a": 2, "b": 1}
    town.receivers["a"].refuses = town.receivers["b"].refuses = None
    town.run(7200)
    assert town.store.outbox_depth() == {}
    assert (len(town.heard("a")), len(town.heard("b"))) == (2, 2)


def test_a_message_that_was_given_up_is_said_once_an_hour(town: Town) -> None:
    town.receivers["a"].refuses = CONTENT
    for name in ("x", "y"):
        town.put(name)
        town.run(60)
    said = "Critical: receiver a gave up 1 of its messages: channel_not_found; the log has all of them"
    assert town.heard("b") == [said]
    town.now = NOON + 3600
    town.put("z")
    town.run(60)
    assert town.heard("b") == [said, said]
    note = town.receivers["b"].taken[0]
    assert (note.reason, note.view.alerts[0].event) == (Reason.EVENT, True)


def test_receivers_that_refuse_even_that_do_not_answer_each_other(town: Town) -> None:
    for receiver in town.receivers.values():
        receiver.refuses = CONTENT
    town.put("x")
    town.run(4 * 3600)
    assert len(town.store.delivered_log(99)) == 3, "x, and one word to each of the others"


def test_the_only_receiver_has_nobody_to_be_told(town: Town) -> None:
    del town.receivers["b"], town.receivers["quiet"]
    town.restart()
    town.receivers["a"].refuses = PERMANENT
    town.put("x")
    town.run(120)
    assert town.store.outbox_depth() == {"a": 1}


def test_what_could_not_be_written_is_said_when_it_is_told_again(town: Town) -> None:
    broken = [True]

    def commit(changes: Changes) -> None:
        if broken.pop():
            raise StoreError("disk full")
        broken.append(False)
        town.store.commit(changes)

    notices = Notices({"a": True, "b": True}, {}, commit, lambda _: 0, lambda: NOON)
    event = SenderEvent(EventKind.STOPPED, "a", ("x",), "invalid_auth")
    with pytest.raises(StoreError):
        notices.tell(event)
    broken.append(False)
    notices.tell(event)
    notices.tell(event)
    assert town.store.outbox_depth() == {"b": 1}


def test_an_end_that_could_not_be_written_is_said_when_it_is_told_again(town: Town) -> None:
    broken = [StoreError("disk full")]

    def commit(changes: Changes) -> None:
        if broken:
            raise broken.pop()
        town.store.commit(changes)

    meta = {"receiver_stopped.a": f"{NOON!r} invalid_auth"}
    notices = Notices({"a": True, "b": True}, meta, commit, lambda _: 0, lambda: NOON + 60)
    event = SenderEvent(EventKind.SENT, "a", ("x",))
    with pytest.raises(StoreError):
        notices.tell(event)
    notices.tell(event)
    notices.tell(event)
    assert town.store.outbox_depth() == {"b": 1}


def test_what_was_taken_before_the_process_died_is_said_by_the_next(town: Town) -> None:
    town.receivers["a"].refuses = PERMANENT
    town.put("x")
    town.run(120)
    town.receivers["a"].refuses = None
    row = town.store.due("a", town.now, 9)[0].notification
    town.store.delivered([row.id], "a", row.incident, {}, town.now)  # and the process dies before it tells
    town.restart()
    town.notices.settle()
    town.notices.settle()
    town.run(120)
    assert town.heard("b")[0] == "Critical: receiver a refuses messages: channel_not_found; 1 transition waits"
    assert town.heard("b")[1].startswith("Resolved after 2m")
    town.restart()
    town.notices.settle()
    town.put("y")
    town.run(120)
    assert len(town.heard("b")) == 2


def test_what_still_waits_is_no_end(town: Town) -> None:
    town.receivers["a"].refuses = PERMANENT
    town.put("x")
    town.run(120)
    town.restart()
    town.notices.settle()
    town.run(120)
    assert len(town.heard("b")) == 1


def test_the_stop_of_a_receiver_that_the_rules_no_longer_name_is_over(town: Town) -> None:
    town.receivers["a"].refuses = PERMANENT
    town.put("x")
    town.run(120)
    del town.receivers["a"]
    town.restart()
    town.notices.settle()
    town.run(120)
    note = town.receivers["b"].taken[-1]
    assert (note.reason, note.view.alerts[0].end_reason) == (Reason.ALL_RESOLVED, "receiver removed")
    assert town.store.load().meta["receiver_stopped.a"] == ""


REJECTED = "Critical: the rules file is refused, and the rules before it stay in force: rules.toml:3: unknown key"


def test_a_refused_rules_file_is_said_once_to_all_and_so_is_its_end(town: Town) -> None:
    for _ in range(2):
        town.notices.rules_rejected("rules.toml:3: unknown key")
        town.run(60)
        town.restart()
    assert [town.heard(name) for name in town.receivers] == [[REJECTED]] * 3
    town.notices.rules_loaded()
    town.notices.rules_loaded()
    town.run(60)
    town.restart()
    town.notices.rules_loaded()
    town.run(60)
    assert [len(town.heard(name)) for name in town.receivers] == [2, 2, 1]
    first, last = town.receivers["a"].taken
    assert first.incident == last.incident
    assert (last.view.status, last.view.group_key) == ("resolved", '{}:{alertname="RulesRejected"}')


def test_names_may_hold_anything(town: Town) -> None:
    notices = Notices({'a"é\n': True, "b": True}, {}, town.store.commit, lambda _: 0, lambda: NOON)
    notices.tell(SenderEvent(EventKind.STOPPED, 'a"é\n', ("x",), "invalid_auth"))
    (row,) = town.store.due("b", NOON, 9)
    assert row.notification.id.isascii(), "it becomes a header"
    assert row.notification.view.group_key == '{}:{receiver="a\\"é\\n"}'


def test_other_events_are_no_news(town: Town) -> None:
    for kind in (EventKind.SENT, EventKind.RETRY, EventKind.RECOVERED):
        town.notices.tell(SenderEvent(kind, "a", ("x",)))
    found: Any = town.store.outbox_depth()
    assert found == {}
