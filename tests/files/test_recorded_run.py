"""Recorded runs as files."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from watchdog.errors import UsageError
from watchdog.files import FileJob, FileSeries, read_items
from watchdog.files.recorded_run import START
from watchdog.model import JobStatus

RUN = "t,metric,gpu,value\n0,gpu_utilization,0,0.5\n30,gpu_utilization,1,0.25\n60,disk_utilization,,0.75\n60,rows,,3\n"
FACTS = "run,job_gpus,gpu_model,duration_s,end,oom_text\nr1,1,H100,90,exit_nonzero,yes\n"


def read(folder: Path) -> tuple[list[FileSeries], list[FileJob]]:
    items = list(read_items([folder / "r1.csv"], UTC))
    return [i for i in items if isinstance(i, FileSeries)], [i for i in items if isinstance(i, FileJob)]


def test_a_row_counts_when_a_poll_could_know_it(tmp_path: Path) -> None:
    (tmp_path / "r1.csv").write_text(RUN, encoding="utf-8")
    series, (said,) = read(tmp_path)
    assert {dict(one.labels)["__name__"]: list(one.times) for one in series[1:]} == {
        "gpu_utilization": [START + 60],
        "ephemeral_storage_utilization": [START + 90],
    }
    assert (said.job.job, said.job.status, said.job.gpus) == ("r1", JobStatus.UNKNOWN, 2)


def test_the_line_of_the_run_says_which_gpus_are_its_own_and_how_it_ended(tmp_path: Path) -> None:
    (tmp_path / "r1.csv").write_text(RUN, encoding="utf-8")
    (tmp_path / "runs.csv").write_text(FACTS, encoding="utf-8")
    series, (said,) = read(tmp_path)
    assert [dict(one.labels).get("gpu") for one in series] == ["1", None]
    assert (said.job.status, said.job.ended_at, said.job.error) == (
        JobStatus.FAILED,
        START + 90,
        "CUDA out of memory",
    )
    assert (said.job.gpus, said.job.gpu_type) == (1, "H100")


@pytest.mark.parametrize("row", ["0,gpu_utilization,0", "0,gpu_utilization,0,much", "inf,gpu_utilization,0,1"])
def test_a_wrong_row_is_refused_with_its_line(tmp_path: Path, row: str) -> None:
    (tmp_path / "r1.csv").write_text(RUN + row + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"r1\.csv:6: "):
        read(tmp_path)
