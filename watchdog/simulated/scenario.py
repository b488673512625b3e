"""The demo's story: what goes wrong at two clouds within an hour of simulated time.

Minutes from the start; every job has a past, so that the rules have something to look back on.

| minute | cloud | what happens | starter rule |
|---|---|---|---|
| -45 | Baseten | rm-train: one of 8 GPUs stopped working | JobPartlyIdle |
| -20 | Baseten | vlm-pretrain: one of 4 nodes works at half speed | NodeLagging, GPULagging |
| 1 to 24 | Baseten | llama-sft: all GPUs idle, then work goes on | GPUIdle, and a resolve |
| 2 on | Baseten | dpo-70b: GPU memory grows to 97 % | VRAMNearLimit |
| 4 on | Baseten | the cache of project llama passes 90 % | CacheNearlyFull |
| 5 | Alaya NeW | qwen-eval has waited for 30 minutes | JobPendingTooLong |
| 12 | Baseten | eval-sweep fails: CUDA out of memory | JobFailed |
| 18 on | Alaya NeW | glm-sft: all GPUs hold memory and do nothing | GPUIdle, VRAMHeldWhileIdle |
| | both | nightly-sft and embed-train are well | none |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from watchdog.model import JobStatus
from watchdog.ports import Clock
from watchdog.simulated.world import CACHE, Signal, SimJob, World, steady

MINUTE = 60.0
LENGTH = 40 * MINUTE
"""Simulated seconds in which everything has been seen."""


@dataclass(frozen=True, slots=True)
class Clouds:
    """The two worlds of the demo."""

    baseten: World
    alaya: World


def demo_world(start: float, clock: Clock) -> Clouds:
    """Return the clouds of the story that begins at ``start`` (a whole minute)."""
    return Clouds(World(_baseten_jobs(start), clock), World(_alaya_jobs(start), clock))


def _baseten_jobs(start: float) -> list[SimJob]:
    at = _minutes_from(start)
    cache = _ramp(CACHE, at(-240), 0.60, at(60), 0.97)
    idle = _during(at(1), at(24), {"gpu_utilization": 0.0}, steady())
    return [
        _job("jb1llama", "llama-sft", "prllama", "llama", at(-180), _with(idle, cache), owner="ana@example.com"),
        _job("jb2rmtrn", "rm-train", "prllama", "llama", at(-150), _with(_one_idle(at(-45)), cache)),
        _job(
            "jb3vlmpt",
            "vlm-pretrain",
            "prvision",
            "vision",
            at(-300),
            _slow_node(at(-20)),
            nodes=("node-0", "node-1", "node-2", "node-3"),
            gpus_per_node=4,
            usd_per_minute=0.43333,
        ),
        _job(
            "jb4dpo70",
            "dpo-70b",
            "prvision",
            "vision",
            at(-120),
            _with(steady(), _ramp("gpu_memory_utilization", at(-60), 0.80, at(8), 0.97)),
            owner="bo@example.com",
        ),
        _failing(at),
        _job("jb6night", "nightly-sft", "prvision", "vision", at(-400), steady()),
    ]


def _alaya_jobs(start: float) -> list[SimJob]:
    at = _minutes_from(start)
    stalled = _during(at(18), at(1e6), {"gpu_utilization": 0.0}, steady(gpu_memory_utilization=0.81))
    kind = {"gpu_type": "NVIDIA-H800A-NV-80G", "gpus_per_node": 4}
    pods = ("glm-sft-master-0", "glm-sft-worker-0")
    waiting = _job("5520019", "qwen-eval", "aidc-1", "", at(-25), steady(), **kind)
    waiting.timeline = [(at(-25), JobStatus.PENDING)]
    return [
        _job("5520017", "glm-sft", "aidc-1", "", at(-200), stalled, nodes=pods, **kind),
        _job("5520018", "embed-train", "aidc-1", "", at(-90), steady(), nodes=("embed-master-0",), **kind),
        waiting,
    ]


def _minutes_from(start: float) -> Callable[[float], float]:
    return lambda minutes: start + minutes * MINUTE


def _job(  # one line per job reads best
    id_: str, name: str, project: str, project_name: str, began: float, signal: Signal, **more: object
) -> SimJob:
    timeline = [(began - 6 * MINUTE, JobStatus.PENDING), (began - 3 * MINUTE, JobStatus.STARTING)]
    timeline.append((began, JobStatus.RUNNING))
    return SimJob(id_, name, project, project_name, signal, timeline, **more)  # type: ignore[arg-type]


def _failing(at: Callable[[float], float]) -> SimJob:
    job = _job("jb5sweep", "eval-sweep", "prvision", "vision", at(-70), steady(gpu_memory_utilization=0.93))
    job.timeline.append((at(12), JobStatus.FAILED))
    job.error = "CUDA out of memory. Tried to allocate 4.00 GiB"
    return job


def _during(begin: float, end: float, levels: dict[str, float], otherwise: Signal) -> Signal:
    def signal(metric: str, node: str, gpu: str, time: float) -> float | None:
        if begin <= time < end and metric in levels:
            return levels[metric]
        return otherwise(metric, node, gpu, time)

    return signal


def _one_idle(since: float) -> Signal:
    busy = steady()

    def signal(metric: str, node: str, gpu: str, time: float) -> float | None:
        if metric == "gpu_utilization" and gpu == "5" and time >= since:
            return 0.0
        return busy(metric, node, gpu, time)

    return signal


def _slow_node(since: float) -> Signal:
    busy, slow = steady(), steady(gpu_utilization=0.48)

    def signal(metric: str, node: str, gpu: str, time: float) -> float | None:
        return (slow if node == "node-2" and time >= since else busy)(metric, node, gpu, time)

    return signal


def _ramp(metric: str, begin: float, low: float, end: float, high: float) -> dict[str, Callable[[float], float]]:
    def level(time: float) -> float:
        share = min(1.0, max(0.0, (time - begin) / (end - begin)))
        return low + share * (high - low)

    return {metric: level}


def _with(signal: Signal, levels: dict[str, Callable[[float], float]]) -> Signal:
    def changed(metric: str, node: str, gpu: str, time: float) -> float | None:
        return levels[metric](time) if metric in levels else signal(metric, node, gpu, time)

    return changed
