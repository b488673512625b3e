"""Incidents as Slack messages: pure, and always below Slack's limits.

Limits are Slack's documented ones (3,000 characters of section text, 10 fields of 2,000, 50 blocks) and
the undocumented one of about 13,200 over all blocks; ``BLOCKS`` keeps a margin, because Slack does not
say how it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from watchdog.model import IncidentView, Notification, Reason
from watchdog.receivers.slack.mrkdwn import cut, date, link, weight
from watchdog.receivers.text.facts import Fact, facts
from watchdog.receivers.text.findings import Finding, findings
from watchdog.receivers.text.looks import Look, is_over, last_ends, look
from watchdog.receivers.text.quantities import utc
from watchdog.receivers.text.wording import change, closing, headline, lateness, subject

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


_LOOKS = {Look.RESOLVED: ("✅", "#2f9e44"), Look.ENDED: ("", "#64748b"), Look.UNKNOWN: ("❔", "#8a8f98")}
"""Sign and colour of what is not shown by its severity."""
_ENDS = {"the job completed": "🏁", "the job failed": "❌"}


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


@dataclass(frozen=True, slots=True)
class Calls:
    """Whom a message names, in Slack's markup; empty for nobody."""

    mention: str = ""
    """At the end of the sentence: these people shall look now."""
    owner: str = ""
    """The job's owner, where the facts name them; their plain name when empty."""


NOBODY = Calls()


def parent(view: IncidentView, now: float, *, plain: bool, note: str = "", calls: Calls = NOBODY) -> Message:
    """Return the message that stands for the incident. ``note`` is plain text."""
    sentence = f"{headline(view)} ({note})" if note else headline(view)
    text = f"{_sign(view)} {cut(sentence, TEXT)}" + (f" {calls.mention}" if calls.mention else "")
    if plain:
        lines = [_plain_line(item) for item in findings(view.alerts, view.job)[:FINDINGS]]
        return Message("\n".join([text, *lines]))
    blocks = [_facts(facts(view, now), calls.owner), *_sections(view), _footer(view, now)]
    return Message(text, ({"color": _colour(view), "blocks": blocks},))


def first_note(notifications: Sequence[Notification], current: IncidentView, now: float) -> str:
    """Return what the first message of an incident adds: that it is late, that it is already over."""
    over = "over before this could be said" if is_over(current) else ""
    return ", ".join(part for part in (over, lateness(notifications[0], now)) if part)


def reply(
    news: Sequence[Notification], current: IncidentView, now: float, *, mention: str = "", named: bool = False
) -> str:
    """Return what changed, and the sum of an incident that is over.

    One change in time is one sentence: Slack shows when it came. Several, or late ones, have their times, and late
    ones how things stand now. ``named``: the job is named in front, for who reads it outside of the thread.
    """
    shown = news[-LINES:]
    each = REPLY // (len(shown) + 2)
    lines = [f"{len(news) - len(shown)} earlier changes are left out here."] if len(news) > len(shown) else []
    changes = [change(notification, now) for notification in shown]
    timed = len(news) > 1 or any(item.late for item in changes)
    for notification, item in zip(shown, changes, strict=True):
        when = f"{_date(item.at)} " if timed else ""
        late = f" ({item.late})" if item.late else ""
        lines.append(f"{_sign(notification.view)} {when}{cut(item.what, each - 150)}{late}")
    if any(item.late for item in changes):
        lines.append(f"Now: {cut(headline(current), each)}")
    if news[-1].reason is Reason.ALL_RESOLVED and closing(current):
        lines.append(cut(closing(current), 400))
    if named:
        lines[0] = f"*{cut(subject(current), 150)}* {lines[0]}"
    return "\n".join([*lines, mention] if mention else lines)


def should_ping(news: Sequence[Notification], current: IncidentView) -> bool:
    """Whether a person should look now: not any more at something that is over."""
    return any(notification.ping for notification in news) and not is_over(current)


def is_critical(view: IncidentView) -> bool:
    """Whether the configured group is called."""
    return view.severity.lower() in ("critical", "page")


def _facts(found: Sequence[Fact], owner: str) -> Block:
    """Return a line per fact: columns of fields become a long list on a phone."""
    lines = [f"*{fact.name}:* {owner if owner and fact.name == 'Owner' else _fact(fact)}" for fact in found]
    return {"type": "section", "text": _mrkdwn("\n".join(lines))}


def _fact(fact: Fact) -> str:
    if fact.at is not None:
        return _date(fact.at)
    text = link(fact.url, fact.text, 250) if fact.url else cut(fact.text, 250)
    return f"{text} · {cut(fact.more, 150)}" if fact.more else text


def _sections(view: IncidentView) -> list[Block]:
    """Return a block per rule while they fit, and how many rules are left out."""
    found = findings(view.alerts, view.job)
    said = headline(view)
    texts: list[str] = []
    for item in found[:FINDINGS]:
        text = _finding(item, said, alone=len(found) == 1)
        if sum(map(weight, texts)) + weight(text) > BLOCKS - 3000:
            break
        texts.append(text)
    left = len(found) - len(texts)
    texts += [f"and {left} more rule{'s' if left > 1 else ''}"] if left else []
    return [{"type": "section", "text": _mrkdwn(text)} for text in texts]


def _finding(item: Finding, said: str, *, alone: bool) -> str:
    """Return one rule: without what the sentence above has ``said``, and without times where it is ``alone``."""
    title = " · ".join(
        part
        for part in (f"*{cut(item.rule, 150)}*", cut(item.severity, 40), cut(item.where, 200), cut(item.state, 200))
        if part
    )
    since = "" if alone else f"since {_date(item.since)}"
    reading = [item.reading, cut(item.note, 200), since]
    lines = (
        title,
        "" if item.detail in said else cut(item.detail, 500),
        " · ".join(part for part in reading if part),
        _next_step(item) if item.firing else "",
    )
    return "\n".join(line for line in lines if line)


def _next_step(item: Finding) -> str:
    """Return what to do, of what the rule says; empty where it says nothing."""
    runbook = link(item.runbook_url, "runbook", 50) if item.runbook_url else ""
    step = " · ".join(part for part in (cut(item.description, 700), runbook) if part)
    return f"*What to do:* {step}" if step else ""


def _plain_line(item: Finding) -> str:
    parts = (item.where, item.state, item.reading, item.note)
    return cut(f"{item.rule}: {', '.join(part for part in parts if part) or 'the whole job'}", 250)


def _footer(view: IncidentView, now: float) -> Block:
    """Return as of when the message is: nobody edits it while nothing changes."""
    text = f"As of {_date(now)} · incident {cut(view.id, 100)}"
    return {"type": "context", "elements": [_mrkdwn(text)]}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _date(at: float) -> str:
    return date(at, utc(at))


def _sign(view: IncidentView) -> str:
    shown = look(view)
    if shown is Look.ENDED:
        return _ENDS.get(", ".join(last_ends(view)), "⏹️")
    return _LOOKS.get(shown, ("", ""))[0] or _SIGNS.get(view.severity.lower(), "🔔")


def _colour(view: IncidentView) -> str:
    return _LOOKS.get(look(view), ("", ""))[1] or _COLOURS.get(view.severity.lower(), "#6b7280")
