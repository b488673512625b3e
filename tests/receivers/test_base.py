from typing import Any

import pytest

from watchdog.config import EnvRef
from watchdog.errors import DeliveryError
from watchdog.receivers.base import not_yet_told, secret_or_raise


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
