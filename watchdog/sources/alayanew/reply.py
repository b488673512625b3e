"""Alaya NeW's replies as points and jobs. Pure.

All values are ratios written as text; there are no bytes and no cores. Times are epoch seconds; the
range's own texts are not needed (reference, section 1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import count
from typing import Any

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import Job, JobStatus, Points, labels_of
from watchdog.sources.base.numbers import RATIO_MOST, Reason, number
from watchdog.sources.base.points import PointReader
from watchdog.sources.base.times import any_seconds

PROVIDER = "alayanew"
METRICS = {
    "gpu": "gpu_utilization",
    "vram": "gpu_memory_utilization",
    "cpu": "cpu_utilization",
    "memory": "memory_utilization",
}
"""The values of ``type``, one per request, and the metric that each gives."""
PERIODS: Sequence[tuple[str, float]] = (
    ("15m", 900.0),
    ("1h", 3600.0),
    ("6h", 21600.0),
    ("24h", 86400.0),
    ("3d", 259200.0),
    ("7d", 604800.0),
    ("30d", 2592000.0),
)
"""The closed list of ``period``, with seconds."""

_GPU_NAME = re.compile(r"(?P<model>.+)-(?P<index>\d{1,2})", re.ASCII)
"""Documented with a memory size before the index (``…-80G-3``), which other models may lack (``H100-0``); a longer
number belongs to the model (``RTX-4090``)."""
_STATUS = {
    **dict.fromkeys(("WAITING", "QUEUEING", "QUEUING", "PENDING", "QUEUED"), JobStatus.PENDING),
    **dict.fromkeys(("CREATING", "STARTING", "INITIALIZING"), JobStatus.STARTING),
    "RUNNING": JobStatus.RUNNING,
    **dict.fromkeys(("SUCCEEDED", "SUCCESS"), JobStatus.COMPLETED),
    **dict.fromkeys(("FAILED", "ERROR"), JobStatus.FAILED),
    **dict.fromkeys(("CANCELED", "CANCELLED", "DELETED"), JobStatus.STOPPED),
    # A paused job has no pods and costs nothing: it has ended until it is resumed, under the same id.
    **dict.fromkeys(("SUSPENDED", "SUSPENDING", "PAUSED"), JobStatus.STOPPED),
}
"""A third-party client's words: the vendor publishes none for this product."""


@dataclass(frozen=True, slots=True)
class TypeReading:
    """What one metrics reply (of one type) says."""

    points: tuple[Points, ...]
    gpus: Mapping[str, int]
    """GPUs by pod, with or without points; zeros for ``cpu`` and ``memory``."""
    gpu_type: str


def period_for(seconds: float) -> tuple[str, float]:
    """Return the shortest period that holds ``seconds``, else the longest there is, with its length."""
    return next((period for period in PERIODS if period[1] >= seconds), PERIODS[-1])


def gpu_name(raw: object) -> tuple[str, str]:
    """Return model and index of a ``gpuName``; index empty where the name has none, both where there is no name."""
    name = raw.strip() if isinstance(raw, str) else ""
    if name in ("", "-"):
        return "", ""
    found = _GPU_NAME.fullmatch(name)
    return (found["model"], found["index"]) if found else (name, "")


def status_of(word: str) -> JobStatus:
    """Return the normalized status, ignoring case; a word that is not known is UNKNOWN."""
    return _STATUS.get(word.strip().upper(), JobStatus.UNKNOWN)


def type_reading(data: object, kind: str, reader: PointReader) -> TypeReading:
    """Return the points of a reply to ``type=kind``. Raises SourceError (malformed) where it has no series list."""
    entries = data.get("metricData") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise SourceError(SourceErrorKind.MALFORMED, f"metrics ({kind}): an answer without metricData")
    on_gpu = kind in ("gpu", "vram")
    points: list[Points] = []
    seen: dict[str, list[str]] = {}
    gpu_type = ""
    for entry in entries:
        if not isinstance(entry, dict):
            reader.drop(Reason.POINT)
            continue
        pod = _text(entry.get("podName")) or "-"
        names = seen.setdefault(pod, [])
        if on_gpu:
            model, index = gpu_name(entry.get("gpuName"))
            gpu_type = gpu_type or model
            names.append(_apart(index or model or "gpu", names, reader))
        raw = entry.get("metricData")
        times, values = reader.read(raw if isinstance(raw, list) else [], RATIO_MOST)
        if times:
            labels = labels_of({"gpu": names[-1] if on_gpu else "", "node": pod})
            points.append(Points(METRICS[kind], labels, times, values))
    return TypeReading(tuple(points), {pod: len(names) for pod, names in seen.items()}, gpu_type)


def _apart(name: str, taken: Sequence[str], reader: PointReader) -> str:
    """Return a name that no other GPU of the pod has: by order in the reply, for want of anything better."""
    if name not in taken:
        return name
    reader.drop(Reason.GPU)
    return next(free for number in count(1) if (free := f"{name}#{number}") not in taken)


def job_of(row: Mapping[str, Any], source: str, zone: tzinfo) -> Job:
    """Return the job that a row of the job list describes."""
    resource = row.get("resource")
    resource = resource if isinstance(resource, dict) else {}
    nodes, per_node = _count(resource.get("workerCount")), _count(resource.get("gpuCount"))
    word = _text(row.get("status"))
    return Job(
        source=source,
        provider=PROVIDER,
        job=id_of(row),
        status=status_of(word),
        provider_status=word,
        job_name=_text(row.get("name")),
        gpu_type=gpu_name(resource.get("gpuName"))[0],
        gpus=None if nodes is None or per_node is None else nodes * per_node,
        nodes=nodes,
        created_at=any_seconds(row.get("createdTime"), zone),
        started_at=any_seconds(row.get("startTime"), zone),
        ended_at=any_seconds(row.get("endTime") or row.get("finishTime"), zone),
        error=_text(row.get("reason")) or _text(row.get("message")),
    )


def id_of(row: object) -> str:
    """Return the id of a row of the job list, also where it is a number; empty if it has none."""
    raw = row.get("id") if isinstance(row, dict) else None
    return str(raw) if isinstance(raw, int) and not isinstance(raw, bool) else _text(raw)


def _text(raw: object) -> str:
    return raw.strip() if isinstance(raw, str) else ""


def _count(raw: object) -> int | None:
    value = number(raw)
    return int(value) if isinstance(value, float) and value >= 0 and value == int(value) else None
