"""The same expressions in the real Prometheus (Debian's promtool) give the same labels and values."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from watchdog.promql import Scalar, Vector

SERIES: Mapping[str, list[float | None]] = {
    "m{job=1,gpu=0}": [0.1, 0.2, None, 0.4, 0.9, 0.9, None, None, 0.3, 0.0, 0.5],
    "m{job=1,gpu=1}": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    "m{job=2,gpu=0}": [5.0, 4.0, 3.0, None, None, None, None, None, None, None, None],
    "lim{job=1,owner=o}": [2.0 for _ in range(11)],
    "lim{job=2,owner=p}": [4.0 for _ in range(11)],
    "neg{job=1}": [-1.5, 2.5, -3.5, 4.5, -5.5, 6.5, -7.5, 8.5, -9.5, 10.5, -11.5],
}
EXPRESSIONS = [
    *(f"{name}(m[{window}])" for name in (
        "avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "count_over_time", "last_over_time",
        "present_over_time", "stddev_over_time", "delta", "deriv",
    ) for window in ("3m", "7m")),
    "predict_linear(m[6m], 3600)", "predict_linear(neg[4m] offset 1m, 60)", "quantile_over_time(0.3, m[8m])",
    "quantile_over_time(0.95, neg[5m])", "max_over_time(m[3m] offset 2m)", "m offset 3m", "m offset -1m",
    "m", "-m", "abs(neg)", "clamp(neg, -2, 3)", "clamp_min(neg, 0)", "clamp_max(neg, 0)", "m > 0.4", "m > bool 0.4",
    "0.4 < m", "m == 1", "m != bool 1", "m * 2 - 1", "neg % 4", "neg ^ 2", "m / 0", "2 ^ 3 ^ 2", "1 - 2 - 3",
    "sum(m)", "sum by (job) (m)", "avg without (gpu) (m)", "min(m)", "max by (gpu) (m)", "count by (job) (m)",
    "quantile(0.5, m)", "quantile by (job) (0.9, m)", "topk(1, m)", "bottomk by (job) (1, m)", "topk(5, neg)",
    "m / on (job) group_left lim", "m / on (job) group_left (owner) lim", "lim - on (job) group_right m",
    "sum by (job) (m) / on (job) lim", "sum by (job) (m) < on (job) lim", "m and on (job) lim{owner=\"o\"}",
    "m unless on (job) lim{owner=\"o\"}", "lim or m", "lim or on (job) m", "neg * ignoring (owner) lim",
    "absent(m)", "absent(nope{a=\"b\"})", "scalar(neg)", "vector(1) + 1", "time()", "m{gpu=~\"0|7\"}", "m{job!=\"1\"}",
    "m{gpu!~\"1.*\"}", "m{nope=\"\"}", "sum(m) by (job) > 1 and on (job) lim", "max(m) - min(m)", "0x10 + 1e1",
]  # fmt: skip
TIMES = (300, 420, 600, 870)


def _notation(values: list[float | None]) -> str:
    return " ".join("_" if value is None else repr(value) for value in values)


def _samples(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, Scalar):
        return [{"labels": "", "value": value.value}]
    assert isinstance(value, Vector)
    found = []
    for index in range(value.size):
        labels = value.labels.row(index)
        name = labels.pop("__name__", "")
        inner = ", ".join(f'{key}="{text}"' for key, text in labels.items())
        found.append({"labels": f"{name}{{{inner}}}", "value": float(value.values[index])})
    return found


def test_promtool_agrees(run: Callable[..., Any], tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing; install Debian's package prometheus"
    cases = []
    for text, at in itertools.product(EXPRESSIONS, TIMES):
        result = run(text, SERIES, float(at), left_open=False)
        exact = [{**s, "value": _exact(s["value"])} for s in _samples(result.value)]
        cases.append({"expr": text, "eval_time": f"{at}s", "exp_samples": exact})
    quoted = {name: _quoted(name) for name in SERIES}
    group = {
        "interval": "1m",
        "input_series": [{"series": quoted[name], "values": _notation(values)} for name, values in SERIES.items()],
        "promql_expr_test": cases,
    }
    file = tmp_path / "test.yml"
    document = json.dumps({"rule_files": [], "evaluation_interval": "1m", "tests": [group]})
    file.write_text(document.replace('"inf"', ".inf").replace('"-inf"', "-.inf").replace('"nan"', ".nan"))
    done = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(cases) > 250


def _quoted(name: str) -> str:
    metric, _, rest = name.partition("{")
    pairs = [pair.split("=") for pair in rest.rstrip("}").split(",")]
    return metric + "{" + ",".join(f'{key}="{value}"' for key, value in pairs) + "}"


def _exact(value: float) -> float | str:
    return value if abs(value) < float("inf") else str(value)
