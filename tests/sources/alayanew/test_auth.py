from typing import Any

import pytest

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.alayanew import AlayaNewConfig
from watchdog.sources.alayanew.auth import authorizer, signature

PAIR = {"access_key": {"env": "AK"}, "secret_key": {"env": "SK"}}


def config(**options: Any) -> AlayaNewConfig:
    return AlayaNewConfig.model_validate({"name": "a", "type": "alayanew", "discover": True, **options})


def test_the_signature_is_that_of_the_public_test_vector() -> None:
    path = "/api/osm/v1/product/list-for-training-task"
    expected = "75b861affb0513a335904a768af94f065b1fe0eb2fe980b5223883b151db639b"
    assert signature("test-secret", 123456, "GET", path) == expected


def test_a_pair_of_keys_signs_with_the_time_in_milliseconds(bench: Any) -> None:
    bench.secrets.values |= {"AK": "test-access\n", "SK": "test-secret"}
    bench.clock.now = 123.456
    made = authorizer(config(**PAIR), bench.secrets, bench.clock)("GET", "/api/osm/v1/product/list-for-training-task")
    code = "75b861affb0513a335904a768af94f065b1fe0eb2fe980b5223883b151db639b"
    assert made.header == f"alayanew-HMAC-SHA256 test-access:123456:{code}"
    assert set(made.secrets) == {"test-access", "test-secret", code}


def test_an_api_key_is_a_bearer(bench: Any) -> None:
    made = authorizer(config(), bench.secrets, bench.clock)("GET", "/x")
    assert (made.header, made.secrets) == ("Bearer an-secret-1", ("an-secret-1",))


@pytest.mark.parametrize(("present", "missing"), [({}, "AK"), ({"AK": "a"}, "SK")])
def test_a_key_that_is_not_set_is_named(bench: Any, present: dict[str, str], missing: str) -> None:
    bench.secrets.values |= present
    with pytest.raises(SourceError, match=f"{missing} is not set") as caught:
        authorizer(config(**PAIR), bench.secrets, bench.clock)("GET", "/x")
    assert caught.value.kind is SourceErrorKind.CREDENTIALS
