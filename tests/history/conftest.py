"""Shorthands for histories."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from watchdog.history import History, SeriesPoints
from watchdog.model import Labels, Points, labels_of
from watchdog.promql.storage import Matcher, MatchOp

T0 = 1_772_442_000.0
"""2026-03-02 09:00:00 UTC: a whole minute."""


def base(job: str = "j1", **labels: str) -> Labels:
    return labels_of({"source": "cloud", "job": job, "project": "p1", **labels})


def series(
    times: Sequence[float],
    values: Sequence[float] | None = None,
    *,
    metric: str = "gpu_utilization",
    of: Labels = (),
    **own: str,
) -> SeriesPoints:
    """Points at T0 + ``times``, by default with values 1, 2, 3, …"""
    numbers = list(values) if values is not None else [float(n) for n in range(1, len(times) + 1)]
    return SeriesPoints(of or base(), Points(metric, labels_of(own), [T0 + time for time in times], numbers))


def samples(history: History, metric: str = "gpu_utilization", **labels: str) -> list[tuple[float, float]]:
    """All samples (time after T0, value) of the only series that matches."""
    matchers = [Matcher("__name__", MatchOp.EQUAL, metric)]
    matchers += [Matcher(name, MatchOp.EQUAL, value) for name, value in labels.items()]
    (selection,) = history.select(matchers)
    window = selection.window(-np.inf, np.inf)
    assert window.times.shape[1] == 1
    there = ~np.isnan(window.times[:, 0])
    return list(zip((window.times[there, 0] - T0).tolist(), window.values[there, 0].tolist(), strict=True))


@pytest.fixture(name="base")
def make_base() -> Callable[..., Labels]:
    return base


@pytest.fixture(name="series")
def make_series() -> Callable[..., SeriesPoints]:
    return series


@pytest.fixture(name="samples")
def read_samples() -> Callable[..., list[tuple[float, float]]]:
    return samples


@pytest.fixture
def history() -> History:
    """Keeps an hour."""
    return History(retention=3600.0)
