"""Baseten's job object: status words, GPUs, price. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from watchdog.model import Job, JobStatus
from watchdog.sources.base.numbers import number
from watchdog.sources.base.times import iso_seconds

PROVIDER = "baseten"
ACTIVE = (
    "TRAINING_JOB_PENDING",
    "TRAINING_JOB_CREATED",
    "TRAINING_JOB_DEPLOYING",
    "TRAINING_JOB_RUNNING",
    "TRAINING_JOB_QUEUED",
)
"""What a search for active jobs asks for; the last is an older word (reference, section 4)."""

_STATUS = {
    "TRAINING_JOB_PENDING": JobStatus.PENDING,
    "TRAINING_JOB_CREATED": JobStatus.PENDING,
    "TRAINING_JOB_QUEUED": JobStatus.PENDING,
    "TRAINING_JOB_DEPLOYING": JobStatus.STARTING,
    "TRAINING_JOB_RUNNING": JobStatus.RUNNING,
}
_ENDS = (
    ("COMPLETED", JobStatus.COMPLETED),
    ("FAILED", JobStatus.FAILED),
    *((word, JobStatus.STOPPED) for word in ("STOPPED", "EXPIRED", "PREEMPTED", "CANCELED", "CANCELLED", "DELETED")),
)
"""Endings of terminal words, known and unknown: a new ``TRAINING_JOB_BUILD_FAILED`` is a failure."""

Prices = Mapping[str, float]
"""USD per minute of one node, by id and by name of the instance type."""


def status_of(word: str) -> JobStatus:
    """Return the normalized status; a word that is not known is UNKNOWN, which ends nothing."""
    word = word.strip().upper()
    found = _STATUS.get(word)
    if found is not None:
        return found
    return next((status for end, status in _ENDS if word.endswith(end)), JobStatus.UNKNOWN)


def text(raw: object) -> str:
    """Return a text of the reply; empty for null and anything else."""
    return raw if isinstance(raw, str) else ""


def table(raw: object) -> Mapping[str, Any]:
    """Return an object of the reply; empty for null and anything else."""
    return raw if isinstance(raw, dict) else {}


def count(raw: object) -> int | None:
    """Return a count of the reply; None for what is none."""
    return raw if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0 else None


def project_of(raw: Mapping[str, Any]) -> str:
    """Return the id of a job's project."""
    return text(raw.get("training_project_id")) or text(table(raw.get("training_project")).get("id"))


def job_of(raw: Mapping[str, Any], source: str, prices: Prices, nodes: int | None = None) -> Job:
    """Return the job that Baseten describes by ``raw``.

    ``nodes`` is how many nodes its metrics show: older answers have no ``node_count``, and without
    either the job's GPUs and cost are not known.
    """
    project = project_of(raw)
    instance = table(raw.get("instance_type"))
    nodes = count(raw.get("node_count")) or nodes
    gpus = count(instance.get("gpu_count"))
    job = text(raw.get("id"))
    word = text(raw.get("current_status"))
    return Job(
        source=source,
        provider=PROVIDER,
        job=job,
        status=status_of(word),
        provider_status=word,
        project=project,
        project_name=text(table(raw.get("training_project")).get("name")),
        job_name=text(raw.get("name")),
        owner=text(table(raw.get("user")).get("email")),
        gpu_type=text(instance.get("gpu_type")),
        gpus=None if gpus is None or nodes is None else gpus * nodes,
        nodes=nodes,
        created_at=iso_seconds(raw.get("created_at")),
        cost_usd_per_hour=_cost(instance, nodes, prices),
        url=f"https://app.baseten.co/training/{quote(project, safe='')}/logs/{quote(job, safe='')}",
        error=text(raw.get("error_message")),
    )


def _cost(instance: Mapping[str, Any], nodes: int | None, prices: Prices) -> float | None:
    price = prices.get(text(instance.get("id"))) or prices.get(text(instance.get("name")))
    return None if price is None or nodes is None else price * 60.0 * nodes


def prices_of(reply: object) -> Prices:
    """Return the list prices of a reply: above 0, in USD per minute. What cannot be read is left out."""
    by_name: dict[str, float] = {}
    by_id: dict[str, float] = {}
    entries = table(reply).get("instance_types")
    for entry in entries if isinstance(entries, list) else []:
        price = number(table(entry).get("price"))
        if not isinstance(price, float) or price <= 0:
            continue
        instance = table(entry).get("instance_type")
        by_id[text(instance) or text(table(instance).get("id"))] = price
        by_name[text(table(instance).get("name"))] = price
    found = by_name | by_id
    found.pop("", None)
    return found
