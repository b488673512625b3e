from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from watchdog.sources.alayanew import AlayaNewConfig
from watchdog.sources.alayanew.config import zone_of

AK, SK = {"env": "AK"}, {"env": "SK"}


def config(**options: object) -> AlayaNewConfig:
    return AlayaNewConfig.model_validate({"name": "a", "type": "alayanew", "jobs": ["1"], **options})


def test_the_defaults_are_those_of_the_api_document() -> None:
    found = config()
    assert (found.base_url, found.path_prefix, found.timezone) == ("https://api.alayanew.com", "", "Asia/Shanghai")
    assert [ref.env for ref in found.secrets] == ["ALAYANEW_API_KEY"]
    assert (found.discover, found.step, found.timeout) == (False, 60, 30)


@pytest.mark.parametrize("options", [{"jobs": ["1"]}, {"jobs": [], "discover": True}, {"discover": True}])
def test_jobs_or_discovery_is_enough(options: dict[str, object]) -> None:
    assert config(**options)


def test_a_pair_of_keys_takes_the_place_of_the_api_key() -> None:
    assert [ref.env for ref in config(access_key=AK, secret_key=SK).secrets] == ["AK", "SK"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"jobs": []}, "nothing to watch; write jobs = .* or discover = true"),
        ({"access_key": AK}, "belong together"),
        ({"secret_key": SK}, "belong together"),
        ({"access_key": AK, "secret_key": SK, "api_key": {"env": "KEY"}}, "two kinds of credentials; keep one"),
        ({"timezone": "Asia/Shanghia"}, '"Asia/Shanghia" is not a time zone here; write one such as'),
        ({"timezone": ""}, "not a time zone"),
        ({"timezone": "/etc/passwd"}, "not a time zone"),
        ({"timezone": "Europe"}, "not a time zone"),
        ({"path_prefix": "api/osm"}, 'write one such as "/api/osm"'),
        ({"path_prefix": "/api osm"}, "not the beginning of a path"),
        ({"path_prefix": "/api?x=1"}, "not the beginning of a path"),
        ({"region": "cn"}, "Extra inputs"),
    ],
)
def test_mistakes_are_refused_with_a_remedy(options: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        config(**options)


@pytest.mark.parametrize(("given", "kept"), [("", ""), ("/", ""), ("/api/osm", "/api/osm"), ("/api/osm/", "/api/osm")])
def test_a_prefix_is_kept_without_its_last_slash(given: str, kept: str) -> None:
    assert config(path_prefix=given).path_prefix == kept


@pytest.mark.parametrize("name", ["Asia/Shanghai", "UTC"])
def test_the_zones_that_are_built_in_are_those_of_the_database(name: str) -> None:
    moment = datetime(2026, 7, 1, 12)  # noqa: DTZ001  # a wall clock
    assert zone_of(name).utcoffset(moment) == ZoneInfo(name).utcoffset(moment)


def test_any_zone_of_the_database_may_be_named() -> None:
    assert zone_of("Europe/Berlin").utcoffset(datetime(2026, 7, 1)) == timedelta(hours=2)  # noqa: DTZ001
