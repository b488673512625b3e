"""OpenMetrics text with timestamps, as ``promtool tsdb create-blocks-from openmetrics`` reads it.

Grammar: the OpenMetrics specification 1.0, in the reading of Prometheus's parser, which the tests ask. Stricter
than that parser in four points, where it would lose or bend something in silence: times that are milliseconds by
their size, texts that are not UTF-8, two values of one series at one time, and label names that it lets pass twice.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isinf

from watchdog.errors import UsageError
from watchdog.files.series import FileSeries
from watchdog.labels import METRIC_NAME
from watchdog.promql.prometheus_json import LARGEST_TIME

SUFFIXES = (".om", ".openmetrics", ".prom", ".txt")

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_TEXT = r'"(?:[^"\\\n]|\\.)*"'
_LABEL = rf"[a-zA-Z_][a-zA-Z0-9_]*={_TEXT}"
_LABELS = rf"\{{(?:{_LABEL}(?:,{_LABEL})*)?\}}"
_VALUE = r"[-+0-9.eE]+|[-+]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN]"
_TIME = r"[-+0-9.eE]+"
_EXEMPLAR = rf" # {_LABELS} (?:{_VALUE})(?: {_TIME})?"
_SAMPLE = re.compile(rf"({_NAME}(?:{_LABELS})?) ({_VALUE}) ({_TIME})(?:{_EXEMPLAR})?\n?")
_PAIR = re.compile(rf"([a-zA-Z_][a-zA-Z0-9_]*)=({_TEXT})")
_ESCAPE = re.compile(r'\\([\\"n])')
_TYPES = "counter|gauge|histogram|gaugehistogram|summary|info|stateset|unknown"
_METADATA = re.compile(rf"# (?:TYPE {_NAME} (?:{_TYPES})|HELP {_NAME} [^\n]*|UNIT (?:{_NAME})?_(\w+) \1)\n?")
_WITHOUT_TIME = re.compile(rf"{_NAME}(?:{_LABELS})? (?:{_VALUE})(?:{_EXEMPLAR})?\n?")


@dataclass(slots=True)
class _Column:
    """Arrays of numbers, not lists of objects: a file may hold tens of millions of samples."""

    labels: tuple[tuple[str, str], ...]
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("Q"))


def recognizes(head: str) -> bool:
    """Whether the first line of a file looks like OpenMetrics."""
    line = head.partition("\n")[0]
    return line.startswith("# ") or _SAMPLE.fullmatch(line) is not None or _WITHOUT_TIME.fullmatch(line) is not None


def read(file: str, lines: Iterable[str]) -> Iterator[FileSeries]:
    """Read one file from its lines, ends of line included. Raises UsageError naming file, line and remedy."""
    columns: dict[str, _Column] = {}
    ended = 0
    number = 0
    for number, line in enumerate(lines, 1):
        if ended:
            raise _error(file, number, "there is text after # EOF", "remove it, or move # EOF to the end")
        if line.startswith("#"):
            ended = _metadata(file, number, line)
        else:
            _take(file, number, line, columns)
    if not ended:
        raise _error(
            file,
            number,
            "the file ends without # EOF, so it may be cut off",
            "write the file anew, or add the line # EOF",
        )
    for column in columns.values():
        yield FileSeries(file, column.labels, column.times, column.values, column.lines)


def _take(file: str, number: int, line: str, columns: dict[str, _Column]) -> None:
    found = _SAMPLE.fullmatch(line)
    if found is None:
        raise _error(file, number, *_reason(line))
    text, value, time = found.groups()
    column = columns.get(text)
    if column is None:
        column = columns[text] = _Column(_labels(file, number, text))
    try:
        column.values.append(float(value))
        column.times.append(float(time))
    except ValueError:
        raise _error(
            file, number, f'"{value} {time}" is not a value and a time', "write numbers such as 0.5 1700000000"
        ) from None
    column.lines.append(number)
    if isinf(column.values[-1]) and value[-1].isdigit():
        raise _error(file, number, f'"{value}" does not fit a 64-bit number', "write +Inf or -Inf if that is meant")
    if not abs(column.times[-1]) <= LARGEST_TIME:
        raise _error(file, number, f'"{time}" is no time in seconds', "divide milliseconds by 1000")


def _metadata(file: str, number: int, line: str) -> int:
    """Check a line of metadata; return its number if it ends the file."""
    if line in ("# EOF\n", "# EOF"):
        return number
    if not _METADATA.fullmatch(line):
        known = f"# TYPE name {_TYPES.replace('|', ', ')}; # HELP name text; # UNIT name_unit unit; # EOF"
        raise _error(file, number, f'"{line.rstrip()}" is no line of OpenMetrics', f"it knows {known}")
    return 0


def _labels(file: str, number: int, text: str) -> tuple[tuple[str, str], ...]:
    """Read the labels of a series; an empty value is no label."""
    metric, _, inner = text.partition("{")
    labels = {METRIC_NAME: metric}
    for name, quoted in _PAIR.findall(inner):
        if name in labels:
            raise _error(file, number, f'the label "{name}" is there twice', "keep one of them")
        labels[name] = _ESCAPE.sub(lambda escape: {"n": "\n"}.get(escape[1], escape[1]), quoted[1:-1])
    return tuple(sorted((name, value) for name, value in labels.items() if value))


def _reason(line: str) -> tuple[str, str]:
    """Return what is wrong with a line that is no sample, and the remedy."""
    if not line.strip():
        return "the line is empty", "remove it: OpenMetrics has no empty lines"
    if line.endswith(("\r\n", "\r")):
        return "the line ends with a carriage return", "write the file with the line ends of Unix"
    if _WITHOUT_TIME.fullmatch(line):
        return "the sample has no timestamp", "write unix seconds behind its value"
    return f'"{line.rstrip()[:200]}" is not a sample', 'write name{label="value"} value seconds, with one space between'


def _error(file: str, number: int, reason: str, remedy: str) -> UsageError:
    return UsageError(f"{file}:{number}: {reason}; {remedy}")
