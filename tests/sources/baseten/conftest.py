"""The reference's synthetic sample (reference, section 9), and a Baseten that answers with such jobs."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

SAMPLE = """
{"training_job":{"id":"jb7kq2m","name":"ranker-sft","training_project_id":"pr4zt9w",
  "training_project":{"id":"pr4zt9w","name":"ranker"},
  "current_status":"TRAINING_JOB_RUNNING","created_at":"2026-03-02T08:00:00Z","updated_at":"2026-03-02T08:21:40Z",
  "error_message":null,"node_count":2,"priority":0,"availability_model":"dedicated","user":null,
  "instance_type":{"id":"A100x2","name":"A100 x2","gpu_count":2,"gpu_type":"A100","gpu_memory_limit_mib":81920,
   "memory_limit_mib":131072,"millicpu_limit":16000}},
 "gpu_utilization":{"0":[{"value":0.91,"timestamp":"2026-03-02T09:01:00Z"},
   {"value":0.88,"timestamp":"2026-03-02T09:00:00Z"}],"1":[{"value":0.9,"timestamp":"2026-03-02T09:01:00Z"}]},
 "gpu_memory_usage_bytes":{"0":[{"value":64424509440,"timestamp":"2026-03-02T09:01:00Z"}],
   "1":[{"value":64424509440,"timestamp":"2026-03-02T09:01:00Z"}]},
 "cpu_usage":[{"value":5.6,"timestamp":"2026-03-02T09:01:00Z"}],
 "cpu_memory_usage_bytes":[{"value":34359738368,"timestamp":"2026-03-02T09:01:00Z"}],
 "ephemeral_storage":{"usage_bytes":[{"value":107374182400,"timestamp":"2026-03-02T09:01:00Z"}],
   "utilization":[{"value":0.25,"timestamp":"2026-03-02T09:01:00Z"}]},
 "cache":{"usage_bytes":[{"value":950000000000,"timestamp":"2026-03-02T09:01:00Z"}],
   "utilization":[{"value":0.95,"timestamp":"2026-03-02T09:01:00Z"}]},
 "per_node_metrics":[
  {"node_id":"worker-a","metrics":{"gpu_utilization":{"0":[{"value":0.91,"timestamp":"2026-03-02T09:01:00Z"},
     {"value":0.88,"timestamp":"2026-03-02T09:00:00Z"}],"1":[{"value":0.9,"timestamp":"2026-03-02T09:01:00Z"}]},
   "gpu_memory_usage_bytes":{"0":[{"value":64424509440,"timestamp":"2026-03-02T09:01:00Z"}],
     "1":[{"value":64424509440,"timestamp":"2026-03-02T09:01:00Z"}]},
   "cpu_usage":[{"value":5.6,"timestamp":"2026-03-02T09:01:00Z"}],
   "cpu_memory_usage_bytes":[{"value":34359738368,"timestamp":"2026-03-02T09:01:00Z"}],
   "ephemeral_storage":{"usage_bytes":[{"value":107374182400,"timestamp":"2026-03-02T09:01:00Z"}],
     "utilization":[{"value":0.25,"timestamp":"2026-03-02T09:01:00Z"}]}}},
  {"node_id":"worker-b","metrics":{"gpu_utilization":{"0":[{"value":0.02,"timestamp":"2026-03-02T09:01:00Z"}],
     "1":[{"value":0.01,"timestamp":"2026-03-02T09:01:00Z"}]},
   "gpu_memory_usage_bytes":{"0":[{"value":64424509440,"timestamp":"2026-03-02T09:01:00Z"}]},
   "cpu_usage":[],"cpu_memory_usage_bytes":[],"ephemeral_storage":{"usage_bytes":[],"utilization":[]}}}]}
"""


@pytest.fixture
def sample() -> Any:
    """The reference's reply."""
    return json.loads(SAMPLE)


@dataclass
class Baseten:
    """A Baseten of jobs that a test changes as it likes."""

    bench: Any
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    unlisted: set[str] = field(default_factory=set)
    """Jobs that a search for active ones does not find."""

    def add(self, job: str, status: str = "RUNNING", project: str = "pr1", **changes: Any) -> dict[str, Any]:
        """Add a job; its metrics are the sample's."""
        reply = json.loads(SAMPLE)
        raw: dict[str, Any] = reply["training_job"]
        raw |= {"id": job, "training_project_id": project, "current_status": f"TRAINING_JOB_{status}"}
        raw |= {"training_project": {"id": project, "name": f"name of {project}"}, **changes}
        self.jobs[job] = raw
        path = f"/v1/training_projects/{project}/jobs/{job}/metrics"
        self.bench.cloud.on("GET", path, lambda _asked: self.bench.say({**reply, "training_job": self.jobs[job]}))
        return raw

    def metrics(self, job: str, *says: Any, method: str = "GET", project: str = "pr1") -> None:
        """Answer the metrics calls of a job with these."""
        self.bench.cloud.on(method, f"/v1/training_projects/{project}/jobs/{job}/metrics", *says)

    def search(self, asked: Any) -> Any:
        body = asked.json
        found = [
            raw
            for job, raw in self.jobs.items()
            if body.get("job_id", job) == job
            and body.get("project_id", raw["training_project_id"]) == raw["training_project_id"]
            and ("statuses" not in body or (raw["current_status"] in body["statuses"] and job not in self.unlisted))
        ]
        return self.bench.say({"training_jobs": copy.deepcopy(found)})

    def projects(self, _asked: Any) -> Any:
        latest = {raw["training_project_id"]: raw for raw in self.jobs.values()}
        found = [{"id": id_, "name": f"name of {id_}", "latest_job": raw} for id_, raw in latest.items()]
        return self.bench.say({"training_projects": found})


@pytest.fixture
def baseten(bench: Any) -> Baseten:
    found = Baseten(bench)
    prices = {"instance_types": [{"instance_type": {"id": "A100x2", "name": "A100 x2"}, "price": 0.2}]}
    bench.cloud.on("POST", "/v1/training_jobs/search", found.search)
    bench.cloud.on("GET", "/v1/training_projects", found.projects)
    bench.cloud.on("GET", "/v1/instance_type_prices", prices)
    return found
