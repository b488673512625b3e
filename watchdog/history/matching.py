"""Decides which series of a block a selector matches, on the codes of their labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from watchdog.errors import EvaluationError
from watchdog.history.block import Block
from watchdog.history.read import Columns
from watchdog.labels import METRIC_NAME, Codes, Index, StringTable
from watchdog.promql.regex import compiled
from watchdog.promql.storage import Matcher, MatchOp

Mask = npt.NDArray[np.bool_]
MOST_PATTERNS = 256
_UNKNOWN, _NO, _YES = -1, 0, 1


class Matching:
    """Matches against the strings of one table. A regular expression sees each string once."""

    def __init__(self, table: StringTable) -> None:
        self._table = table
        self._verdicts: dict[str, npt.NDArray[np.int8]] = {}

    def metric(self, metric: str, matchers: Sequence[Matcher]) -> bool:
        """Whether the matchers on the name let a metric pass."""
        return all(accepts(matcher, metric) for matcher in matchers if matcher.name == METRIC_NAME)

    def columns(self, block: Block, matchers: Sequence[Matcher]) -> Columns | None:
        """Return the columns that every matcher on a label lets pass; None when there are none.

        A slice where they lie side by side, which makes windows views.
        """
        index = _narrowed(block, matchers)
        for matcher in matchers:
            if matcher.name == METRIC_NAME:
                continue
            codes = block.codes(matcher.name)
            if codes is not None:
                index = index[self.mask(matcher, codes[index])]
            elif not accepts(matcher, ""):
                return None
        return _side_by_side(index)

    def mask(self, matcher: Matcher, codes: Codes) -> Mask:
        """Return which of these label values a matcher lets pass."""
        if matcher.op in (MatchOp.EQUAL, MatchOp.NOT_EQUAL):
            code = self._table.find(matcher.value)
            equal: Mask = codes == (-1 if code is None else code)
            return equal if matcher.op is MatchOp.EQUAL else ~equal
        fits: Mask = self._verdict(matcher.value, codes)[codes] == _YES
        return fits if matcher.op is MatchOp.REGEX else ~fits

    def _verdict(self, pattern: str, codes: Codes) -> npt.NDArray[np.int8]:
        """Return by code what the pattern says, known at least for ``codes``."""
        known = self._verdicts.get(pattern, np.empty(0, dtype=np.int8))
        if len(known) < len(self._table):
            unknown = np.full(len(self._table) - len(known), _UNKNOWN, dtype=np.int8)
            known = np.concatenate((known, unknown))
        asked = np.zeros(len(known), dtype=np.bool_)
        asked[codes] = True
        compiled = _compiled(pattern)
        for code in np.flatnonzero(asked & (known == _UNKNOWN)).tolist():
            known[code] = _YES if compiled.fullmatch(self._table.text(code)) else _NO
        if len(self._verdicts) >= MOST_PATTERNS:
            self._verdicts.clear()
        self._verdicts[pattern] = known
        return known


def accepts(matcher: Matcher, text: str) -> bool:
    """Whether a matcher lets one label value pass. Raises EvaluationError for a bad regular expression."""
    if matcher.op in (MatchOp.EQUAL, MatchOp.NOT_EQUAL):
        fits = text == matcher.value
    else:
        fits = _compiled(matcher.value).fullmatch(text) is not None
    return fits if matcher.op in (MatchOp.EQUAL, MatchOp.REGEX) else not fits


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return compiled(pattern)
    except re.error as error:
        raise EvaluationError(f'"{pattern}" is not a regular expression: {error}') from error


def _narrowed(block: Block, matchers: Sequence[Matcher]) -> Index:
    """Return the columns of the one job that the matchers name, if they do, else all."""
    equal = {matcher.name: matcher.value for matcher in matchers if matcher.op is MatchOp.EQUAL}
    if equal.get("source") and equal.get("job"):
        return block.at((equal["source"], equal["job"]))
    return np.arange(block.matrix.count)


def _side_by_side(index: Index) -> Columns | None:
    if not len(index):
        return None
    if index[-1] - index[0] + 1 == len(index):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
