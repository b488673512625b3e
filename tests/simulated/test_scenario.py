"""The demo's story is what its timetable says, minute by minute."""

from __future__ import annotations

import pytest

from watchdog.model import JobStatus
from watchdog.simulated.scenario import LENGTH, Clouds, demo_world
from watchdog.simulated.world import CACHE, SimJob

T0 = 1_772_442_000.0
QUIET = {"nightly-sft", "embed-train"}


@pytest.fixture
def clouds() -> Clouds:
    return demo_world(T0, lambda: T0)


def job(clouds: Clouds, name: str) -> SimJob:
    return next(job for job in [*clouds.baseten.jobs, *clouds.alaya.jobs] if job.name == name)


def use(job: SimJob, minute: float, gpu: str = "0", node: str = "", metric: str = "gpu_utilization") -> float:
    value = job.signal(metric, node or job.nodes[0], gpu, T0 + 60.0 * minute)
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("name", "minute", "idle"),
    [
        ("llama-sft", 0, False),
        ("llama-sft", 1, True),
        ("llama-sft", 23, True),
        ("llama-sft", 24, False),
        ("glm-sft", 17, False),
        ("glm-sft", 18, True),
        ("glm-sft", 60, True),
    ],
)
def test_jobs_are_idle_when_the_story_says_so(clouds: Clouds, name: str, minute: float, idle: bool) -> None:
    one = job(clouds, name)
    assert [use(one, minute, gpu) < 0.05 for gpu in map(str, range(one.gpus_per_node))] == [idle] * one.gpus_per_node


@pytest.mark.parametrize(("minute", "idle"), [(-46, []), (-45, ["5"]), (60, ["5"])])
def test_one_gpu_of_rm_train_stops(clouds: Clouds, minute: float, idle: list[str]) -> None:
    one = job(clouds, "rm-train")
    assert [gpu for gpu in map(str, range(8)) if use(one, minute, gpu) < 0.05] == idle


@pytest.mark.parametrize(("minute", "slow"), [(-21, []), (-20, ["node-2"]), (60, ["node-2"])])
def test_one_node_of_vlm_pretrain_lags(clouds: Clouds, minute: float, slow: list[str]) -> None:
    one = job(clouds, "vlm-pretrain")
    assert [node for node in one.nodes if use(one, minute, node=node) < 0.6] == slow


@pytest.mark.parametrize(("minute", "full"), [(-60, 0.80), (8, 0.97), (60, 0.97)])
def test_gpu_memory_of_dpo_70b_grows_and_stays(clouds: Clouds, minute: float, full: float) -> None:
    assert use(job(clouds, "dpo-70b"), minute, metric="gpu_memory_utilization") == pytest.approx(full)


def test_the_cache_passes_nine_tenths_in_the_story_and_is_one_for_the_project(clouds: Clouds) -> None:
    levels = [use(job(clouds, "llama-sft"), minute, "", metric=CACHE) for minute in range(61)]
    assert levels[0] < 0.9 < levels[int(LENGTH // 60)]
    assert levels == sorted(levels)
    assert levels[-1] == pytest.approx(0.97)
    assert levels == [use(job(clouds, "rm-train"), minute, "", metric=CACHE) for minute in range(61)]


@pytest.mark.parametrize(
    ("minute", "status"), [(11, JobStatus.RUNNING), (12, JobStatus.FAILED), (60, JobStatus.FAILED)]
)
def test_eval_sweep_fails(clouds: Clouds, minute: float, status: JobStatus) -> None:
    one = job(clouds, "eval-sweep")
    assert one.status_at(T0 + 60.0 * minute) is status
    assert "CUDA out of memory" in (one.error or "")


def test_qwen_eval_waits_since_half_an_hour_before_minute_5(clouds: Clouds) -> None:
    one = job(clouds, "qwen-eval")
    assert (one.created_at, one.status_at(T0 + 3600.0)) == (T0 - 25 * 60.0, JobStatus.PENDING)


@pytest.mark.parametrize("name", sorted(QUIET))
def test_the_healthy_jobs_are_busy_all_along(clouds: Clouds, name: str) -> None:
    one = job(clouds, name)
    gpus = [str(gpu) for gpu in range(one.gpus_per_node)]
    assert min(use(one, minute, gpu) for minute in range(-60, 61) for gpu in gpus) > 0.9
    assert one.status_at(T0 + 3600.0) is JobStatus.RUNNING


def test_every_job_but_the_waiting_one_has_a_past(clouds: Clouds) -> None:
    everyone = [*clouds.baseten.jobs, *clouds.alaya.jobs]
    assert {one.name for one in everyone if one.status_at(T0 - 3600.0) is not JobStatus.RUNNING} == {"qwen-eval"}
    assert len({one.id for one in everyone}) == len(everyone) == 9
