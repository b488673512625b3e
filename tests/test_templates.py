"""Templates: Prometheus's filters, and nothing a template does harms anybody."""

from __future__ import annotations

import math
from typing import Any

import pytest

from watchdog import templates
from watchdog.templates import compile_template, render, render_or_explain

DATA: dict[str, Any] = {
    "labels": {"gpu": "3", "job_name": "llm"},
    "value": 0.1234,
    "duration": 3723.0,
    "job": {"name": "llm", "cost": None},
    "threshold": None,
}


def shown(text: str, data: dict[str, Any] | None = None) -> str:
    return render(compile_template(text), DATA if data is None else data)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (999.0, "999"),
        (1000.0, "1k"),
        (1234567.0, "1.235M"),
        (-1500.0, "-1.5k"),
        (0.001, "1m"),
        (0.12, "120m"),
        (1.5e-8, "15n"),
        (1e-30, "1e-06y"),
        (1e28, "1e+04Y"),
        (math.nan, "NaN"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        ("1500", "1.5k"),
        (None, "unknown"),
    ],
)
def test_humanize(value: object, text: str) -> None:
    assert shown("{{ value | humanize }}", {"value": value}) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1"),
        (1023.0, "1023"),
        (1024.0, "1ki"),
        (80 * 2.0**30, "80Gi"),
        (2.0**93, "8192Yi"),
        (-2048.0, "-2ki"),
        (None, "unknown"),
    ],
)
def test_humanize1024(value: object, text: str) -> None:
    assert shown("{{ value | humanize1024 }}", {"value": value}) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0s"),
        (0.1, "100ms"),
        (0.9999, "999.9ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (59.9, "59.9s"),
        (60, "1m 0s"),
        (61.9, "1m 1s"),
        (3599, "59m 59s"),
        (3600, "1h 0m 0s"),
        (86399, "23h 59m 59s"),
        (86400, "1d 0h 0m 0s"),
        (-3723, "-1h 2m 3s"),
        (-1.5, "-1.5s"),
        (None, "unknown"),
    ],
)
def test_humanize_duration(value: object, text: str) -> None:
    assert shown("{{ value | humanizeDuration }}", {"value": value}) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234567, "12.35%"), (1, "100%"), (0, "0%"), (math.nan, "NaN%"), (-math.inf, "-Inf%"), (None, "unknown")],
)
def test_humanize_percentage(value: object, text: str) -> None:
    assert shown("{{ value | humanizePercentage }}", {"value": value}) == text


def test_what_is_missing_is_empty_and_what_is_unknown_says_so() -> None:
    assert shown("[{{ labels.owner }}][{{ job.node.name }}][{{ threshold }}]") == "[][][unknown]"
    assert shown("{{ labels.owner | humanize }}") == "unknown"
    assert shown("{{ labels.owner or labels.job_name }}") == "llm"
    assert shown("{{ value * 2 }}") == "0.2468"
    assert shown("{% if labels.node %}x{% endif %}.") == "."


@pytest.mark.parametrize(
    "text",
    [
        "{{ labels.gpu",
        "{{ value | humanise }}",
        "{% if value %}{{ 1 | humanise }}{% endif %}",
        "{% if %}",
        "{% for x in y %}",
    ],
)
def test_a_text_that_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^is not a template: line 1: ."):
        compile_template(text)


