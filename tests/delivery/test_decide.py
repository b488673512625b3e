from __future__ import annotations

from collections.abc import Callable

import pytest

from watchdog.delivery import Action, Decision, Policy, Try, backoff, decide
from watchdog.errors import DeliveryError

NOW = 1000.0
POLICY = Policy()
Failure = Callable[..., DeliveryError]


def steady() -> float:
    """No jitter."""
    return 0.0


@pytest.mark.parametrize(
    ("kind", "retry_after", "tried", "expected"),
    [
        ("transient", None, Try(0, 0, plain=False), Decision(Action.RETRY, NOW + 1, NOW + 1)),
        ("transient", None, Try(3, 0, plain=False), Decision(Action.RETRY, NOW + 8, NOW + 1)),
        ("transient", None, Try(0, 4, plain=True), Decision(Action.RETRY, NOW + 1, NOW + 16)),
        ("transient", 30.0, Try(9, 9, plain=False), Decision(Action.RETRY, NOW + 30, NOW + 30, hold=True)),
        ("transient", 3599.0, Try(0, 0, plain=False), Decision(Action.RETRY, NOW + 3599, NOW + 3599, hold=True)),
        ("transient", 3600.0, Try(0, 0, plain=False), Decision(Action.RETRY, NOW + 3600, NOW + 3600, hold=True)),
        ("transient", 8.64e7, Try(0, 0, plain=False), Decision(Action.RETRY, NOW + 3600, NOW + 3600, hold=True)),
        ("permanent", 8.64e7, Try(0, 0, plain=False), Decision(Action.STOP, NOW, NOW + 3600, hold=True)),
        ("transient", 0.0, Try(0, 0, plain=False), Decision(Action.RETRY, NOW + 1, NOW + 1, hold=True)),
        ("content", None, Try(0, 0, plain=False), Decision(Action.PLAIN, NOW, NOW)),
        ("content", None, Try(5, 0, plain=True), Decision(Action.PARK, NOW, NOW)),
        ("permanent", None, Try(0, 0, plain=False), Decision(Action.STOP, NOW, NOW + 600)),
        ("permanent", 900.0, Try(0, 0, plain=True), Decision(Action.STOP, NOW, NOW + 900, hold=True)),
        ("quota", None, Try(0, 0, plain=False), Decision(Action.RETRY, NOW + 600, NOW + 600)),
        ("quota", 30.0, Try(7, 7, plain=True), Decision(Action.RETRY, NOW + 600, NOW + 600, hold=True)),
        ("quota", 700.0, Try(0, 0, plain=False), Decision(Action.RETRY, NOW + 700, NOW + 700, hold=True)),
    ],
)
def test_each_kind_of_error_has_its_answer(
    kind: str, retry_after: float | None, tried: Try, expected: Decision, failure: Failure
) -> None:
    assert decide(failure(kind, retry_after), tried, NOW, POLICY, steady) == expected


@pytest.mark.parametrize(("failures", "wait"), [(0, 1), (1, 2), (7, 128), (8, 256), (9, 300), (10_000, 300)])
def test_waits_double_up_to_five_minutes_for_as_long_as_it_takes(failures: int, wait: float) -> None:
    assert backoff(failures, POLICY, steady) == wait


@pytest.mark.parametrize(("failures", "shortest"), [(0, 1.0), (1, 1.0), (2, 2.0), (20, 150.0)])
def test_jitter_leaves_out_at_most_half_and_never_goes_below_the_first_wait(failures: int, shortest: float) -> None:
    assert backoff(failures, POLICY, lambda: 1.0) == shortest
    assert shortest < backoff(failures, POLICY, lambda: 0.5) <= backoff(failures, POLICY, steady) or failures == 0


def test_a_receiver_that_named_a_time_is_not_given_jitter(failure: Failure) -> None:
    decision = decide(failure("transient", 30.0), Try(0, 0, plain=False), NOW, POLICY, lambda: 1.0)
    assert decision.resume_at == NOW + 30


@pytest.mark.parametrize(
    ("attempts", "action"), [(0, Action.RETRY), (8, Action.RETRY), (9, Action.STOP), (99, Action.STOP)]
)
def test_what_nobody_understands_is_tried_ten_times_and_then_is_permanent(
    failure: Failure, attempts: int, action: Action
) -> None:
    error = failure()
    error.unsure = True
    decision = decide(error, Try(attempts, 0, plain=False), NOW, POLICY, steady)
    assert decision.action is action
    assert decision.resume_at == NOW + (600 if action is Action.STOP else 1)


@pytest.mark.parametrize(
    ("attempts", "wait"), [(0, 60.0), (1, 120.0), (5, 1920.0), (6, 3600.0), (7, 3600.0), (10_000, 3600.0)]
)
def test_a_copy_that_cannot_be_ruled_out_waits_a_minute_at_first_and_an_hour_at_most(
    failure: Failure, attempts: int, wait: float
) -> None:
    """Its receiver is tried with other messages as usual."""
    error = failure(ambiguous=True)
    error.blind = True
    decision = decide(error, Try(attempts, 1, plain=False), NOW, POLICY, steady)
    assert decision == Decision(Action.RETRY, NOW + wait, NOW + 2)


def test_a_copy_that_waits_obeys_retry_after_as_well(failure: Failure) -> None:
    error = failure("transient", 90.0, ambiguous=True)
    error.blind = True
    assert decide(error, Try(0, 0, plain=False), NOW, POLICY, steady).not_before == NOW + 90
    error.retry_after = 5.0
    assert decide(error, Try(0, 0, plain=False), NOW, POLICY, steady).not_before == NOW + 60
