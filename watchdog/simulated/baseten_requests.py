"""What the fake Baseten makes of a request's body and query: the published types, strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchdog.simulated.server import Request

MOST_POINTS = 500
"""Points of a series when no step is asked for. The server then derives one; by which rule is not documented."""
_ORDER = {"field": "created_at", "order": "desc"}


class Refused(Exception):  # noqa: N818  # an answer, not a mistake
    """A request that is not carried out; ``code`` is the API's word."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message


def invalid(message: str) -> Refused:
    """Return the refusal of a request that is wrong in itself."""
    return Refused(400, "VALIDATION_ERROR", message)


@dataclass(frozen=True, slots=True)
class Search:
    """A job search; None is no restriction."""

    project: str | None
    job: str | None
    statuses: frozenset[str] | None
    newest_first: bool


def search_of(request: Request) -> Search:
    """Read the body of a search: all fields are optional, only ``created_at`` sorts. Raises Refused."""
    given = _body(request)
    statuses = given.get("statuses")
    if statuses is not None and not (isinstance(statuses, list) and all(isinstance(item, str) for item in statuses)):
        raise invalid("statuses is not a list of strings")
    order = given.get("order_by", [_ORDER])
    if not isinstance(order, list) or not all(_sorts(item) for item in order):
        raise invalid("order_by is not a list of {field, order}; only created_at sorts")
    return Search(
        project=_text(given, "project_id"),
        job=_text(given, "job_id"),
        statuses=None if statuses is None else frozenset(statuses),
        newest_first=bool(order) and order[0]["order"] == "desc",
    )


def range_of(request: Request, usual: tuple[float, float]) -> tuple[tuple[float, float], float]:
    """Return the window (unix seconds) and the step of a metrics call, from its query or its body.

    ``usual`` is the window where none is given: the job's own time. Raises Refused.
    """
    given = _body(request) if request.method == "POST" else {name: found[-1] for name, found in request.query.items()}
    start, end = (_whole(given, name) for name in ("start_epoch_millis", "end_epoch_millis"))
    window = (usual[0] if start is None else start / 1000, usual[1] if end is None else end / 1000)
    if window[1] < window[0]:
        raise invalid("end_epoch_millis is before start_epoch_millis")
    step = _whole(given, "step_seconds")
    if step is None:
        within = min(window[1], usual[1]) - max(window[0], usual[0])
        return window, 60.0 * math.ceil(within / MOST_POINTS / 60.0)
    if step < 1:
        raise invalid("step_seconds is not a positive integer")
    return window, step


def _sorts(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and item.get("field") == _ORDER["field"]
        and item.get("order") in ("asc", _ORDER["order"])
    )


def _text(given: Mapping[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid(f"{name} is not a string")
    return value


def _body(request: Request) -> dict[str, Any]:
    try:
        given = json.loads(request.body or b"{}")
    except ValueError:
        raise invalid("The body is not JSON") from None
    if not isinstance(given, dict):
        raise invalid("The body is not an object")
    return given


def _whole(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        return int(str(value))
    except ValueError:
        raise invalid(f"{name} is not an integer") from None
