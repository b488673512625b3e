import pytest

from watchdog.config import EnvRef
from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.base import patience, secret_or_raise, slow_retry


class Secrets:
    def __init__(self, value: str | None) -> None:
        self.value = value

    def find(self, name: str) -> str | None:
        return self.value


def test_a_secret_is_taken_without_the_line_break_of_its_file() -> None:
    assert secret_or_raise(Secrets(" key-1\n"), EnvRef(env="KEY")) == "key-1"


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_a_secret_that_is_not_set(value: str | None) -> None:
    with pytest.raises(SourceError, match="KEY is not set; set it, or KEY_FILE") as caught:
        secret_or_raise(Secrets(value), EnvRef(env="KEY"))
    assert caught.value.kind is SourceErrorKind.CREDENTIALS


@pytest.mark.parametrize("value", ["s3cret\nmore", "s3cret more", "s3crét", "s3cret\x00"])
def test_a_secret_that_no_header_can_carry_is_not_quoted(value: str) -> None:
    with pytest.raises(SourceError, match="KEY holds characters") as caught:
        secret_or_raise(Secrets(value), EnvRef(env="KEY"))
    assert "s3c" not in str(caught.value)


@pytest.mark.parametrize(
    ("interval", "seconds"), [(1, 60), (59, 60), (60, 60), (61, 61), (240, 240), (241, 240), (86400, 240)]
)
def test_a_poll_ends_before_its_source_is_taken_for_silent(interval: float, seconds: float) -> None:
    assert patience(interval) == seconds


@pytest.mark.parametrize(("interval", "seconds"), [(1, 300), (30, 300), (31, 310), (60, 600), (360, 3600), (400, 3600)])
def test_an_error_that_needs_somebody_is_retried_slowly(interval: float, seconds: float) -> None:
    for kind in (SourceErrorKind.CREDENTIALS, SourceErrorKind.CONFIGURATION):
        assert slow_retry(SourceError(kind, "x"), interval) == seconds


def test_any_other_error_waits_only_as_long_as_the_provider_asks() -> None:
    assert slow_retry(SourceError(SourceErrorKind.UNAVAILABLE, "x"), 60) is None
    assert slow_retry(SourceError(SourceErrorKind.RATE_LIMITED, "x", retry_after=17), 60) == 17
