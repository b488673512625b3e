"""The calls of Alaya NeW's API that watchdog makes. Read only."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.alayanew.auth import authorizer
from watchdog.sources.alayanew.config import AlayaNewConfig
from watchdog.sources.alayanew.envelope import data_or_raise
from watchdog.sources.alayanew.reply import id_of
from watchdog.sources.base import BuildContext
from watchdog.sources.base.numbers import number
from watchdog.sources.http import Call, HttpEdge, Site, segment

_RATE, _BURST = 20.0, 4
"""Calls a second: no limit is documented, so be polite."""
_PAGE_SIZE = 100
_MOST_PAGES = 100


@dataclass(frozen=True, slots=True)
class JobList:
    """The job list of an account."""

    rows: Mapping[str, Mapping[str, Any]]
    """By id."""
    complete: bool
    """Whether a job that is not in it does not exist."""


class AlayaNewApi:
    """Alaya NeW over HTTP. Every method raises SourceError. Thread-safe."""

    def __init__(self, config: AlayaNewConfig, context: BuildContext) -> None:
        authorize = authorizer(config, context.secrets, context.clock)
        self.http = HttpEdge(Site(config.base_url, authorize, config.timeout, _RATE, _BURST), context)
        self._root = f"{config.path_prefix}/v1/training/instance"

    def metrics(self, job: str, kind: str, period: str, deadline: float) -> Any:
        """Return the data of a metrics reply; ``kind`` is the API's ``type``."""
        params = {"type": kind, "period": period}
        path = f"{self._root}/{segment(job)}/metrics"
        return self.http.call(Call(f"metrics ({kind})", path, deadline, params=params), data_or_raise)

    def jobs(self, deadline: float) -> JobList:
        """Return the job list, over all its pages.

        Whether pages count from 0 or 1 is not documented: they are read from 1 on, and page 0 too
        unless every row that the list says it has was found.
        """
        rows: dict[str, Mapping[str, Any]] = {}
        total: float | None = None
        for page in range(1, _MOST_PAGES + 1):
            before = len(rows)
            total = self._add_page(page, rows, deadline)
            if total is not None and len(rows) >= total:
                return JobList(rows, complete=True)
            if len(rows) == before:  # an empty page, or the last one once more
                break
        with contextlib.suppress(SourceError):  # pages count from 1
            self._add_page(0, rows, deadline)
        return JobList(rows, complete=total is None or len(rows) >= total)

    def _add_page(self, page: int, rows: dict[str, Mapping[str, Any]], deadline: float) -> float | None:
        """Add the rows of a page, and return how many the whole list has, where it says so."""
        params = {"pageNo": page, "pageSize": _PAGE_SIZE}
        call = Call("job list", f"{self._root}/list", deadline, params=params)
        data = self.http.call(call, data_or_raise)
        records = data.get("records") if isinstance(data, dict) else None
        total = number(data.get("totalRows")) if isinstance(data, dict) else None
        if records is None and total == 0:
            records = []
        if not isinstance(records, list):
            raise SourceError(SourceErrorKind.MALFORMED, "job list: an answer without records")
        rows.update({id_of(row): row for row in records if id_of(row)})
        return total if isinstance(total, float) else None
