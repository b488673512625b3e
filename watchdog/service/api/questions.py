"""Handlers that ask the history, which the scheduler thread owns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from watchdog.engine.engine import Engine
from watchdog.ports import Clock
from watchdog.promql import Answer, Query, instant
from watchdog.promql.prometheus_json import data_of
from watchdog.promql.query import MOST_STEPS
from watchdog.promql.storage import Storage
from watchdog.service.api import catalog
from watchdog.service.api.forms import Form, ParameterError
from watchdog.service.api.replies import TRUNCATED, success
from watchdog.service.api.slices import MOST_POINTS, options_of, sliced, timed
from watchdog.service.desk import Desk

T = TypeVar("T")
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Questions:
    """One method per endpoint. They raise ParameterError, EvaluationError and Unavailable."""

    desk: Desk[Engine]
    clock: Clock

    async def query(self, form: Form) -> Response:
        """Evaluate at one time."""
        query, at, lookback = form.query(), form.time("time", self.clock()), _lookback(form)

        def question(engine: Engine) -> Answer:
            options = options_of(engine, lookback)
            if query.kind == "matrix":  # its samples are the answer
                options = replace(options, most_samples=MOST_POINTS)
            return instant(query, timed(engine), at, options)

        return await _written(await self.desk.ask(question, form.timeout()))

    async def query_range(self, form: Form) -> Response:
        """Evaluate at each step from start to end."""
        start, end, step = form.time("start"), form.time("end"), form.duration("step")
        if end < start:
            raise ParameterError("end", "end timestamp must not be before start time")
        if (end - start) / step >= MOST_STEPS:
            raise ParameterError(
                "step", f"there are more than {MOST_STEPS} steps; take a longer step or a shorter range"
            )
        query = form.query()
        _check_kind(query)
        return await _written(await sliced(self.desk, query, (start, end, step), _lookback(form), form.timeout()))

    async def series(self, form: Form) -> Response:
        """Return the labels of the series that fit one of the selectors."""
        selectors, span, limit = form.selectors(), form.span(), form.limit()
        if not selectors:
            raise ParameterError("match[]", "no match[] parameter provided")
        found = await self._read(form, lambda storage: catalog.series(storage, selectors, span, _one_more(limit)))
        return _limited(found, limit)

    async def labels(self, form: Form) -> Response:
        """Return the names of labels."""
        selectors, span = form.selectors(), form.span()
        found = await self._read(form, lambda storage: catalog.label_names(storage, selectors, span))
        return _limited(found, form.limit())

    async def label_values(self, form: Form) -> Response:
        """Return the values of one label."""
        selectors, span, name = form.selectors(), form.span(), form.path["name"]
        if not _LABEL_NAME.fullmatch(name):
            raise ParameterError("name", f'"{name}" is not the name of a label')
        found = await self._read(form, lambda storage: catalog.label_values(storage, selectors, span, name))
        return _limited(found, form.limit())

    async def _read(self, form: Form, read: Callable[[Storage], T]) -> T:
        return await self.desk.ask(lambda engine: read(timed(engine)), form.timeout())


async def _written(answer: Answer) -> Response:
    """Write an answer in a thread: a large one takes a while, and others are waiting."""
    return await run_in_threadpool(lambda: success(data_of(answer)))


def _check_kind(query: Query) -> None:
    if query.kind in ("string", "matrix"):
        word = {"string": "string", "matrix": "range vector"}[query.kind]
        raise ParameterError(
            "query", f'invalid expression type "{word}" for range query, must be Scalar or instant Vector'
        )


def _lookback(form: Form) -> float | None:
    return form.duration("lookback_delta", 0.0) or None


def _one_more(limit: int | None) -> int | None:
    return None if limit is None else limit + 1


def _limited(found: list[T], limit: int | None) -> Response:
    more = limit is not None and len(found) > limit
    return success(found[:limit], (TRUNCATED,) if more else ())
