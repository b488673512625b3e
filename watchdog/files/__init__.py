"""Histories from files: one module per format, one line per format in ``FORMATS``."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path

from watchdog.errors import UsageError
from watchdog.files import nvidia_smi, openmetrics, provider_json, recorded_run
from watchdog.files.series import FileItem, FileJob, FileSeries, put_together, samples_of
from watchdog.history import History

__all__ = ["FORMATS", "FileItem", "FileJob", "FileSeries", "Format", "read_history", "read_items", "samples_of"]

HEAD = 4096
"""Characters that a format may look at to recognize a file."""


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are told from others, and read."""

    name: str
    suffixes: tuple[str, ...]
    """In lower case, without ``.gz``; they decide before the content does. A format without any is sure of its own."""
    recognizes: Callable[[str], bool]
    """Whether the first ``HEAD`` characters look like this format."""
    read: Callable[[str, Iterable[str], tzinfo], Iterator[FileItem]]
    """Read the lines (with their ends) of the file of this name; times without a zone are in the one given.

    Raises UsageError naming file, line and remedy.
    """


FORMATS = (
    Format("nvidia-smi's CSV", (), nvidia_smi.recognizes, nvidia_smi.read),
    Format("t,metric,gpu,value", (), recorded_run.recognizes, lambda file, lines, _: recorded_run.read(file, lines)),
    Format("JSON of Baseten or Alaya NeW", (".json", ".jsonl"), provider_json.recognizes, provider_json.read),
    Format(
        "OpenMetrics",
        openmetrics.SUFFIXES,
        openmetrics.recognizes,
        lambda file, lines, _: openmetrics.read(file, lines),
    ),
)


def read_history(paths: Sequence[Path], zone: tzinfo = UTC) -> History:
    """Read files of any known format, compressed with gzip or not, into one history.

    Raises UsageError naming the file, the line and the remedy.
    """
    return put_together(item for item in read_items(paths, zone) if isinstance(item, FileSeries))


def read_items(paths: Iterable[Path], zone: tzinfo) -> Iterator[FileItem]:
    """Read files of any known format, one after the other. Raises UsageError as ``read_history`` does."""
    for path in paths:
        yield from _read(path, zone)


def _read(path: Path, zone: tzinfo) -> Iterator[FileItem]:
    try:
        yield from _format_of(path).read(str(path), _lines(path), zone)
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
    head = _head(path)
    if not head.strip():
        raise UsageError(f"{path}:1: the file is empty; name one that holds samples")
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    by_name = [one for one in FORMATS if suffix in one.suffixes]
    for one in (*(one for one in FORMATS if not one.suffixes and one.recognizes(head)), *by_name, *FORMATS):
        if one in by_name or one.recognizes(head):
            return one
    known = "; ".join(f"{one.name} ({' '.join(one.suffixes)})" if one.suffixes else one.name for one in FORMATS)
    raise UsageError(f"{path}: is of no format that is known; these are: {known}")


def _head(path: Path) -> str:
    head = ""
    for line in _lines(path):
        head += line
        if len(head) >= HEAD:
            break
    return head[:HEAD]
