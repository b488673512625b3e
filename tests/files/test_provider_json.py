"""Raw replies of Baseten and Alaya NeW as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from watchdog.errors import UsageError
from watchdog.files import FileJob, FileSeries, read_items
from watchdog.model import JobStatus

T = 1_772_442_000
POINT = {"value": 0.5, "timestamp": "2026-03-02T09:00:00Z"}
BASETEN: dict[str, Any] = {
    "gpu_utilization": {"0": [POINT]},
    "gpu_memory_usage_bytes": {},
    "cpu_usage": [],
    "cpu_memory_usage_bytes": [],
    "ephemeral_storage": {"usage_bytes": [], "utilization": []},
    "cache": {"usage_bytes": [], "utilization": [POINT]},
    "per_node_metrics": [],
    "training_job": {
        "id": "j1",
        "name": "sft",
        "current_status": "TRAINING_JOB_FAILED",
        "created_at": "2026-03-02T08:00:00Z",
        "updated_at": "2026-03-02T09:30:00Z",
        "error_message": "CUDA out of memory",
        "instance_type": {"gpu_count": 1, "gpu_type": "H100"},
        "node_count": 1,
        "training_project": {"id": "p1", "name": "proj"},
    },
}
ALAYA: dict[str, Any] = {
    "status": 200,
    "message": "OK",
    "data": {
        "metricData": [
            {
                "type": "gpu",
                "podName": "pod-master-0",
                "gpuName": "NVIDIA-H800A-NV-80G-3",
                "metricData": [{"timestamp": T, "value": "0.95"}],
            }
        ]
    },
}
Read = Callable[[str, str], tuple[list[FileSeries], list[FileJob]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def go(text: str, name: str) -> tuple[list[FileSeries], list[FileJob]]:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        items = list(read_items([path], UTC))
        return [i for i in items if isinstance(i, FileSeries)], [i for i in items if isinstance(i, FileJob)]

    return go


def test_a_reply_of_baseten_names_its_job_and_how_it_ended(read: Read) -> None:
    series, (said,) = read(json.dumps(BASETEN), "any.json")
    assert (said.job.job, said.job.status, said.job.error) == ("j1", JobStatus.FAILED, "CUDA out of memory")
    assert said.job.ended_at == T + 1800
    gpu, cache = (dict(one.labels) for one in series)
    project = {"provider": "baseten", "project": "p1", "project_name": "proj"}
    job = {**project, "job": "j1", "job_name": "sft", "gpu_type": "H100"}
    assert gpu == {**job, "__name__": "gpu_utilization", "gpu": "0", "node": "leader"}
    assert cache == {**project, "__name__": "cache_utilization"}
    assert [list(zip(one.times, one.values, strict=True)) for one in series] == [[(T, 0.5)], [(T, 0.5)]]


def test_a_reply_of_alaya_is_of_the_job_that_the_file_is_called_after(read: Read) -> None:
    (series,), (said,) = read(json.dumps(ALAYA), "5520017.gpu.json")
    assert said.job.job == "5520017"
    assert (said.job.gpus, said.job.nodes, said.job.status) == (1, 1, JobStatus.UNKNOWN)
    assert dict(series.labels) == {
        "__name__": "gpu_utilization",
        "gpu": "3",
        "gpu_type": "NVIDIA-H800A-NV-80G",
        "job": "5520017",
        "node": "pod-master-0",
        "provider": "alayanew",
    }


def test_a_job_list_of_alaya_says_how_jobs_ended(read: Read) -> None:
    row = {"id": 7, "name": "sft", "status": "SUCCEEDED", "startTime": T, "endTime": T + 60}
    series, (said,) = read(json.dumps({"status": 200, "data": {"records": [row], "totalRows": 1}}), "list.json")
    assert series == []
    assert (said.job.job, said.job.status, said.job.started_at, said.job.ended_at) == (
        "7",
        JobStatus.COMPLETED,
        T,
        T + 60,
    )


def test_a_list_of_replies_and_one_reply_a_line(read: Read) -> None:
    other = json.loads(json.dumps(BASETEN).replace('"j1"', '"j2"'))
    as_list = read(json.dumps([BASETEN, other]), "a.json")
    as_lines = read(json.dumps(BASETEN) + "\n" + json.dumps(other) + "\n", "a.json")
    assert [said.job.job for said in as_list[1]] == ["j1", "j2"]
    assert as_lines == as_list


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": ', ":1: is not JSON"),
        (json.dumps(BASETEN) + "\nno\n", ":2: is not JSON"),
        ('{"a": 1}', "is no reply of Baseten's or Alaya NeW's"),
        ("[3]", "is no reply of Baseten's or Alaya NeW's"),
        (json.dumps(ALAYA).replace('"gpu"', '"disk"'), 'type "disk" of metricData is not one of gpu'),
        ('{"training_job": {"id": "x"}}', "without any of the metrics' fields"),
    ],
)
def test_what_is_no_reply_is_refused(read: Read, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text, "a.json")
    assert words in str(caught.value)
