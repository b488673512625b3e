"""The rules file as a whole: what it becomes, and all of its mistakes at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from watchdog.config import ReceiverConfig, SourceConfig
from watchdog.errors import Problem, RulesError
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules import load
from watchdog.rules.model import Flapping, Inhibit, MuteTime, Ruleset
from watchdog.sources.base.fields import Seconds

Load = Callable[[str], Ruleset]
LoadPath = Callable[[Path], Ruleset]
Problems = Callable[[str], list[Problem]]


class Stepped(SourceConfig):
    step: Seconds = 60.0


HEAD = """\
[[sources]]
name = "baseten"
type = "baseten"
[[receivers]]
name = "ml"
type = "console"
[[routes]]
receivers = ["ml"]
"""
RULE = '[[rules]]\nalert = "A"\n'
"""Lines 9 and 10 of a file."""
GOOD = HEAD + RULE + 'metric = "gpu_utilization"\nbelow = "5%"\n'


def test_a_short_rule_becomes_promql(load_text: Load) -> None:
    ruleset = load_text(GOOD + 'window = "20m"\nclear = "15%"\ngrace = "30m"\nfor = "1m"\n')
    rule = ruleset.rules[0]
    assert rule.expr == "max_over_time(gpu_utilization[20m]) < 0.05"
    assert rule.clear_expr == "max_over_time(gpu_utilization[20m]) >= 0.15"
    assert (rule.metric, rule.threshold) == ("gpu_utilization", 0.05)
    assert (rule.grace, rule.for_seconds, rule.keep_firing_for, rule.min_coverage) == (1800.0, 60.0, 0.0, 0.8)
    assert rule.labels == {"severity": "warning"}
    assert rule.place.endswith("rules.toml:9")
    assert ruleset.interval == 60.0


def test_a_long_rule_is_taken_as_it_is(load_text: Load) -> None:
    rule = load_text(
        HEAD
        + RULE
        + """expr = 'source_up == 0'
clear_expr = 'source_up == 1'
keep_firing_for = "5m"
no_data = "alert"
min_coverage = 0.5
labels = { severity = "critical", team = "{{ labels.owner }}" }
summary = "down"
description = "d"
runbook_url = "https://example.com/{{ labels.source }}"
group_by = ["source"]
"""
    ).rules[0]
    assert (rule.expr, rule.clear_expr) == ("source_up == 0", "source_up == 1")
    assert (rule.keep_firing_for, rule.no_data, rule.event, rule.min_coverage) == (300.0, "alert", False, 0.5)
    assert rule.labels == {"severity": "critical", "team": "{{ labels.owner }}"}
    assert (rule.summary, rule.description) == ("down", "d")
    assert rule.group_by == ("source",)
    assert (rule.metric, rule.threshold) == (None, None)


@pytest.mark.parametrize(
    ("rule", "summary"),
    [
        (
            'metric = "gpu_utilization"\nbelow = "5%"\n',
            "gpu_utilization below {{ threshold | humanizePercentage }} (now",
        ),
        ('metric = "cache_usage_bytes"\nabove = "8GiB"\nwindow = "5m"\n', "{{ threshold | humanize1024 }} for 5m (now"),
        ('metric = "job_pending_seconds"\nabove = "8h"\n', "{{ threshold | humanizeDuration }} (now"),
        ('metric = "gpu_power_watts"\nabove = 600\n', "above {{ threshold | humanize }} (now"),
        ("expr = 'source_up == 0'\n", "A: {{ labels.job_name"),
    ],
)
def test_a_rule_without_words_gets_some(load_text: Load, rule: str, summary: str) -> None:
    assert summary in load_text(HEAD + RULE + rule).rules[0].summary


def test_matchers_choose_the_series_of_a_threshold(load_text: Load) -> None:
    rule = load_text(GOOD + """match = ['job_name=~"llm.*"', 'node!="a\\"b"']\nwindow = "5m"\nclear = "6%"\n""").rules[
        0
    ]
    selector = r'gpu_utilization{job_name=~"llm.*", node!="a\"b"}[5m]'
    assert rule.expr == f"max_over_time({selector}) < 0.05"
    assert rule.clear_expr == f"max_over_time({selector}) >= 0.06"


def test_routes_keep_their_terms(load_text: Load) -> None:
    route, last = load_text(
        GOOD.replace(
            "[[routes]]\n",
            """[[routes]]
