"""What samples and files say of a job itself: its facts, and which state it had when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from watchdog.files import FileJob
from watchdog.model import Job, JobStatus
from watchdog.replay.recording import RecordedSeries


def facts_of(job: Job, files: Sequence[FileJob], series: Sequence[RecordedSeries]) -> Job:
    """Return the job with what files and its own ``job_*`` series say of it; the later word counts.

    Its status is the end that somebody told, else UNKNOWN.
    """
    said = [one.job for one in files]
    gpus, nodes = _size(files)
    ends = [one for one in said if one.status.terminal]
    told = replace(
        job,
        status=ends[-1].status if ends else JobStatus.UNKNOWN,
        gpus=gpus,
        nodes=nodes,
        created_at=next((one.created_at for one in said if one.created_at is not None), None),
        started_at=next((one.started_at for one in said if one.started_at is not None), None),
        ended_at=ends[-1].ended_at if ends else None,
        cost_usd_per_hour=next((one.cost_usd_per_hour for one in reversed(said) if one.cost_usd_per_hour), None),
        url=next((one.url for one in said if one.url), ""),
        error=next((one.error for one in reversed(said) if one.error), ""),
    )
    newest = {one.metric: one for one in series}
    if "job_gpus" in newest:
        told = replace(told, gpus=int(newest["job_gpus"].values[-1]))
    if "job_cost_usd_per_hour" in newest:
        told = replace(told, cost_usd_per_hour=float(newest["job_cost_usd_per_hour"].values[-1]))
    if "job_pending_seconds" in newest:
        told = replace(told, created_at=_since(newest["job_pending_seconds"]))
    if "job_running_seconds" in newest:
        told = replace(told, started_at=_since(newest["job_running_seconds"]))
    return told


def _size(files: Sequence[FileJob]) -> tuple[int | None, int | None]:
    """Return GPUs and nodes of a job: as it is told as a whole, else those of its nodes together."""
    whole = [one.job for one in files if not one.part]
    parts: dict[str, int] = {}
    for one in files:
        if one.part and one.job.gpus is not None:
            parts[one.part] = max(parts.get(one.part, 0), one.job.gpus)
    gpus = max((job.gpus for job in whole if job.gpus is not None), default=sum(parts.values()) or None)
    return gpus, max((job.nodes for job in whole if job.nodes is not None), default=len(parts) or None)


def states_of(
    job: Job, series: Sequence[RecordedSeries], first: float, last: float
) -> tuple[tuple[float, JobStatus], ...]:
    """Return from when on the job had which status: what ``job_status`` says, else running from first to last sample.

    An end that only a file tells comes at the time it names, and not before the last sample.
    """
    at: dict[float, JobStatus] = {}
    for one in series:
        status = _STATUS.get(dict(one.labels).get("status", ""))
        if one.metric == "job_status" and status is not None:
            at.update(dict.fromkeys(one.times[one.values == 1.0].tolist(), status))
    seen = sorted(at.items()) or [(first, JobStatus.RUNNING)]
    seen[0] = (min(first, seen[0][0]), seen[0][1])
    if job.status.terminal and not seen[-1][1].terminal:
        seen.append((max(last, job.ended_at or last), job.status))
    return (seen[0], *(after for before, after in pairwise(seen) if after[1] is not before[1]))


_STATUS = {status.value: status for status in JobStatus}


def _since(series: RecordedSeries) -> float:
    """Return when a figure that counts seconds was zero."""
    return float(series.times[-1] - series.values[-1])
