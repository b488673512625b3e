"""Incidents as Slack messages: pure, and always below Slack's limits.

Limits are Slack's documented ones (3,000 characters of section text, 10 fields of 2,000, 50 blocks) and
the undocumented one of about 13,200 over all blocks; ``BLOCKS`` keeps a margin, because Slack does not
say how it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from watchdog.model import IncidentView, Notification
from watchdog.receivers.slack.mrkdwn import cut, date, link, weight
from watchdog.receivers.text.findings import Finding, findings
from watchdog.receivers.text.quantities import utc
from watchdog.receivers.text.wording import Fact, Look, change, facts, headline, lateness, look, subject

Block = dict[str, Any]

TEXT = 1500
"""Of the sentence above the coloured part; Slack advises 4,000."""
REPLY = 3000
LINES = 12
"""Changes in one reply; older ones are counted."""
FINDINGS = 8
BLOCKS = 8000
"""Of all blocks together."""
_COLOURS = {"critical": "#d7263d", "page": "#d7263d", "error": "#e8590c", "warning": "#f2b01e", "info": "#3b82f6"}
_SIGNS = {"critical": "🔴", "page": "🔴", "error": "🟠", "warning": "🟡", "info": "🔵"}


@dataclass(frozen=True, slots=True)
class Message:
    """What is posted: the sentence that a push notification shows, and the coloured part below it."""

    text: str
    attachments: tuple[Block, ...] = field(default=())

    def body(self) -> dict[str, Any]:
        """Return the arguments of chat.postMessage, chat.update and incoming webhooks.

        An empty list of attachments takes the coloured part away from a message that had one.
        """
        return {"text": self.text, "attachments": list(self.attachments)}


def parent(view: IncidentView, now: float, *, plain: bool, note: str = "", mention: str = "") -> Message:
    """Return the message that stands for the incident. ``note`` is plain text, ``mention`` Slack's markup."""
    sentence = f"{headline(view)} ({note})" if note else headline(view)
    text = f"{_sign(view)} {cut(sentence, TEXT)}" + (f" {mention}" if mention else "")
    if plain:
        lines = [_plain_line(item) for item in findings(view.alerts, view.job)[:FINDINGS]]
        return Message("\n".join([text, *lines]))
    blocks = [_fields(facts(view, now)), *_sections(view), _footer(view)]
    return Message(text, ({"color": _colour(view), "blocks": blocks},))


def first_note(notifications: Sequence[Notification], current: IncidentView, now: float) -> str:
    """Return what the first message of an incident adds: that it is late, that it is already over."""
    over = "over before this could be said" if look(current) is Look.RESOLVED else ""
    return ", ".join(part for part in (over, lateness(notifications[0], now)) if part)


def reply(news: Sequence[Notification], current: IncidentView, now: float, *, mention: str = "") -> str:
    """Return what changed, each transition with its time; how things stand now, where any of it is late."""
    shown = news[-LINES:]
    each = REPLY // (len(shown) + 2)
    lines = [f"{len(news) - len(shown)} earlier changes are left out here."] if len(news) > len(shown) else []
    changes = [change(notification, now) for notification in shown]
    for notification, item in zip(shown, changes, strict=True):
        late = f" ({item.late})" if item.late else ""
        lines.append(f"{_sign(notification.view)} {_date(item.at)} {cut(item.what, each - 150)}{late}")
    if any(item.late for item in changes):
        lines.append(f"Now: {cut(headline(current), each)}")
    lines[0] = f"*{cut(subject(current), 150)}* {lines[0]}"
    return "\n".join([*lines, mention] if mention else lines)


def should_ping(news: Sequence[Notification], current: IncidentView) -> bool:
    """Whether a person should look now: not any more at something that is over."""
    return any(notification.ping for notification in news) and look(current) is not Look.RESOLVED


def is_critical(view: IncidentView) -> bool:
    """Whether the configured group is called."""
    return view.severity.lower() in ("critical", "page")


def _fields(found: Sequence[Fact]) -> Block:
    return {"type": "section", "fields": [_mrkdwn(f"*{fact.name}*\n{_fact(fact)}") for fact in found[:10]]}


def _fact(fact: Fact) -> str:
    if fact.at is not None:
        return _date(fact.at)
    return link(fact.url, fact.text, 300) if fact.url else cut(fact.text, 300)


def _sections(view: IncidentView) -> list[Block]:
    """Return a block per rule while they fit, and how many rules are left out."""
    found = findings(view.alerts, view.job)
    said = headline(view)
    texts: list[str] = []
    for item in found[:FINDINGS]:
        text = _finding(item, said)
        if sum(map(weight, texts)) + weight(text) > BLOCKS - 3000:
            break
        texts.append(text)
    left = len(found) - len(texts)
    texts += [f"and {left} more rule{'s' if left > 1 else ''}"] if left else []
    return [{"type": "section", "text": _mrkdwn(text)} for text in texts]


def _finding(item: Finding, said: str) -> str:
    """Return one rule in full, without what the sentence above has ``said`` already."""
    rule = link(item.runbook_url, item.rule, 150) if item.runbook_url else cut(item.rule, 150)
    state = "" if item.firing else "resolved"
    title = " · ".join(part for part in (f"*{rule}*", cut(item.severity, 40), cut(item.where, 200), state) if part)
    reading = [item.reading, cut(item.note if item.note != "resolved" else "", 200), f"since {_date(item.since)}"]
    lines = [
        title,
        "" if item.detail in said else cut(item.detail, 500),
        cut(item.description, 700),
        " · ".join(part for part in reading if part),
    ]
    code = cut(item.expr.replace("`", "'"), 300)
    return "\n".join(line for line in (*lines, f"`{code}`" if code else "") if line)


def _plain_line(item: Finding) -> str:
    parts = (item.where, item.reading, item.note)
    return cut(f"{item.rule}: {', '.join(part for part in parts if part) or 'the whole job'}", 250)


def _footer(view: IncidentView) -> Block:
    return {"type": "context", "elements": [{"type": "plain_text", "text": f"incident {view.id}"[:150]}]}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _date(at: float) -> str:
    return date(at, utc(at))


def _sign(view: IncidentView) -> str:
    signs = {Look.RESOLVED: "✅", Look.UNKNOWN: "❔"}
    return signs.get(look(view)) or _SIGNS.get(view.severity.lower(), "🔔")


def _colour(view: IncidentView) -> str:
    colours = {Look.RESOLVED: "#2f9e44", Look.UNKNOWN: "#8a8f98"}
    return colours.get(look(view)) or _COLOURS.get(view.severity.lower(), "#6b7280")