match = ['severity="critical"', 'job_name=~"llm.*"']
receivers = ["ml"]
continue = true
group_by = ["job"]
group_wait = "5s"
repeat_interval = "1h"
[[routes]]
""",
        )
    ).routes
    assert route.matchers == (
        Matcher("severity", MatchOp.EQUAL, "critical"),
        Matcher("job_name", MatchOp.REGEX, "llm.*"),
    )
    assert (route.continue_, route.group_by, route.group_wait, route.repeat_interval) == (True, ("job",), 5.0, 3600.0)
    assert (last.matchers, last.continue_, last.group_by, last.group_wait) == ((), False, None, None)
    assert last.repeat_interval == 4 * 3600.0
    assert last.place.endswith(":14")


TEN = """\
[poll]
intervall = "60s"
[[sources]]
name = "baseten"
type = "basten"
[[receivers]]
name = "ml"
type = "slack"
channel = "a b"
[[routes]]
match = ["severity=critical"]
receivers = ["mll"]
[[rules]]
alert = "A"
metric = "gpu_utilisation"
below = "5%"
[[rules]]
alert = "A"
expr = 'sum(gpu_utilization'
[[rules]]
alert = "B"
metric = "gpu_utilization"
below = "5%"
window = "1m"
clear = "4%"
for = "10s"
[[rules]]
alert = "C"
expr = 'histogram_quantile(0.9, gpu_utilization) > 1'
summary = "{{ value | humanise }}"
"""
EXPECTED = [
    (2, "poll.intervall", "unknown key", "did you mean interval?"),
    (5, "sources[0].type", "unknown type basten", "did you mean baseten?"),
    (9, "receivers[0].channel", "should match pattern '^\\S+$'", "the value is 'a b'; correct it"),
    (11, "routes[0].match[0]", "'severity=critical' is not a matcher", 'write label="value" with = != =~'),
    (12, "routes[0].receivers[0]", "no receiver is named mll", "did you mean ml?"),
    (15, "rules[0].metric", "unknown metric gpu_utilisation", "did you mean gpu_utilization?"),
    (18, "rules[1].alert", "A is also the name at", "choose another"),
    (19, "rules[1].expr", "at character 4", "docs/rules.md"),
    (24, "rules[2].window", "the window 1m cannot hold two samples that are 1m apart", "make it 2m or longer"),
    (25, "rules[2].clear", "is on the side where the alert fires (below 0.05)", "set it at or above the limit"),
    (26, "rules[2].for", "10s is shorter than the poll interval, 1m", 'write "1m" or more'),
    (29, "rules[3].expr", "the function histogram_quantile cannot be used", ""),
    (30, "rules[3].summary", "is not a template: line 1: no filter named 'humanise'", "did you mean humanize?"),
]


def test_all_mistakes_are_told_at_once_with_place_reason_and_remedy(problems_of: Problems) -> None:
    found = problems_of(TEN)
    assert [(problem.line, problem.key) for problem in found] == [(line, key) for line, key, _, _ in EXPECTED]
    for problem, (_, _, reason, remedy) in zip(found, EXPECTED, strict=True):
        assert reason in problem.reason
        assert remedy in problem.remedy
        assert problem.remedy
        assert problem.file.endswith("rules.toml")


@pytest.mark.parametrize(
    ("rule", "line", "key", "reason"),
    [
        ("", 9, "rules[0]", "has neither metric nor expr"),
        ('metric = "gpu_utilization"\n', 11, "rules[0].metric", "has no limit"),
        ('metric = "gpu_utilization"\nbelow = 0\nabove = 1\n', 13, "rules[0].above", "stands beside below"),
        ('metric = "gpu_utilization"\nbelow = 0\nexpr = "source_up"\n', 13, "rules[0].expr", "stands beside metric"),
        ('metric = "gpu_utilization"\nbelow = 0\nclear_expr = "source_up"\n', 13, "rules[0].clear_expr", "belongs to"),
        ('expr = "source_up"\nbelow = 0\n', 12, "rules[0].below", "belongs to metric"),
        ('expr = "source_up"\nclear = 0\n', 12, "rules[0].clear", "belongs to metric"),
        ('metric = "gpu_utilization"\nbelow = 5\n', 12, "rules[0].below", "more than all of a ratio"),
        ('metric = "gpu_utilization"\nbelow = true\n', 12, "rules[0].below", "should be a valid number or should be"),
        ('metric = "gpu_utilization"\nbelow = 0\nreduce = "avg"\n', 13, "rules[0].reduce", "has no window"),
        ('metric = "gpu_utilization"\nbelow = 0\nreduce = "mean"\n', 13, "rules[0].reduce", "should be 'avg'"),
        ('metric = "gpu_utilization"\nabove = "90%"\nclear = "91%"\n', 13, "rules[0].clear", "is on the side"),
        ('metric = "gpu_utilization"\nabove = "90%"\nclear = "x"\n', 13, "rules[0].clear", '"x" is not a quantity'),
        ('expr = "source_up"\nfor = 5\n', 12, "rules[0].for", "has no unit"),
        ('expr = "source_up"\nsummary = "   "\n', 12, "rules[0].summary", "prints nothing"),
        ('expr = "source_up"\nsummary = "{# x #}"\n', 12, "rules[0].summary", "prints nothing"),
        ('metric = "gpu_utilization"\nbelow = 0\nsummary = "{# x #}"\n', 13, "rules[0].summary", "prints nothing"),
        ('expr = "source_up"\nfor_ = "5m"\n', 12, "rules[0].for_", "unknown key"),
        ("expr = '{job=\"x\"} > 1'\n", 11, "rules[0].expr", "names no metric, at character 1"),
        ('expr = "source_upp"\n', 11, "rules[0].expr", "unknown metric source_upp, at character 1: source_upp"),
        ('expr = "max_over_time(source_up[119s])"\n', 11, "rules[0].expr", "the window 1m59s cannot hold"),
        ('expr = "1 + time()"\n', 11, "rules[0].expr", "gives a number, not series"),
        ('expr = "source_up[10m]"\n', 11, "rules[0].expr", "gives a range of samples, not series"),
        ("expr = '\"a\"'\n", 11, "rules[0].expr", "gives a text, not series"),
        ('expr = "source_up @ 5 > 0"\n', 11, "rules[0].expr", "reads at a fixed time"),
        ('expr = "max_over_time(source_up[7d:1h] offset 1s)"\n', 11, "rules[0].expr", "reads 7d5m1s back; 7d are kept"),
        ('expr = "max_over_time(source_up[3m:2m])"\n', 11, "rules[0].expr", "the subquery cannot hold two steps"),
        ('expr = "source_up"\nclear_expr = "source_up +"\n', 12, "rules[0].clear_expr", "at character"),
        ('expr = "source_up"\nlabels = { job = "x" }\n', 12, "rules[0].labels.job", "says what the alert is about"),
        ('expr = "source_up"\nlabels = { a = "{{" }\n', 12, "rules[0].labels.a", "is not a template"),
        ('expr = "source_up"\nlabels = { a-b = "x" }\n', 12, "rules[0].labels.a-b", "should match"),
        ('expr = "source_up"\nseverity = "{{"\n', 12, "rules[0].severity", "is not a template"),
        ('expr = "source_up"\nseverity = "a"\nlabels = { severity = "b" }\n', 12, "rules[0].severity", "is also in"),
        ('expr = "source_up"\ndescription = "{{ 1 / 0 }}"\n', 12, "rules[0].description", "fails: ZeroDivision"),
        ('expr = "source_up"\nmatch = ["a=b"]\n', 12, "rules[0].match", "belongs to metric"),
        ('metric = "gpu_utilization"\nbelow = 0\nmatch = ["a=b"]\n', 13, "rules[0].match[0]", "is not a matcher"),
        (
            """metric = "gpu_utilization"\nbelow = 0\nmatch = ['gpus="0"']\n""",
            13,
            "rules[0].match[0]",
            "gpu_utilization has no label gpus",
        ),
        ("expr = 'source_up{job=\"x\"} > 1'\n", 11, "rules[0].expr", "source_up has no label job"),
        ("expr = 'job_status{state=\"failed\"} == 1'\n", 11, "rules[0].expr", "job_status has no label state"),
        (
            'expr = "max by (jobb) (gpu_utilization) > 1"\n',
            11,
            "rules[0].expr",
            "no metric of the expression has a label jobb, at character 1: max",
        ),
        (
            'expr = "gpu_utilization > on (job, nodes) gpu_power_watts"\n',
            11,
            "rules[0].expr",
            "no metric of the expression has a label nodes, at character 17: >",
        ),
        ('expr = "source_up"\nevent = true\nkeep_firing_for = "5m"\n', 13, "rules[0].keep_firing_for", "is about"),
        ('expr = "source_up"\nevent = true\nclear_expr = "source_up"\n', 13, "rules[0].clear_expr", "is about"),
        ('expr = "source_up"\nevent = true\nwaste = true\n', 13, "rules[0].waste", "is about how long it lasts"),
        ("expr = 'job_status{status=\"failed\"} == 1'\n", 11, "rules[0].expr", "would never fire"),
        ('expr = \'job_status{status="failed"} == 1\'\nevent = true\nfor = "5m"\n', 13, "rules[0].for", "never fire"),
        ('expr = "source_up"\nseverity = "critcal"\n', 12, "rules[0].severity", "critcal is no severity"),
        ('expr = "source_up"\nlabels.severity = "warn"\n', 12, "rules[0].labels.severity", "warn is no severity"),
        ('expr = "source_up"\ngroup_by = ["sorce"]\n', 12, "rules[0].group_by[0]", "no alert has a label sorce"),
        ('expr = "source_up"\nsummary = "{{ lables.job }}"\n', 12, "rules[0].summary", "the template names lables"),
        ('expr = "source_up"\nsummary = "{{ job.nmae }}"\n', 12, "rules[0].summary", "the template names job.nmae"),
        (
            'expr = "source_up"\nsummary = "{{ labels.jobname }}"\n',
            12,
            "rules[0].summary",
            "no alert has a label jobname",
        ),
        (
            """expr = "source_up"\nsummary = "{{ labels['jobname'] }}"\n""",
            12,
            "rules[0].summary",
            "no alert has a label jobname",
        ),
        ('expr = "source_up"\nsummary = "{{ value - threshold }}"\n', 12, "rules[0].summary", "fails: TypeError"),
        ('expr = "source_up"\nsummary = "{{ job.gpus * 2 }}"\n', 12, "rules[0].summary", "fails: SecurityError"),
        ('expr = "source_up"\nlabels = { a = "{{ job.name }}" }\n', 12, "rules[0].labels.a", "names job, whose facts"),
        ('expr = "source_up"\nmin_coverage = 1.1\n', 12, "rules[0].min_coverage", "less than or equal to 1"),
    ],
)
def test_one_mistake_of_a_rule(problems_of: Problems, rule: str, line: int, key: str, reason: str) -> None:
    (problem,) = problems_of(HEAD + RULE + rule)
    assert (problem.line, problem.key) == (line, key)
    assert reason in problem.reason
    assert problem.remedy


def test_names_that_are_the_teams_own_are_fine(load_text: Load) -> None:
    text = (
        GOOD
        + """severity = "sev2"
