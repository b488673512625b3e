"""Reads the simulated Baseten with the truss package; run by the environment in .venv-clients."""

import json
import sys

from truss.remote.baseten import api
from truss.remote.baseten.auth import ApiKeyCredential, AuthService

url, key, project, job = sys.argv[1:]
api.API_URL_MAPPING["http://simulated"] = url
client = api.BasetenApi("http://simulated", AuthService(ApiKeyCredential(api_key=key)))
metrics = client.get_training_job_metrics(project, job)
print(
    json.dumps(
        {
            "projects": [item["id"] for item in client.list_training_projects()],
            "jobs": [item["id"] for item in client.list_training_jobs(project)["training_jobs"]],
            "searched": [item["id"] for item in client.search_training_jobs(statuses=["TRAINING_JOB_RUNNING"])],
            "status": client.get_training_job(project, job)["training_job"]["current_status"],
            "nodes": [item["node_id"] for item in metrics["per_node_metrics"]],
            "ranks": sorted(metrics["gpu_utilization"]),
            "stopped": client.stop_training_job(project, job)["current_status"],
        }
    )
)
