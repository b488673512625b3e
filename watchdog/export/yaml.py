"""A small writer of YAML for people: mappings, lists, numbers and texts; nothing else is needed here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*|(?:\d+(?:ms|[smhdwy]))+")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Plain words that some readers of YAML take for something else than text."""
_ODD = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")
"""Characters that must be escaped: control characters and YAML 1.1's other line ends."""


def scalar(text: str, indent: int) -> str:
    """Return a text as YAML, in the plainest form that reads back the same; ``indent`` is that of its lines."""
    if "\n" in text and not _ODD.search(text.replace("\n", "")) and _fits_block(text):
        pad = " " * indent
        return "|-\n" + "\n".join(pad + line if line else "" for line in text.split("\n"))
    if _ODD.search(text):
        return _escaped(text)
    if _is_plain(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS


def _escaped(text: str) -> str:
    plain = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n").replace("\t", r"\t")
    return '"' + _ODD.sub(lambda found: f"\\U{ord(found[0]):08x}", plain) + '"'


def _fits_block(text: str) -> bool:
    """Whether a literal block keeps it: no space before its first line, no line end after its last."""
    return text.strip() != "" and not text.startswith((" ", "\n")) and not text.endswith("\n")


def mapping(items: Mapping[str, object], indent: int) -> Iterator[str]:
    """Yield the lines of a mapping whose values are texts, numbers, mappings, or lists of texts."""
    pad = " " * indent
    for key, value in items.items():
        name = key if _is_plain(key) else _escaped(key)
        if isinstance(value, Mapping):
            yield f"{pad}{name}:"
            yield from mapping(value, indent + 2)
        elif isinstance(value, str):
            yield f"{pad}{name}: {scalar(value, indent + 2)}"
        else:
            yield f"{pad}{name}: {json.dumps(value)}"


def comment(lines: Sequence[str], indent: int) -> Iterator[str]:
    """Yield comment lines; whatever ends a line begins another comment."""
    for line in lines:
        for part in re.split(r"[\n\r\x85\u2028\u2029]", line) or [""]:
            clean = _ODD.sub(" ", part)
            yield f"{' ' * indent}# {clean}".rstrip()
