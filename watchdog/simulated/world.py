"""The simulated world behind the fake clouds: jobs, their lives, and what their GPUs do."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from watchdog.model import JobStatus
from watchdog.ports import Clock

GIB = 1024.0**3
Signal = Callable[[str, str, str, float], float | None]
"""``(metric, node, gpu, time)`` to a ratio, None where there is no sample. GPU is empty for a node's metrics."""

GPU_METRICS = ("gpu_utilization", "gpu_memory_utilization")
NODE_METRICS = ("cpu_utilization", "memory_utilization", "ephemeral_storage_utilization")
CACHE = "cache_utilization"


@dataclass(slots=True)
class SimJob:
    """One job. Its statuses are a timeline; it has samples only while it runs."""

    id: str
    name: str
    project: str
    project_name: str
    signal: Signal
    timeline: list[tuple[float, JobStatus]]
    """(since, status), ascending; the first entry is the creation."""
    owner: str | None = None
    gpu_type: str = "H100"
    gpus_per_node: int = 8
    nodes: Sequence[str] = ("node-0",)
    gpu_memory_bytes: float = 80 * GIB
    memory_bytes: float = 1024 * GIB
    millicpu: int = 96_000
    disk_bytes: float = 2000 * GIB
    cache_bytes: float = 1000 * GIB
    usd_per_minute: float | None = 0.86667
    """List price of a node (8 H100, unless said otherwise); None: it is in no list."""
    error: str | None = None
    """Shown once the job has failed."""

    @property
    def created_at(self) -> float:
        """When the job was made."""
        return self.timeline[0][0]

    def status_at(self, time: float) -> JobStatus | None:
        """Return the status at a time; None before the job was made."""
        found = None
        for since, status in self.timeline:
            if since <= time:
                found = status
        return found

    def changed_at(self, time: float) -> float:
        """Return when the status last changed."""
        return max((since for since, _ in self.timeline if since <= time), default=self.created_at)

    def end(self, time: float, status: JobStatus) -> None:
        """Let the job end now, whatever the timeline had in store."""
        self.timeline[:] = [entry for entry in self.timeline if entry[0] < time] + [(time, status)]

    def first_run(self) -> float | None:
        """Return when it began to run."""
        return next((since for since, status in self.timeline if status is JobStatus.RUNNING), None)


class World:
    """All jobs of one cloud, by a clock. Samples are ``step`` seconds apart and come ``lag`` seconds late."""

    def __init__(self, jobs: Sequence[SimJob], clock: Clock, step: float = 60.0, lag: float = 0.0) -> None:
        self.jobs = list(jobs)
        self.clock = clock
        self.step = step
        self.lag = lag

    def newest(self) -> float:
        """Return the time up to which there are samples now."""
        return self.clock() - self.lag

    def job(self, id_: str) -> SimJob | None:
        """Return a job that exists now."""
        now = self.clock()
        return next((job for job in self.jobs if job.id == id_ and job.status_at(now) is not None), None)

    def present(self) -> list[SimJob]:
        """Return the jobs that exist now."""
        now = self.clock()
        return [job for job in self.jobs if job.status_at(now) is not None]

    def samples(
        self, job: SimJob, metric: str, place: tuple[str, str], window: tuple[float, float], step: float | None = None
    ) -> list[tuple[float, float]]:
        """Return samples on the grid of ``step`` within the window, while the job ran and up to ``newest``."""
        every = max(step or self.step, self.step)
        start, end = max(window[0], job.created_at), min(window[1], self.newest())
        time = math.ceil(start / every) * every
        found = []
        while time <= end:
            if job.status_at(time) is JobStatus.RUNNING:
                value = job.signal(metric, *place, time)
                if value is not None:
                    found.append((time, value))
            time += every
        return found


def steady(**levels: float) -> Signal:
    """Return a signal of a busy job: each metric at a level, with a little noise that is always the same."""
    usual = {
        "gpu_utilization": 0.94,
        "gpu_memory_utilization": 0.72,
        "cpu_utilization": 0.35,
        "memory_utilization": 0.4,
        "ephemeral_storage_utilization": 0.2,
    }
    known = {**usual, **levels}

    def signal(metric: str, node: str, gpu: str, time: float) -> float | None:
        level = known.get(metric)
        return None if level is None else noisy(level, f"{metric}{node}{gpu}{time}", metric)

    return signal


def noisy(level: float, seed: str, metric: str) -> float:
    """Return a level with up to two points of noise; fill levels and zeros stay as they are."""
    if metric not in ("gpu_utilization", "cpu_utilization") or level == 0.0:
        return level
    share = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=4).digest(), "big") / 2**32
    return min(1.0, max(0.0, level + 0.04 * (share - 0.5)))


def fleet_world(jobs: int, gpus: int, clock: Clock, age: float = 7200.0) -> World:
    """Return many busy jobs that are all alike and have run for ``age`` seconds: for load."""
    start = clock() - age
    return World(
        [
            SimJob(
                id=f"job{number:05d}",
                name=f"train-{number}",
                project=f"proj{number % 20:02d}",
                project_name=f"project {number % 20}",
                signal=steady(cache_utilization=0.3),
                timeline=[(start - 120.0, JobStatus.STARTING), (start, JobStatus.RUNNING)],
                gpus_per_node=gpus,
            )
            for number in range(jobs)
        ],
        clock,
    )