group_by = ["team"]
labels = { team = "{{ labels.owner }}" }
summary = "{% set x = 1 %}{{ x }} {{ labels.team }} {{ labels.datacenter }} {{ value - threshold }}"
"""
    )
    rule = load_text(text.replace("[[routes]]\n", "[[routes]]\nmatch = ['team=\"a\"', 'rack=\"1\"']\n")).rules[0]
    assert (rule.labels["severity"], rule.group_by) == ("sev2", ("team",))


def test_both_limits_are_told_at_once(problems_of: Problems) -> None:
    found = problems_of(HEAD + RULE + 'metric = "gpu_utilization"\nbelow = "a"\nclear = "b"\n')
    assert [problem.key for problem in found] == ["rules[0].below", "rules[0].clear"]


@pytest.mark.parametrize(("interval", "fits"), [("59s", True), ("60s", True), ("61s", False)])
def test_a_window_must_hold_two_samples_of_the_slowest_source(load_text: Load, interval: str, fits: bool) -> None:
    text = f'[poll]\ninterval = "10s"\n{GOOD}window = "2m"\n'.replace(
        'type = "baseten"', f'type = "baseten"\ninterval = "{interval}"'
    )
    if fits:
        assert load_text(text).interval == 10.0
    else:
        with pytest.raises(RulesError, match="cannot hold two samples that are 1m1s apart; make it 2m2s"):
            load_text(text)


@pytest.mark.parametrize(("step", "fits"), [("59s", True), ("60s", True), ("61s", False)])
def test_a_window_must_hold_two_samples_of_the_longest_step(tmp_path: Path, step: str, fits: bool) -> None:
    text = f'{GOOD}window = "2m"\n'.replace('type = "baseten"', f'type = "baseten"\nstep = "{step}"')
    (tmp_path / "rules.toml").write_text(text, encoding="utf-8")
    with nullcontext() if fits else pytest.raises(RulesError, match="samples that are 1m1s apart; make it 2m2s"):
        load(tmp_path / "rules.toml", {"baseten": Stepped}, {"console": ReceiverConfig})


@pytest.mark.parametrize(("for_", "fits"), [("0", True), ("59s", False), ("60s", True), ("61s", True)])
def test_for_is_zero_or_at_least_one_interval(load_text: Load, for_: str, fits: bool) -> None:
    text = f'{GOOD}for = "{for_}"\n'
    if fits:
        load_text(text)
    else:
        with pytest.raises(RulesError, match=r"rules\[0\].for: 59s is shorter than the poll interval, 1m"):
            load_text(text)


@pytest.mark.parametrize(("clear", "fits"), [("4%", False), ("5%", True), ("6%", True)])
def test_clear_lies_beyond_the_limit(load_text: Load, clear: str, fits: bool) -> None:
    text = f'{GOOD}clear = "{clear}"\n'
    if fits:
        assert load_text(text).rules[0].clear_expr is not None
    else:
        with pytest.raises(RulesError, match=r"rules\[0\].clear: is on the side"):
            load_text(text)


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "reason"),
    [
        ('type = "console"', 'typ = "console"', 4, "receivers[0].type", "is missing"),
        ('type = "console"', "type = 5", 6, "receivers[0].type", "unknown type 5"),
        ('type = "console"', 'type = "webhook"', 4, "receivers[0].url", "is missing"),
        ('type = "console"', 'type = "webhook"\nurl = "x"', 7, "receivers[0].url", "should match pattern"),
        ('type = "console"', 'type = "webhook"\nurl = { env = "a" }', 7, "receivers[0].url.env", "should match"),
        (
            'type = "console"',
            'type = "webhook"\nurl = { name = "A" }',
            7,
            "receivers[0].url.env",
            "is missing",
        ),
        ('type = "console"', 'type = "webhook"\nurl = ["x"]', 7, "receivers[0].url", "should be a valid string"),
        ('type = "console"', 'type = "slack"\nbot_token = "xoxb-1"', 7, "receivers[0].bot_token", "should be a valid"),
        ('type = "baseten"', 'type = "baseten"\napi_key = { env = "A", x = 1 }', 4, "sources[0].api_key.x", "unknown"),
        ('name = "ml"', "name = 1", 5, "receivers[0].name", "should be a valid string"),
        ('type = "baseten"', 'type = "baseten"\ninterval = "500ms"', 4, "sources[0].interval", "is shorter than 1s"),
        ('type = "baseten"', 'type = "baseten"\njobs = ["a", 5]', 4, "sources[0].jobs[1]", "should be a valid string"),
        ('type = "baseten"', 'type = "baseten"\ninterval = "31d"', 4, "sources[0].interval", "is longer than 30 days"),
        (
            'receivers = ["ml"]',
            'receivers = ["ml"]\nrepeat_interval = "31d"',
            9,
            "routes[0].repeat_interval",
            "is longer than 30 days",
        ),
        ('receivers = ["ml"]', "receivers = []", 8, "routes[0].receivers", "at least 1 item"),
        (
            'receivers = ["ml"]',
            'receivers = ["ml"]\nmatch = [\n"a=b",\n]',
            10,
            "routes[0].match[0]",
            "is not a matcher",
        ),
        ('receivers = ["ml"]', 'receivers = ["ml"]\nmatch = [\'a=~"("\']', 9, "routes[0].match[0]", "the regular"),
        ('receivers = ["ml"]', """receivers = ["ml"]\nmatch = ['severty="a"']""", 9, "routes[0].match[0]", "severty"),
        ('receivers = ["ml"]', 'receivers = ["ml"]\ngroup_by = ["jobs"]', 9, "routes[0].group_by[0]", "label jobs"),
        (
            "[[routes]]",
            '[[receivers]]\nname = "ops"\ntype = "console"\n[[routes]]',
            8,
            "receivers[1].name",
            "no route leads to ops",
        ),
        ("[[sources]]", "[poll]\ninterval = '0s'\n[[sources]]", 2, "poll.interval", "greater than or equal to 1"),
        ("[[sources]]", "poll = 5\n[[sources]]", 1, "poll", "is not a table"),
        ("[[sources]]", "[ruels]\n[[sources]]", 1, "ruels", "unknown table"),
        (
            "[[sources]]",
            "[[sources]]\nname = 'baseten'\ntype = 'baseten'\n[[sources]]",
            5,
            "sources[1].name",
            "is also",
        ),
    ],
)
def test_one_mistake_of_another_table(
    problems_of: Problems, old: str, new: str, line: int, key: str, reason: str
) -> None:
    problem = problems_of(GOOD.replace(old, new))[0]
    assert (problem.line, problem.key) == (line, key)
    assert reason in problem.reason
    assert problem.remedy


@pytest.mark.parametrize("kind", ["sources", "receivers", "routes", "rules"])
def test_a_file_without_one_of_its_arrays_is_told(problems_of: Problems, kind: str) -> None:
    tables = [f"[[{table}" for table in GOOD.split("[[")[1:]]
    (problem, *_) = problems_of("".join(table for table in tables if not table.startswith(f"[[{kind}")))
    assert (problem.line, problem.key) == (0, "")
    assert problem.reason.startswith(f"has no [[{kind}]]: ")


def test_a_secret_in_the_file_is_not_printed(problems_of: Problems) -> None:
    for receiver in ('type = "slack"\nbot_token = "s3cret"', 'type = "webhook"\nurl = "s3cret"'):
        (problem,) = problems_of(GOOD.replace('type = "console"', receiver))
        assert "s3cret" not in str(problem)
        assert problem.remedy == 'correct it; a secret is written as { env = "NAME" }'


def test_a_single_table_where_an_array_belongs(problems_of: Problems) -> None:
    problem = problems_of(GOOD.replace("[[rules]]", "[rules]"))[0]
    assert (problem.line, problem.key, problem.reason) == (9, "rules", "is not an array of tables")
    assert problem.remedy == "write [[rules]] on a line of its own"


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"[poll]\ninterval = 60s\n", 2, "is not TOML: Expected newline or end of document after a statement (column"),
        (b"[poll]\n\ninterval =", 3, "is not TOML: Invalid value"),
        (b'a = """\n\n', 3, "is not TOML: "),
        (b"[poll]\n# \xff\n", 2, "is not UTF-8"),
        (b"[poll]\n\ninterval = " + b"9" * 4301, 3, "is not TOML: a whole number with thousands of digits"),
        (b"a = " + b"[" * 100_000, 1, "is nested too deeply"),
    ],
)
def test_what_is_no_toml(tmp_path: Path, load_path: LoadPath, content: bytes, line: int, reason: str) -> None:
    (tmp_path / "rules.toml").write_bytes(content)
    with pytest.raises(RulesError) as caught:
        load_path(tmp_path / "rules.toml")
    (problem,) = caught.value.problems
    assert problem.line == line
    assert problem.reason.startswith(reason)
    assert problem.remedy


