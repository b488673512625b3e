"""A try of a Baseten source: is the key accepted, are the named projects and jobs there? The searches of a poll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchdog.errors import SourceError
from watchdog.model import Level, Remark
from watchdog.sources.base import run_all, trials
from watchdog.sources.baseten.api import BasetenApi
from watchdog.sources.baseten.config import ALL, BasetenConfig
from watchdog.sources.baseten.job import status_of, table, text

_THREADS = 8


def try_out(config: BasetenConfig, api: BasetenApi, deadline: float) -> list[Remark]:
    """Return what was found; see ``ports.Triable``."""
    try:
        remarks = _look(config, api, deadline)
    except SourceError as error:
        remarks = [trials.failed(error, (config.api_key,))]
    return [*remarks, *trials.clock(api.http.clock_difference())]


def _look(config: BasetenConfig, api: BasetenApi, deadline: float) -> list[Remark]:
    projects = config.watched_projects

    def search(body: dict[str, Any]) -> list[Any]:
        return api.search(body, deadline, active="job_id" not in body)

    def searches(bodies: Sequence[dict[str, Any]]) -> list[list[Any]]:
        return [found or [] for found in run_all(search, bodies, _THREADS, api.http.stopped)]

    whole = projects == (ALL,)
    listed = searches([{}] if whole else [{"project_id": project} for project in projects])
    by_job = [] if whole else searches([{"job_id": job} for job in config.jobs])
    named = () if whole else config.jobs
    no_job = [job for job, found in zip(named, by_job, strict=True) if not found]
    active = {
        text(table(raw).get("id"))
        for found in (*listed, *by_job)
        for raw in found
        if not status_of(text(table(raw).get("current_status"))).terminal
    }
    counted, remarks = _projects(() if whole else projects, api, deadline)
    counted += trials.counted("job", named, no_job)
    return [trials.accepted(counted, len(active)), *remarks, *trials.not_found("job", no_job)]


def _projects(projects: Sequence[str], api: BasetenApi, deadline: float) -> tuple[list[str], list[Remark]]:
    """Return how many of the named projects were found, and what is wrong with them: a search does not tell."""
    if not projects:
        return [], []
    try:
        known = {text(project.get("id")): text(project.get("name")) for project in map(table, api.projects(deadline))}
    except SourceError as error:
        return [], [Remark(Level.NOTE, f"whether the named projects exist cannot be looked up: {error}")]
    missing = [project for project in projects if project not in known]
    return trials.counted("project", projects, missing), trials.not_found(
        "project", missing, {name: id_ for id_, name in known.items()}
    )
