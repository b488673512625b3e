"""The samples of the longest window, by series; implements ``promql.storage.Storage``.

A series is known by its metric, by what identifies its owner (source and job, or source and project, or
source) and by its own labels (node, gpu, status). The other labels describe the owner and may change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from watchdog.history.block import Block
from watchdog.labels import METRIC_NAME, Index, LabelColumns, StringTable
from watchdog.model import Labels, Points
from watchdog.promql.storage import Floats, Matcher, MatchOp, Window
from watchdog.vocabulary import RESOURCE_METRICS

FUTURE_TOLERANCE = 60.0
"""Seconds by which a sample may be ahead of now: clocks differ."""

_Key = tuple[str, tuple[str, ...], Labels]


@dataclass(frozen=True, slots=True)
class SeriesPoints:
    """Samples of one series, with the labels of the job, project or source that it belongs to."""

    base: Labels
    points: Points


class OwnRow(NamedTuple):
    """One sample of one of watchdog's own series."""

    base: Labels
    metric: str
    extra: Labels
    value: float


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of a batch."""

    new: int = 0
    revised: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Points left out, by reason (``future``, ``nan``)."""


@dataclass(frozen=True, slots=True)
class HistoryStats:
    """How much is held."""

    series: int
    rows: int
    bytes: int


@dataclass(slots=True)
class _Series:
    """One metric at one step: a block, and the labels of its columns."""

    block: Block
    codes: dict[str, np.ndarray]
    live: np.ndarray
    columns: dict[_Key, int] = field(default_factory=dict)
    bases: dict[int, Labels] = field(default_factory=dict)


class _Picked:
    """Implements ``promql.storage.Selection``."""

    __slots__ = ("_block", "_columns", "labels", "step")

    def __init__(self, block: Block, columns: Index | None, labels: LabelColumns) -> None:
        self._block = block
        self._columns = columns
        self.labels = labels
        self.step = block.step

    def window(self, after: float, until: float) -> Window:
        return self._block.window(after, until, self._columns)

    def latest(self, after: float, until: float) -> tuple[Floats, Floats]:
        return self._block.latest(after, until, self._columns)


