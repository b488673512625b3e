"""Logs of nvidia-smi: columns by name, units, what the driver does not know, local times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from watchdog.errors import UsageError
from watchdog.files import FileJob, FileSeries, read_items

T = 1_772_442_000.0
"""2026-03-02 09:00:00 UTC."""
HEAD = "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W]\n"
ROW = "2026/03/02 09:00:00.250, 0, NVIDIA H100, 57 %, 1024 MiB, 4096 MiB, 300.5 W\n"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def go(text: str, name: str = "node7.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return go


def series(path: Path, zone: tzinfo = UTC) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Samples by metric and GPU."""
    return {
        (dict(item.labels)["__name__"], dict(item.labels)["gpu"]): list(zip(item.times, item.values, strict=True))
        for item in read_items([path], zone)
        if isinstance(item, FileSeries)
    }


def test_columns_become_metrics_in_base_units(write: Write) -> None:
    at = T + 0.25
    assert series(write(HEAD + ROW)) == {
        ("gpu_utilization", "0"): [(at, 0.57)],
        ("gpu_memory_usage_bytes", "0"): [(at, 2.0**30)],
        ("gpu_memory_limit_bytes", "0"): [(at, 2.0**32)],
        ("gpu_memory_utilization", "0"): [(at, 0.25)],
        ("gpu_power_watts", "0"): [(at, 300.5)],
    }


def test_units_of_the_first_line_hold_for_bare_numbers(write: Write) -> None:
    bare = ROW.replace(" %", "").replace(" MiB", "").replace(" W", "")
    assert series(write(HEAD + bare)) == series(
        write(
            HEAD + ROW,
        )
    )


def test_what_the_driver_does_not_know_is_no_sample(write: Write) -> None:
    for word in ("[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", ""):
        found = series(write(HEAD + ROW.replace("57 %", word) + ROW.replace("1024 MiB", word)))
        assert found["gpu_utilization", "0"] == [(T + 0.25, 0.57)], word
        assert len(found["gpu_memory_utilization", "0"]) == 1, word


def test_times_are_in_the_zone_that_is_given(write: Write) -> None:
    path = write("timestamp, index, utilization.gpu [%]\n2026/03/02 09:00:00, 0, 5 %\n")
    assert series(path, ZoneInfo("Europe/Berlin"))["gpu_utilization", "0"] == [(T - 3600, 0.05)]


def test_labels_and_what_is_said_of_the_job(write: Write) -> None:
    items = list(read_items([write(HEAD + ROW + ROW.replace(", 0,", ", 1,"))], UTC))
    assert dict(next(item for item in items if isinstance(item, FileSeries)).labels) == {
        "__name__": "gpu_utilization",
        "gpu": "0",
        "gpu_type": "NVIDIA H100",
        "node": "node7",
    }
    (job,) = (item.job for item in items if isinstance(item, FileJob))
    assert (job.gpus, job.nodes, job.gpu_type, job.job) == (2, 1, "NVIDIA H100", "")


def test_a_gpu_is_named_by_its_uuid_where_the_log_has_no_index(write: Write) -> None:
    path = write("timestamp, uuid, utilization.gpu [%]\n2026/03/02 09:00:00, GPU-1a, 5 %\n")
    assert list(series(path)) == [("gpu_utilization", "GPU-1a")]


def test_a_log_that_goes_on_after_a_restart_or_ends_in_a_line(write: Write) -> None:
    later = ROW.replace("09:00:00", "09:01:00")
    found = series(write(HEAD + ROW + HEAD + later + "2026/03/02 09:02:00.250, 0, NVID"))
    assert [time for time, _ in found["gpu_utilization", "0"]] == [T + 0.25, T + 60.25]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (HEAD.replace("timestamp", "count") + ROW, 1, "no column timestamp; log with nvidia-smi --query-gpu="),
        ("timestamp, utilization.gpu [%]\n", 1, "no column tells one GPU from the other; add index"),
        ("timestamp, index, name\n", 1, "no column that is measured"),
        (HEAD.replace("[W]", "[hp]"), 1, 'unit "hp"'),
        (HEAD + ROW.replace("2026/03/02", "02.03.2026"), 2, "is not a time such as"),
        (HEAD + ROW.replace("57 %", "lots"), 2, '"lots" is not a measured value'),
        (HEAD + ROW.replace("57 %", "-5 %"), 2, '"-5 %" is not a measured value'),
        (HEAD + ROW.replace("57 %", "57 hp"), 2, '"57 hp" is not a measured value'),
        (HEAD + "2026/03/02 09:00:00, 0\n" + ROW, 2, "2 cells under 7 headings"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(write: Write, text: str, line: int, words: str) -> None:
    path = write(text)
    with pytest.raises(UsageError) as caught:
        series(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)
