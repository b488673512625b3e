"""Raw replies of Baseten and Alaya NeW, read by the sources' own decoders.

A file holds one reply, a list of replies, or one reply a line. Baseten: the answer to a job's ``metrics``. Alaya
NeW: that too, one type of metrics each, and the job list; its metrics do not name their job, so the file's name
does, up to the first dot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any

import orjson

from watchdog.errors import SourceError, UsageError
from watchdog.files.series import FileItem, FileJob, FileSeries
from watchdog.labels import METRIC_NAME
from watchdog.model import Job, JobReading, JobStatus, Points, labels_of
from watchdog.sources.alayanew import reply as alayanew
from watchdog.sources.base.points import PointReader
from watchdog.sources.base.times import epoch_seconds, iso_seconds
from watchdog.sources.baseten import reply as baseten
from watchdog.sources.baseten.job import PROVIDER as BASETEN

_REMEDY = "save the provider's answer as it came"


def recognizes(head: str) -> bool:
    """Whether a text looks like JSON."""
    return head.lstrip()[:1] in ("{", "[")


def read(file: str, lines: Iterable[str], zone: tzinfo) -> Iterator[FileItem]:
    """Read the replies of one file; ``zone`` is that of a job list's times that have none. Raises UsageError."""
    for place, reply in _replies(file, list(lines)):
        try:
            found = list(_items(file, reply, zone))
        except SourceError as error:
            raise UsageError(f"{place}: {error}; {_REMEDY}") from error
        if not found:
            raise UsageError(f"{place}: is no reply of Baseten's or Alaya NeW's metrics or job list; {_REMEDY}")
        yield from found


def _replies(file: str, lines: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield each reply and the place where it begins."""
    text = "".join(lines)
    try:
        whole = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if len(lines) < 2 or not lines[0].rstrip().endswith("}"):
            raise UsageError(f"{file}:{error.lineno}: is not JSON ({error.msg}); {_REMEDY}") from error
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{file}:{number}", _line(f"{file}:{number}", line)
        return
    for reply in whole if isinstance(whole, list) else [whole]:
        yield file, reply


def _line(place: str, line: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{place}: is not JSON ({error.msg}); {_REMEDY}") from error


def _items(file: str, reply: object, zone: tzinfo) -> Iterator[FileItem]:
    if not isinstance(reply, dict):
        return
    data = reply.get("data", reply)
    if isinstance(data, dict) and isinstance(data.get("metricData"), list):
        yield from _alaya_metrics(file, data)
    elif isinstance(data, dict) and isinstance(data.get("records"), list):
        rows = [row for row in data["records"] if alayanew.id_of(row)]
        yield from (FileJob(file, alayanew.job_of(row, "", zone)) for row in rows)
    elif "training_job" in reply or "per_node_metrics" in reply:
        yield from _baseten(file, reply)


def _baseten(file: str, reply: dict[str, Any]) -> Iterator[FileItem]:
    known = Job("", BASETEN, _job_id(file), JobStatus.UNKNOWN)
    context = baseten.ReplyContext("", {}, -math.inf, math.inf)
    reading = baseten.reading_of(reply, known, context)
    raw = reply.get("training_job")
    ended = iso_seconds(raw.get("updated_at")) if isinstance(raw, dict) else None
    job = reading.job  # the last change of an ended job is its end
    yield FileJob(file, replace(job, ended_at=ended) if job.status.terminal else job)
    yield from _series(file, reading)


def _alaya_metrics(file: str, data: dict[str, Any]) -> Iterator[FileItem]:
    kinds = {entry.get("type") for entry in data["metricData"] if isinstance(entry, dict)}
    unknown = sorted(str(kind) for kind in kinds - alayanew.METRICS.keys())
    if unknown:
        raise UsageError(f'{file}: type "{unknown[0]}" of metricData is not one of gpu, vram, cpu, memory; {_REMEDY}')
    if not kinds:
        yield FileJob(file, Job("", alayanew.PROVIDER, _job_id(file), JobStatus.UNKNOWN))
    for kind in sorted(str(kind) for kind in kinds):
        part = {"metricData": [entry for entry in data["metricData"] if entry.get("type") == kind]}
        found = alayanew.type_reading(part, kind, PointReader(epoch_seconds, -math.inf, math.inf))
        gpus = sum(found.gpus.values()) if kind in ("gpu", "vram") else None
        nodes = len(found.gpus) or None
        status = JobStatus.UNKNOWN
        job = Job("", alayanew.PROVIDER, _job_id(file), status, gpu_type=found.gpu_type, gpus=gpus or None, nodes=nodes)
        yield FileJob(file, job)
        yield from _series(file, JobReading(job, found.points))


def _series(file: str, reading: JobReading) -> Iterator[FileSeries]:
    base, project = dict(reading.job.labels), dict(reading.job.project_labels)
    for labels, points in [(base, p) for p in reading.points] + [(project, p) for p in reading.project_points]:
        yield _one(file, labels, points)


def _one(file: str, base: dict[str, str], points: Points) -> FileSeries:
    labels = labels_of({**base, **dict(points.labels), METRIC_NAME: points.metric})
    return FileSeries(file, labels, points.times, points.values, [0] * len(points.times))


def _job_id(file: str) -> str:
    return Path(file).name.partition(".")[0]
