"""Functions that write labels: ``label_replace`` and ``label_join``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from watchdog.labels import Codes, LabelColumns, group_codes
from watchdog.promql.regex import compiled
from watchdog.promql.values import Vector, refuse_repeats

LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|(?P<bare>[0-9A-Za-z_]+)|\{(?P<braced>[0-9A-Za-z_]+)\})")


def replace_label(vector: Vector, target: str, replacement: str, source: str, pattern: str) -> Vector:
    """Set a label to ``replacement`` (with ``$1``, ``${name}``) where the whole source label matches.

    An empty result takes the label away. Raises EvaluationError when two series then have the same labels.
    """
    table, codes = vector.labels.table, vector.labels.column(source)
    old = vector.labels.column(target)
    new = old.copy()
    for code in np.unique(codes).tolist():
        match = compiled(pattern).fullmatch(table.text(code))
        if match is not None:
            new[codes == code] = table.code(_expanded(replacement, match))
    return _with(vector, target, new)


def join_labels(vector: Vector, target: str, separator: str, sources: Sequence[str]) -> Vector:
    """Set a label to others joined. Raises EvaluationError when two series then have the same labels."""
    labels = vector.labels
    columns = [labels.column(name) for name in sources]
    group, first = group_codes(columns, labels.size)
    texts = [separator.join(labels.table.text(int(column[row])) for column in columns) for row in first.tolist()]
    codes = np.array([labels.table.code(text) for text in texts], dtype=np.int32)
    return _with(vector, target, codes[group])


def _with(vector: Vector, target: str, codes: Codes) -> Vector:
    labels: LabelColumns = vector.labels.with_columns({target: codes})
    refuse_repeats(labels)
    return Vector(labels, vector.values)


def _expanded(template: str, match: re.Match[str]) -> str:
    """Fill a template in as Go's regexp does: an unknown group is empty, ``$$`` is a dollar sign."""

    def fill(reference: re.Match[str]) -> str:
        if reference["dollar"]:
            return "$"
        name = reference["bare"] or reference["braced"]
        key: int | str = int(name) if name.isdecimal() else name
        known = key <= match.re.groups if isinstance(key, int) else key in match.re.groupindex
        return (match[key] or "") if known else ""

    return _REFERENCE.sub(fill, template)


LabelFunction = Callable[[Vector, Sequence[str]], Vector]
LABEL_FUNCTIONS: dict[str, LabelFunction] = {
    "label_replace": lambda vector, texts: replace_label(vector, texts[0], texts[1], texts[2], texts[3]),
    "label_join": lambda vector, texts: join_labels(vector, texts[0], texts[1], texts[2:]),
}
"""By name: the vector, and the texts behind it."""
