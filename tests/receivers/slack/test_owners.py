from collections.abc import Mapping
from typing import Any

import pytest

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.receivers.slack.owners import Owners


class Api:
    """Answers look-ups from a list: a user ID, an error code, or a broken answer."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def read(self, method: str, params: Mapping[str, Any]) -> Any:
        self.asked.append(params["email"])
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise DeliveryError(DeliveryErrorKind.TRANSIENT, answer, reason=answer)
        return answer


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def owners(*answers: Any) -> tuple[Owners, Api]:
    api = Api(*answers)
    return Owners(api, Clock()), api  # type: ignore[arg-type]


@pytest.mark.parametrize("owner", ["", "ada", "Ada @ home"])
def test_what_is_no_address_is_not_looked_up(owner: str) -> None:
    found, api = owners()
    assert found.mention(owner) == ""
    assert api.asked == []


def test_a_user_is_looked_up_once() -> None:
    found, api = owners({"user": {"id": "U1"}})
    assert [found.mention("a@x.io"), found.mention("a@x.io")] == ["<@U1>", "<@U1>"]
    assert api.asked == ["a@x.io"]


@pytest.mark.parametrize("answer", ["users_not_found", {"user": None}, {}])
def test_a_stranger_is_looked_up_once(answer: Any) -> None:
    found, api = owners(answer)
    assert [found.mention("a@x.io"), found.mention("a@x.io")] == ["", ""]
    assert len(api.asked) == 1


def test_without_the_scope_nobody_is_looked_up_again() -> None:
    found, api = owners("missing_scope")
    assert [found.mention("a@x.io"), found.mention("b@x.io")] == ["", ""]
    assert len(api.asked) == 1


def test_after_a_failure_messages_do_not_wait_for_a_while() -> None:
    clock, api = Clock(), Api("ratelimited", {"user": {"id": "U1"}})
    found = Owners(api, clock)  # type: ignore[arg-type]
    assert [found.mention("a@x.io"), found.mention("a@x.io"), found.mention("b@x.io")] == ["", "", ""]
    clock.now += 299
    assert found.mention("a@x.io") == ""
    clock.now += 1
    assert found.mention("a@x.io") == "<@U1>"
    assert api.asked == ["a@x.io", "a@x.io"]


def test_a_stranger_may_join_a_day_later() -> None:
    clock, api = Clock(), Api("users_not_found", {"user": {"id": "U1"}})
    found = Owners(api, clock)  # type: ignore[arg-type]
    assert found.mention("a@x.io") == ""
    clock.now += 86399
    assert found.mention("a@x.io") == ""
    clock.now += 1
    assert found.mention("a@x.io") == "<@U1>"


def test_an_old_answer_holds_while_slack_cannot_be_asked() -> None:
    clock, api = Clock(), Api({"user": {"id": "U1"}}, "ratelimited")
    found = Owners(api, clock)  # type: ignore[arg-type]
    assert found.mention("a@x.io") == "<@U1>"
    clock.now += 86400
    assert found.mention("a@x.io") == "<@U1>"
    assert len(api.asked) == 2