def test_a_template_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        compile_template("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ labels.job_name | humanize }}", "could not convert"),
        ("{{ labels | humanize }}", "a number is wanted here"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ value + 'x' }}", "is for two numbers"),
        ("{{ ().__class__.__bases__ }}", "SecurityError"),
        ("{{ labels.update({'a': 'b'}) }}", "SecurityError"),
        ("{% for i in range(10) %}x{% endfor %}", "UndefinedError"),
        ("{{ 'x'.encode('nonsense') }}", "SecurityError"),
        ("{{ 'x'.center(9999999999) }}", "SecurityError"),
        ("{{ '%999999999d' % 1 }}", "SecurityError"),
        ("{{ 'a' | format(1) }}", "TypeError"),
        ("{{ '%999999999d' | format(1) }}", "widths of at most 999"),
        ("{{ '%*d' | format(999999999, 1) }}", "widths of at most 999"),
        ("{{ 'x' * 1000000000 }}", "SecurityError"),
        ("{{ 9 ** 9 }}", "SecurityError"),
    ],
)
def test_a_template_that_fails_names_the_error(text: str, reason: str) -> None:
    template = compile_template(text)
    with pytest.raises(ValueError, match=reason):
        render(template, DATA)
    explained = render_or_explain(template, DATA)
    assert reason in explained
    assert text in explained


def test_a_text_that_must_say_something_never_comes_out_blank() -> None:
    nothing = compile_template(" {{ labels.owner }}")
    assert render_or_explain(nothing, DATA, blank=False) == "[template prints nothing]  {{ labels.owner }}"
    assert render_or_explain(nothing, DATA) == " "
    assert render_or_explain(compile_template(""), DATA) == ""
    assert render_or_explain(compile_template("{{ labels.gpu }}"), DATA, blank=False) == "3"


def test_the_names_of_a_template_are_found_in_all_branches() -> None:
    text = """{% set a = value %}{% if b %}{{ labels.gpu.upper() }}{% else %}{{ labels["node"] }}{% endif %}
{{ job.name }}{{ job["gpus"] }}{{ labels[a] }}{% for x in labels %}{{ x }}{% endfor %}{{ a.job }}"""
    names = templates.names_in(compile_template(text))
    assert names.variables == {"value", "b", "labels", "job"}
    assert names.labels == {"gpu", "node"}
    assert names.job == {"name", "gpus"}


@pytest.mark.parametrize(("size", "length"), [(3999, 3999), (4000, 4000), (4001, 4000)])
def test_output_is_capped(size: int, length: int) -> None:
    text = shown("{{ labels.big }}", {"labels": {"big": "x" * size}})
    assert len(text) == length
    assert text.endswith("…") == (size > templates.MAX_OUTPUT)


def test_output_of_many_pieces_stops_at_the_cap() -> None:
    text = shown("{% for x in many %}{{ x }}{% endfor %}", {"many": ["ab"] * 100_000})
    assert len(text) == templates.MAX_OUTPUT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "macros are not allowed"),
        ("{{ 'a' | center(9999999999) }}", "no filter named 'center'"),
        ("{{ 'a' | batch(1000000000, 'x') | list }}", "no filter named 'batch'"),
        ("{% set a = value ~ 'x' %}{% set b = a ~ a %}", "a is put together already"),
        ("{% set a = value + 'x' %}{% set b = a %}{% set c = b + b %}", "b is put together already"),
    ],
)
def test_what_could_fill_the_memory_is_refused_at_load(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        templates.compile_template(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% set who = labels.job ~ '/' ~ labels.gpu %}{{ who | upper }}", "J1/0"),
        ("{{ 'a-b' | replace('-', '+') }}{{ '%.1f' | format(value) }}{{ 7 % 4 }}{{ 'x' + 'y' }}", "a+b0.53xy"),
        ("{{ labels.job.split('j') | last }}", "1"),
    ],
)
def test_ordinary_texts_are_put_together(text: str, expected: str) -> None:
    data = {"labels": {"job": "j1", "gpu": "0"}, "value": 0.5}
    assert templates.render(templates.compile_template(text), data) == expected


def test_replace_makes_no_endless_text() -> None:
    template = compile_template("{{ labels.gpu | replace('a', labels.gpu) }}")
    assert render(template, {"labels": {"gpu": "a" * 63}}) == "a" * 63 * 63
    with pytest.raises(ValueError, match="more than 4000 characters"):
        render(template, {"labels": {"gpu": "a" * 64}})