def test_a_file_that_is_not_there(tmp_path: Path, load_path: LoadPath) -> None:
    with pytest.raises(RulesError, match=r"gone\.toml: cannot be read: No such file or directory; correct the path"):
        load_path(tmp_path / "gone.toml")


def test_a_folder_is_read_in_name_order(tmp_path: Path, load_path: LoadPath) -> None:
    parts = {"b.toml": GOOD[len(HEAD) :], "a.toml": HEAD, "c.toml": GOOD[len(HEAD) :].replace('"A"', '"B"')}
    for name, text in {**parts, ".hidden.toml": "x", "notes.txt": "x"}.items():
        (tmp_path / name).write_text(text)
    ruleset = load_path(tmp_path)
    assert [rule.name for rule in ruleset.rules] == ["A", "B"]
    assert ruleset.rules[1].place == f"{tmp_path / 'c.toml'}:1"
    assert ruleset.files == tuple(str(tmp_path / name) for name in sorted(parts))
    assert ruleset.checksum == hashlib.sha256("".join(parts[name] for name in sorted(parts)).encode()).hexdigest()


def test_names_and_poll_are_unique_over_all_files(tmp_path: Path, load_path: LoadPath) -> None:
    (tmp_path / "a.toml").write_text("[poll]\n" + GOOD)
    (tmp_path / "b.toml").write_text('[poll]\n\n[[rules]]\nalert = "A"\nexpr = "source_up"\n')
    with pytest.raises(RulesError) as caught:
        load_path(tmp_path)
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [(1, "poll"), (4, "rules[0].alert")]
    assert "a.toml:10" in caught.value.problems[1].reason


