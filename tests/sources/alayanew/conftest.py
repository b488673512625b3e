"""The reference's synthetic sample (reference, section 7), and an Alaya NeW that answers with such jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

SAMPLE = """
{"status":200,"message":"OK","data":{"startTime":"2026-03-02 17:00:00","endTime":"2026-03-02 17:15:00","metricData":[
 {"type":"gpu","podName":"tn-rk04-master-0","gpuName":"NVIDIA-A100-SXM-80G-0","maxRate":"0.97","avgRate":"0.95",
  "currentRate":"0.96","metricData":[{"timestamp":1772442060,"value":"0.96"},{"timestamp":1772442000,"value":"0.94"}]},
 {"type":"gpu","podName":"tn-rk04-master-0","gpuName":"NVIDIA-A100-SXM-80G-1","maxRate":"0.98","avgRate":"0.98",
  "currentRate":"0.98","metricData":[{"timestamp":1772442000,"value":"0.98"},{"timestamp":1772442060,"value":"-"}]},
 {"type":"gpu","podName":"tn-rk04-worker-0","gpuName":"NVIDIA-A100-SXM-80G-0","maxRate":"0.01","avgRate":"0",
  "currentRate":"0.00","metricData":[{"timestamp":1772442000,"value":"0.00"},{"timestamp":1772442060,"value":"0.01"}]},
 {"type":"gpu","podName":"tn-rk04-worker-0","gpuName":"NVIDIA-A100-SXM-80G-1","maxRate":"","avgRate":"",
  "currentRate":"","metricData":[]}]}}
"""
ROOT = "/v1/training/instance"


@pytest.fixture
def sample() -> Any:
    """The reference's reply to ``type=gpu``."""
    return json.loads(SAMPLE)


@dataclass
class Alaya:
    """An Alaya NeW of jobs that a test changes as it likes."""

    bench: Any
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    first_page: int = 1
    prefix: str = ""
    told_total: bool = True
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    """Answers by job and type, in place of the usual ones."""

    def ok(self, data: Any) -> Any:
        return self.bench.say({"status": 200, "message": "OK", "data": data})

    def add(self, job: str, status: str = "Running", **changes: Any) -> dict[str, Any]:
        """Add a job to the list, with metrics."""
        resource = {"workerCount": 2, "gpuCount": 2, "gpuName": "NVIDIA-A100-SXM-80G"}
        row = {"id": job, "name": f"作业 {job}", "status": status, "aidcId": "cn-1", "resource": resource, **changes}
        self.rows[job] = row
        self.serve(job)
        return row

    def serve(self, job: str) -> None:
        """Answer metrics requests for a job."""
        self.bench.cloud.on("GET", f"{self.prefix}{ROOT}/{job}/metrics", lambda asked: self.metrics(job, asked))

    def metrics(self, job: str, asked: Any) -> Any:
        kind = asked.query["type"]
        if (job, kind) in self.answers:
            return self.answers[job, kind]
        reply = json.loads(SAMPLE)
        entries = reply["data"]["metricData"]
        if kind in ("cpu", "memory"):
            entries[:] = [entries[0], entries[2]]
            for entry in entries:
                del entry["gpuName"]
        for entry in entries:
            entry["type"] = kind
        return self.bench.say(reply)

    def page(self, asked: Any) -> Any:
        page, size = int(asked.query["pageNo"]) - self.first_page, int(asked.query["pageSize"])
        rows = list(self.rows.values())
        data: dict[str, Any] = {"records": rows[page * size : (page + 1) * size] if page >= 0 else []}
        return self.ok(data | ({"totalRows": len(rows)} if self.told_total else {}))

    def list_answers(self, *says: Any) -> None:
        self.bench.cloud.on("GET", f"{self.prefix}{ROOT}/list", *says)


@pytest.fixture
def alaya(bench: Any) -> Alaya:
    found = Alaya(bench)
    found.list_answers(found.page)
    return found
