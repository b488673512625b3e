"""The history against a naive one: a dictionary of samples per series, looked through sample by sample."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from watchdog.history import FUTURE_TOLERANCE, History, OwnRow, SeriesPoints
from watchdog.model import Labels, Points, labels_of
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.vocabulary import RESOURCE_METRICS

RETENTION = 600.0
T0 = 6000.0
METRICS = ("gpu_utilization", "cache_utilization", "job_gpus")
STEPS = st.sampled_from([60.0, 60.0, 60.0, 60.0, 45.0])

BASES = st.sampled_from(
    [{"source": "s", "project": "p", "job": "a", "job_name": name} for name in ("", "n1", "n2")]
    + [{"source": "s", "project": "p", "job": "b", "owner": owner} for owner in ("", "me")]
    + [{"source": "s", "project": "p", "project_name": "P"}, {"source": "s"}, {"source": "t"}]
)
EXTRAS = st.sampled_from([{}, {"gpu": "0"}, {"gpu": "0", "node": "x"}])
TICKS = st.one_of(
    st.integers(-4, 1).map(lambda slot: slot * 60.0),
    st.integers(-8, 4).map(lambda part: part * 15.0),
    st.sampled_from([60.0, 60.5, -600.0, -600.5, -300.0, 59.999, 0.001, 0.0004, 0.0006, 1e9, -1e9]),
)
VALUES = st.integers(0, 9).map(lambda digit: math.nan if digit == 9 else math.inf if digit == 8 else float(digit % 3))
POINTS = st.lists(st.tuples(TICKS, VALUES), max_size=6)


@dataclass
class Known:
    """One series of the model."""

    base: Mapping[str, str]
    extra: Mapping[str, str]
    metric: str
    step: float
    samples: dict[float, float] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, str]:
        return dict(labels_of({**self.base, **self.extra, "__name__": self.metric}))


Key = tuple[tuple[str, ...], str, Labels]


def owner_of(base: Mapping[str, str]) -> tuple[str, ...]:
    for name in ("job", "project"):
        if name in base:
            return name, base["source"], base[name]
    return "source", base["source"]


def whole(time: float) -> float:
    """The last whole millisecond that is not after a time."""
    near = round(time * 1000)
    return max(number / 1000 for number in range(near - 2, near + 3) if number / 1000 <= time)


class Naive:
    def __init__(self) -> None:
        self.series: dict[Key, Known] = {}

    def write(self, base: Mapping[str, str], metric: str, extra: Mapping[str, str], step: float) -> Known:
        owner = owner_of(base)
        for key, known in self.series.items():
            if key[0] == owner:
                known.base = base
        found = self.series.setdefault((owner, metric, labels_of(extra)), Known(base, extra, metric, step))
        found.step = step
        return found

    def drop_empty(self) -> None:
        self.series = {key: known for key, known in self.series.items() if known.samples}

    def trim(self, oldest: float, newest: float) -> None:
        for known in self.series.values():
            low, high = math.floor(oldest / known.step), math.floor(newest / known.step)
            known.samples = {t: v for t, v in known.samples.items() if low <= math.floor(t / known.step) <= high}
        self.drop_empty()


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.history = History(RETENTION)
        self.naive = Naive()
        self.now = T0
        self.dice = random.Random(1)

    @rule(
        step=STEPS,
        batch=st.lists(st.tuples(BASES, st.sampled_from(METRICS), EXTRAS, POINTS), min_size=1, max_size=6),
    )
    def ingest(
        self, step: float, batch: list[tuple[dict[str, str], str, dict[str, str], list[tuple[float, float]]]]
    ) -> None:
        items = []
        dropped = {"nan": 0, "future": 0}
        before = {
            (key, time): value for key, known in self.naive.series.items() for time, value in known.samples.items()
        }
        for base, metric, extra, points in batch:
            known = self.naive.write(base, metric, extra, step)
            for tick, value in points:
                time = self.now + tick
                if not math.isfinite(value):
                    dropped["nan"] += 1
                elif time > self.now + FUTURE_TOLERANCE:
                    dropped["future"] += 1
                elif time >= self.now - RETENTION:
                    known.samples[whole(time)] = value
            times, values = [self.now + tick for tick, _ in points], [value for _, value in points]
            items.append(SeriesPoints(labels_of(base), Points(metric, labels_of(extra), times, values)))
        report = self.history.ingest(items, step, self.now)
        self.naive.drop_empty()
        after = {
            (key, time): value for key, known in self.naive.series.items() for time, value in known.samples.items()
        }
        assert report.new == len(after.keys() - before.keys())
        assert report.revised == sum(before[key] != after[key] for key in before)
        assert report.dropped == {reason: count for reason, count in dropped.items() if count}

    @rule(rows=st.lists(st.tuples(BASES, EXTRAS, VALUES), max_size=5), step=STEPS)
    def put_many(self, rows: list[tuple[dict[str, str], dict[str, str], float]], step: float) -> None:
        for base, extra, value in rows:
            known = self.naive.write(base, "job_gpus", extra, step)
            if math.isfinite(value):
                known.samples[whole(self.now)] = value
        self.history.put_many(
            [OwnRow(labels_of(base), "job_gpus", labels_of(extra), value) for base, extra, value in rows],
            self.now,
            step,
        )
        self.naive.drop_empty()

    @rule(seconds=st.sampled_from([15.0, 60.0, 60.0, 60.0, 60.0, 7.25, 0.0007, 300.0, -90.0, 5000.0, 1e8, -1e8]))
    def turn_the_clock(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def trim(self) -> None:
        self.history.trim(self.now)
        self.naive.trim(self.now - RETENTION, self.now + FUTURE_TOLERANCE)

    @rule(labels=st.sampled_from([{"source": "s", "job": "a"}, {"gpu": "0"}, {"source": "t"}, {"job_name": "n1"}]))
    def forget(self, labels: dict[str, str]) -> None:
        gone = [key for key, known in self.naive.series.items() if labels.items() <= known.labels.items()]
        assert self.history.forget(labels) == len(gone)
        for key in gone:
            del self.naive.series[key]

    @invariant()
    def reads_the_same(self) -> None:
        """Some intervals that begin and end at samples, or just beside them."""
        times = sorted({time for known in self.naive.series.values() for time in known.samples})
        bounds = [-math.inf, math.inf, self.now, self.now - 300.0, *times, *(time - 0.001 for time in times)]
        for _ in range(3):
            after, until = self.dice.choice(bounds), self.dice.choice(bounds)
            for metric in METRICS:
                self.read(metric, self.dice.choice([{}, {}, {"gpu": "0"}, {"source": "s", "job": "a"}]), after, until)

    def read(self, metric: str, labels: dict[str, str], after: float, until: float) -> None:
        wanted = {
            labels_of(known.labels): (
                known.step,
                sorted((t, v) for t, v in known.samples.items() if after < t <= until),
            )
            for known in self.naive.series.values()
            if known.metric == metric and labels.items() <= known.labels.items()
        }
        assert self.windows(metric, labels, after, until) == wanted
        newest = {key: (step, samples[-1:]) for key, (step, samples) in wanted.items()}
        assert self.latest(metric, labels, after, until) == newest

    def windows(
        self, metric: str, labels: dict[str, str], after: float, until: float
    ) -> dict[Labels, tuple[float, list[tuple[float, float]]]]:
        found = {}
        for selection in self.history.select(matchers(metric, labels)):
            window = selection.window(after, until)
            assert window.complete == (bool(window.times.size) and not np.isnan(window.times).any())
            for column, row in enumerate(selection.labels.rows()):
                there = ~np.isnan(window.times[:, column])
                pairs = zip(window.times[there, column].tolist(), window.values[there, column].tolist(), strict=True)
                assert labels_of(row) not in found
                found[labels_of(row)] = (selection.step, list(pairs))
        return found

    def latest(
        self, metric: str, labels: dict[str, str], after: float, until: float
    ) -> dict[Labels, tuple[float, list[tuple[float, float]]]]:
        found = {}
        for selection in self.history.select(matchers(metric, labels)):
            times, values = selection.latest(after, until)
            for column, row in enumerate(selection.labels.rows()):
                pair = (float(times[column]), float(values[column]))
                found[labels_of(row)] = (selection.step, [] if math.isnan(pair[0]) else [pair])
        return found

    @rule(
        labels=st.sampled_from([{}, {"gpu": "0"}, {"source": "s", "job": "a", "gpu": "1"}, {"source": "x", "job": "a"}])
    )
    def newest(self, labels: dict[str, str]) -> None:
        wanted = {
            metric: max(
                (
                    max(known.samples)
                    for known in self.naive.series.values()
                    if known.metric == metric
                    and all(known.labels.get(name, value) == value for name, value in labels.items())
                ),
                default=None,
            )
            for metric in METRICS
        }
        assert self.history.newest(METRICS, labels) == wanted

    @invariant()
    def holds_as_much(self) -> None:
        stats = self.history.stats()
        assert stats.series == len(self.naive.series)
        assert stats.samples == sum(len(known.samples) for known in self.naive.series.values())
        for job in ("a", "b"):
            own = [
                max(known.samples)
                for known in self.naive.series.values()
                if known.labels.get("job") == job and known.metric in RESOURCE_METRICS
            ]
            assert self.history.newest_of_job("s", job) == max(own, default=None)


def matchers(metric: str, labels: Mapping[str, str]) -> list[Matcher]:
    return [Matcher(name, MatchOp.EQUAL, value) for name, value in {"__name__": metric, **labels}.items()]


TestAgainstModel = Machine.TestCase
TestAgainstModel.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