def test_a_file_that_cannot_be_read_does_not_make_the_others_look_wrong(tmp_path: Path, load_path: LoadPath) -> None:
    head = HEAD.replace("[[routes]]", '[[receivers]]\nname = "ops"\ntype = "console"\n[[routes]]')
    (tmp_path / "a.toml").write_text("[[receivers]\n")
    (tmp_path / "b.toml").write_text(head.replace('["ml"]', '["elsewhere"]'))
    (tmp_path / "c.toml").mkdir()
    with pytest.raises(RulesError) as caught:
        load_path(tmp_path)
    assert [(Path(problem.file).name, problem.line) for problem in caught.value.problems] == [
        ("a.toml", 1),
        ("c.toml", 0),
    ]
    assert caught.value.problems[1].reason == "cannot be read: Is a directory"


def test_an_empty_folder(tmp_path: Path, load_path: LoadPath) -> None:
    with pytest.raises(RulesError, match=r"holds no \*\.toml file; put the rules file there"):
        load_path(tmp_path)


def test_windows_line_ends_and_a_byte_order_mark_are_fine(tmp_path: Path, load_path: LoadPath) -> None:
    (tmp_path / "rules.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load_path(tmp_path / "rules.toml").rules[0].place.endswith(":9")


MUTED = """
[[mute_times]]
name = "nights"
times = ["22:00-24:00", "00:00-06:00"]
weekdays = ["mon:fri"]
days_of_month = ["-7:-1"]
months = ["december"]
years = ["2026"]
location = "Europe/Berlin"

[[inhibit]]
source_match = ['alertname="A"']
target_match = ['severity=~"info|warning"']
equal = ["job"]

[flapping]
changes = 4
within = "30m"
"""


def test_when_not_to_ping(load_text: Load) -> None:
    text = GOOD.replace("[[routes]]", '[[routes]]\nmute_times = ["nights"]', 1) + MUTED
    ruleset = load_text(text)
    assert ruleset.routes[0].mute_times == ("nights",)
    assert ruleset.mute_times == (
        MuteTime(
            name="nights",
            times=((1320, 1440), (0, 360)),
            weekdays=((1, 5),),
            days=((-7, -1),),
            months=((12, 12),),
            years=((2026, 2026),),
            location="Europe/Berlin",
        ),
    )
    source, target = Matcher("alertname", MatchOp.EQUAL, "A"), Matcher("severity", MatchOp.REGEX, "info|warning")
    assert ruleset.inhibits == (Inhibit((source,), (target,), ("job",)),)
    assert ruleset.flapping == Flapping(4, 1800.0)


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ("22:00-24:00", "22:00-25:00", "mute_times[0].times[0]", "does not end after it begins"),
        ("mon:fri", "fri:mon", "mute_times[0].weekdays[0]", "is no range"),
        ("-7:-1", "0", "mute_times[0].days_of_month[0]", "no range of days"),
        ("december", "dezember", "mute_times[0].months[0]", "is no such name"),
        ('"2026"', '"26"', "mute_times[0].years[0]", "no range of years"),
        ("Europe/Berlin", "Europe/Bonn", "mute_times[0].location", "is no time zone"),
        ("Europe/Berlin", "../etc/passwd", "mute_times[0].location", "is no time zone"),
        ('alertname="A"', "alertname=A", "inhibit[0].source_match[0]", "is not a matcher"),
        ('["job"]', '["jobb"]', "inhibit[0].equal[0]", "no alert has a label jobb"),
        ("changes = 4", "changes = 2", "flapping.changes", "greater than or equal to 3"),
        ("within", "during", "flapping.during", "unknown key"),
        ('name = "nights"', 'name = "days"', "routes[0].mute_times[0]", "no mute time is named nights"),
        ("[flapping]", "[[flapping]]", "flapping", "is not a table"),
    ],
)
def test_one_mistake_of_when_not_to_ping(problems_of: Problems, old: str, new: str, key: str, reason: str) -> None:
    text = GOOD.replace("[[routes]]", '[[routes]]\nmute_times = ["nights"]', 1) + MUTED.replace(old, new)
    (problem,) = problems_of(text)
    assert problem.key == key
    assert reason in problem.reason
    assert problem.remedy


