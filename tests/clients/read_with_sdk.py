"""Reads the simulated Baseten with Baseten's own Python SDK; run by the environment in .venv-clients."""

import json
import sys

import httpx
from baseten.client.managementapi import ApiClient
from baseten.client.managementapi import _models as models

url, key, project, job = sys.argv[1:]
with httpx.Client() as http:
    client = ApiClient(http, base_url=url, headers={"Authorization": f"Bearer {key}"})
    projects = client.get_training_projects().training_projects
    one = client.get_training_projects_training_project_id(training_project_id=project).training_project
    jobs = client.get_training_projects_jobs(training_project_id=project).training_jobs
    searched = client.post_training_jobs_search(
        request=models.SearchTrainingJobsRequest(statuses=["TRAINING_JOB_RUNNING"])
    ).training_jobs
    single = client.get_training_projects_jobs_training_job_id(
        training_project_id=project, training_job_id=job
    ).training_job
    metrics = client.get_training_projects_jobs_metrics(training_project_id=project, training_job_id=job)
    posted = client.post_training_projects_jobs_metrics(
        request=models.GetTrainingJobMetricsRequest(), training_project_id=project, training_job_id=job
    )
print(
    json.dumps(
        {
            "projects": [item.id for item in projects],
            "project": one.id,
            "jobs": [item.id for item in jobs],
            "searched": [item.id for item in searched],
            "status": single.current_status,
            "nodes": [item.node_id for item in metrics.per_node_metrics],
            "ranks": sorted(metrics.gpu_utilization),
            "first": metrics.gpu_utilization["0"][0].value,
            "cache": metrics.cache is not None,
            "posted": sorted(posted.gpu_utilization),
        }
    )
)
