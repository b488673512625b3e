"""The documentation names what there is: every key, every metric, every setting, every kind of source and receiver."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watchdog import templates
from watchdog.bootstrap import load_rules, rules_schema
from watchdog.promql.functions import AGGREGATIONS, FUNCTIONS
from watchdog.receivers import RECEIVER_TYPES
from watchdog.rules.checks import SAMPLE
from watchdog.rules.short_form import Reduce
from watchdog.settings import Settings
from watchdog.sources import SOURCE_TYPES
from watchdog.vocabulary import METRICS, Scope

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RULES = (DOCS / "rules.md").read_text(encoding="utf-8")
METRICS_PAGE = (DOCS / "metrics.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "rules.example.toml"


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every row of every table."""
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def named_keys(text: str) -> set[str]:
    """What stands in code style in the first cells of the tables."""
    return {name for cells in rows(text) for name in re.findall(r"`([^`]+)`", cells[0])}


def keys_of(table: str) -> set[str]:
    properties: Any = rules_schema()["properties"]
    shape = properties[table]
    return set(shape.get("items", shape)["properties"])


def test_every_metric_has_a_row_with_its_unit_scope_and_words() -> None:
    written = {cells[0].strip("`"): cells[1:] for cells in rows(METRICS_PAGE) if cells[0].strip("`") in METRICS}
    assert written == {
        name: [metric.unit, metric.scope.value, metric.help.rstrip()] for name, metric in METRICS.items()
    }


def test_every_scope_has_its_labels() -> None:
    text = {cells[0]: cells[1] for cells in rows(section(METRICS_PAGE, "Labels"))}
    job = set(re.findall(r"`(\w+)`", text["job"]))
    status = METRICS["job_status"]
    for scope in Scope:
        labels = next(set(metric.labels) for metric in METRICS.values() if metric.scope is scope and metric != status)
        named = set(re.findall(r"`(\w+)`", text[scope.value])) | (
            job if "those of the job" in text[scope.value] else set()
        )
        assert named == labels, scope
    assert set(status.labels) == job | {"status"}


@pytest.mark.parametrize("table", ["poll", "routes", "rules"])
def test_every_key_of_the_rules_file_has_a_row(table: str) -> None:
    assert keys_of(table) - named_keys(RULES) == set()


def test_no_row_is_of_a_key_that_there_is_not() -> None:
    known = keys_of("poll") | keys_of("routes") | keys_of("rules")
    pages = [section(RULES, title) for title in ("How often", "An expression", "Keys of both", "Routes")]
    pages.append(section(RULES, "A threshold").split("It is short for")[0])
    assert {name for page in pages for name in named_keys(page)} - known - {"[poll]"} == set()


def test_the_words_that_a_key_may_have_are_named() -> None:
    for word in Reduce.__args__:  # type: ignore[attr-defined]
        assert f"`{word}`" in section(RULES, "A threshold")


def test_every_function_of_the_engine_is_named_and_no_other() -> None:
    text = section((DOCS / "promql.md").read_text(encoding="utf-8"), "What can be used")
    assert {name for name in (*FUNCTIONS, *AGGREGATIONS) if f"`{name}`" not in text} == set()


def test_everything_that_a_template_may_name_is_named() -> None:
    text = section(RULES, "Templates")
    filters = {"humanize", "humanize1024", "humanizeDuration", "humanizePercentage"}
    assert {name for name in (*templates.DATA_NAMES, *SAMPLE["job"], *filters) if f"`{name}`" not in text} == set()


def test_what_the_filters_print_is_so() -> None:
    table = [cells for cells in rows(section(RULES, "Templates")) if cells[0] == "filter" or "humanize" in cells[0]]
    (_, *numbers), *filters = table
    for name, *texts in filters:
        template = templates.compile_template("{{ value | " + name.strip("`") + " }}")
        assert [templates.render(template, {"value": float(number)}) for number in numbers] == texts


@pytest.mark.parametrize("name", sorted(set(Settings.model_fields) - {"api_token"}))  # no command takes a token yet
def test_every_setting_has_a_row(name: str) -> None:
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    assert f"WATCHDOG_{name.upper()}" in named_keys(page)


@pytest.mark.parametrize(
    ("folder", "kind", "model"),
    [("sources", kind, entry.config) for kind, entry in sorted(SOURCE_TYPES.items())]
    + [("receivers", kind, entry.config) for kind, entry in sorted(RECEIVER_TYPES.items())],
)
def test_every_source_and_receiver_has_a_page_that_names_its_keys(folder: str, kind: str, model: Any) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (DOCS / folder).glob(f"{kind}*.md")]
    assert pages
    own = set(model.model_fields) - {"name", "type"}
    assert {key for key in own if f"`{key}`" not in "".join(pages) and f"{key} = " not in "".join(pages)} == set()


def test_the_example_holds_every_key_of_the_file_format_once() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    written = set(re.findall(r"^(?:# )?(\w+) += ", text, re.MULTILINE))
    for table in ("poll", "routes", "rules"):
        assert keys_of(table) - written == set(), table
    assert len(load_rules(EXAMPLE).rules) >= 12


def test_every_link_of_the_docs_leads_somewhere() -> None:
    for page in (*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith(("http://", "https://")) or (page.parent / target).exists(), f"{page}: {target}"


def test_every_test_that_the_comparison_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (DOCS / "compared.md").read_text(encoding="utf-8"))
    assert len(named) >= 25
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_the_alerts_for_prometheus_fire_when_they_should() -> None:
    for command in ("check", "test"):
        file = DOCS / "prometheus" / ("watchdog.rules.yml" if command == "check" else "watchdog.test.yml")
        done = subprocess.run(["promtool", command, "rules", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_alerts_for_prometheus_read_metrics_that_there_are() -> None:
    named = named_keys((DOCS / "http.md").read_text(encoding="utf-8"))
    used = re.findall(r"\bwatchdog_\w+", (DOCS / "prometheus" / "watchdog.rules.yml").read_text(encoding="utf-8"))
    assert len(set(used)) >= 9
    assert set(used) - named == set()