def test_a_mute_time_without_a_time_is_refused(problems_of: Problems) -> None:
    (problem,) = problems_of(GOOD + '[[mute_times]]\nname = "always"\n')
    assert "would always mute" in problem.reason


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ('mute_times = ["nights"]', "it belongs in [[routes]]"),
        ('interval = "60s"', "it belongs in [poll]"),
        ('severty = "info"', "did you mean severity?"),
        ('name = "x"', "known are: "),
    ],
)
def test_a_key_of_another_table_is_sent_there(problems_of: Problems, line: str, remedy: str) -> None:
    rule = '[[rules]]\nalert = "A"\nexpr = "source_up == 0"\n'
    (found,) = [problem for problem in problems_of(rule + line) if problem.key.startswith("rules")]
    assert (found.reason, found.remedy[: len(remedy)]) == ("unknown key", remedy)


@pytest.mark.parametrize("key", ["for", "keep_firing_for", "grace", "window"])
@pytest.mark.parametrize("value", ["30d1ms", "99999999999y", "9" * 400 + "d"])
def test_no_duration_is_longer_than_thirty_days(problems_of: Problems, key: str, value: str) -> None:
    (problem,) = problems_of(f'{GOOD}{key} = "{value}"\n')
    assert problem.key.endswith(f".{key}")
    assert (problem.reason, problem.remedy) == ("is longer than 30 days", 'write at most "30d"')
