"""Recorded runs: ``t,metric,gpu,value``, with a line for the run in ``runs.csv`` beside it or in the folder above.

``t`` is seconds from the start of the run on a grid of 30 s. A row at ``t`` says what was in the 30 s after it,
so its sample counts at ``t + 30``, when a poll could know it. The start, which the data does not have, is
``START``: all runs begin together.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from watchdog.errors import UsageError
from watchdog.files.series import FileItem, FileJob, FileSeries
from watchdog.labels import METRIC_NAME
from watchdog.model import Job, JobStatus, labels_of
from watchdog.vocabulary import METRICS

START = 1_767_225_600.0
"""2026-01-01 00:00 UTC."""
GRID = 30.0
HEADINGS = ["t", "metric", "gpu", "value"]
_RENAMED = {"disk_utilization": "ephemeral_storage_utilization", "disk_usage_bytes": "ephemeral_storage_usage_bytes"}
_ENDS = {"exit_0": JobStatus.COMPLETED, "exit_nonzero": JobStatus.FAILED}
"""How a run ended, where its client said so: of one that was killed or lost that is not known."""
_NODE = "node-0"


@dataclass(slots=True)
class _Column:
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("Q"))


def recognizes(head: str) -> bool:
    """Whether the first line is that of a recorded run."""
    return head.partition("\n")[0].strip().split(",") == HEADINGS


def read(file: str, lines: Iterable[str]) -> Iterator[FileItem]:
    """Read one run; metrics that are not of the vocabulary are passed over. Raises UsageError."""
    run = Path(file).name.partition(".")[0]
    facts = _facts(Path(file), run)
    ours = facts.get("job_gpus", "").split()  # the client saw all GPUs of a shared host
    columns: dict[tuple[str, str], _Column] = {}
    rows = csv.reader(lines)
    next(rows, None)
    for number, row in enumerate(rows, 2):
        if len(row) != len(HEADINGS):
            raise _error(file, number, f"{len(row)} cells in place of t,metric,gpu,value")
        metric = _RENAMED.get(row[1], row[1])
        if metric in METRICS and (not row[2] or not ours or row[2] in ours):
            _take(file, number, row, columns.setdefault((metric, row[2]), _Column()))
    model = facts.get("gpu_model", "")
    for (metric, gpu), column in columns.items():
        labels = labels_of({METRIC_NAME: metric, "gpu": gpu, "node": _NODE, "gpu_type": model})
        yield FileSeries(file, labels, column.times, column.values, column.lines)
    gpus = {gpu for metric, gpu in columns if metric == "gpu_utilization"}
    yield FileJob(file, _job(run, facts, len(gpus) or None))


def _job(run: str, facts: Mapping[str, str], gpus: int | None) -> Job:
    duration = facts.get("duration_s")
    return Job(
        source="",
        provider="",
        job=run,
        status=_ENDS.get(facts.get("end", ""), JobStatus.UNKNOWN),
        gpu_type=facts.get("gpu_model", ""),
        gpus=gpus,
        nodes=1,
        started_at=START,
        ended_at=START + float(duration) if duration else None,
        error="CUDA out of memory" if facts.get("oom_text") == "yes" else "",
    )


def _take(file: str, number: int, row: list[str], column: _Column) -> None:
    try:
        time, value = float(row[0]), float(row[3])
    except ValueError:
        time = value = math.nan
    if not (math.isfinite(time) and math.isfinite(value)):
        raise _error(file, number, f'"{row[0]}" and "{row[3]}" are not a time and a value')
    column.times.append(START + time + GRID)
    column.values.append(value)
    column.lines.append(number)


def _facts(path: Path, run: str) -> Mapping[str, str]:
    """Return the line of the run; empty where there is none."""
    for folder in (path.parent, path.parent.parent):
        file = folder / "runs.csv"
        if file.exists():
            with file.open(encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    if row.get("run") == run:
                        return row
    return {}


def _error(file: str, number: int, reason: str) -> UsageError:
    return UsageError(f"{file}:{number}: {reason}; remove the line")
