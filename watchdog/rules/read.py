"""Reading the files: paths to tables, with their lines."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watchdog.rules.locate import lines_of
from watchdog.rules.problems import Report, Table, nearest

NEEDED = ("sources", "receivers", "routes", "rules")
"""Arrays of tables without which a rules file does nothing."""
ARRAYS = (*NEEDED, "mute_times", "inhibit")
SINGLE = ("poll", "flapping")
"""Tables that there are once."""
_LONG_INTEGER = re.compile(r"\d(?:_?\d){4299,}")
_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)|\s*\(at end of document\)")


@dataclass(slots=True)
class Tables:
    """The tables of all files, in name order."""

    first: str
    """The file for what belongs to no table."""
    single: dict[str, Table] = field(default_factory=dict)
    arrays: dict[str, list[Table]] = field(default_factory=lambda: {name: [] for name in ARRAYS})
    files: list[str] = field(default_factory=list)
    checksum: str = ""


def read_tables(path: Path, report: Report) -> Tables:
    """Read a file, or the ``*.toml`` of a folder in name order; what cannot be read goes to ``report``."""
    tables = Tables(str(path))
    digest = hashlib.sha256()
    found = _files(path)
    if not found:
        report.add_file(str(path), 0, "holds no *.toml file", "put the rules file there")
    for file in found:
        tables.files.append(str(file))
        try:
            content = file.read_bytes()
        except OSError as error:
            report.add_file(str(file), 0, f"cannot be read: {error.strerror}", "correct the path or its permissions")
            continue
        digest.update(content)
        document = _parse(file, content, report)
        if document is not None:
            _gather(document, tables, report)
    tables.checksum = digest.hexdigest()
    return tables


def checksum(path: Path) -> str:
    """Return what ``read_tables`` gives as checksum, or in words why the files cannot be read."""
    digest = hashlib.sha256()
    try:
        for file in _files(path):
            digest.update(file.read_bytes())
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return digest.hexdigest()


def _files(path: Path) -> Sequence[Path]:
    """Return the file, or the rules files of the folder in name order."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.glob("*.toml") if not file.name.startswith("."))


def _parse(file: Path, content: bytes, report: Report) -> Table | None:
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        return Table(str(file), (), tomllib.loads(text), lines_of(text))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        report.add_file(str(file), line, "is not UTF-8", "save the file as UTF-8")
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        line = int(found[1]) if found and found[1] else content.count(b"\n") + 1
        column = f" (column {found[2]})" if found and found[2] else ""
        reason = f"is not TOML: {_PLACE.sub('', str(error))}{column}"
        report.add_file(str(file), line, reason, "correct the line; text stands in quotes, a table's name in brackets")
    except ValueError:  # Python reads no longer integer
        found = _LONG_INTEGER.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        report.add_file(str(file), line, "is not TOML: a whole number with thousands of digits", "write a smaller one")
    except RecursionError:
        report.add_file(str(file), 1, "is nested too deeply", "write fewer brackets inside each other")
    return None


def _gather(document: Table, tables: Tables, report: Report) -> None:
    for name, value in document.data.items():
        if name in ARRAYS:
            tables.arrays[name] += _array(document, name, value, report)
        elif name not in SINGLE:
            report.add(document, (name,), "unknown table", nearest(name, (*SINGLE, *ARRAYS)))
        elif not isinstance(value, dict):
            report.add(document, (name,), "is not a table", f"write [{name}] on a line of its own")
        elif name in tables.single:
            report.add(document, (name,), f"is also in {tables.single[name].place}", "keep one of them")
        else:
            tables.single[name] = Table(document.file, (name,), value, document.lines)


def _array(document: Table, name: str, value: Any, report: Report) -> list[Table]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        report.add(document, (name,), "is not an array of tables", f"write [[{name}]] on a line of its own")
        return []
    return [Table(document.file, (name, number), item, document.lines) for number, item in enumerate(value)]
