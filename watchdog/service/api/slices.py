"""Range queries in short pieces, so that a tick that is due waits for one piece and not for all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from watchdog.engine.engine import Engine
from watchdog.errors import EvaluationError, TooLate
from watchdog.labels import StringTable
from watchdog.promql import Answer, Options, Query, Series, over_range
from watchdog.promql.storage import Matcher, Selection, Storage
from watchdog.service.desk import Desk

PIECE_SECONDS = 0.1
"""How long one piece should take the scheduler thread."""
LONGEST_SECONDS = 5.0
"""How long a piece may take it before the query is given up."""
GROWTH = 8
"""How much longer the next piece may be: the first steps may have been cheap by chance."""
MOST_POINTS = 1_000_000
"""Values of one answer."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A storage that ends an evaluation by raising TooLate; every expression comes by here again and again."""

    storage: Storage
    until: float
    """Monotonic seconds."""

    @property
    def table(self) -> StringTable:
        """The strings of all label columns."""
        self._check()
        return self.storage.table

    def select(self, matchers: Sequence[Matcher]) -> Sequence[Selection]:
        """Return the matching series."""
        self._check()
        return self.storage.select(matchers)

    def _check(self) -> None:
        if time.monotonic() > self.until:
            raise TooLate(f"one evaluation took more than {LONGEST_SECONDS:g} s; take fewer series or a shorter window")


def timed(engine: Engine) -> Timed:
    """Return the history of the engine, to be read for a limited time from now on."""
    return Timed(engine.history, time.monotonic() + LONGEST_SECONDS)


async def sliced(
    desk: Desk[Engine], query: Query, times: tuple[float, float, float], lookback: float | None, timeout: float
) -> Answer:
    """Evaluate at ``(start, end, step)``, which has been checked. Raises EvaluationError, Unavailable."""
    start, end, step = times
    count = int((end - start) / step + 1e-9) + 1
    until = time.monotonic() + timeout
    size, done, merged = 1, 0, _Merged()
    while done < count:
        size = min(size, count - done)
        last = end if done + size == count else start + (done + size - 1) * step
        piece = (start + done * step, last, step)
        question = partial(_piece, query=query, times=piece, lookback=lookback, span=(start, end))
        answer, seconds = await desk.ask(question, until - time.monotonic())
        merged.add(answer.series)
        done += size
        size = max(1, min(size * GROWTH, int(size * PIECE_SECONDS / max(seconds, 1e-6))))
    return merged.answer()


def options_of(engine: Engine, lookback: float | None) -> Options:
    """Return how to evaluate: a query looks back as far as rules do unless it says how far."""
    return Options(lookback=lookback or engine.program.lookback)


def _piece(
    engine: Engine,
    query: Query,
    times: tuple[float, float, float],
    lookback: float | None,
    span: tuple[float, float],
) -> tuple[Answer, float]:
    """Evaluate a piece of a range; ``@ start()`` and ``@ end()`` mean those of the whole."""
    began = time.monotonic()
    answer = over_range(query, timed(engine), times, replace(options_of(engine, lookback), span=span))
    return answer, time.monotonic() - began


@dataclass(slots=True)
class _Merged:
    """The series of all pieces, by their labels."""

    rows: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = field(default_factory=dict)
    points: int = 0

    def add(self, series: Iterable[Series]) -> None:
        for one in series:
            self.rows.setdefault(tuple(sorted(one.labels.items())), []).extend(one.points)
            self.points += len(one.points)
        if self.points > MOST_POINTS:
            raise EvaluationError(f"the answer has more than {MOST_POINTS} values; take fewer series or a longer step")

    def answer(self) -> Answer:
        return Answer(
            "matrix", tuple(Series(dict(labels), tuple(points)) for labels, points in sorted(self.rows.items()))
        )
