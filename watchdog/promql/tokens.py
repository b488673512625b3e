"""Words and signs of an expression with their places, which the parser does not give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
  | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:ms|[smhdwy])?(?:\d+(?:ms|[smhdwy]))*)
  | (?P<word>[A-Za-z_:][A-Za-z0-9_:.]*)
  | (?P<sign>==|!=|>=|<=|=~|!~|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word or sign."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> Iterator[Token]:
    """Yield the tokens of ``text``; comments and space are left out. Never fails."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match.group(), match.start(), match.end())


class Cursor:
    """Walks through the tokens in the order in which a syntax tree is written."""

    def __init__(self, text: str) -> None:
        self.tokens = list(tokens_of(text))
        self.at = 0
        self._length = len(text)

    def take(self, word: str) -> Token:
        """Go behind the next token that reads ``word`` (in any case) and return it; the rest of the text if none."""
        for index in range(self.at, len(self.tokens)):
            if self.tokens[index].text.lower() == word.lower():
                self.at = index + 1
                return self.tokens[index]
        start = self.tokens[self.at].start if self.at < len(self.tokens) else 0
        return Token("word", word, start, self._length)

    def next_is(self, *words: str) -> bool:
        """Whether the next token reads one of these."""
        return self.at < len(self.tokens) and self.tokens[self.at].text.lower() in words

    def skip_group(self) -> None:
        """Go behind a bracketed group, if one comes next."""
        depth = 0
        while self.at < len(self.tokens):
            sign = self.tokens[self.at].text
            if sign in ("(", "{", "["):
                depth += 1
            elif sign in (")", "}", "]"):
                depth -= 1
            elif depth == 0:
                return
            self.at += 1
            if depth == 0:
                return

    def skip_words(self, *words: str) -> None:
        """Go behind these words and the groups that follow them."""
        while self.next_is(*words):
            self.at += 1
            if self.next_is("("):
                self.skip_group()


def unclosed(text: str) -> Token | None:
    """Return the first bracket that is not closed, or the first that closes nothing."""
    open_: list[Token] = []
    pairs = {")": "(", "]": "[", "}": "{"}
    for token in tokens_of(text):
        if token.text in pairs.values():
            open_.append(token)
        elif token.text in pairs:
            if not open_ or open_[-1].text != pairs[token.text]:
                return token
            open_.pop()
    return open_[0] if open_ else None