class History:
    """Samples of all series, newest ``retention`` seconds of them. Owned by one thread; reads no clock."""

    def __init__(self, retention: float) -> None:
        self.retention = retention
        self.table = StringTable()
        self._metrics: dict[tuple[str, float], _Series] = {}
        self._of_job: dict[tuple[str, str], list[tuple[_Series, int]]] = {}
        self._patterns: dict[Matcher, tuple[re.Pattern[str], dict[int, bool]]] = {}

    def ingest(self, batch: Sequence[SeriesPoints], step: float, now: float) -> IngestReport:
        """Take in what a poll read: any order, repeats allowed, late points welcome.

        A later entry of the batch revises an earlier one of the same time. Points older than the
        retention are ignored; points more than ``FUTURE_TOLERANCE`` ahead of now are dropped and counted.
        """
        groups: dict[int, tuple[_Series, list[int], list[int], list[float], list[float]]] = {}
        for item in batch:
            points = item.points
            series = self._series(points.metric, step)
            column = self._column(series, item.base, points.metric, points.labels)
            _, columns, counts, times, values = groups.setdefault(id(series), (series, [], [], [], []))
            columns.append(column)
            counts.append(len(points.times))
            times.extend(points.times)
            values.extend(points.values)
        new = revised = 0
        dropped: dict[str, int] = {}
        for series, columns, counts, times, values in groups.values():
            cells = np.repeat(np.array(columns, dtype=np.intp), counts)
            added, changed = self._write(series, cells, np.array(times, float), np.array(values, float), now, dropped)
            new, revised = new + added, revised + changed
        return IngestReport(new, revised, dropped)

    def put_many(self, rows: Iterable[OwnRow], time: float, step: float) -> None:
        """Write one sample each of watchdog's own series, all at one time."""
        groups: dict[int, tuple[_Series, list[int], list[float]]] = {}
        for row in rows:
            series = self._series(row.metric, step)
            _, columns, values = groups.setdefault(id(series), (series, [], []))
            columns.append(self._column(series, row.base, row.metric, row.extra))
            values.append(row.value)
        for series, columns, values in groups.values():
            series.block.write(np.array(columns, np.intp), np.full(len(columns), time), np.array(values, float))

    def select(self, matchers: Sequence[Matcher]) -> Sequence[_Picked]:
        """Return the matching series, one selection per metric and step."""
        found = []
        for (name, _), series in self._metrics.items():
            mask: np.ndarray | None = None
            rest = []
            for matcher in matchers:
                if matcher.name == METRIC_NAME:
                    if not self._text_matches(matcher, name):
                        break
                else:
                    rest.append(matcher)
            else:
                mask = series.live[: series.block.width].copy()
                for matcher in rest:
                    mask &= self._codes_match(matcher, series)
                if mask.any():
                    found.append(self._pick(series, name, mask))
        return found

    def newest_of_job(self, source: str, job: str) -> float | None:
        """Return the time of the newest sample that the source measured for this job."""
        cells = self._of_job.get((source, job), [])
        newest = max((float(series.block.newest[column]) for series, column in cells), default=-np.inf)
        return newest if newest > -np.inf else None

    def forget(self, labels: Mapping[str, str]) -> int:
        """Drop all series that carry all these labels; return how many."""
        matchers = [Matcher(name, MatchOp.EQUAL, value) for name, value in labels.items()]
        count = 0
        for series in self._metrics.values():
            mask = series.live[: series.block.width].copy()
            for matcher in matchers:
                mask &= self._codes_match(matcher, series)
            count += self._drop(series, np.flatnonzero(mask))
        return count

    def trim(self, now: float) -> None:
        """Drop what is older than the retention, and series that have nothing left."""
        for key, series in list(self._metrics.items()):
            self._drop(series, series.block.drop_before(now - self.retention))
            if not series.columns:
                del self._metrics[key]

    def stats(self) -> HistoryStats:
        """Return how much is held."""
        held = self._metrics.values()
        return HistoryStats(
            sum(len(series.columns) for series in held),
            sum(series.block.rows for series in held),
            sum(series.block.nbytes for series in held),
        )

    # --- series -----------------------------------------------------------------------------------

    def _series(self, metric: str, step: float) -> _Series:
        found = self._metrics.get((metric, step))
        if found is None:
            found = self._metrics[metric, step] = _Series(Block(step), {}, np.zeros(8, dtype=np.bool_))
        return found

    def _column(self, series: _Series, base: Labels, metric: str, extra: Labels) -> int:
        key = (metric, _owner(base), extra)
        column = series.columns.get(key)
        if column is None:
            column = series.columns[key] = series.block.add_column()
            self._describe(series, column, base, extra)
            owner = dict(base)
            if metric in RESOURCE_METRICS and "job" in owner:
                self._of_job.setdefault((owner.get("source", ""), owner["job"]), []).append((series, column))
        elif series.bases[column] is not base and series.bases[column] != base:
            self._describe(series, column, base, extra)
        return column

    def _describe(self, series: _Series, column: int, base: Labels, extra: Labels) -> None:
        if column >= len(series.live):
            size = max(2 * len(series.live), column + 1)
            series.live = np.resize(series.live, size)
            series.live[column:] = False
            series.codes = {name: _grown(codes, size) for name, codes in series.codes.items()}
        for codes in series.codes.values():
            codes[column] = 0
        for name, value in (*base, *extra):
            if name not in series.codes:
                series.codes[name] = np.zeros(len(series.live), dtype=np.int32)
            series.codes[name][column] = self.table.code(value)
        series.live[column] = True
        series.bases[column] = base

    def _drop(self, series: _Series, columns: Index) -> int:
        gone = set(columns.tolist())
        if not gone:
            return 0
        series.columns = {key: column for key, column in series.columns.items() if column not in gone}
        series.live[columns] = False
        for job, cells in list(self._of_job.items()):
            left = [cell for cell in cells if cell[0] is not series or cell[1] not in gone]
            if left:
                self._of_job[job] = left
            else:
                del self._of_job[job]
        for column in gone:
            del series.bases[column]
        series.block.drop_columns(sorted(gone))
        return len(gone)

    def _pick(self, series: _Series, name: str, mask: np.ndarray) -> _Picked:
        everything = bool(mask.all())
        columns = None if everything else np.flatnonzero(mask)
        picked = slice(0, len(mask)) if everything else columns
        codes = {label: column[picked] for label, column in series.codes.items()}
        size = len(mask) if everything else int(np.count_nonzero(mask))
        codes[METRIC_NAME] = np.full(size, self.table.code(name), dtype=np.int32)
        return _Picked(series.block, columns, LabelColumns(self.table, codes, size))

    # --- samples ----------------------------------------------------------------------------------

    def _write(
        self, series: _Series, cells: Index, times: Floats, values: Floats, now: float, dropped: dict[str, int]
    ) -> tuple[int, int]:
        finite = np.isfinite(times) & np.isfinite(values)
        ahead = finite & (times > now + FUTURE_TOLERANCE)
        for reason, count in (("nan", len(times) - np.count_nonzero(finite)), ("future", np.count_nonzero(ahead))):
            if count:
                dropped[reason] = dropped.get(reason, 0) + int(count)
        good = np.flatnonzero(finite & ~ahead & (times >= now - self.retention))
        if not len(good):
            return 0, 0
        order = good[np.lexsort((good, times[good], cells[good]))]  # by cell, by time, by place in the batch
        cells, times, values = cells[order], times[order], values[order]
        last = np.ones(len(order), dtype=np.bool_)
        last[:-1] = (cells[1:] != cells[:-1]) | (times[1:] != times[:-1])
        return series.block.write(cells[last], times[last], values[last])

    # --- matching ---------------------------------------------------------------------------------

    def _codes_match(self, matcher: Matcher, series: _Series) -> np.ndarray:
        width = series.block.width
        codes = series.codes.get(matcher.name)
        if codes is None:
            return np.full(width, self._text_matches(matcher, ""))
        codes = codes[:width]
        if matcher.op is MatchOp.EQUAL:
            return np.asarray(codes == self.table.code(matcher.value))
        if matcher.op is MatchOp.NOT_EQUAL:
            return np.asarray(codes != self.table.code(matcher.value))
        distinct, inverse = np.unique(codes, return_inverse=True)
        hits = np.array([self._text_matches(matcher, self.table.text(int(code))) for code in distinct])
        return hits[inverse]

    def _text_matches(self, matcher: Matcher, text: str) -> bool:
        if matcher.op is MatchOp.EQUAL:
            return text == matcher.value
        if matcher.op is MatchOp.NOT_EQUAL:
            return text != matcher.value
        hit = re.compile(matcher.value, re.DOTALL).fullmatch(text) is not None
        return hit if matcher.op is MatchOp.REGEX else not hit


def _owner(base: Labels) -> tuple[str, ...]:
    labels = dict(base)
    if "job" in labels:
        return ("job", labels.get("source", ""), labels["job"])
    if "project" in labels:
        return ("project", labels.get("source", ""), labels["project"])
    return ("source", labels.get("source", ""))


def _grown(codes: np.ndarray, size: int) -> np.ndarray:
    grown = np.zeros(size, dtype=np.int32)
    grown[: len(codes)] = codes
    return grown
