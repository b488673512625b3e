"""Recorded runs become jobs: minutes of 30 s buckets, gaps that stay gaps, an end only where there was one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from watchdog.errors import UsageError
from watchdog.model import JobStatus
from watchdog.simulated.recordings import bundled, job_of, read_run
from watchdog.simulated.world import World

T0 = 1_772_442_000.0
FACTS = "run,job_gpus,gpu_model,gpu_memory_total_bytes,duration_s,end,oom_text"
ROWS = (
    "0,gpu_utilization,0,0.2",
    "30,gpu_utilization,0,0.6",
    "60,gpu_utilization,0,1.0",
    "180,gpu_utilization,0,0.0",
    "0,gpu_memory_utilization,0,0.1",
    "30,gpu_memory_utilization,0,0.3",
    "0,gpu_utilization,1,0.9",
    "0,disk_utilization,,0.5",
)


def recording(folder: Path, facts: str | None, rows: tuple[str, ...] = ROWS) -> Path:
    if facts is not None:
        (folder / "runs.csv").write_text(f"{FACTS}\n{facts}\n", encoding="utf-8")
    path = folder / "r900.csv.gz"
    path.write_bytes(gzip.compress("\n".join(["t,metric,gpu,value", *rows]).encode()))
    return path


@pytest.mark.parametrize(
    ("metric", "gpu", "since", "value"),
    [
        ("gpu_utilization", "0", 60.0, 0.4),  # the mean of a minute, known at its end
        ("gpu_utilization", "0", 120.0, 1.0),
        ("gpu_utilization", "0", 180.0, None),  # a bucket without a sample
        ("gpu_utilization", "0", 240.0, 0.0),
        ("gpu_utilization", "0", 300.0, None),
        ("gpu_utilization", "0", 0.0, None),
        ("gpu_memory_utilization", "0", 60.0, 0.3),  # the last of a minute
        ("ephemeral_storage_utilization", "", 60.0, 0.5),
        ("cpu_utilization", "", 60.0, None),
    ],
)
def test_a_minute_is_the_mean_or_the_last_of_its_buckets(
    tmp_path: Path, metric: str, gpu: str, since: float, value: float | None
) -> None:
    assert read_run(recording(tmp_path, None)).value(metric, gpu, since) == pytest.approx(value)


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("exit_0", JobStatus.COMPLETED),
        ("exit_nonzero", JobStatus.FAILED),
        ("no_exit_record", JobStatus.RUNNING),
        ("maybe_running", JobStatus.RUNNING),
    ],
)
def test_a_run_ends_as_its_client_said_or_is_not_known_to_end(tmp_path: Path, end: str, last: JobStatus) -> None:
    job = job_of(read_run(recording(tmp_path, f"r900,0 1,H100,1024,240,{end},no")), T0)
    assert [job.status_at(T0 + after) for after in (-61.0, -60.0, 0.0, 239.0)] == [
        None,
        JobStatus.STARTING,
        JobStatus.RUNNING,
        JobStatus.RUNNING,
    ]
    assert job.status_at(T0 + 240.0) is last
    assert job.status_at(T0 + 1e6) is last
    world = World([job], lambda: T0 + 1e6)
    found = world.samples(job, "gpu_utilization", ("node-0", "0"), (T0, T0 + 1e6))
    assert len(found) == (3 if last is JobStatus.RUNNING else 2), "silent after its end; the end itself is none"


@pytest.mark.parametrize(("ours", "gpus"), [("0 1", 2), ("1", 1), ("", 2)])
def test_only_the_gpus_of_the_job_are_its_gpus(tmp_path: Path, ours: str, gpus: int) -> None:
    """The client saw all GPUs of a shared host; ranks count from 0 all the same."""
    job = job_of(read_run(recording(tmp_path, f"r900,{ours},H100,1024,240,exit_0,yes")), T0, nodes=("a",))
    assert job.gpus_per_node == gpus
    assert (job.gpu_type, job.gpu_memory_bytes, job.nodes, job.error) == ("H100", 1024.0, ("a",), "CUDA out of memory")
    assert job.usd_per_minute is None, "what the run cost is not recorded"
    first = job.signal("gpu_utilization", "a", "0", T0 + 60.0)
    assert first == pytest.approx(0.9 if ours == "1" else 0.4)


def test_facts_may_lie_in_the_folder_above_or_be_missing(tmp_path: Path) -> None:
    (tmp_path / "series").mkdir()
    path = recording(tmp_path / "series", None)
    (tmp_path / "runs.csv").write_text(
        f"{FACTS}\nother,,A,1,1,exit_0,no\nr900,,H200,1,99,exit_0,no\n", encoding="utf-8"
    )
    assert (read_run(path).gpu_model, read_run(path).duration) == ("H200", 99.0)
    (tmp_path / "runs.csv").write_text(f"{FACTS}\nother,,A,1,1,exit_0,no\n", encoding="utf-8")
    bare = read_run(path)
    assert (bare.gpu_model, bare.duration, bare.end, bare.oom) == ("GPU", 240.0, None, False)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (("0,gpu_utilization,0,much",), "is not a recording"),
        (("0,cpu_utilization,,0.5",), "holds no gpu_utilization"),
        ((), "holds no gpu_utilization"),
    ],
)
def test_what_is_no_recording_is_said(tmp_path: Path, rows: tuple[str, ...], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_run(recording(tmp_path, None, rows))


def test_a_file_that_ends_too_early_is_said(tmp_path: Path) -> None:
    path = recording(tmp_path, None)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UsageError, match="is not a recording"):
        read_run(path)


@pytest.mark.parametrize(
    ("run", "minutes", "end", "oom"),
    [("r008", 201, JobStatus.COMPLETED, False), ("r021", 119, None, False), ("r029", 44, JobStatus.FAILED, True)],
)
def test_the_bundled_runs_are_what_their_page_says(run: str, minutes: int, end: JobStatus | None, *, oom: bool) -> None:
    (path,) = [path for path in bundled() if path.name.startswith(run)]
    found = read_run(path)
    assert (int(found.duration // 60), found.end, found.oom, found.gpus) == (minutes, end, oom, 1)
    assert run in (path.parent / "README.md").read_text(encoding="utf-8")


def test_the_bundled_stall_idles_from_minute_15_on() -> None:
    found = read_run(next(path for path in bundled() if path.name.startswith("r021")))
    use = [found.value("gpu_utilization", "0", 60.0 * minute) for minute in range(16, 119)]
    assert all(value is not None and value < 0.05 for value in use)
    assert max(found.value("gpu_utilization", "0", 60.0 * minute) or 0.0 for minute in range(1, 15)) > 0.05


def test_the_bundled_files_are_small_and_licensed() -> None:
    folder = bundled()[0].parent
    assert sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) < 60_000
    assert {file.name for file in folder.glob("LICENSE*")} == {"LICENSE-Apache-2.0.txt", "LICENSE-MIT.txt"}
