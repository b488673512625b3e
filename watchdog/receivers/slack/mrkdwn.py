"""Slack's markup: escaping, links, times, and what a text weighs against Slack's limits."""

from __future__ import annotations

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_IN_ADDRESS = {"<": "%3C", ">": "%3E", "|": "%7C", " ": "%20", '"': "%22"}


def escape(text: str) -> str:
    """Return ``text`` so that Slack shows it and never obeys it; exactly ``&``, ``<`` and ``>`` change."""
    return "".join(_ENTITIES.get(char, char) for char in text)


def cut(text: str, limit: int) -> str:
    """Return ``text`` escaped and, where it would weigh more than ``limit``, ended with an ellipsis.

    Weighed in UTF-16 units after escaping: Slack does not say what a character is, and this is the most
    that it could mean. An entity is never cut in two.
    """
    kept: list[str] = []
    left = limit
    for char in text:
        piece = _ENTITIES.get(char, char)
        left -= weight(piece)
        if left < 0:
            return _ellipsis(kept, limit)
        kept.append(piece)
    return "".join(kept)


def weight(text: str) -> int:
    """Return the length of ``text`` in UTF-16 units."""
    return sum(2 if ord(char) > 0xFFFF else 1 for char in text)


def link(url: str, text: str, limit: int) -> str:
    """Return a link with ``text`` as its label; only the label when the address is no plain web address."""
    address = "".join(_IN_ADDRESS.get(char, char) for char in url).replace("&", "&amp;")
    label = cut(text, limit)
    if not url.startswith(("https://", "http://")) or not url.isprintable() or len(address) > 1000:
        return label
    return f"<{address}|{label}>"


def date(at: float, fallback: str) -> str:
    """Return a time that every reader sees in their own time zone."""
    return f"<!date^{at:.0f}^{{date_short_pretty}} {{time}}|{escape(fallback)}>"


def _ellipsis(kept: list[str], limit: int) -> str:
    while kept and weight("".join(kept)) > limit - 1:
        kept.pop()
    return "".join(kept) + "…"
