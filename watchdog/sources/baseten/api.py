"""The calls of Baseten's API that watchdog makes; it never stops, changes or deletes a job."""

from __future__ import annotations

from typing import Any

from watchdog.config import EnvRef
from watchdog.errors import SourceError, SourceErrorKind
from watchdog.ports import Secrets
from watchdog.sources.base import BuildContext, secret_or_raise
from watchdog.sources.baseten.config import BasetenConfig
from watchdog.sources.baseten.job import ACTIVE, Prices, prices_of
from watchdog.sources.http import Call, Credential, HttpEdge, RefusedError, Site, json_or_raise, segment

_RATE, _BURST = 90.0, 10
"""Together the documented 100 requests a second per key and endpoint."""


class _Bearer:
    """The header of the key as it is now."""

    def __init__(self, secrets: Secrets, ref: EnvRef) -> None:
        self._secrets = secrets
        self._ref = ref

    def __call__(self, _method: str, _path: str) -> Credential:
        key = secret_or_raise(self._secrets, self._ref)
        return Credential(f"Bearer {key}", (key,))


class BasetenApi:
    """Baseten over HTTP. Every method raises SourceError. Thread-safe."""

    def __init__(self, config: BasetenConfig, context: BuildContext) -> None:
        bearer = _Bearer(context.secrets, config.api_key)
        self.http = HttpEdge(Site(config.base_url, bearer, config.timeout, _RATE, _BURST), context)
        self._step = int(config.step)
        self._statuses = list(ACTIVE)
        self._post_metrics = False

    def search(self, body: dict[str, Any], deadline: float, *, active: bool) -> list[Any]:
        """Return the jobs that a search finds: ``body`` may name a project or a job.

        The search has no pages and returns every job ever made unless it asks for ``active`` ones.
        """
        if not active:
            return self._search(body, deadline)
        try:
            return self._search({**body, "statuses": self._statuses}, deadline)
        except RefusedError as error:
            if error.status not in (400, 422) or len(self._statuses) < len(ACTIVE):
                raise
        # Perhaps this server does not know the oldest status word; the official client does without it.
        found = self._search({**body, "statuses": self._statuses[:-1]}, deadline)
        self._statuses = self._statuses[:-1]
        return found

    def _search(self, body: dict[str, Any], deadline: float) -> list[Any]:
        call = Call("job search", "/v1/training_jobs/search", deadline, method="POST", body=body)
        return _list_of(self.http.call(call, json_or_raise), "training_jobs", "job search")

    def metrics(self, project: str, job: str, start: float, end: float, deadline: float) -> Any:
        """Return the metrics reply of a job for a window (unix seconds)."""
        path = f"/v1/training_projects/{segment(project)}/jobs/{segment(job)}/metrics"
        window = {
            "start_epoch_millis": int(start * 1000),
            "end_epoch_millis": int(end * 1000),
            "step_seconds": self._step,
        }
        if not self._post_metrics:
            try:
                return self.http.call(Call("metrics", path, deadline, params=window), json_or_raise)
            except RefusedError as error:
                if error.status != 405:
                    raise
            self._post_metrics = True  # an older backend, which has only the deprecated form
        return self.http.call(Call("metrics", path, deadline, method="POST", body=window), json_or_raise)

    def projects(self, deadline: float) -> list[Any]:
        """Return the projects that the key may see, each with its latest job. One try: it is not essential."""
        call = Call("projects", "/v1/training_projects", deadline, tries=1)
        return _list_of(self.http.call(call, json_or_raise), "training_projects", "projects")

    def prices(self, deadline: float) -> Prices:
        """Return the list prices. One try: they are not essential."""
        call = Call("prices", "/v1/instance_type_prices", deadline, tries=1)
        return prices_of(self.http.call(call, json_or_raise))


def _list_of(reply: object, key: str, endpoint: str) -> list[Any]:
    found = reply.get(key) if isinstance(reply, dict) else None
    if not isinstance(found, list):
        raise SourceError(SourceErrorKind.MALFORMED, f"{endpoint}: an answer without {key}")
    return found
