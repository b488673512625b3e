"""A Baseten training API on loopback that keeps to the published contract: shapes, errors, rate limit.

Facts are those of the provider's API document and published specification; what they leave open is chosen so
that a careless client trips: samples come in no order, a failing client is rejected until its window ends.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import orjson

from watchdog.model import JobStatus
from watchdog.simulated.baseten_objects import has_cache, instance, iso, unordered
from watchdog.simulated.baseten_requests import Refused, invalid, range_of, search_of
from watchdog.simulated.server import Request, Response
from watchdog.simulated.world import CACHE, SimJob, World

KEY = "simulated-baseten-key"
RATE = 100
"""Requests a second, per key and endpoint."""
WORDS = {
    JobStatus.PENDING: "TRAINING_JOB_PENDING",
    JobStatus.STARTING: "TRAINING_JOB_DEPLOYING",
    JobStatus.RUNNING: "TRAINING_JOB_RUNNING",
    JobStatus.COMPLETED: "TRAINING_JOB_COMPLETED",
    JobStatus.FAILED: "TRAINING_JOB_FAILED",
    JobStatus.STOPPED: "TRAINING_JOB_STOPPED",
    JobStatus.UNKNOWN: "TRAINING_JOB_MIGRATING",
}
_JOB = r"/v1/training_projects/(?P<project>[^/]+)/jobs/(?P<job>[^/]+)"


class FakeBaseten:
    """Answers for one workspace. Thread-safe."""

    def __init__(
        self, world: World, key: str = KEY, *, seconds: Callable[[], float] = time.monotonic, rate: int = RATE
    ) -> None:
        self.world = world
        self.key = key
        self._seconds = seconds
        self._rate = rate
        self._counts: dict[str, tuple[int, int]] = {}
        self._rendered: dict[tuple[object, ...], bytes] = {}
        self._lock = threading.Lock()
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Any]]] = [
            ("POST", re.compile(r"/v1/training_jobs/search"), self._search),
            ("GET", re.compile(r"/v1/training_projects"), self._projects),
            ("GET", re.compile(r"/v1/training_projects/(?P<project>[^/]+)"), self._project),
            ("GET", re.compile(r"/v1/training_projects/(?P<project>[^/]+)/jobs"), self._jobs),
            ("GET", re.compile(_JOB), self._job),
            ("GET", re.compile(_JOB + "/metrics"), self._metrics),
            ("POST", re.compile(_JOB + "/metrics"), self._metrics),
            ("POST", re.compile(_JOB + "/stop"), self._stop),
            ("GET", re.compile(r"/v1/instance_type_prices"), self._prices),
        ]

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        try:
            self._authorize(request)
            return self._route(request)
        except Refused as refused:
            body = {"code": refused.code, "message": refused.message, "details": None}
            return Response(refused.status, orjson.dumps(body))

    def _route(self, request: Request) -> Response:
        for method, pattern, answer in self._routes:
            match = pattern.fullmatch(request.path)
            if match and method == request.method:
                wait = self._over_limit(f"{method} {pattern.pattern}")
                if wait:
                    return Response(429, orjson.dumps({"error": "Rate limit exceeded", "retry_after": wait}))
                given = answer(request, **match.groupdict())
                return Response(200, given if isinstance(given, bytes) else orjson.dumps(given))
        raise Refused(404, "NOT_FOUND", "Not found")

    def _authorize(self, request: Request) -> None:
        given = request.headers.get("authorization", "")
        if given not in (f"Bearer {self.key}", f"Api-Key {self.key}"):
            raise Refused(401, "UNAUTHENTICATED", "Invalid API key")

    def _over_limit(self, endpoint: str) -> int:
        """Count a request; return the seconds to wait when there were too many in this second."""
        second = int(self._seconds())
        with self._lock:
            window, count = self._counts.get(endpoint, (second, 0))
            if window != second:
                window, count = second, 0
            self._counts[endpoint] = (window, count + 1)
        return 1 if count >= self._rate else 0

    # --- endpoints --------------------------------------------------------------------------------

    def _search(self, request: Request) -> Any:
        wanted = search_of(request)
        jobs = self.world.present()
        if wanted.project is not None:
            jobs = [job for job in jobs if job.project == wanted.project]
        if wanted.job is not None:
            jobs = [job for job in jobs if job.id == wanted.job]
        if wanted.statuses is not None:
            jobs = [job for job in jobs if self._word(job) in wanted.statuses]
        jobs.sort(key=lambda job: job.created_at, reverse=wanted.newest_first)
        return {"training_jobs": [self._job_object(job) for job in jobs]}

    def _projects(self, _: Request) -> Any:
        return {"training_projects": [self._project_object(project) for project in self._project_ids()]}

    def _project(self, _: Request, project: str) -> Any:
        return {"training_project": self._project_object(project)}

    def _jobs(self, _: Request, project: str) -> Any:
        jobs = [self._job_object(job) for job in self.world.present() if job.project == project]
        return {"training_project": self._project_object(project), "training_jobs": jobs}

    def _job(self, _: Request, project: str, job: str) -> Any:
        found = self._find(project, job)
        return {"training_job": self._job_object(found), "training_project": self._project_object(project)}

    def _stop(self, _: Request, project: str, job: str) -> Any:
        found = self._find(project, job)
        status = found.status_at(self.world.clock())
        if status is not None and status.terminal:
            raise invalid("The training job has already ended")
        found.end(self.world.clock(), JobStatus.STOPPED)
        return {"training_job": self._job_object(found)}

    def _prices(self, _: Request) -> Any:
        priced = [job for job in self.world.present() if job.usd_per_minute is not None]
        kinds = {job.gpu_type + str(job.gpus_per_node): job for job in priced}
        return {
            "instance_types": [{"instance_type": instance(job), "price": job.usd_per_minute} for job in kinds.values()]
        }

    def _metrics(self, request: Request, project: str, job: str) -> Any:
        found = self._find(project, job)
        window, step = range_of(request, (found.created_at, self.world.clock()))
        grid = max(step, self.world.step)
        last = min(window[1], self.world.newest())
        key = (job, math.ceil(window[0] / grid), math.floor(last / grid), grid, self._word(found))
        if key not in self._rendered:
            if len(self._rendered) > 2000:
                self._rendered.clear()
            self._rendered[key] = orjson.dumps(self._metrics_object(found, window, grid))
        return self._rendered[key]

    # --- objects ----------------------------------------------------------------------------------

    def _find(self, project: str, job: str) -> SimJob:
        found = self.world.job(job)
        if found is None or found.project != project:
            raise Refused(404, "NOT_FOUND", "Training job not found")
        return found

    def _project_ids(self) -> list[str]:
        return list(dict.fromkeys(job.project for job in self.world.present()))

    def _project_object(self, project: str) -> dict[str, Any]:
        jobs = [job for job in self.world.present() if job.project == project]
        if not jobs:
            raise Refused(404, "NOT_FOUND", "Training project not found")
        latest = max(jobs, key=lambda job: job.created_at)
        return {
            "id": project,
            "name": jobs[0].project_name,
            "created_at": iso(min(job.created_at for job in jobs)),
            "updated_at": iso(latest.changed_at(self.world.clock())),
            "team_name": None,
            "latest_job": self._job_object(latest),
        }

    def _word(self, job: SimJob) -> str:
        return WORDS[job.status_at(self.world.clock()) or JobStatus.PENDING]

    def _job_object(self, job: SimJob) -> dict[str, Any]:
        now = self.world.clock()
        failed = job.status_at(now) is JobStatus.FAILED
        return {
            "id": job.id,
            "name": job.name,
            "created_at": iso(job.created_at),
            "updated_at": iso(job.changed_at(now)),
            "current_status": self._word(job),
            "error_message": job.error if failed else None,
            "instance_type": instance(job),
            "training_project_id": job.project,
            "training_project": {"id": job.project, "name": job.project_name},
            "priority": 0,
            "availability_model": "dedicated",
            "node_count": len(job.nodes),
            "checkpoint_sync_status": None,
            "user": None if job.owner is None else {"email": job.owner},
        }

    def _metrics_object(self, job: SimJob, window: tuple[float, float], step: float) -> dict[str, Any]:
        nodes = [(name, self._node_object(job, name, window, step)) for name in job.nodes]
        cache = self._storage(job, CACHE, ("", ""), job.cache_bytes, window, step)
        return {
            **nodes[0][1],
            "cache": cache if cache["usage_bytes"] or has_cache(job) else None,
            "training_job": self._job_object(job),
            "per_node_metrics": [{"node_id": name, "metrics": m} for name, m in nodes] if len(nodes) > 1 else [],
        }

    def _node_object(self, job: SimJob, node: str, window: tuple[float, float], step: float) -> dict[str, Any]:
        def series(metric: str, gpu: str = "", scale: float = 1.0) -> list[dict[str, Any]]:
            found = self.world.samples(job, metric, (node, gpu), window, step)
            return unordered([{"value": value * scale, "timestamp": iso(time_)} for time_, value in found])

        ranks = [str(number) for number in range(job.gpus_per_node)]
        use = {rank: series("gpu_utilization", rank) for rank in ranks}
        memory = {rank: series("gpu_memory_utilization", rank, job.gpu_memory_bytes) for rank in ranks}
        return {
            "gpu_utilization": {rank: points for rank, points in use.items() if points},
            "gpu_memory_usage_bytes": {rank: points for rank, points in memory.items() if points},
            "cpu_usage": series("cpu_utilization", scale=job.millicpu / 1000),
            "cpu_memory_usage_bytes": series("memory_utilization", scale=job.memory_bytes),
            "ephemeral_storage": self._storage(
                job, "ephemeral_storage_utilization", (node, ""), job.disk_bytes, window, step
            ),
        }

    def _storage(  # one series, twice
        self,
        job: SimJob,
        metric: str,
        place: tuple[str, str],
        size: float,
        window: tuple[float, float],
        step: float,
    ) -> dict[str, Any]:
        found = self.world.samples(job, metric, place, window, step)
        return {
            "usage_bytes": unordered([{"value": value * size, "timestamp": iso(t)} for t, value in found]),
            "utilization": unordered([{"value": value, "timestamp": iso(t)} for t, value in found]),
        }
