"""The in-memory store of samples that rules are evaluated on."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Self

import numpy as np

from watchdog.history.batch import HistoryStats, IngestReport, OwnRow, SeriesPoints
from watchdog.history.block import Block, Owner, Series, SeriesKey
from watchdog.history.intake import acceptable, flat_points, flat_values
from watchdog.history.matching import Matching
from watchdog.history.matrix import FARTHEST, NEVER
from watchdog.history.owners import Owners
from watchdog.history.selection import BlockSelection
from watchdog.history.write import Samples, write
from watchdog.labels import METRIC_NAME, Index, StringTable
from watchdog.model import Labels, Points, labels_of
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.vocabulary import RESOURCE_METRICS

FUTURE_TOLERANCE = 60.0
"""Seconds by which a sample may be ahead of now."""
SPARE_STRINGS = 4096
"""Strings no longer in use that are not worth a clean-up."""


class History:
    """Implements ``watchdog.promql.storage.Storage``. Owned by one thread; reads no clock.

    A series is identified by its metric, the identifying labels of what it belongs to (source and job;
    source and project; source) and its other labels; the base's descriptive labels may change.
    """

    def __init__(self, retention: float) -> None:
        self.retention = retention
        """Seconds of samples kept behind now."""
        self._table = StringTable()
        self._matching = Matching(self._table)
        self._blocks: dict[str, dict[float, Block]] = {}
        self._owners = Owners()
        self._keys: dict[SeriesKey, SeriesKey] = {}
        self._strings = 0
        """Strings in use at the last clean-up."""

    @classmethod
    def from_series(
        cls,
        rows: Iterable[tuple[Mapping[str, str], Sequence[float], Sequence[float]]],
        step: float | Callable[[Sequence[float]], float],
    ) -> Self:
        """Build a history of whole series: labels with ``__name__``, times, values. All labels identify.

        ``step``: seconds between the samples of every series, or what gives them from a series' times.
        Nothing is too old or too far ahead, and NaN is a value. Raises ValueError for a series without
        a name, with times that are not finite, or with more times than values.
        """
        history = cls(retention=math.inf)
        owner = history._owners.get(())
        groups: dict[Block, list[tuple[Series, Points]]] = defaultdict(list)
        for labels, times, values in rows:
            metric = labels.get(METRIC_NAME, "")
            if not metric or len(times) != len(values) or not (np.abs(times) <= FARTHEST).all():
                need = f"a {METRIC_NAME}, and a finite time for each value"
                raise ValueError(f"series {dict(labels)} needs {need} (seconds, at most {FARTHEST:.0f})")
            extra = labels_of({name: value for name, value in labels.items() if name != METRIC_NAME})
            seconds = step(times) if callable(step) else step
            series = owner.series.get((metric, extra)) or history._place(owner, (metric, extra), seconds)
            groups[series.block].append((series, Points(metric, extra, times, values)))
        for block, pairs in groups.items():
            write(block.matrix, *flat_points(pairs))
            history._remove(block, block.without_samples())
        return history

    @property
    def table(self) -> StringTable:
        """The strings of all label columns. Another one after a clean-up, so ask anew at each tick."""
        return self._table

    def ingest(self, batch: Sequence[SeriesPoints], step: float, now: float) -> IngestReport:
        """Take in the samples of one poll, whose series have a sample every ``step`` seconds.

        Any order, repeats and revisions allowed: of two samples of a series with equal time the later
        one counts. Samples older than the retention are left out, as are those more than
        ``FUTURE_TOLERANCE`` ahead of now and those not finite; these are counted.
        """
        groups: dict[Block, list[tuple[Series, Points]]] = defaultdict(list)
        last: Labels | None = None
        for base, points in batch:
            if base != last:
                last, owner = base, self._owners.get(base)
            series = owner.series.get((points.metric, points.labels))
            if series is None or series.block.matrix.step != step:
                series = self._place(owner, (points.metric, points.labels), step)
            groups[series.block].append((series, points))
        return self._take_in(((block, flat_points(pairs)) for block, pairs in groups.items()), now)

    def put_many(self, rows: Iterable[OwnRow], now: float, step: float) -> IngestReport:
        """Write one sample at ``now`` of each of watchdog's own series, made every ``step`` seconds."""
        groups: dict[Block, list[tuple[Series, float]]] = defaultdict(list)
        last: Labels | None = None
        for base, metric, extra, value in rows:
            if base != last:
                last, owner = base, self._owners.get(base)
            series = owner.series.get((metric, extra))
            if series is None or series.block.matrix.step != step:
                series = self._place(owner, (metric, extra), step)
            groups[series.block].append((series, value))
        return self._take_in(((block, flat_values(pairs, now)) for block, pairs in groups.items()), now)

    def select(self, matchers: Sequence[Matcher]) -> Sequence[BlockSelection]:
        """Return the matching series: a selection for each metric and step. Valid until the next change.

        Raises EvaluationError for a regular expression that is none.
        """
        found = ((block, self._matching.columns(block, matchers)) for block in self._candidates(matchers))
        return [BlockSelection(block, columns, self._table) for block, columns in found if columns is not None]

    def newest(self, metrics: Collection[str], labels: Mapping[str, str]) -> dict[str, float | None]:
        """Return for each metric the time of the newest sample among the series compatible with ``labels``.

        Compatible: equal in every label that both have. None for a metric without such a series.
        """
        found: dict[str, float | None] = {}
        for metric in metrics:
            blocks = self._blocks.get(metric, {}).values()
            found[metric] = _time(max((block.newest(block.compatible(labels)) for block in blocks), default=NEVER))
        return found

    def newest_of_job(self, source: str, job: str) -> float | None:
        """Return the time of the newest sample that the source measured of a job; None without one."""
        blocks = (block for metric in RESOURCE_METRICS for block in self._blocks.get(metric, {}).values())
        return _time(max((block.newest_at((source, job)) for block in blocks), default=NEVER))

    def forget(self, labels: Mapping[str, str]) -> int:
        """Drop all series that carry all these labels; return how many."""
        matchers = [Matcher(name, MatchOp.EQUAL, value) for name, value in labels.items()]
        count = 0
        for block in self._candidates(matchers):
            columns = self._matching.columns(block, matchers)
            if columns is not None:
                index = np.arange(block.matrix.count)[columns]  # a slice becomes positions
                self._remove(block, index)
                count += len(index)
        return count

    def trim(self, now: float) -> None:
        """Drop what is older than the retention or, after the clock was set back, too far ahead.

        Whole slots go: of the oldest slot in reach all samples stay. A series without samples goes too.
        """
        for block in list(self._all()):
            gone = block.trim(now - self.retention, now + FUTURE_TOLERANCE)
            if len(gone):
                self._remove(block, gone)
        if len(self._table) > 2 * self._strings + SPARE_STRINGS:
            self._renew_table()

    def stats(self) -> HistoryStats:
        """Return how much there is; looks at every sample."""
        blocks = list(self._all())
        return HistoryStats(
            series=sum(block.matrix.count for block in blocks),
            samples=sum(block.matrix.samples for block in blocks),
            bytes=sum(block.nbytes for block in blocks),
        )

    def _all(self) -> Iterator[Block]:
        return chain.from_iterable(steps.values() for steps in self._blocks.values())

    def _candidates(self, matchers: Sequence[Matcher]) -> list[Block]:
        """Return the blocks whose metric the matchers on the name let pass."""
        names = [m.value for m in matchers if m.name == METRIC_NAME and m.op is MatchOp.EQUAL]
        some = {name: self._blocks[name] for name in names if name in self._blocks} if names else self._blocks
        passing = (steps.values() for metric, steps in some.items() if self._matching.metric(metric, matchers))
        return list(chain.from_iterable(passing))

    def _place(self, owner: Owner, key: SeriesKey, step: float) -> Series:
        """Make a series. One that was there with another step takes its samples along."""
        key = self._keys.setdefault(key, key)  # GPU 3 of node-0 is the same object in every job
        before = owner.series.get(key)
        steps = self._blocks.setdefault(key[0], {})
        block = steps.get(step) or steps.setdefault(step, Block(key[0], step, self._table))
        series = owner.series[key] = block.add(owner, key)
        if before is not None:
            times, values = before.block.matrix.column(before.column)
            write(block.matrix, np.full(len(times), series.column), times, values)
            self._remove(before.block, np.array([before.column]))
        return series

    def _take_in(self, flat: Iterable[tuple[Block, Samples]], now: float) -> IngestReport:
        new = revised = 0
        dropped: Counter[str] = Counter()
        for block, samples in flat:
            fit = acceptable(samples, now - self.retention, now + FUTURE_TOLERANCE, dropped)
            counts = write(block.matrix, *fit)
            new, revised = new + counts[0], revised + counts[1]
            self._remove(block, block.without_samples())
        return IngestReport(new, revised, {reason: count for reason, count in dropped.items() if count})

    def _remove(self, block: Block, columns: Index) -> None:
        """Remove series (ascending columns), and the block with its last one."""
        if len(columns):
            self._owners.discard(block.remove(columns))
            if not block.members:
                del self._blocks[block.metric][block.matrix.step]
                if not self._blocks[block.metric]:
                    del self._blocks[block.metric]

    def _renew_table(self) -> None:
        """Leave behind the strings of series that are gone; ids of jobs and nodes never come back."""
        old, table = self._table, StringTable()
        used = np.zeros(len(old), dtype=np.bool_)
        for block in self._all():
            for codes in block.label_columns.values():
                used[codes] = True
        numbers = np.zeros(len(old), dtype=np.int32)
        for code in np.flatnonzero(used).tolist():
            numbers[code] = table.code(old.text(code))
        for block in self._all():
            block.recode(table, numbers)
        self._table, self._matching, self._strings = table, Matching(table), len(table)
        self._keys = {series.key: series.key for block in self._all() for series in block.members}


def _time(newest: float) -> float | None:
    return None if newest == NEVER else newest
