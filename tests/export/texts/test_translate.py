"""Texts of rules as Prometheus prints them, by its own engine, beside what our templates print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from watchdog import templates
from watchdog.export import export
from watchdog.export.texts import translate
from watchdog.rules.model import Rule, Ruleset

LABELS = {
    "source": "s",
    "project": "p",
    "job": "j1",
    "job_name": 'llm "7b"',
    "gpu_type": "H100",
    "node": "n0",
    "gpu": "3",
}
OWN = {"severity": "page", "team": "{{ labels.owner or 'nobody' }}", "tier": "t{{ labels.gpu }}"}
FULL = {**LABELS, "severity": "page", "team": "nobody", "tier": "t3"}
JOB = {
    "id": "j1",
    "name": 'llm "7b"',
    "status": "running",
    "owner": "",
    "gpus": 16,
    "gpu_type": "H100",
    "cost_usd_per_hour": None,
    "error": "",
    "url": "",
}
VALUE, FOR, THRESHOLD = 0.12345, 240.0, 0.05
DATA = {"labels": FULL, "value": VALUE, "duration": 540.0, "job": JOB, "threshold": THRESHOLD}

SAME = [
    "plain {# a comment #}text with 100 % and \"quotes\" and 'more' and \\ and ×",
    "GPU {{ labels.gpu }} of {{ labels.job_name or labels.job }} on {{ labels['node'] }}",
    "{{ labels.owner or labels.nothing or 'nobody' }}|{{ labels.owner }}|",
    "{{ labels.owner | default('d', true) }}{{ labels.nothing | default('e') }}{{ labels.nothing | d }}",
    "{{ value | humanizePercentage }} {{ value | humanize }} {{ value | humanize1024 }} {{ value | humanizeDuration }}",
    "{{ value }} {{ '%.2f' | format(value) }} {{ '%s!' | format(labels.gpu) }} {{ value | float | humanize }}",
    "{{ (value * 100) | round(1) }} % and {{ (1 - value / 2 + 3 % 2) | humanize }} and {{ -value | humanize }}",
    "{{ threshold | humanizePercentage }} {{ threshold }} {{ 5 | humanizeDuration }} {{ 'x' | upper }}",
    "{{ 7 % 4 + 2.4 | round + 0.5 }}",
    "{{ duration | humanizeDuration }}{% if duration > 539 and duration < 541 %} right{% endif %}",
    "{{ labels.team }} {{ labels.severity }} {{ labels.alertname }}",
    "{{ job.id }} {{ job.name }} {{ job.gpu_type }} {{ job.owner or 'no owner' }} {{ job.status }}",
    "{{ job.gpus }} GPUs{% if job.cost_usd_per_hour %}, {{ job.cost_usd_per_hour }} $/h{% endif %}",
    "{{ job.gpus * 2 | float | int }} {{ job.cost_usd_per_hour }} {{ job.cost_usd_per_hour | humanize }}",
    "{% if job.gpus %}{{ job.gpus }} × H{% if not job.cost_usd_per_hour %}, free{% endif %}{% endif %}",
    "{% if value > 0.5 %}high{% elif value > 0.1 %}middle{% else %}low{% endif %}",
    "{% if job.gpus >= 16 and job.gpus != 17 %}big{% endif %}{% if 15 >= job.gpus %}small{% endif %}",
    "{% if labels.gpu == '3' and not labels.owner %}a{% endif %}{% if labels.gpu != '3' or labels.node %}b{% endif %}",
    "{% if labels.gpu in ['1', '3'] %}in{% endif %}{% if labels.gpu not in ('1', '3') %}out{% endif %}",
    "{% if 0 < value < 1 %}ratio{% endif %}{% if labels.gpu == 3 %}a{% endif %}{% if labels.gpu != 3 %}b{% endif %}",
    "{{ 'yes' if value > 0.1 else 'no' }}{{ 'some' if labels.owner }}{{ value if value > 1 else labels.gpu }}",
    "{% set who = labels.job_name or labels.job %}{{ who }}, {{ who | upper }}{% set who = who ~ '!' %} {{ who }}",
    "{{ labels.gpu ~ '/' ~ labels.node }} {{ (labels.owner or labels.node) | upper }} {{ labels.node | title }}",
    "{{ job.gpus or 'some' }} {{ job.cost_usd_per_hour or 'no price' }} {{ value or 'zero' }} {{ 'n: ' ~ value }}",
    "{% if labels.nothing is defined %}a{% else %}b{% endif %}{% if labels.gpu is not undefined %}c{% endif %}",
    "{% if job.cost_usd_per_hour is none %}no price{% endif %}{% if value is none %}x{% endif %}",
    "{% if threshold %}t{% endif %}",
    "{% if threshold is none or true %}a{% endif %}{% if false %}b{% endif %}{% if value and 1 %}c{% endif %}",
    "{% raw %}{{ $value }} {{ x }}{% endraw %} }} {",
    "{{ labels.job_name | lower }} {{ labels['gpu_type'] }}{{ '' or labels.gpu }}{{ 'x' or labels.gpu }}",
    "{{ value | default('x') }} {{ threshold | default('y') }}{% if value | humanize %} some{% endif %}",
]

OTHER = {
    "{{ job.error }}|{{ job.url }}": "unknown|unknown",
    "failed{% if job.error %}: {{ job.error }}{% endif %}": "failed",
    "{{ (value * 100) | round }} {{ value | round(2) }} {{ 7 | float }}": "12 0.12 7",
    "{{ value | int }}": "0",
    "{{ job.error | default('no error') }} {{ job.error or job.url or 'no page' }}": "no error no page",
}
"""What reads differently: facts that are in no metric; whole numbers without ``.0``."""

NEVER = {
    "{% for x in [1, 2] %}{{ x }}{% endfor %}": "for has no counterpart",
    "{{ labels.items() }}": "call has no counterpart",
    "{{ labels.job[:3] }}": "only labels and facts of the job can be looked up",
    "{{ labels }}": "labels alone has no counterpart",
    "{{ threshold.x }}": "threshold has no members",
    "{{ labels.job | truncate(3) }}": "the filter truncate has no counterpart",
    "{{ value | round(1, 'floor') }}": "the filter round has no counterpart with these arguments",
    "{{ '%d' | format(value) }}": "the filter format has a counterpart for one value",
    "{{ '%.1f %.1f' | format(value, value) }}": "the filter format has a counterpart for one value",
    "{{ labels.gpu | humanize }}": "what is not a number",
    "{{ labels.gpu > 3 }}": "compare has no counterpart",
    "{% if labels.gpu > 3 %}a{% endif %}": "a number and a text cannot be compared",
    "{% if (value | humanize) == '1' %}a{% endif %}": "what is not a number",
    "{% if labels.gpu in labels.node %}a{% endif %}": "in has a counterpart for a list",
    "{{ value | humanize | humanize }}": "what is not a number",
    "{{ labels.tier }}": "labels.tier is made by the rule, of several pieces",
    "{{ 'x' | humanize }}": "the filter humanize fails",
    "{% if value %}{% set x = 1 %}{% endif %}": "assign has no counterpart",
    "{{ value ~ labels.gpu | upper ~ (value | upper) }}": "a number where a text is needed",
    "{{ value is odd }}": "test has no counterpart",
    "{% if value is odd %}a{% endif %}": "test has no counterpart",
}


def rule(number: int, text: str) -> Rule:
    return Rule(
        f"T{number}",
        "gpu_utilization > 0.1",
        "r.toml:1",
        labels=OWN,
        summary=text,
        threshold=THRESHOLD,
    )


@pytest.fixture
def prints(promtool: Any, make_ruleset: Callable[..., Ruleset], named: Any) -> Callable[[Mapping[str, str]], None]:
    """Check what Prometheus prints for each of these templates."""
    of_job = {name: LABELS[name] for name in ("source", "project", "job", "job_name", "gpu_type")}

    def check(wanted: Mapping[str, str]) -> None:
        rules = [rule(number, text) for number, text in enumerate(wanted)]
        text = export(make_ruleset(*rules)).text
        promtool.check(text)
        held = {
            named("gpu_utilization", LABELS): [None] + [VALUE] * 15,
            named("job_status", {**of_job, "status": "running"}): [1.0] * 15,
            named("job_status", {**of_job, "status": "failed"}): [0.0] * 15,
            named("job_gpus", of_job): [16.0] * 15,
        }
        expected = {f"T{number}": {"summary": text.strip()} for number, text in enumerate(wanted.values())}
        promtool.expect(text, held, FULL, expected)

    return check


def test_prometheus_prints_what_our_templates_print(prints: Callable[[Mapping[str, str]], None]) -> None:
    wanted = {}
    for number, text in enumerate(SAME):
        data = {**DATA, "labels": {**FULL, "alertname": f"T{number}"}}
        wanted[text] = templates.render(templates.compile_template(text), data)
    prints(wanted)


def test_what_prometheus_prints_otherwise(prints: Callable[[Mapping[str, str]], None]) -> None:
    prints(OTHER)


def test_what_is_not_translated_is_told_and_a_built_in_text_stands_in_its_place(
    prints: Callable[[Mapping[str, str]], None],
) -> None:
    prints({text: f'T{number}: llm "7b" node n0 GPU 3' for number, text in enumerate(NEVER)})


@pytest.mark.parametrize(("text", "reason"), NEVER.items())
def test_the_reason_is_told(text: str, reason: str) -> None:
    found = translate(text, "A", THRESHOLD, OWN)
    assert found.text is None
    assert reason in found.notes[-1]


def test_a_fact_that_is_no_metric_is_noted_once() -> None:
    found = translate("{{ job.error }} {{ job.error }}", "A")
    assert (found.text, found.notes) == (
        "unknown unknown",
        ("job.error is no metric, so it is never known there",),
    )


def test_what_is_no_template_is_an_error() -> None:
    with pytest.raises(ValueError, match="is not a template"):
        translate("{{ value | humanise }}", "A")


def test_a_duration_counts_what_the_expression_proves() -> None:
    text = "{{ duration | humanizeDuration }}"
    assert " + 900.0" in (translate(text, "A", proves=900.0).text or "")
    assert " + " not in (translate(text, "A").text or "")
