"""Recorded GPU runs, and how one becomes a job of the simulated world.

A recording is ``<run>.csv.gz`` with the columns ``t,metric,gpu,value`` on a 30 s grid, and a line for the run
in ``runs.csv`` beside it or in the folder above; see README.md here.
"""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from watchdog.errors import UsageError
from watchdog.model import JobStatus
from watchdog.simulated.world import SimJob

STEP = 60.0
_MEAN = frozenset({"gpu_utilization", "cpu_utilization"})
_RENAMED = {"disk_utilization": "ephemeral_storage_utilization"}
_ENDS = {"exit_0": JobStatus.COMPLETED, "exit_nonzero": JobStatus.FAILED}
"""How a run ended, where its client said so: one that was killed or lost is not known to have ended."""
Series = Mapping[tuple[str, str], Mapping[int, float]]
"""By (metric, GPU): value by minute since the start. A minute without a sample is absent."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run, reduced to minutes."""

    run: str
    series: Series
    duration: float
    gpus: int
    gpu_model: str
    gpu_memory_bytes: float
    end: JobStatus | None
    """None: the run fell silent, and its job goes on without samples."""
    oom: bool

    def value(self, metric: str, gpu: str, since_start: float) -> float | None:
        """Return the value of the minute that ended at ``since_start``."""
        return self.series.get((metric, gpu), {}).get(math.ceil(since_start / STEP) - 1)


def bundled() -> list[Path]:
    """Return the recordings that come with the package."""
    return sorted(Path(__file__).parent.glob("*.csv.gz"))


def read_run(path: Path) -> Recording:
    """Read a recording. Raises UsageError that names what is missing or wrong."""
    run = path.name.partition(".")[0]
    facts = _facts(path, run)
    ours = facts.get("job_gpus", "").split()  # the client saw all GPUs of a shared host
    buckets: dict[tuple[str, str], dict[int, list[float]]] = {}
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["gpu"] and ours and row["gpu"] not in ours:
                    continue
                key = (_RENAMED.get(row["metric"], row["metric"]), row["gpu"])
                minute = int(float(row["t"]) // STEP)
                buckets.setdefault(key, {}).setdefault(minute, []).append(float(row["value"]))
    except (OSError, EOFError, KeyError, ValueError, TypeError) as error:
        raise UsageError(f"{path} is not a recording (a gzip file of t,metric,gpu,value): {error}") from error
    series = {
        key: {minute: sum(v) / len(v) if key[0] in _MEAN else v[-1] for minute, v in minutes.items()}
        for key, minutes in buckets.items()
    }
    gpus = sorted({gpu for metric, gpu in series if metric == "gpu_utilization"})
    if not gpus:
        raise UsageError(f"{path} holds no gpu_utilization; there is nothing to watch")
    return Recording(
        run=run,
        series=series,
        duration=float(facts.get("duration_s") or STEP * (1 + max(max(m) for m in series.values()))),
        gpus=len(gpus),
        gpu_model=facts.get("gpu_model") or "GPU",
        gpu_memory_bytes=float(facts.get("gpu_memory_total_bytes") or 80 * 1024**3),
        end=_ENDS.get(facts.get("end", "")),
        oom=facts.get("oom_text") == "yes",
    )


def _facts(path: Path, run: str) -> Mapping[str, str]:
    for folder in (path.parent, path.parent.parent):
        file = folder / "runs.csv"
        if file.exists():
            with file.open(encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    if row.get("run") == run:
                        return row
    return {}


def job_of(recording: Recording, start: float, nodes: tuple[str, ...] = ("node-0",)) -> SimJob:
    """Return a job that lives through the recording from ``start`` on (a whole minute is best)."""
    ranks = sorted({gpu for metric, gpu in recording.series if metric == "gpu_utilization"}, key=_number)

    def signal(metric: str, _: str, gpu: str, time: float) -> float | None:
        original = ranks[int(gpu)] if gpu else ""
        return recording.value(metric, original, time - start)

    return SimJob(
        id=f"rec{recording.run}",
        name=f"recorded-{recording.run}",
        project="recorded",
        project_name="recorded runs",
        signal=signal,
        timeline=[
            (start - 60.0, JobStatus.STARTING),
            (start, JobStatus.RUNNING),
            *([] if recording.end is None else [(start + recording.duration, recording.end)]),
        ],
        gpu_type=recording.gpu_model,
        gpus_per_node=recording.gpus,
        nodes=nodes,
        gpu_memory_bytes=recording.gpu_memory_bytes,
        usd_per_minute=None,
        error="CUDA out of memory" if recording.oom else None,
    )


def _number(gpu: str) -> tuple[int, str]:
    return (int(gpu), "") if gpu.isdigit() else (1 << 30, gpu)
