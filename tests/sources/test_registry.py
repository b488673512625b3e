import importlib
import pkgutil
from typing import get_args

import pytest

import watchdog.sources
from watchdog.config import SourceConfig
from watchdog.errors import UsageError
from watchdog.sources import SOURCE_TYPES

SHARED = {"base", "http"}


def test_every_provider_is_in_the_registry() -> None:
    modules = {module.name for module in pkgutil.iter_modules(watchdog.sources.__path__)}
    assert modules - SHARED == set(SOURCE_TYPES)


@pytest.mark.parametrize("kind", sorted(SOURCE_TYPES))
def test_the_type_of_a_section_is_its_key_in_the_registry(kind: str) -> None:
    found = SOURCE_TYPES[kind]
    assert issubclass(found.config, SourceConfig)
    assert get_args(found.config.model_fields["type"].annotation) == (kind,)
    assert importlib.import_module(f"watchdog.sources.{kind}").build is found.build


@pytest.mark.parametrize("kind", sorted(SOURCE_TYPES))
def test_a_section_can_be_described_as_a_schema(kind: str) -> None:
    assert SOURCE_TYPES[kind].config.model_json_schema()["additionalProperties"] is False


@pytest.mark.parametrize(
    ("kind", "options", "variable"),
    [
        ("baseten", {}, "BASETEN_API_KEY"),
        ("baseten", {"api_key": {"env": "OTHER"}}, "OTHER"),
        ("alayanew", {"discover": True}, "ALAYANEW_API_KEY"),
        ("alayanew", {"discover": True, "access_key": {"env": "AK"}, "secret_key": {"env": "SK"}}, "AK"),
    ],
)
def test_a_secret_that_is_not_set_is_named(bench, kind, options, variable) -> None:  # type: ignore[no-untyped-def]
    bench.secrets.values.clear()
    with pytest.raises(UsageError, match=f'source "s": {variable} is not set; set it, or {variable}_FILE'):
        bench.source(kind, **options)
