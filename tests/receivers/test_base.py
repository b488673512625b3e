from typing import Any

import pytest

from watchdog.config import EnvRef
from watchdog.errors import DeliveryError, StoreError
from watchdog.receivers.base import Pacer, is_printable_ascii, not_yet_told, retry_after, secret_or_raise


def test_a_secret_is_read_anew(bench: Any) -> None:
    bench.secrets.values["KEY"] = "one"
    assert secret_or_raise(bench.secrets, EnvRef(env="KEY"), "r") == "one"
    bench.secrets.values["KEY"] = "two"
    assert secret_or_raise(bench.secrets, EnvRef(env="KEY"), "r") == "two"


@pytest.mark.parametrize("values", [{}, {"KEY": ""}])
def test_a_missing_secret_names_its_variable(bench: Any, values: dict[str, str]) -> None:
    bench.secrets.values = values
    with pytest.raises(DeliveryError, match=r'receiver "r": KEY is not set') as caught:
        secret_or_raise(bench.secrets, EnvRef(env="KEY"), "r")
    assert (caught.value.kind.value, caught.value.reason) == ("permanent", "not_configured")


@pytest.mark.parametrize(("told", "left"), [(0, [1, 2]), (1, [2]), (2, [])])
def test_what_was_told_is_not_told_again(make: Any, told: int, left: list[int]) -> None:
    notes = [make.note(sequence=1), make.note(sequence=2)]
    assert [note.sequence for note in not_yet_told(notes, told)] == left


def test_whether_it_may_speak_is_asked_after_the_wait_and_before_the_call(clock: Any) -> None:
    """A process may stand still while it waits for its turn, and another have taken over meanwhile."""
    asked: list[float] = []

    def permit() -> None:
        asked.append(clock())
        if len(asked) == 2:
            raise StoreError("another instance has taken over")

    pacer, began = Pacer(clock, clock.sleep, permit), clock()
    pacer.wait("post", 5.0)
    with pytest.raises(StoreError):
        pacer.wait("post", 5.0)
    assert asked == [began, began + 5.0]


def test_kinds_of_calls_are_paced_apart(clock: Any) -> None:
    pacer = Pacer(clock, clock.sleep)
    for kind in ("post", "update", "post", "read", "read"):
        pacer.wait(kind, {"post": 1.0, "update": 1.0}.get(kind, 0.0))
    assert clock.slept == [1.0]


def test_calls_from_several_threads_each_get_their_turn(clock: Any) -> None:
    """None of them sees that the others sleep: only turns that were given away before count."""
    waits: list[float] = []
    pacer = Pacer(clock, waits.append)
    for _ in range(4):
        pacer.wait("post", 1.0)
    assert waits == [1.0, 2.0, 3.0]


def test_a_clock_that_went_back_costs_one_turn(clock: Any) -> None:
    pacer = Pacer(clock, clock.sleep)
    pacer.wait("post", 1.0)
    clock.now -= 3600
    pacer.wait("post", 1.0)
    assert clock.slept == [1.0]


@pytest.mark.parametrize(("after", "left"), [(0.0, 30.0), (29.5, 0.5), (30.0, 0.0), (31.0, 0.0), (-9999.0, 3600.0)])
def test_a_hold_is_of_one_kind_and_ends(clock: Any, after: float, left: float) -> None:
    pacer = Pacer(clock, clock.sleep)
    pacer.hold("post", 30.0)
    clock.now += after
    assert (pacer.held("post"), pacer.held("update")) == (left, 0.0)


@pytest.mark.parametrize(
    ("headers", "seconds"), [({"RETRY-after": "2.5"}, 2.5), ({"Retry-After": "1e9"}, 3600.0), ({"x": "1"}, None)]
)
def test_retry_after_is_found_in_any_case(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, 0.0) == seconds


@pytest.mark.parametrize(
    ("secret", "fine"), [("xoxb-1", True), ("xoxb\n1", False), ("xoxb-é", False), ("a b", False), ("a\x7f", False)]
)
def test_a_secret_holds_only_what_http_can_send(secret: str, fine: bool) -> None:
    assert is_printable_ascii(secret) is fine
