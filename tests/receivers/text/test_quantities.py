import math

import pytest

from watchdog.receivers.text.quantities import duration, gpu_hours, quantity, span, unit_of, usd, utc


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "ratio", "0 %"),
        (0.034, "ratio", "3.4 %"),
        (-0.0, "ratio", "0 %"),
        (-0.0, "", "0"),
        (0.9995, "ratio", "100 %"),
        (1.25, "ratio", "125 %"),
        (0.0, "bytes", "0 B"),
        (1023, "bytes", "1023 B"),
        (1024, "bytes", "1 KiB"),
        (76772540416, "bytes", "71.5 GiB"),
        (2**60, "bytes", "1024 PiB"),
        (7500, "seconds", "2h 5m"),
        (83.0, "celsius", "83 °C"),
        (412.5, "watts", "412 W"),
        (1.5, "cores", "1.5 cores"),
        (20.0, "usd_per_hour", "20 USD/h"),
        (8.0, "count", "8"),
        (0.00001234, "", "1.23e-05"),
        (1234567.0, "", "1.23e+06"),
        (-0.5, "ratio", "-50 %"),
        (math.nan, "ratio", "not a number"),
        (math.inf, "bytes", "not a number"),
    ],
)
def test_a_value_reads_in_the_unit_of_its_metric(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.4, "0s"),
        (59, "59s"),
        (60, "1m"),
        (61, "1m 1s"),
        (3599, "59m 59s"),
        (3600, "1h"),
        (3601, "1h"),
        (86400 * 3 + 3600 * 4 + 59, "3d 4h"),
        (-90, "-1m 30s"),
        (-0.2, "0s"),
    ],
)
def test_a_duration_has_its_two_largest_parts(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("expr", "unit"),
    [
        ("gpu_utilization < on (job) group_left () 0.75 * quantile by (job) (0.5, gpu_utilization)", "ratio"),
        ('avg by (job) (gpu_power_watts{job="a"}) < 3 unless gpu_utilization * 2 < 1', "watts"),
        ("0.75 > gpu_utilization", "ratio"),
        ("2 * gpu_utilization < 1", ""),
        ("(gpu_utilization < 0.5) and gpu_power_watts * 2 > 5", "ratio"),
        ("max_over_time(gpu_utilization[15m]) < 0.1 and min_over_time(gpu_memory_usage_bytes[15m]) > 5", "ratio"),
        ('gpu_power_watts{node="a/b"} > 5', "watts"),
        ("job_status{status='failed'} == 1", "bool"),
        ("quantile_over_time(0.95, memory_usage_bytes[20m]) > 1", "bytes"),
        ("count(gpu_utilization < 0.1) > 3", ""),
        ("rate(gpu_memory_usage_bytes[5m]) > 0", ""),
        ("gpu_memory_usage_bytes / gpu_memory_limit_bytes > 0.9", ""),
        ("100 * gpu_utilization < 5", ""),
        ("job_running_seconds > 86400", "seconds"),
        ("vector(1)", ""),
        ("", ""),
    ],
)
def test_the_unit_is_that_of_the_first_metric_unless_the_rule_calculates(expr: str, unit: str) -> None:
    assert unit_of(expr) == unit


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([None], ""),
        ([math.nan, None], ""),
        ([0.02], "2 %"),
        ([0.02, None, 0.02], "2 %"),
        ([0.04, 0.0, 0.02], "0 % to 4 %"),
    ],
)
def test_several_values_read_as_a_span_and_a_missing_one_is_not_zero(values: list[float | None], text: str) -> None:
    assert span(values, "ratio") == text


def test_times_are_utc() -> None:
    assert utc(1_772_452_800.0) == "2026-03-02 12:00 UTC"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.0, "$0.00"),
        (0.004, "less than $0.01"),
        (0.42, "$0.42"),
        (99.99, "$99.99"),
        (100.0, "$100"),
        (1234.5, "$1,234"),
    ],
)
def test_usd(amount: float, text: str) -> None:
    assert usd(amount) == text


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        (0.0, "0 GPU-hours"),
        (0.004, "less than 0.01 GPU-hours"),
        (1.0, "1 GPU-hour"),
        (1.5, "1.5 GPU-hours"),
        (240.0, "240 GPU-hours"),
    ],
)
def test_gpu_hours(hours: float, text: str) -> None:
    assert gpu_hours(hours) == text
