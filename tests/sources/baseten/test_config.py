import pytest
from pydantic import ValidationError

from watchdog.sources.baseten import BasetenConfig


def config(**options: object) -> BasetenConfig:
    return BasetenConfig.model_validate({"name": "b", "type": "baseten", **options})


def test_all_projects_are_watched_by_default() -> None:
    found = config()
    assert found.watched_projects == ("*",)
    assert found.base_url == "https://api.baseten.co"
    assert (found.api_key.env, found.step, found.timeout, found.prices) == ("BASETEN_API_KEY", 60, 30, True)


@pytest.mark.parametrize(
    ("options", "projects"),
    [
        ({"jobs": ["a"]}, ()),
        ({"jobs": ["a"], "projects": ["*"]}, ("*",)),
        ({"jobs": ["a"], "projects": ["p"]}, ("p",)),
        ({"jobs": ["a"], "projects": []}, ()),
        ({"projects": ["p", "q"]}, ("p", "q")),
    ],
)
def test_naming_jobs_only_watches_only_those(options: dict[str, object], projects: tuple[str, ...]) -> None:
    assert config(**options).watched_projects == projects


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"projects": ["*", "p"]}, "keep one of the two"),
        ({"projects": []}, "nothing to watch; write projects"),
        ({"step": "1.5s"}, "not a whole number of seconds"),
        ({"step": "0.5s"}, "not a whole number of seconds"),
        ({"step": 60}, 'write "60s"'),
        ({"type": "other"}, "baseten"),
        ({"projekts": ["p"]}, "Extra inputs"),
    ],
)
def test_mistakes_are_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        config(**options)


def test_a_step_of_one_second_is_the_shortest() -> None:
    assert config(step="1s").step == 1
