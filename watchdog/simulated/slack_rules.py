"""What Slack refuses: sizes and shapes of messages, scopes, rates. Pure; the fake in ``slack.py`` applies it.

Numbers are those of Slack's documentation of blocks and methods; the weight of all blocks together is not
documented, 13,200 is what people have measured. Characters are counted in UTF-16 units, the strictest reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

ALL_SCOPES = frozenset(
    {
        "channels:history",
        "channels:read",
        "chat:write",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "users:read.email",
    }
)
SCOPE_OF: Mapping[str, frozenset[str]] = {
    "chat.postMessage": frozenset({"chat:write"}),
    "chat.update": frozenset({"chat:write"}),
    "conversations.history": frozenset({"channels:history", "groups:history"}),
    "conversations.replies": frozenset({"channels:history", "groups:history"}),
    "conversations.info": frozenset({"channels:read", "groups:read"}),
    "files.getUploadURLExternal": frozenset({"files:write"}),
    "files.completeUploadExternal": frozenset({"files:write"}),
    "users.lookupByEmail": frozenset({"users:read.email"}),
}
"""Any one of the scopes will do; methods that are not named need none."""
LISTED: Mapping[str, str] = {"public_channel": "channels:read", "private_channel": "groups:read"}
"""The scope that ``conversations.list`` needs for each type that is asked for."""
LARGEST_PAGE = 999
TEXT_IN_UPDATE = 4000
TEXT_KEPT = 40000
ALL_BLOCKS = 13200


def units(text: str) -> int:
    """Return the length of ``text`` in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def refusal(body: Mapping[str, Any], *, update: bool = False) -> str:
    """Return Slack's error code for a message that it would not take; empty if it would."""
    text, blocks, attachments = body.get("text") or "", body.get("blocks") or [], body.get("attachments") or []
    if not (text or blocks or attachments):
        return "no_text"
    if update and units(text) > TEXT_IN_UPDATE:
        return "msg_too_long"
    if len(attachments) > 100:
        return "too_many_attachments"
    if not _good_metadata(body.get("metadata")):
        return "invalid_metadata_format"
    return _refusal_of_blocks([blocks, *(item.get("blocks") or [] for item in attachments)])


def _refusal_of_blocks(lists: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    every = [block for blocks in lists for block in blocks]
    ids = [block["block_id"] for block in every if "block_id" in block]
    if any(len(blocks) > 50 for blocks in lists) or len(set(ids)) < len(ids):
        return "invalid_blocks"
    if not all(_good_block(block) for block in every):
        return "invalid_blocks"
    return "msg_blocks_too_long" if sum(units(text) for text in _texts(every)) > ALL_BLOCKS else ""


def _good_metadata(metadata: Any) -> bool:
    if metadata is None:
        return True
    return (
        isinstance(metadata, dict)
        and bool(metadata.get("event_type"))
        and isinstance(metadata.get("event_payload"), dict)
    )


def _good_block(block: Mapping[str, Any]) -> bool:
    check = _CHECKS.get(block.get("type", ""))
    return check is not None and len(block.get("block_id", "")) <= 255 and check(block)


def _good_text(value: Any, limit: int, kinds: Sequence[str] = ("mrkdwn", "plain_text")) -> bool:
    if not isinstance(value, dict) or value.get("type") not in kinds:
        return False
    return 1 <= units(value.get("text") or "") <= limit


def _section(block: Mapping[str, Any]) -> bool:
    fields = block.get("fields", [])
    if "text" not in block and not fields:
        return False
    fine = all(_good_text(field, 2000) for field in fields)
    return fine and len(fields) <= 10 and ("text" not in block or _good_text(block["text"], 3000))


def _header(block: Mapping[str, Any]) -> bool:
    return _good_text(block.get("text"), 150, ("plain_text",))


def _context(block: Mapping[str, Any]) -> bool:
    elements = block.get("elements", [])
    good = all(item.get("type") == "image" or _good_text(item, 3000) for item in elements)
    return 1 <= len(elements) <= 10 and good


def _actions(block: Mapping[str, Any]) -> bool:
    elements = block.get("elements", [])
    return 1 <= len(elements) <= 25 and all(_button(item) for item in elements)


def _button(item: Mapping[str, Any]) -> bool:
    short = len(item.get("action_id", "")) <= 255 and units(item.get("value", "")) <= 2000
    return short and len(item.get("url", "")) <= 3000 and _good_text(item.get("text"), 75, ("plain_text",))


def _image(block: Mapping[str, Any]) -> bool:
    named = 1 <= units(block.get("alt_text", "")) <= 2000
    return named and len(block.get("image_url", "")) <= 3000 and bool(block.get("image_url") or block.get("slack_file"))


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "actions": _actions,
    "context": _context,
    "divider": lambda _: True,
    "header": _header,
    "image": _image,
    "section": _section,
}


def _texts(value: Any) -> Iterator[str]:
    """Yield every text inside blocks."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "text" and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _texts(inner)


def texts_of(value: Any) -> list[str]:
    """Return every text inside blocks or attachments, in reading order."""
    return list(_texts(value))


def shown(text: str) -> str:
    """Return mrkdwn as a reader sees it: dates by their fallback, links by their label, entities undone."""
    text = re.sub(r"<!date\^[^|>]*\|([^>]*)>", r"\1", text)
    text = re.sub(r"<(https?://[^|>]*)\|([^>]*)>", r"\2", text)
    text = re.sub(r"<!(?:subteam\^)?([A-Za-z0-9]+)>", r"@\1", text)
    text = re.sub(r"<@([A-Z0-9]+)>", r"@\1", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


class Bucket:
    """A rate: ``per_second`` calls, after a burst of ``burst``. Times are passed in."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._rate = per_second
        self._burst = burst
        self._left = burst
        self._at: float | None = None

    def take(self, now: float) -> float:
        """Take a call and return 0, or return how many seconds to wait without taking one."""
        if self._at is not None:
            self._left = min(self._burst, self._left + max(0.0, now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / self._rate
        self._left -= 1
        return 0.0
