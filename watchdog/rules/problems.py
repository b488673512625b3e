"""Mistakes of a rules file, collected with their places until all are known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from watchdog.errors import Problem, RulesError
from watchdog.rules.locate import Lines, Part, Path


@dataclass(frozen=True, slots=True)
class Table:
    """One table of one file, as ``tomllib`` read it."""

    file: str
    path: Path
    """``("rules", 2)``; empty for the file as a whole."""
    data: Mapping[str, Any]
    lines: Lines

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.lines.of(self.path)}"


class Report:
    """All mistakes found so far."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def add(self, table: Table, keys: Iterable[Part], reason: str, remedy: str, excerpt: str = "") -> None:
        """Write down a mistake at a key below ``table``; ``excerpt`` points to the place in an expression."""
        path = (*table.path, *keys)
        self._problems.append(Problem(table.file, table.lines.of(path), dotted(path), reason, remedy, excerpt))

    def add_file(self, file: str, line: int, reason: str, remedy: str) -> None:
        """Write down a mistake of a file as a whole."""
        self._problems.append(Problem(file, line, "", reason, remedy))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._problems)

    def raise_if_any(self) -> None:
        """Raise RulesError with everything found, in file order."""
        if self._problems:
            raise RulesError(sorted(self._problems, key=lambda problem: (problem.file, problem.line)))


def dotted(path: Iterable[Part]) -> str:
    """Return ``rules[2].window``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a remedy that names the nearest valid name, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return f"known are: {', '.join(names)}" if names else "there is none to choose from"


def misspelt(name: str, known: Iterable[str], *, likeness: float = 0.8) -> str | None:
    """Return the known name that was probably meant; None if ``name`` is known, or like none of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=likeness)
    return close[0] if close and name not in names else None
