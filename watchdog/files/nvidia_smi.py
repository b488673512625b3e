"""Logs of ``nvidia-smi --query-gpu=timestamp,index,… --format=csv``, with or without ``nounits``.

Columns are known by their names in the first line, which also states the units; others are passed over. One
line is one GPU at one time. The file's name stands for the node.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path

from watchdog.errors import UsageError
from watchdog.files.series import FileItem, FileJob, FileSeries
from watchdog.labels import METRIC_NAME
from watchdog.model import Job, JobStatus, labels_of

_METRICS: Mapping[str, tuple[str, str]] = {
    "utilization.gpu": ("gpu_utilization", "%"),
    "memory.used": ("gpu_memory_usage_bytes", "MiB"),
    "memory.total": ("gpu_memory_limit_bytes", "MiB"),
    "power.draw.average": ("gpu_power_watts", "W"),
    "power.draw.instant": ("gpu_power_watts", "W"),
    "power.draw": ("gpu_power_watts", "W"),
    "temperature.gpu": ("gpu_temperature_celsius", ""),
}
"""Column, metric, and the unit where the first line states none. Of columns with one metric the last here counts."""
_SCALES = {"": 1.0, "%": 0.01, "B": 1.0, "KiB": 1024.0, "MiB": 1048576.0, "GiB": 1073741824.0, "W": 1.0, "C": 1.0}
_SCALES |= {"mW": 0.001}
_NAMES = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id")
"""Columns that tell GPUs apart, the best first."""
_MODELS = ("name", "gpu_name")
_HEADING = re.compile(r"([a-z][a-z0-9_.]*)(?: \[(.+)\])?")
_TIME_FORMS = ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S")
_KNOWN = frozenset({*_METRICS, *_NAMES, *_MODELS, "timestamp"})
_QUERY = "timestamp,index,name,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu"
_REMEDY = f"log with nvidia-smi --query-gpu={_QUERY} --format=csv"


@dataclass(frozen=True, slots=True)
class _Head:
    """What the first line says: where each column is, and by what its numbers are multiplied."""

    cells: tuple[str, ...]
    time: int
    gpu: int
    model: int | None
    metrics: Mapping[str, tuple[int, float]]
    """By metric: column and scale."""


@dataclass(slots=True)
class _Column:
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def recognizes(head: str) -> bool:
    """Whether the first line names columns of ``nvidia-smi``."""
    names = {_heading(cell)[0] for cell in _cells(head.partition("\n")[0])}
    return "utilization.gpu" in names or len(names & _KNOWN) > 1


def read(file: str, lines: Iterable[str], zone: tzinfo) -> Iterator[FileItem]:
    """Read one log; its times are in ``zone``. Raises UsageError naming file, line and remedy."""
    rows = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    head = _head(file, next(rows, (1, ""))[1])
    columns: dict[tuple[str, str], _Column] = {}
    models: dict[str, None] = {}
    for (number, line), last in _with_last(rows):
        cells = _cells(line)
        if tuple(cells) == head.cells:
            continue  # the log goes on after a restart
        if len(cells) != len(head.cells):
            if last:
                break  # the logger was stopped within a line
            raise _error(file, number, f"{len(cells)} cells under {len(head.cells)} headings", "remove the line")
        _take(file, number, cells, head, zone, columns)
        if head.model is not None:
            models[cells[head.model]] = None
    yield from _items(file, columns, next(iter(models), "") if len(models) == 1 else "")


def _take(
    file: str, number: int, cells: Sequence[str], head: _Head, zone: tzinfo, columns: dict[tuple[str, str], _Column]
) -> None:
    time = _time(file, number, cells[head.time], zone)
    for metric, (position, scale) in head.metrics.items():
        value = _value(file, number, cells[position], scale)
        if value is None:
            continue
        column = columns.setdefault((cells[head.gpu], metric), _Column())
        column.times.append(time)
        column.values.append(value)
        column.lines.append(number)


def _items(file: str, columns: Mapping[tuple[str, str], _Column], model: str) -> Iterator[FileItem]:
    node = Path(file).name.partition(".")[0]
    for (gpu, metric), column in columns.items():
        yield _series(file, metric, {"gpu": gpu, "node": node, "gpu_type": model}, column)
        limit = columns.get((gpu, "gpu_memory_limit_bytes"))
        if metric == "gpu_memory_usage_bytes" and limit is not None:
            labels = {"gpu": gpu, "node": node, "gpu_type": model}
            yield _series(file, "gpu_memory_utilization", labels, _ratio(column, limit))
    gpus = {gpu for gpu, _ in columns}
    if gpus:
        yield FileJob(file, Job("", "", "", JobStatus.UNKNOWN, gpu_type=model, gpus=len(gpus), nodes=1), part=node)


def _ratio(usage: _Column, limit: _Column) -> _Column:
    limits = dict(zip(limit.lines, limit.values, strict=True))
    ratio = _Column()
    for time, value, line in zip(usage.times, usage.values, usage.lines, strict=True):
        if limits.get(line):
            ratio.times.append(time)
            ratio.values.append(value / limits[line])
            ratio.lines.append(line)
    return ratio


def _series(file: str, metric: str, labels: Mapping[str, str], column: _Column) -> FileSeries:
    return FileSeries(file, labels_of({METRIC_NAME: metric, **labels}), column.times, column.values, column.lines)


def _head(file: str, line: str) -> _Head:
    cells = _cells(line)
    headings = [_heading(cell) for cell in cells]
    at = {name: position for position, (name, _) in enumerate(headings)}
    if "timestamp" not in at:
        raise _error(file, 1, "the log has no column timestamp", _REMEDY)
    gpu = next((at[name] for name in _NAMES if name in at), None)
    if gpu is None:
        raise _error(file, 1, "no column tells one GPU from the other", f"add index: {_REMEDY}")
    metrics = {}
    for name, (metric, usual) in _METRICS.items():
        if name in at:
            unit = headings[at[name]][1] or usual
            if unit not in _SCALES:
                raise _error(file, 1, f'the unit "{unit}" of {name} is not known', "log without changed units")
            metrics[metric] = (at[name], _SCALES[unit])
    if not metrics:
        raise _error(file, 1, "the log has no column that is measured", _REMEDY)
    model = next((at[name] for name in _MODELS if name in at), None)
    return _Head(tuple(cells), at["timestamp"], gpu, model, metrics)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]


def _heading(cell: str) -> tuple[str, str]:
    found = _HEADING.fullmatch(cell)
    return (found[1], found[2] or "") if found else ("", "")


def _time(file: str, number: int, text: str, zone: tzinfo) -> float:
    for form in _TIME_FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=zone).timestamp()
        except ValueError:
            continue
    raise _error(file, number, f'"{text}" is not a time such as 2026/03/02 09:00:00.123', "remove the line")


def _value(file: str, number: int, text: str, scale: float) -> float | None:
    """Return a number in base units; None for one that the driver does not know."""
    if text.startswith("[") or text in ("", "N/A"):
        return None
    digits, _, unit = text.partition(" ")  # 93 %
    if unit and unit in _SCALES:
        scale = _SCALES[unit]
    try:
        value = float(digits) / 100.0 if scale == _SCALES["%"] else float(digits) * scale  # 57 % is 0.57
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (unit and unit not in _SCALES):
        raise _error(file, number, f'"{text}" is not a measured value', "remove the line")
    return value


def _with_last(rows: Iterator[tuple[int, str]]) -> Iterator[tuple[tuple[int, str], bool]]:
    """Yield each row, and whether it is the last one."""
    before = next(rows, None)
    for row in rows:
        if before is not None:
            yield before, False
        before = row
    if before is not None:
        yield before, True


def _error(file: str, number: int, reason: str, remedy: str) -> UsageError:
    return UsageError(f"{file}:{number}: {reason}; {remedy}")
