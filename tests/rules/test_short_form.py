"""The short form: quantities, and the PromQL that a threshold stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchdog.config import parse_duration
from watchdog.promql import parse
from watchdog.promql.write import duration, number
from watchdog.rules.short_form import Reduce, Side, Threshold, parse_quantity


@pytest.mark.parametrize(
    ("value", "unit", "amount"),
    [
        ("5%", "ratio", 0.05),
        ("7 %", "ratio", 0.07),
        ("0.7%", "ratio", 0.007),
        (1e-6, "ratio", 1e-6),
        (2.0**60, "bytes", 2.0**60),
        (1e20, "seconds", 1e20),
        ("150%", "ratio", 1.5),
        (0.9, "ratio", 0.9),
        ("1", "ratio", 1.0),
        ("8GiB", "bytes", 8 * 2.0**30),
        ("2 KiB", "bytes", 2048.0),
        ("1.5MiB", "bytes", 1.5 * 2**20),
        ("1TiB", "bytes", 2.0**40),
        ("10B", "bytes", 10.0),
        (4096, "bytes", 4096.0),
        ("85", "celsius", 85.0),
        (-3, "celsius", -3.0),
        ("30m", "seconds", 1800.0),
        (90, "seconds", 90.0),
        (0, "count", 0.0),
    ],
)
def test_a_quantity_is_read_in_the_unit_of_its_metric(value: float | str, unit: str, amount: float) -> None:
    assert parse_quantity(value, unit) == amount


@pytest.mark.parametrize(
    ("value", "unit", "reason"),
    [
        (5, "ratio", 'more than all of a ratio.*write "5%"'),
        (50.0, "ratio", '^50 is more than all of a ratio.*write "50%"'),
        (1.5, "ratio", '^1.5 is more than all of a ratio.*write "1.5%"'),
        ("1.01", "ratio", 'write "1.01%"'),
        ("8GiB", "ratio", 'does not fit a metric in ratio; write "5%"'),
        ("5%", "bytes", 'does not fit a metric in bytes; write "8GiB"'),
        ("5%", "celsius", "write a plain number"),
        ("8GB", "bytes", 'decimal to some and binary to others; write "GiB"'),
        ("much", "ratio", '"much" is not a quantity; write "5%"'),
        ("nan", "ratio", "is not a quantity"),
        (True, "ratio", "is not a quantity"),
        ("soon", "seconds", "is not a duration"),
        ("1e999", "bytes", '"1e999" is too large; write "8GiB"'),
        (float("inf"), "bytes", "is not a quantity"),
    ],
)
def test_a_wrong_quantity_is_refused_with_a_remedy(value: float | str, unit: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_quantity(value, unit)


@pytest.mark.parametrize(
    ("side", "window", "reduce", "expr"),
    [
        ("below", 1200.0, None, "max_over_time(gpu_utilization[20m]) < 0.05"),
        ("above", 5400.0, None, "min_over_time(gpu_utilization[1h30m]) > 0.05"),
        ("below", 60.0, "avg", "avg_over_time(gpu_utilization[1m]) < 0.05"),
        ("below", 60.0, "min", "min_over_time(gpu_utilization[1m]) < 0.05"),
        ("above", 60.0, "max", "max_over_time(gpu_utilization[1m]) > 0.05"),
        ("above", 60.0, "last", "last_over_time(gpu_utilization[1m]) > 0.05"),
        ("above", 60.0, "median", "quantile_over_time(0.5, gpu_utilization[1m]) > 0.05"),
        ("above", 60.0, "p95", "quantile_over_time(0.95, gpu_utilization[1m]) > 0.05"),
        ("above", 60.0, "p05", "quantile_over_time(0.05, gpu_utilization[1m]) > 0.05"),
        ("above", None, None, "gpu_utilization > 0.05"),
    ],
)
def test_the_expression_of_a_threshold(side: Side, window: float | None, reduce: Reduce | None, expr: str) -> None:
    threshold = Threshold("gpu_utilization", side, 0.05, window, reduce)
    assert threshold.expr == expr
    assert threshold.clear_expr is None
    assert parse(expr).direction == side


def test_the_clear_expression_is_the_other_way_round() -> None:
    below = Threshold("gpu_utilization", "below", 0.05, 600.0, clear=0.15)
    assert below.clear_expr == "max_over_time(gpu_utilization[10m]) >= 0.15"
    above = Threshold("gpu_power_watts", "above", 700.0, clear=650.0)
    assert above.clear_expr == "gpu_power_watts <= 650"


@pytest.mark.parametrize(("value", "text"), [(5.0, "5"), (0.05, "0.05"), (-1.5, "-1.5"), (2.0**40, "1099511627776")])
def test_numbers_as_promql_writes_them(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0s"), (0.5, "500ms"), (1.25, "1s250ms"), (90.0, "1m30s"), (86400.0, "1d"), (90061.0, "1d1h1m1s")],
)
def test_durations_as_promql_writes_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.integers(0, 10**9))
def test_a_duration_reads_back_as_itself(milliseconds: int) -> None:
    assert parse_duration(duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize(
    ("value", "remedy"), [(60, '"60s" if seconds'), (60.0, '"60s" if seconds'), (0.5, '"0.5s" if seconds')]
)
def test_a_duration_without_a_unit_is_refused_with_the_likely_one(value: float, remedy: str) -> None:
    with pytest.raises(ValueError, match=f"^has no unit; write {remedy}"):
        parse_duration(value)
