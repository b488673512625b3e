"""Which Baseten jobs there are to read: found by search, still watched, or over before they were seen."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from watchdog.errors import SourceError
from watchdog.model import PollRequest
from watchdog.sources.base.times import iso_seconds
from watchdog.sources.baseten.api import BasetenApi
from watchdog.sources.baseten.config import ALL, BasetenConfig
from watchdog.sources.baseten.job import project_of, status_of, table, text
from watchdog.sources.http import RefusedError

log = logging.getLogger("watchdog.sources.baseten")

_REMEMBER = 86400.0
"""Seconds for which an id is known to have been seen."""


@dataclass(slots=True)
class Found:
    """What one look for jobs found."""

    jobs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Job objects by id: active ones, and watched ones whatever their state."""
    short_lived: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Job objects by id of jobs that began and ended between two polls."""
    error: SourceError | None = None
    """The first search that failed; the others were made all the same."""
    any_search: bool = False
    """Whether a search succeeded."""


class Discovery:
    """Looks for jobs, and remembers which ones it has seen."""

    def __init__(self, config: BasetenConfig, api: BasetenApi) -> None:
        self._api = api
        self._source = config.name
        self._projects = config.watched_projects
        self._jobs = config.jobs
        self._last: float | None = None
        self._seen: dict[str, float] = {}
        self._not_found: set[str] = set()

    def look(self, request: PollRequest, deadline: float) -> Found:
        """Search for the jobs to read. Stops at a key that is not valid; goes on after other errors."""
        found = Found()
        for body, active in self._searches():
            try:
                listed = self._api.search(body, deadline, active=active)
            except SourceError as error:
                found.error = found.error or error
                if isinstance(error, RefusedError) and error.status == 401:
                    break
                continue
            found.any_search = True
            self._take(listed, request, found)
            if not active:
                self._say_if_missing(body["job_id"], listed)
        if found.any_search:
            self._remember(found.jobs, request)
            self._look_between(request, deadline, found)
            self._last = request.now
        return found

    def _searches(self) -> Iterable[tuple[dict[str, Any], bool]]:
        if self._projects == (ALL,):
            yield {}, True
            return
        for project in self._projects:
            yield {"project_id": project}, True
        for job in self._jobs:
            yield {"job_id": job}, False  # an unknown id gives an empty list, an ended job its state

    def _take(self, listed: list[Any], request: PollRequest, found: Found) -> None:
        for raw in listed:
            job = text(table(raw).get("id"))
            if not job or not project_of(raw):
                log.warning("an entry of the job list has no id or project", extra={"source": self._source})
            elif job in request.watched or not status_of(text(raw.get("current_status"))).terminal:
                found.jobs[job] = raw
            elif self._is_new_end(raw):
                found.short_lived[job] = raw

    def _say_if_missing(self, job: str, listed: list[Any]) -> None:
        if listed:
            self._not_found.discard(job)
        elif job not in self._not_found:
            self._not_found.add(job)
            log.warning("no such job, or not for this key", extra={"source": self._source, "job": job})

    def _look_between(self, request: PollRequest, deadline: float, found: Found) -> None:
        """Add jobs that lived only since the last poll, as far as they are the latest of their project."""
        if self._last is not None and self._projects:
            try:
                projects = self._api.projects(deadline)
            except SourceError as error:
                log.debug("no list of projects", extra={"source": self._source, "error": str(error)})
                projects = []
            for project in projects:
                self._take_latest(table(project), found)
        self._remember(found.short_lived, request)

    def _take_latest(self, project: Mapping[str, Any], found: Found) -> None:
        raw = project.get("latest_job")
        if self._projects != (ALL,) and text(project.get("id")) not in self._projects:
            return
        if not isinstance(raw, dict) or not text(raw.get("id")):
            return
        owner = {"id": project.get("id"), "name": project.get("name")}
        raw = {"training_project_id": owner["id"], "training_project": owner, **raw}
        if status_of(text(raw.get("current_status"))).terminal and self._is_new_end(raw):
            found.short_lived[raw["id"]] = raw

    def _is_new_end(self, raw: Mapping[str, Any]) -> bool:
        """Whether an ended job changed since the last poll and was never seen."""
        if self._last is None or raw["id"] in self._seen:
            return False
        times = (iso_seconds(raw.get("updated_at")), iso_seconds(raw.get("created_at")))
        return max((time for time in times if time is not None), default=0.0) > self._last

    def _remember(self, jobs: Iterable[str], request: PollRequest) -> None:
        for job in (*jobs, *request.watched):
            self._seen[job] = request.now
        self._seen = {job: at for job, at in self._seen.items() if at > request.now - _REMEMBER}
