"""The newest samples of every series, taken from the history at one moment, as metrics of Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from watchdog.engine.engine import Engine
from watchdog.labels import METRIC_NAME, LabelColumns
from watchdog.promql.storage import Floats
from watchdog.vocabulary import METRICS


@dataclass(frozen=True, slots=True)
class Family:
    """Series of one metric with their values."""

    name: str
    help: str
    labels: Sequence[str]
    rows: Sequence[tuple[Sequence[str], float]]

    def metric(self) -> Metric:
        """Return it as a gauge."""
        family = GaugeMetricFamily(self.name, self.help, labels=self.labels)
        for values, number in self.rows:
            family.add_metric(list(values), number)
        return family


@dataclass(frozen=True, slots=True)
class Newest:
    """Copies that another thread may read: the labels and the newest values of one selection."""

    labels: LabelColumns
    values: Floats


def newest(engine: Engine, now: float) -> list[Newest]:
    """Return what is known now. What is stale is left out: in Prometheus too it shall be missing, not old."""
    found = []
    for selection in engine.history.select(()):
        times, values = selection.latest(now - engine.program.lookback, now)
        there = ~np.isnan(times)
        if there.any():
            found.append(Newest(selection.labels.take(there), values[there]))
    return found


def text_of(snapshot: Sequence[Newest]) -> bytes:
    """Return the samples in Prometheus's text format, without times: they are as of now."""
    registry = CollectorRegistry()
    registry.register(_Samples(snapshot))
    return generate_latest(registry)


class _Samples(Collector):
    def __init__(self, snapshot: Sequence[Newest]) -> None:
        self._snapshot = snapshot

    def collect(self) -> list[Metric]:
        """Return one family per metric."""
        rows: dict[str, list[tuple[dict[str, str], float]]] = {}
        for one in self._snapshot:
            for labels, value in zip(one.labels.rows(), one.values.tolist(), strict=True):
                rows.setdefault(labels.pop(METRIC_NAME), []).append((labels, value))
        return [_family(name, found).metric() for name, found in sorted(rows.items())]


def _family(name: str, rows: Sequence[tuple[dict[str, str], float]]) -> Family:
    labels = sorted({key for row, _ in rows for key in row})
    known = METRICS.get(name)
    values = [([row.get(key, "") for key in labels], value) for row, value in rows]
    return Family(name, known.help if known else "", labels, values)
