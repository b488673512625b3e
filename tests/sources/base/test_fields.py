import pytest
from pydantic import ValidationError

from watchdog.sources.baseten import BasetenConfig


def config(**options: object) -> BasetenConfig:
    return BasetenConfig.model_validate({"name": "b", "type": "baseten", **options})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/", "https://api.example.com"),
        ("http://127.0.0.1:8080/baseten/", "http://127.0.0.1:8080/baseten"),
    ],
)
def test_an_address_is_kept_without_its_last_slash(given: str, kept: str) -> None:
    assert config(base_url=given).base_url == kept


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("api.example.com", "not a web address"),
        ("ftp://api.example.com", "not a web address"),
        ("https://", "not a web address"),
        ("https://api.example.com:port", "not a web address"),
        ("https://api exam.ple", "not a web address"),
        ("https://[::1", "not a web address"),
        ("https://exämple.com", "not a web address"),
        ("https://user:pass@api.example.com", "user name or password"),
        ("https://api.example.com/?key=1", r"holds a \? or #"),
        ("https://api.example.com/#a", r"holds a \? or #"),
    ],
)
def test_an_address_that_is_none_is_refused_with_a_remedy(given: str, text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        config(base_url=given)


@pytest.mark.parametrize(("given", "text"), [(["a", " "], "empty id"), (["a", "b", "a"], 'names "a" twice')])
def test_ids_are_not_empty_and_not_repeated(given: list[str], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        config(jobs=given)


def test_a_timeout_is_above_zero() -> None:
    assert config(timeout="1ms").timeout == 0.001
    with pytest.raises(ValidationError, match="greater than 0"):
        config(timeout=0)
