"""Generated expressions over generated series: the real Prometheus (Debian's 2.42) and ours say the same.

Labels must be equal and values equal to 1e-9 relative, NaN to NaN; where one refuses, the other does too.
Deliberate differences are listed in docs/promql.md and are not generated here. CI compares the same
expressions every time; ``WATCHDOG_EXPRESSIONS=20000 pytest tests/promql/test_prometheus.py`` looks for new ones.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from watchdog.errors import EvaluationError, PromQLError
from watchdog.history import History
from watchdog.promql import Answer, Options, instant, over_range, parse

pytestmark = [
    pytest.mark.filterwarnings("ignore:Generating overly large repr"),  # of the grammar below
    pytest.mark.xdist_group("prometheus"),  # one server for all, and what was compared is counted
]
T0 = 1_700_000_400  # on the hour's third minute: off the two-hour blocks, on the minutes
END = T0 + 3600
TIMES = [T0 - 1, T0, T0 + 299, T0 + 300, T0 + 301, T0 + 1234, T0 + 1800, T0 + 2417.5, T0 + 3600, T0 + 3890, T0 + 9999]
MOST = 1e-9
ALMOST_NOTHING = 1e-12
"""Below this times the largest input, a difference of large numbers is rounding and no value."""

Rows = list[tuple[dict[str, str], list[float], list[float]]]


# --- series ---------------------------------------------------------------------------------------


def _eighths(source: random.Random, low: int, high: int) -> float:
    """Return a number whose sums are exact in floating point, so that their order does not matter."""
    return source.randint(low * 8, high * 8) / 8


def _series() -> Rows:
    source = random.Random(20261201)
    rows: Rows = []

    def add(name: str, labels: Mapping[str, str], samples: Mapping[float, float]) -> None:
        times = sorted(samples)
        rows.append(({"__name__": name, **labels}, times, [samples[time] for time in times]))

    steady = [T0 + 60.0 * index for index in range(61)]
    for job in "abc":
        for gpu in "012":
            place = {"job": job, "gpu": gpu}
            kept = [at for at in steady if source.random() > 0.15]
            add("g", place, {at: _eighths(source, -50, 50) for at in kept})  # gaps
            add("h", place, {at: _eighths(source, 0, 4) for at in steady if at < T0 + 2700 or job != "b"})
            count, counted = 0.0, {}
            for at in steady:
                count = 0.0 if source.random() < 0.08 else count + source.randint(0, 40)
                counted[at] = count
            add("c", place, counted)  # a counter with resets
            level = 1000.0 * (3 * "abc".index(job) + int(gpu))
            add("d", place, {at: level + _eighths(source, 0, 99) for at in kept})  # never two alike
        special = [math.nan, math.inf, -math.inf, 0.0, -1.5, 7.0]
        add("n", {"job": job}, {at: source.choice(special) for at in steady if source.random() > 0.3})
        uneven = sorted({T0 + round(source.random() * 3600, 3) for _ in range(30)})
        add("u", {"job": job}, {at: _eighths(source, -9, 9) for at in uneven})  # irregular, to the millisecond
        add("limit", {"job": job, "owner": f"o{job}"}, {at: 8.0 * (1 + "abc".index(job)) for at in steady})
    add("one", {"job": "a"}, {T0 + 1800.0: 3.5})
    add("flat", {"job": "a"}, dict.fromkeys(steady, 0.1))
    add("stamp", {"job": "a"}, {at: float(at) for at in steady})
    return rows


def _open_metrics(rows: Rows) -> str:
    lines = []
    for name in sorted({labels["__name__"] for labels, _, _ in rows}):
        lines.append(f"# TYPE {name} unknown")
        for labels, times, values in rows:
            if labels["__name__"] == name:
                inner = ",".join(f'{key}="{value}"' for key, value in labels.items() if key != "__name__")
                lines += [f"{name}{{{inner}}} {v!r} {t!r}" for t, v in zip(times, values, strict=True)]
    return "\n".join([*lines, "# EOF", ""]).replace(" inf ", " +Inf ").replace(" -inf ", " -Inf ").replace("nan", "NaN")


# --- the peer -------------------------------------------------------------------------------------


class Prometheus:
    """A real server on blocks made from a file."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=30)

    def query(self, text: str, at: float) -> Any:
        """Return Prometheus's result, or the kind of its refusal."""
        body = self._client.post("/api/v1/query", data={"query": text, "time": repr(at)}).json()
        return body["data"] if body["status"] == "success" else body["errorType"]

    def query_range(self, text: str, times: tuple[float, float, float]) -> Any:
        """The same over ``(start, end, step)``."""
        form = {"query": text, **{name: repr(at) for name, at in zip(("start", "end", "step"), times, strict=True)}}
        body = self._client.post("/api/v1/query_range", data=form).json()
        return body["data"] if body["status"] == "success" else body["errorType"]

    def close(self) -> None:
        self._client.close()

    def ready(self) -> bool:
        try:
            return self._client.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    server, tool = shutil.which("prometheus"), shutil.which("promtool")
    assert server, "Prometheus is missing; install Debian's package prometheus"
    assert tool, "promtool is missing; install Debian's package prometheus"
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "samples.txt").write_text(_open_metrics(_series()))
    (folder / "prometheus.yml").write_text("global: {evaluation_interval: 1m}\n")
    made = [tool, "tsdb", "create-blocks-from", "openmetrics", str(folder / "samples.txt"), str(folder / "data")]
    subprocess.run(made, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = [
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([server, *flags], stdout=log, stderr=log)
    peer = Prometheus(f"http://127.0.0.1:{port}")
    try:
        while not peer.ready():
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        yield peer
    finally:
        peer.close()
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="module")
def history() -> History:
    return History.from_series(_series(), 60.0)


# --- comparing ------------------------------------------------------------------------------------


def _ours(text: str, history: History, at: float) -> Answer | str:
    try:
        return instant(parse(text), history, at, Options(version=2))
    except PromQLError:
        return "bad_data"
    except EvaluationError:
        return "execution"


def _same(mine: float, theirs: float) -> bool:
    if math.isnan(mine) or math.isnan(theirs):
        return math.isnan(mine) and math.isnan(theirs)
    if mine == theirs:
        return True
    return abs(mine - theirs) <= MOST * max(abs(mine), abs(theirs)) or max(abs(mine), abs(theirs)) < ALMOST_NOTHING


def _points(found: Any) -> dict[str, list[tuple[float, float]]]:
    if isinstance(found, Answer):
        return {_key(series.labels): list(series.points) for series in found.series}
    kind, result = found["resultType"], found["result"]
    if kind in ("scalar", "string"):
        return {_key({}): [(result[0], float(result[1]) if kind == "scalar" else math.nan)]}
    name = "values" if kind == "matrix" else "value"
    rows = {_key(row["metric"]): row[name] if kind == "matrix" else [row[name]] for row in result}
    return {key: [(at, float(value)) for at, value in points] for key, points in rows.items()}


def _key(labels: Mapping[str, str]) -> str:
    return json.dumps(labels, sort_keys=True)


def difference(text: str, at: float, peer: Prometheus, history: History) -> str:
    """Return how the two differ; empty if they do not."""
    theirs, mine = peer.query(text, at), _ours(text, history, at)
    if isinstance(theirs, str) or isinstance(mine, str):
        return "" if theirs == mine else f"{text} @ {at}: Prometheus says {theirs}, we {mine}"
    a, b = _points(theirs), _points(mine)
    alike = a.keys() == b.keys() and all(
        len(a[key]) == len(b[key])
        and all(abs(s - t) < 0.001 and _same(w, v) for (s, v), (t, w) in zip(a[key], b[key], strict=True))
        for key in a
    )
    return "" if alike else f"{text} @ {at}:\n  Prometheus {a}\n  watchdog   {b}"


# --- expressions ----------------------------------------------------------------------------------

METRICS = ["g", "h", "c", "n", "u", "limit", "one", "flat", "stamp", "d", "nothing"]
MATCHERS = ["", "{job='a'}", "{gpu!='1'}", "{job=~'a|b'}", "{gpu!~'0.*'}", "{owner=''}", "{job='a',gpu='2'}", "{x='y'}"]
PLACES = ["", " offset 2m", " offset -90s", f" @ {T0 + 1500}", f" offset 1m @ {T0 + 700.5}", " @ end()", " @ start()"]
WINDOWS = ["1m", "90s", "5m", "7m30s", "20m", "1h", "1ms"]
DAYS = ["minute", "hour", "month", "year", "day_of_week", "day_of_month", "day_of_year", "days_in_month"]
MATHS = [
    *("abs", "exp", "ln", "log2", "log10", "sqrt", "deg", "rad"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
]
OVER_TIME = [
    *(f"{name}_over_time" for name in ("avg", "min", "max", "sum", "count", "last", "present", "stddev", "stdvar")),
    *("rate", "irate", "increase", "delta", "idelta", "deriv", "changes", "resets", "absent_over_time"),
]
GROUPINGS = ["", " by (job)", " by (gpu, job)", " without (gpu)", " without (job, owner)", " by (nope)", " by ()"]
MATCHINGS = [
    *("", " on (job)", " on (job, gpu)", " ignoring (gpu)", " ignoring (owner, gpu)", " on ()"),
    *(" on (job) group_left", " on (job) group_right", " on (job) group_left (owner)", " ignoring (gpu) group_left"),
]
ARITHMETIC = ["+", "-", "*", "/", "%", "^", "atan2"]
COMPARISONS = ["==", "!=", "<", ">", "<=", ">="]
NUMBERS = ["0", "1", "2.5", "-3", "1e3", "0x1F", "Inf", "-Inf", "NaN", ".5", "time()", "pi()", "scalar(one)", "1e-3"]
REPLACES = [
    "'to', '$1-$2', 'job', '(a|b)(.*)'",
    "'gpu', '', 'gpu', '1'",
    "'job', 'x${1}y', 'gpu', '(.*)'",
    "'to', '$nope$$1', 'job', '(?P<j>.+)'",
    "'job', 'same', 'job', '.*'",
    "'__name__', 'new_$1', 'job', '(a)'",
    "'to', '$j', 'job', '(?P<j>.+)'",
]
JOINS = ["'to', '-', 'job', 'gpu'", "'job', ',', 'nope', 'gpu'", "'to', '/'", "'gpu', '', 'job'"]

selectors = st.builds("{}{}".format, st.sampled_from(METRICS), st.sampled_from(MATCHERS) | st.just(""))
placed = st.builds("{}{}".format, selectors, st.sampled_from(PLACES) | st.just(""))
numbers = st.sampled_from(NUMBERS)
windows = st.builds("{}[{}]{}".format, selectors, st.sampled_from(WINDOWS), st.sampled_from(PLACES) | st.just(""))


exact = st.builds("{}_over_time({}[5m])".format, st.sampled_from(["min", "max", "sum", "last"]), selectors) | placed
"""Vectors without rounding errors, for functions that jump."""


def _subqueries(vectors: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return subqueries. Prometheus 2.42 loses points where ``@`` is inside and outside: not generated."""
    lengths = st.sampled_from(["5m:1m", "10m:2m", "7m:", "3m:45s", "20m:7m"])
    inner = vectors.filter(lambda text: " @ " not in text)
    return st.one_of(
        st.builds("({})[{}]{}".format, inner, lengths, st.sampled_from(PLACES)),
        st.builds("({})[{}]{}".format, vectors, lengths, st.sampled_from(["", "", " offset 2m"])),
        st.builds("{}[{}]".format, selectors, lengths),
    )


def _over_time(ranges: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}({})".format, st.sampled_from(OVER_TIME), ranges),
        st.builds("quantile_over_time({}, {})".format, st.sampled_from(["0.5", "0", "1", "0.9", "-1", "2"]), ranges),
        st.builds(
            "predict_linear({}, {})".format,
            ranges.filter(lambda text: " @ " not in text),
            st.sampled_from(["0", "600", "-60", "3600"]),
        ),
    )


apart = st.sampled_from(["d", "d offset 3m", "avg_over_time(d[5m])", "max_over_time(d[5m:1m])", "d * 2 + 1", "-d"])
"""Which of two equal series is among the best is not said anywhere."""


def _grown(vectors: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return larger vectors made of smaller ones."""
    group = st.sampled_from(GROUPINGS)
    simple = ["sum", "min", "max", "avg", "count", "group", "stddev", "stdvar"]
    return st.one_of(
        st.builds("{}{} ({})".format, st.sampled_from(simple), group, vectors),
        st.builds("{}{} ({}, {})".format, st.sampled_from(["topk", "bottomk"]), group, st.sampled_from("0123"), apart),
        st.builds("quantile{} ({}, {})".format, group, st.sampled_from(["0.5", "0", "1", ".3", "9"]), vectors),
        st.builds("count_values{} ('{}', {})".format, group, st.sampled_from(["v", "job"]), exact),
        st.builds("{}({})".format, st.sampled_from(["ceil", "floor", "round", "sgn"]), exact),
        st.builds("{}({})".format, st.sampled_from([*MATHS, "sort", "sort_desc", "timestamp", "absent"]), vectors),
        st.builds("round({}, {})".format, exact, st.sampled_from(["0.5", "10", "-2"])),
        st.builds("clamp({}, {})".format, vectors, st.sampled_from(["-1, 3", "3, -1", "0, Inf"])),
        st.builds("clamp_{}({}, {})".format, st.sampled_from(["min", "max"]), vectors, numbers),
        st.builds("label_replace({}, {})".format, vectors, st.sampled_from(REPLACES)),
        st.builds("label_join({}, {})".format, vectors, st.sampled_from(JOINS)),
        st.builds("-({})".format, placed),
        st.builds("vector(scalar({}))".format, vectors),
        _binary(vectors),
        _over_time(_subqueries(vectors)),
    )


def _binary(vectors: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    compare = st.builds("{}{}".format, st.sampled_from(COMPARISONS), st.sampled_from(["", " bool"]))
    signs = st.sampled_from([sign for sign in ARITHMETIC if sign != "atan2"]) | compare
    plain = st.sampled_from([text for text in MATCHINGS if "group" not in text])
    return st.one_of(
        st.builds("({}) {} {}".format, vectors, signs, numbers),
        st.builds("{} {} ({})".format, numbers, signs, vectors),
        st.builds("({}) {}{} ({})".format, vectors, signs, st.sampled_from(MATCHINGS), vectors),
        st.builds("abs(({}) atan2{} ({}))".format, vectors, st.sampled_from(MATCHINGS), vectors),
        st.builds("abs(({}) atan2 {})".format, vectors, numbers),
        st.builds("({}) {}{} ({})".format, vectors, st.sampled_from(["and", "or", "unless"]), plain, vectors),
    )


calendars = st.builds("{}({})".format, st.sampled_from(DAYS), st.sampled_from(["", "stamp", "stamp * 3 - 7e8"]))
leaves = st.one_of(placed, selectors, _over_time(windows), calendars)
vectors = st.recursive(leaves, _grown, max_leaves=4)
scalars = st.builds("{} {} {}".format, numbers, st.sampled_from([*ARITHMETIC, "== bool", "> bool"]), numbers)
expressions = st.one_of(vectors, vectors, vectors, vectors, scalars, windows, _subqueries(vectors), st.just("'text'"))

CI, LONG = 800, int(os.environ.get("WATCHDOG_EXPRESSIONS", "0"))
"""How many expressions: the same in CI every time; new ones by hand, as many as the environment says."""
EACH = 7
COMPARED = {True: 0, False: 0}
"""How many comparisons there were, by whether there was an answer."""


@settings(
    max_examples=LONG or CI,
    derandomize=not LONG,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
@given(text=expressions, ats=st.lists(st.sampled_from(TIMES), min_size=EACH, max_size=EACH, unique=True))
def test_the_real_prometheus_agrees(text: str, ats: list[float], peer: Prometheus, history: History) -> None:
    for at in ats:
        found = difference(text, at, peer, history)
        COMPARED[_ours(text, history, at) != "execution"] += 1
        assert not found, found


def test_enough_was_compared() -> None:
    """The test before this one counted: at least 5,000 comparisons, few of them of refusals alone."""
    assert sum(COMPARED.values()) >= 5000
    assert COMPARED[True] > 10 * COMPARED[False]


@settings(max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(text=vectors.filter(lambda text: "-(" not in text))
def test_range_queries_agree(text: str, peer: Prometheus, history: History) -> None:
    times = (T0 - 30.0, T0 + 3990.0, 97.0)
    theirs = peer.query_range(text, times)
    try:
        mine: Answer | str = over_range(parse(text), history, times, Options(version=2))
    except EvaluationError:
        mine = "execution"
    if isinstance(theirs, str) or isinstance(mine, str):
        assert theirs == mine, text
        return
    a, b = _points(theirs), _points(mine)
    assert a.keys() == b.keys(), text
    for key, points in a.items():
        assert [at for at, _ in points] == pytest.approx([at for at, _ in b[key]]), text
        assert all(_same(x, y) for (_, x), (_, y) in zip(points, b[key], strict=True)), f"{text}\n{points}\n{b[key]}"
