"""Histories from files: one module per format, one line per format in ``FORMATS``."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from watchdog.errors import UsageError
from watchdog.files import openmetrics
from watchdog.files.series import FileSeries, put_together
from watchdog.history import History

__all__ = ["FORMATS", "Format", "read_history"]

HEAD = 4096
"""Characters that a format may look at to recognize a file."""


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are told from others, and read."""

    name: str
    suffixes: tuple[str, ...]
    """In lower case, without ``.gz``; they decide before the content does."""
    recognizes: Callable[[str], bool]
    """Whether the first ``HEAD`` characters look like this format."""
    read: Callable[[str, Iterable[str]], Iterator[FileSeries]]
    """Read the lines (with their ends) of the file of this name. Raises UsageError naming file, line and remedy."""


FORMATS = (Format("OpenMetrics", openmetrics.SUFFIXES, openmetrics.recognizes, openmetrics.read),)


def read_history(paths: Sequence[Path]) -> History:
    """Read files of any known format, compressed with gzip or not, into one history.

    Raises UsageError naming the file, the line and the remedy.
    """
    return put_together(series for path in paths for series in _read(path))


def _read(path: Path) -> Iterator[FileSeries]:
    try:
        yield from _format_of(path).read(str(path), _lines(path))
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror or error}); correct its path or its rights"
        ) from error
    except (EOFError, zlib.error) as error:
        raise UsageError(f"{path}: the compressed file is cut off or damaged; make it anew") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not text in UTF-8 ({error}); write it in UTF-8") from error


def _lines(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from file


def _format_of(path: Path) -> Format:
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    for one in FORMATS:
        if suffix in one.suffixes:
            return one
    head = _head(path)
    for one in FORMATS:
        if one.recognizes(head):
            return one
    known = ", ".join(f"{one.name} ({' '.join(one.suffixes)})" for one in FORMATS)
    raise UsageError(f"{path}: is of no format that is known; these are: {known}")


def _head(path: Path) -> str:
    head = ""
    for line in _lines(path):
        head += line
        if len(head) >= HEAD:
            break
    return head[:HEAD]
