"""An Alaya NeW training API on loopback, as the provider's API document and third-party clients describe it.

Numbers are strings, the outer and the inner list have one name, and a path outside the served prefix answers
HTTP 200 with the web console's page.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from watchdog.model import JobStatus
from watchdog.simulated.faults import HTML
from watchdog.simulated.server import Request, Response
from watchdog.simulated.world import SimJob, World

KEY = "simulated-alaya-key"
SHANGHAI = ZoneInfo("Asia/Shanghai")
PERIODS = {
    "15m": 900.0,
    "1h": 3600.0,
    "6h": 21600.0,
    "24h": 86400.0,
    "3d": 259200.0,
    "7d": 604800.0,
    "30d": 2592000.0,
}
TYPES = {
    "gpu": "gpu_utilization",
    "vram": "gpu_memory_utilization",
    "cpu": "cpu_utilization",
    "memory": "memory_utilization",
}
WORDS = {
    JobStatus.PENDING: "QUEUEING",
    JobStatus.STARTING: "CREATING",
    JobStatus.RUNNING: "Running",
    JobStatus.COMPLETED: "SUCCEEDED",
    JobStatus.FAILED: "FAILED",
    JobStatus.STOPPED: "CANCELLED",
    JobStatus.UNKNOWN: "REBALANCING",
}
_CLOCK_WINDOW = 300.0


class _Refused(Exception):  # noqa: N818  # an answer, not a mistake
    def __init__(self, http: int, status: int, message: str) -> None:
        self.http, self.status, self.message = http, status, message


class FakeAlaya:
    """Answers for one account: a Bearer key, and (if given) an access key with its secret."""

    def __init__(self, world: World, key: str = KEY, prefix: str = "", pair: tuple[str, str] | None = None) -> None:
        self.world = world
        self.key = key
        self.prefix = prefix
        self.pair = pair

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        if not request.path.startswith(self.prefix + "/v1/"):
            return Response(200, HTML, "text/html; charset=utf-8")
        try:
            self._authorize(request)
            data = self._answer(request, request.path.removeprefix(self.prefix))
        except _Refused as refused:
            body = {"status": refused.status, "message": refused.message, "data": {}}
            return Response(refused.http, orjson.dumps(body))
        return Response(200, orjson.dumps({"status": 200, "message": "OK", "data": data}))

    def _authorize(self, request: Request) -> None:
        given = request.headers.get("authorization", "")
        if not given:
            raise _Refused(401, 40401, "login expired")
        if given.startswith("alayanew-HMAC-SHA256 ") and self.pair is not None:
            self._check_signature(request, given.removeprefix("alayanew-HMAC-SHA256 "))
        elif given != f"Bearer {self.key}":
            raise _Refused(401, 40006, "access key not found")

    def _check_signature(self, request: Request, given: str) -> None:
        assert self.pair is not None  # noqa: S101  # the caller looked
        parts = given.split(":")
        if len(parts) != 3 or not parts[1].isdigit():
            raise _Refused(401, 40001, "bad authorization header")
        if parts[0] != self.pair[0]:
            raise _Refused(401, 40006, "access key not found")
        if abs(int(parts[1]) / 1000 - self.world.clock()) > _CLOCK_WINDOW:
            raise _Refused(401, 40002, "timestamp out of window")
        text = "|".join([parts[1], request.method, request.raw_path or request.path])
        if not hmac.compare_digest(
            hmac.new(self.pair[1].encode(), text.encode(), hashlib.sha256).hexdigest(), parts[2]
        ):
            raise _Refused(401, 40003, "bad signature")

    def _answer(self, request: Request, path: str) -> Any:
        if request.method != "GET":
            raise _Refused(405, 405, "Method Not Allowed")
        if path == "/v1/training/instance/list":
            return self._list(request)
        if path == "/v1/training/instance/checkIsEnabled":
            return True
        match = re.fullmatch(r"/v1/training/instance/([^/]+)/metrics", path)
        if match is None:
            raise _Refused(404, 404, "Not Found")
        job = self.world.job(match.group(1))
        if job is None:
            raise _Refused(403, 403, "Forbidden")
        return self._metrics(request, job)

    def _list(self, request: Request) -> Any:
        page, size = _count(request, "pageNo", 1), _count(request, "pageSize", 10)
        jobs = sorted(self.world.present(), key=lambda job: -job.created_at)
        shown = jobs[(page - 1) * size : page * size]
        return {"records": [self._record(job) for job in shown], "totalRows": len(jobs)}

    def _record(self, job: SimJob) -> dict[str, Any]:
        now = self.world.clock()
        status = job.status_at(now) or JobStatus.PENDING
        run = job.first_run()
        return {
            "id": job.id,
            "name": job.name,
            "status": WORDS[status],
            "aidcId": job.project,
            "resource": {
                "workerCount": len(job.nodes),
                "gpuCount": job.gpus_per_node,
                "gpuName": job.gpu_type,
            },
            "createdTime": _local(job.created_at),
            "startTime": None if run is None or run > now else _local(run),
            "endTime": _local(job.changed_at(now)) if status.terminal else None,
            "reason": job.error if status is JobStatus.FAILED else None,
        }

    def _metrics(self, request: Request, job: SimJob) -> Any:
        kinds = request.query.get("type", [])
        kind = kinds[0] if len(kinds) == 1 else ""
        if kind not in TYPES:
            raise _Refused(500, 500, "type must be one of cpu, memory, gpu, vram")
        now = self.world.clock()
        start, end = self._window(request, now)
        places = [(pod, "") for pod in job.nodes]
        if kind in ("gpu", "vram"):
            places = [(pod, str(gpu)) for pod in job.nodes for gpu in range(job.gpus_per_node)]
        series = [self._series(job, kind, place, (start, end)) for place in places]
        return {"startTime": _local(start), "endTime": _local(end), "metricData": series}

    def _window(self, request: Request, now: float) -> tuple[float, float]:
        period = _one(request, "period")
        if period is not None:
            if period not in PERIODS:
                raise _Refused(500, 500, "unknown period")
            return now - PERIODS[period], now
        start, end = (_time(_one(request, name)) for name in ("startTime", "endTime"))
        if start is None or end is None or end <= start:
            raise _Refused(500, 500, "endTime must be later than startTime")
        return start, end

    def _series(self, job: SimJob, kind: str, place: tuple[str, str], window: tuple[float, float]) -> dict[str, Any]:
        found = self.world.samples(job, TYPES[kind], place, window)
        values = [value for _, value in found]
        points = [{"timestamp": int(time), "value": f"{value:.4f}"} for time, value in found]
        rates = (max(values), sum(values) / len(values), values[-1]) if values else None
        named = {} if place[1] == "" else {"gpuName": f"{job.gpu_type}-{place[1]}"}
        return {
            "type": kind,
            "podName": place[0],
            **named,
            "maxRate": f"{rates[0]:.2f}" if rates else "",
            "avgRate": f"{rates[1]:.2f}" if rates else "",
            "currentRate": f"{rates[2]:.2f}" if rates else "",
            "metricData": points[1::2] + points[0::2],
        }


def _one(request: Request, name: str) -> str | None:
    values = request.query.get(name)
    return values[-1] if values else None


def _count(request: Request, name: str, usual: int) -> int:
    text = _one(request, name) or str(usual)
    if not text.isdecimal() or int(text) < 1:
        raise _Refused(500, 500, f"{name} is not a positive number")
    return int(text)


def _local(time: float) -> str:
    return datetime.fromtimestamp(time, SHANGHAI).strftime("%Y-%m-%d %H:%M:%S")


def _time(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _Refused(500, 500, "bad time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=SHANGHAI)).timestamp()
