"""Regular expressions of matchers: RE2's syntax, as in Prometheus, read with Python's."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

_ATOMS = re.compile(r"\\[^1-9]|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]")
"""Escapes and character classes, in which signs mean nothing."""
_NOT_RE2 = re.compile(r"\(\?(?:[=!>(]|<[=!])|\\[1-9]|[*+?}]\+")
"""What Python's regular expressions have and RE2 has not: look-around, back-references, possessive repeats."""
_NOT_PYTHON = re.compile(r"\\[pPQEzC]|\[:\^")
"""What RE2 has and Python has not: Unicode classes, quoting, the end of the text, negated POSIX classes."""
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_POSIX_CLASS = re.compile(r"\[:(\w+):\]")


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return what matches as in RE2: ``.`` takes a line's end too, classes are of ASCII. Raises re.error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        try:
            return re.compile(_POSIX_CLASS.sub(_spelt_out, pattern), re.DOTALL | re.ASCII)
        except FutureWarning as error:
            raise re.error(str(error).partition(" at position")[0].lower()) from None


def regex_problem(pattern: str) -> str:
    """Return what is wrong with a matcher's regular expression (RE2's syntax); empty if nothing is."""
    if _NOT_RE2.search(_ATOMS.sub("x", pattern)):
        return "uses look-around, a back-reference or a possessive repeat, which Prometheus does not have"
    found = _NOT_PYTHON.search(pattern.replace("\\\\", ""))
    if found is not None:
        return f"uses {found[0]}, which is not read here; spell out the characters"
    try:
        compiled(pattern)
    except re.error as error:
        return f"is not valid: {error.msg}"
    return ""


def _spelt_out(found: re.Match[str]) -> str:
    if found[1] not in _POSIX:
        raise re.error(f"there is no class [:{found[1]}:]")
    return _POSIX[found[1]]
