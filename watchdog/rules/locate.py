"""Where in a TOML text each key stands: ``tomllib`` reads values, people need lines.

The scanner trusts that ``tomllib`` has taken the text; it only has to tell keys from values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Part = str | int
Path = tuple[Part, ...]
"""``("rules", 2, "window")``; an array of tables counts from 0."""

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)""")
_DOTTED = re.compile(rf"[ \t]*{_KEY.pattern}(?:[ \t]*\.[ \t]*{_KEY.pattern})*")
_STRING = re.compile(r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*\'''', re.DOTALL)
_PLAIN = re.compile(r"""[^"'#\[\]{},\n]+""")


@dataclass(frozen=True, slots=True)
class Lines:
    """The 1-based line of every key and table of one text."""

    known: Mapping[Path, int]

    def of(self, path: Sequence[Part]) -> int:
        """Return the line of a key, or of the closest thing above it that has one; 0 if nothing has."""
        for size in range(len(path), 0, -1):
            line = self.known.get(tuple(path[:size]))
            if line is not None:
                return line
        return 0


def lines_of(text: str) -> Lines:
    """Return the lines of a text that ``tomllib`` can read."""
    scanner = _Scanner(text)
    scanner.run()
    return Lines(scanner.known)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._table: Path = ()
        self._counts: dict[Path, int] = {}
        self.known: dict[Path, int] = {}

    def run(self) -> None:
        while self._next():
            if self._peek("[["):
                self._header("]]", array=True)
            elif self._peek("["):
                self._header("]", array=False)
            else:
                self._pair(self._table)

    def _next(self) -> bool:
        """Skip space and comments; whether anything is left."""
        self._at = self._end(_SPACE)
        return self._at < len(self._text)

    def _end(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self._text, self._at)
        return found.end() if found else self._at

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _note(self, path: Path) -> None:
        self.known.setdefault(path, self._text.count("\n", 0, self._at) + 1)

    def _header(self, close: str, *, array: bool) -> None:
        start = self._at
        self._at += len(close)
        names = self._names()
        path = self._resolve(names[:-1])
        path = (*path, names[-1])
        self._at = start
        if array:
            self._note(path)
            number = self._counts.get(path, -1) + 1
            self._counts[path] = number
            path = (*path, number)
        self._note(path)
        self._table = path
        self._at = self._text.index(close, start) + len(close)

    def _resolve(self, names: Sequence[str]) -> Path:
        """Return the path of a table; a name that is an array of tables means its newest one."""
        path: Path = ()
        for name in names:
            path = (*path, name)
            self._note(path)
            if path in self._counts:
                path = (*path, self._counts[path])
        return path

    def _names(self) -> list[str]:
        end = self._end(_DOTTED)
        names = _KEY.findall(self._text, self._at, end)
        self._at = end
        return [name[1:-1] if name[0] in "\"'" else name for name in names]

    def _pair(self, table: Path) -> None:
        start = self._at
        path = (*table, *self._names())
        after, self._at = self._at, start
        for size in range(len(table) + 1, len(path) + 1):
            self._note(path[:size])
        self._at = self._text.index("=", after) + 1
        self._next()
        self._value(path)

    def _value(self, path: Path) -> None:
        if self._peek("{"):
            self._inline(path)
        elif self._peek("["):
            self._array(path)
        elif self._text[self._at] in "\"'":
            self._at = self._end(_STRING)
        else:
            self._at = self._end(_PLAIN)

    def _inline(self, path: Path) -> None:
        self._at += 1
        while self._next() and not self._peek("}"):
            if self._peek(","):
                self._at += 1
            else:
                self._pair(path)
        self._at += 1

    def _array(self, path: Path) -> None:
        self._at += 1
        number = 0
        while self._next() and not self._peek("]"):
            if self._peek(","):
                self._at += 1
                number += 1
            else:
                self._note((*path, number))
                self._value((*path, number))
        self._at += 1
