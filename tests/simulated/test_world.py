"""The simulated world: lives of jobs, and samples on a grid while they run."""

from __future__ import annotations

import pytest

from watchdog.model import JobStatus
from watchdog.simulated.world import Signal, SimJob, World, noisy, steady

T0 = 1_772_442_000.0
PLACE = ("n0", "0")
USE = "gpu_utilization"


BUSY = steady()


def job(signal: Signal = BUSY, *ends: tuple[float, JobStatus]) -> SimJob:
    timeline = [(T0, JobStatus.PENDING), (T0 + 60.0, JobStatus.STARTING), (T0 + 120.0, JobStatus.RUNNING), *ends]
    return SimJob("j", "name", "p", "project", signal, timeline)


@pytest.mark.parametrize(
    ("after", "status", "changed"),
    [
        (-1.0, None, 0.0),
        (0.0, JobStatus.PENDING, 0.0),
        (59.0, JobStatus.PENDING, 0.0),
        (60.0, JobStatus.STARTING, 60.0),
        (61.0, JobStatus.STARTING, 60.0),
        (120.0, JobStatus.RUNNING, 120.0),
        (1e6, JobStatus.RUNNING, 120.0),
    ],
)
def test_a_job_has_the_status_of_its_timeline(after: float, status: JobStatus | None, changed: float) -> None:
    assert job().status_at(T0 + after) is status
    assert job().changed_at(T0 + after) == T0 + changed
    assert (job().created_at, job().first_run()) == (T0, T0 + 120.0)


def test_an_end_cuts_off_what_was_to_come() -> None:
    ended = job(steady(), (T0 + 900.0, JobStatus.COMPLETED))
    ended.end(T0 + 300.0, JobStatus.STOPPED)
    assert ended.status_at(T0 + 299.0) is JobStatus.RUNNING
    assert ended.status_at(T0 + 900.0) is JobStatus.STOPPED
    never = job()
    never.end(T0 + 30.0, JobStatus.STOPPED)
    assert never.first_run() is None


@pytest.mark.parametrize(("after", "there"), [(-1.0, False), (0.0, True), (1.0, True)])
def test_a_job_is_there_from_its_creation(after: float, there: bool) -> None:
    world = World([job()], lambda: T0 + after)
    assert bool(world.present()) is there
    assert (world.job("j") is not None) is there
    assert world.job("other") is None


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ((0.0, 1e9), [120, 180, 240]),  # from its first running minute, up to now
        ((120.0, 180.0), [120, 180]),
        ((121.0, 179.0), []),
        ((121.0, 180.0), [180]),
        ((300.0, 100.0), []),
    ],
)
def test_samples_are_on_the_grid_of_the_run(window: tuple[float, float], expected: list[int]) -> None:
    world = World([job(steady(), (T0 + 300.0, JobStatus.FAILED))], lambda: T0 + 290.0)
    found = world.samples(world.jobs[0], USE, PLACE, (T0 + window[0], T0 + window[1]))
    assert [time - T0 for time, _ in found] == expected


def test_the_beginning_of_time_is_as_good_as_the_creation() -> None:
    world = World([job()], lambda: T0 + 180.0)
    assert len(world.samples(world.jobs[0], USE, PLACE, (0.0, T0 + 180.0))) == 2


@pytest.mark.parametrize(("lag", "newest"), [(0.0, 600), (1.0, 540), (60.0, 540), (61.0, 480)])
def test_samples_come_late_by_the_lag(lag: float, newest: int) -> None:
    world = World([job()], lambda: T0 + 600.0, lag=lag)
    assert world.samples(world.jobs[0], USE, PLACE, (T0, T0 + 600.0))[-1][0] == T0 + newest


@pytest.mark.parametrize(("step", "expected"), [(None, 11), (60.0, 11), (1.0, 11), (300.0, 2)])
def test_a_step_thins_and_never_makes_samples(step: float | None, expected: int) -> None:
    world = World([job()], lambda: T0 + 720.0)
    assert len(world.samples(world.jobs[0], USE, PLACE, (T0, T0 + 720.0), step)) == expected


def test_no_value_is_a_gap_and_zero_is_a_value() -> None:
    values = {T0 + 120.0: 0.5, T0 + 240.0: 0.0}
    world = World([job(lambda _m, _n, _g, time: values.get(time))], lambda: T0 + 300.0)
    assert world.samples(world.jobs[0], USE, PLACE, (T0, T0 + 300.0)) == [(T0 + 120.0, 0.5), (T0 + 240.0, 0.0)]


def test_noise_is_small_and_always_the_same() -> None:
    signal = steady(gpu_utilization=0.5)
    values = [signal(USE, "n0", "0", T0 + 60.0 * minute) for minute in range(50)]
    assert values == [signal(USE, "n0", "0", T0 + 60.0 * minute) for minute in range(50)]
    assert all(value is not None and 0.48 <= value <= 0.52 for value in values)
    assert len(set(values)) > 40
    assert signal(USE, "n0", "1", T0) != signal(USE, "n0", "0", T0)
    assert signal("cache_utilization", "", "", T0) is None


@pytest.mark.parametrize("metric", ["gpu_memory_utilization", "memory_utilization", "cache_utilization"])
def test_fill_levels_have_no_noise(metric: str) -> None:
    assert noisy(0.5, "seed", metric) == 0.5


def test_an_idle_gpu_is_at_zero_and_a_full_one_not_above_one() -> None:
    assert noisy(0.0, "seed", USE) == 0.0
    assert max(noisy(1.0, str(seed), USE) for seed in range(50)) == 1.0
