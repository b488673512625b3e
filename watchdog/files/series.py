"""What files give: series, and what some say of a job beside them; put together into one history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from watchdog.errors import UsageError
from watchdog.history import History
from watchdog.model import Job
from watchdog.promql.storage import Floats

USUAL_STEP = 60.0
"""Seconds; of a series that has one sample only."""


@dataclass(frozen=True, slots=True)
class FileSeries:
    """The samples of one series in one file, in the order of the file."""

    file: str
    labels: tuple[tuple[str, str], ...]
    """Sorted, ``__name__`` among them, none empty."""
    times: Sequence[float]
    """Unix seconds; counted to the millisecond."""
    values: Sequence[float]
    lines: Sequence[int]
    """1-based; where each sample stands. 0 in a file whose lines say nothing."""


@dataclass(frozen=True, slots=True)
class FileJob:
    """What a file says of a job beside its samples; the status is that after the last of them.

    An empty ``source`` or ``job`` means that the file names none.
    """

    file: str
    job: Job
    as_of: float | None = None
    """Until when the job is known to go on, samples or not; None: until its last sample."""
    part: str = ""
    """The node of which alone its GPUs are those; empty: they are those of the whole job."""


FileItem = FileSeries | FileJob


def put_together(series: Iterable[FileSeries]) -> History:
    """Build a history; a series may be spread over files, and its step is the median distance of its samples.

    Raises UsageError for two samples of one series with equal time and different values.
    """
    parts: dict[tuple[tuple[str, str], ...], list[FileSeries]] = defaultdict(list)
    for one in series:
        parts[one.labels].append(one)
    rows = ((dict(labels), *_lists(pieces)) for labels, pieces in parts.items())
    return History.from_series(rows, step_of)


def step_of(times: Sequence[float]) -> float:
    """Return the median distance of times in ascending order: to the second, or to the millisecond below one."""
    if len(times) < 2:
        return USUAL_STEP
    median = float(np.sort(np.diff(times))[(len(times) - 1) // 2])
    return float(round(median)) if median >= 1 else max(round(median, 3), 0.001)


def _lists(pieces: Sequence[FileSeries]) -> tuple[list[float], list[float]]:
    times, values = samples_of(pieces)
    return times.tolist(), values.tolist()


def samples_of(pieces: Sequence[FileSeries]) -> tuple[Floats, Floats]:
    """Return the times and values of one series in order of time, each time once.

    Raises UsageError for two samples with equal time and different values.
    """
    times = np.rint(np.concatenate([one.times for one in pieces]) * 1000.0) / 1000.0
    values = np.concatenate([one.values for one in pieces])
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    again = np.append(False, times[1:] == times[:-1])
    if again.any():
        equal = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
        wrong = np.flatnonzero(again[1:] & ~equal)
        if len(wrong):
            raise _contradiction(pieces, int(order[wrong[0]]), int(order[wrong[0] + 1]))
    return times[~again], values[~again]


def _contradiction(pieces: Sequence[FileSeries], first: int, second: int) -> UsageError:
    places = [(one.file, line) for one in pieces for line in one.lines]
    (file, line), (other, earlier) = places[second], places[first]
    return UsageError(
        f"{_place(file, line)}: the series has another value at this time in {_place(other, earlier)}; "
        "remove one of them"
    )


def _place(file: str, line: int) -> str:
    return f"{file}:{line}" if line else file
