"""What the jobs do in one history: phases of idleness, growing memory, ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from watchdog.model import JobStatus
from watchdog.simulated.world import Signal, SimJob

MINUTE = 60.0
LENGTH = 28 * MINUTE
"""Of the part in which things go wrong."""
ENDS = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.STOPPED)


@dataclass(slots=True)
class Life:
    """The truth about one job."""

    job: SimJob
    idle: list[tuple[float, float]] = field(default_factory=list)
    """Spans in which none of its GPUs works."""
    full_from: float | None = None
    """Since when its GPU memory is almost full."""
    ends: tuple[float, JobStatus] | None = None


def story(random: Random, start: float) -> list[Life]:
    """Return the jobs of one history that begins at ``start``."""
    return [_life(random, start, number) for number in range(random.choice((1, 2)))]


def _life(random: Random, start: float, number: int) -> Life:
    began = start - 30 * MINUTE
    life = Life(
        SimJob(
            id=f"job{number}",
            name=f"train-{number}",
            project="proj",
            project_name="project",
            signal=lambda *_: None,
            timeline=[(began - MINUTE, JobStatus.STARTING), (began, JobStatus.RUNNING)],
            gpus_per_node=random.choice((1, 2)),
            error="CUDA out of memory",
        )
    )
    at = start
    while at < start + LENGTH:
        busy = random.choice((2, 5, 9)) * MINUTE
        idle = random.choice((1, 4, 6, 15, 60)) * MINUTE
        life.idle.append((at + busy, at + busy + idle))
        at += busy + idle
    if random.random() < 0.3:
        life.full_from = start + random.randrange(2, 20) * MINUTE
    if random.random() < 0.4:
        life.ends = (start + random.randrange(5, 26) * MINUTE, random.choice(ENDS))
        life.job.timeline.append(life.ends)
    life.job.signal = _signal(life)
    return life


def _signal(life: Life) -> Signal:
    def signal(metric: str, node: str, gpu: str, time: float) -> float | None:
        if metric == "gpu_utilization":
            return 0.0 if any(begin <= time < end for begin, end in life.idle) else 0.9
        if metric == "gpu_memory_utilization":
            full = life.full_from is not None and time >= life.full_from
            return 0.98 if full else 0.6
        return None

    return signal
