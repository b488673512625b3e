from typing import Any

import pytest

from watchdog.model import JobStatus
from watchdog.sources.baseten.job import job_of, prices_of, project_of, status_of


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("TRAINING_JOB_PENDING", JobStatus.PENDING),
        ("TRAINING_JOB_CREATED", JobStatus.PENDING),
        ("TRAINING_JOB_QUEUED", JobStatus.PENDING),
        ("TRAINING_JOB_DEPLOYING", JobStatus.STARTING),
        ("TRAINING_JOB_RUNNING", JobStatus.RUNNING),
        ("TRAINING_JOB_COMPLETED", JobStatus.COMPLETED),
        ("TRAINING_JOB_DEPLOY_FAILED", JobStatus.FAILED),
        ("TRAINING_JOB_FAILED", JobStatus.FAILED),
        ("TRAINING_JOB_STOPPED", JobStatus.STOPPED),
        ("TRAINING_JOB_EXPIRED", JobStatus.STOPPED),
        ("TRAINING_JOB_PREEMPTED", JobStatus.STOPPED),
        ("TRAINING_JOB_CANCELED", JobStatus.STOPPED),
        ("TRAINING_JOB_CANCELLED", JobStatus.STOPPED),
        ("TRAINING_JOB_DELETED", JobStatus.STOPPED),
        ("TRAINING_JOB_BUILD_FAILED", JobStatus.FAILED),
        (" training_job_running ", JobStatus.RUNNING),
        ("TRAINING_JOB_WARMING", JobStatus.UNKNOWN),
        ("TRAINING_JOB_STOPPING", JobStatus.UNKNOWN),
        ("RUNNING", JobStatus.UNKNOWN),
        ("", JobStatus.UNKNOWN),
    ],
)
def test_every_status_has_its_class_and_an_unknown_one_ends_nothing(word: str, status: JobStatus) -> None:
    assert status_of(word) is status


def test_the_sample_job_is_read(sample: Any) -> None:
    job = job_of(sample["training_job"], "b", {"A100x2": 0.2})
    assert (job.source, job.provider, job.job) == ("b", "baseten", "jb7kq2m")
    assert (job.status, job.provider_status) == (JobStatus.RUNNING, "TRAINING_JOB_RUNNING")
    assert (job.project, job.project_name, job.job_name) == ("pr4zt9w", "ranker", "ranker-sft")
    assert (job.gpu_type, job.gpus, job.nodes) == ("A100", 4, 2)
    assert job.created_at == 1772438400.0
    assert job.cost_usd_per_hour == pytest.approx(24.0)
    assert job.url == "https://app.baseten.co/training/pr4zt9w/logs/jb7kq2m"
    assert (job.owner, job.error) == ("", "")
    assert (job.started_at, job.ended_at) == (None, None)


def test_nulls_and_unknown_fields_are_taken(sample: Any) -> None:
    raw = sample["training_job"] | {"name": None, "priority": None, "user": {"email": None}, "new": [1]}
    job = job_of(raw | {"availability_model": "SPOT", "created_at": None, "training_project": None}, "b", {})
    assert (job.job_name, job.owner, job.created_at, job.project_name) == ("", "", None, "")
    assert job.project == "pr4zt9w"


def test_the_owner_and_the_error_text_are_kept(sample: Any) -> None:
    raw = sample["training_job"] | {"user": {"email": "ada@example.com"}, "error_message": "try spot capacity"}
    job = job_of(raw | {"current_status": "TRAINING_JOB_PENDING"}, "b", {})
    assert (job.owner, job.error) == ("ada@example.com", "try spot capacity")
    assert job.status is JobStatus.PENDING


def test_a_cpu_job_has_no_gpus(sample: Any) -> None:
    sample["training_job"]["instance_type"] |= {"gpu_count": 0, "gpu_type": None, "gpu_memory_limit_mib": None}
    job = job_of(sample["training_job"], "b", {})
    assert (job.gpus, job.gpu_type) == (0, "")


@pytest.mark.parametrize("node_count", [None, 0, -1, True, "2"])
def test_without_a_count_of_nodes_gpus_and_cost_are_not_known(sample: Any, node_count: object) -> None:
    raw = sample["training_job"] | {"node_count": node_count}
    job = job_of(raw, "b", {"A100x2": 0.2})
    assert (job.nodes, job.gpus, job.cost_usd_per_hour) == (None, None, None)
    seen = job_of(raw, "b", {"A100x2": 0.2}, nodes=3)
    assert (seen.nodes, seen.gpus) == (3, 6)
    assert seen.cost_usd_per_hour == pytest.approx(36.0)


def test_a_job_without_an_instance_type_has_no_gpus_and_no_cost(sample: Any) -> None:
    job = job_of(sample["training_job"] | {"instance_type": None}, "b", {"A100x2": 1.0})
    assert (job.gpus, job.gpu_type, job.cost_usd_per_hour, job.nodes) == (None, "", None, 2)


def test_the_link_to_a_job_is_encoded() -> None:
    job = job_of({"id": "a/b", "training_project": {"id": "p q"}}, "b", {})
    assert job.url == "https://app.baseten.co/training/p%20q/logs/a%2Fb"
    assert project_of({"training_project": {"id": "p q"}}) == "p q"
    assert project_of({"training_project_id": 7}) == ""


def test_prices_are_by_id_then_by_name() -> None:
    reply = {
        "instance_types": [
            {"instance_type": {"id": "H100x8", "name": "8 × H100"}, "price": 0.86667},
            {"instance_type": {"id": "b", "name": "H100x8"}, "price": "1.5"},
            {"instance_type": "L4", "price": 0.01414},
            {"instance_type": {"id": "free"}, "price": 0},
            {"instance_type": {"id": "odd"}, "price": "ask us"},
            {"instance_type": {"id": "none"}, "price": None},
            {"instance_type": {}, "price": 1},
            None,
        ]
    }
    assert prices_of(reply) == {"H100x8": 0.86667, "8 × H100": 0.86667, "b": 1.5, "L4": 0.01414}


@pytest.mark.parametrize("reply", [None, [], {}, {"instance_types": None}, {"instance_types": {"a": 1}}])
def test_prices_that_cannot_be_read_are_none(reply: object) -> None:
    assert prices_of(reply) == {}


def test_a_price_found_by_name_makes_the_cost(sample: Any) -> None:
    assert job_of(sample["training_job"], "b", {"A100 x2": 0.1}).cost_usd_per_hour == pytest.approx(12.0)
