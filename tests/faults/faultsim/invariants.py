"""What must hold of every history, whatever went wrong in it. Each function yields violations as sentences."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from faultsim.life import SECRETS
from faultsim.run import History
from faultsim.story import MINUTE
from faultsim.story import Life as JobLife
from watchdog.delivery import EventKind
from watchdog.model import Incident, JobStatus, Notification, Reason
from watchdog.receivers.slack.render import parent
from watchdog.receivers.text.wording import change
from watchdog.simulated.slack_workspace import FakeMessage
from watchdog.store import SqlStore
from watchdog.store.codec import NOTIFICATION
from watchdog.store.schema import DELIVERED, PARKED, outbox

DISK = ("locked", "full", "commit unsure")
CHANNELS = {"slack": "C0ALERTS", "pager": "C0PAGER"}


@dataclass(frozen=True, slots=True)
class Row:
    """One transition for one receiver, and what became of it."""

    notification: Notification
    state: str
    plain: bool
    finished_at: float


class Outcome:
    """A history, with what the store holds at its end."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.slack = history.slack
        with SqlStore(history.disk.url, retention=1e12) as store:
            self.incidents: dict[str, Incident] = {incident.id: incident for incident in store.incidents()}
            with store._database.read() as connection:
                found = connection.execute(select(outbox).order_by(outbox.c.seq)).all()
            self.told: dict[tuple[str, str], list[Row]] = defaultdict(list)
            for row in found:
                item = Row(NOTIFICATION.decode(row.body), row.state, row.plain, row.finished_at or 0.0)
                self.told[row.receiver, row.incident].append(item)
            self.receipts = {key: store.receipt(key[1], key[0]) for key in self.told}
        self.blind = "channels:history" not in history.slack.scopes
        """Whether the service cannot look for what it may have posted."""
        self.unsure = history.wires["slack"].lied + history.crashes + sum(history.dice.drawn[name] for name in DISK)
        """How often the service could not know whether Slack has a message."""

    def parents(self, receiver: str, incident: str) -> list[FakeMessage]:
        """Return the messages that stand for an incident and can be told by their metadata."""
        return [
            message
            for message in self.slack.workspace.parents()
            if message.channel == CHANNELS[receiver] and _about(message, incident, "parent")
        ]

    def replies(self, incident: str, channel: str) -> list[FakeMessage]:
        """Return the replies of an incident that can be told by their metadata, in order."""
        mine = self.slack.workspace.messages
        return [message for message in mine if message.channel == channel and _about(message, incident, "reply")]

    def gone(self, receiver: str, incident: str) -> bool:
        """Whether somebody deleted a message of this incident."""
        receipt = self.receipts[receiver, incident] or {}
        return any(
            _about(message, incident, "parent") or message.ts == receipt.get("ts") for _, message in self.slack.deleted
        )

    def plain(self, key: tuple[str, str]) -> bool:
        """Whether any of it went out as plain text, which carries no metadata."""
        return any(row.plain or row.state == PARKED for row in self.told[key])


def violations(history: History, *, delivery_only: bool = False) -> list[str]:
    """Return everything that must not be, as sentences; ``delivery_only`` leaves out what needs the story."""
    outcome = Outcome(history)
    checks = (_rest, _slack, _copies, _order, _hook, _file)
    more = () if delivery_only else (_silence, _truth, _stops, _secrets)
    return [f"{check.__name__[1:]}: {text}" for check in (*checks, *more) for text in check(outcome)]


def _rest(outcome: Outcome) -> Iterator[str]:
    """Everything that was committed was told, or given up because its content was refused twice."""
    if not outcome.history.rested:
        yield "the outbox never became empty"
    for key, rows in outcome.told.items():
        sequences = [row.notification.sequence for row in rows]
        if sequences != list(range(1, len(rows) + 1)):
            yield f"{key}: sequences {sequences}"
        parked = sum(row.state == PARKED for row in rows)
        if parked and not outcome.history.dice.drawn["content word"]:
            yield f"{key}: {parked} given up though nobody refused their content"


def _silence(outcome: Outcome) -> Iterator[str]:
    """Nothing is sent before Retry-After."""
    for wire in outcome.history.wires.values():
        yield from wire.watch.early
    yield from (f"{kind}: too early for Slack" for kind in outcome.slack.too_early)


def _slack(outcome: Outcome) -> Iterator[str]:
    """At rest each parent says what the engine's last word was, and its thread says each change."""
    for (receiver, incident), rows in outcome.told.items():
        if receiver not in CHANNELS or outcome.gone(receiver, incident):
            continue
        if any(row.state != DELIVERED for row in rows):
            continue
        receipt = outcome.receipts[receiver, incident]
        message = _message(outcome, (receipt or {}).get("ts", ""))
        if receipt is None or message is None:
            yield f"{receiver} {incident}: {len(rows)} transitions were told and no message is there"
            continue
        if receipt["told"] != str(len(rows)):
            yield f"{receiver} {incident}: told up to {receipt['told']} of {len(rows)}"
        if not _says(message, rows[-1].notification):
            yield f"{receiver} {incident}: the message says {message.text!r} after {rows[-1].notification.reason}"
        record = outcome.incidents.get(incident)
        if record is not None and (record.closed_at is None) != (rows[-1].notification.view.closed_at is None):
            yield f"{receiver} {incident}: its end in the store is not its end in the channel"
        yield from _unsaid(outcome, receiver, incident)


def _says(message: FakeMessage, last: Notification) -> bool:
    """Whether a message shows the incident as it was at its last transition, in its rich or its plain form."""
    for plain in (False, True):
        wanted = parent(last.view, last.created_at, plain=plain).body()
        headline = wanted["text"].split("\n")[0].split(" (")[0]
        same = message.text == wanted["text"] if message.edits else message.text.startswith(headline)
        if same and _lasting(message.attachments) == _lasting(wanted["attachments"]):
            return True
    return False


def _lasting(attachments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the coloured part without its last line, which says when it was sent."""
    return [
        {**card, "blocks": [block for block in card["blocks"] if block["type"] != "context"]} for card in attachments
    ]


def _unsaid(outcome: Outcome, receiver: str, incident: str) -> Iterator[str]:
    """Each transition is in the thread, unless the first message said it."""
    if outcome.slack.lost or outcome.plain((receiver, incident)):
        return
    thread = "\n".join(message.text for message in outcome.replies(incident, CHANNELS[receiver]))
    rows = outcome.told[receiver, incident]
    over = rows[-1].notification.view.closed_at is not None
    for row in rows[1:]:
        said = change(row.notification, 0.0).what.split(":")[0]
        if said not in thread and not (over and not thread):
            yield f"{receiver} {incident}: {row.notification.sequence} ({row.notification.reason}) is not in the thread"


def _copies(outcome: Outcome) -> Iterator[str]:
    """One parent for each incident, one reply for each change; more only where nobody could look."""
    allowed = outcome.unsure if outcome.blind else 0
    for receiver, incident in outcome.told:
        if receiver not in CHANNELS:
            continue
        plain = outcome.unsure if outcome.plain((receiver, incident)) else 0
        standing = [m for m in outcome.parents(receiver, incident) if m.ts not in outcome.slack.lost]
        if len(standing) > 1 + allowed + plain:
            yield f"{receiver} {incident}: {len(standing)} parents"
        said = outcome.replies(incident, CHANNELS[receiver])
        posted = Counter((message.thread_ts, _sequence(message)) for message in said)
        twice = [sequence for (_, sequence), count in posted.items() if count > 1]
        if len(twice) > allowed + plain:
            yield f"{receiver} {incident}: replies {twice} were posted twice"


def _order(outcome: Outcome) -> Iterator[str]:
    """What is said of an incident is said in its order."""
    for receiver, incident in outcome.told:
        if receiver in CHANNELS and not outcome.blind:
            posted = [_sequence(message) for message in outcome.replies(incident, CHANNELS[receiver])]
            if posted != sorted(posted) and not outcome.plain((receiver, incident)):
                yield f"{receiver} {incident}: replies in the order {posted}"


def _hook(outcome: Outcome) -> Iterator[str]:
    """The webhook takes each transition at least once, in order, and twice only after an answer that was lost."""
    posted = outcome.history.hook
    copies = len(posted) - len({item.id for item in posted})
    unsure = outcome.history.wires["hook"].lied + outcome.history.crashes
    unsure += sum(outcome.history.dice.drawn[name] for name in DISK)
    if copies > unsure:
        yield f"{copies} copies after {unsure} lost answers"
    first = {item.id: number for number, item in reversed(list(enumerate(posted)))}
    for (receiver, incident), rows in outcome.told.items():
        if receiver != "hook":
            continue
        places = [first.get(row.notification.id, -1) for row in rows]
        if -1 in places:
            yield f"{incident}: {places.count(-1)} transitions never arrived"
        elif places != sorted(places):
            yield f"{incident}: arrived in the order {places}"
        elif rows[0].notification.reason is not Reason.EVENT and posted[places[0]].status != "firing":
            yield f"{incident}: an end without a beginning"


def _truth(outcome: Outcome) -> Iterator[str]:
    """What was wrong for long enough is said, and nothing else."""
    for job in outcome.history.jobs:
        idle = _starts(outcome, "GPUIdle", job.job.id)
        for begin, end in _spans(job, outcome.history.ended_at):
            long = _watched(outcome.history, begin, end) >= 10 * MINUTE
            if long and not _any_in(idle, begin, end + 3 * MINUTE) and not _flapped(outcome, job.job.id):
                yield f"{job.job.id}: idle for {(end - begin) / 60:.0f} min and nobody was told"
        for at in idle:
            if not any(begin + 2 * MINUTE <= at <= end + 3 * MINUTE for begin, end in _spans(job, at)):
                yield f"{job.job.id}: told to be idle at {at:.0f}, and it was not"
        failed = job.ends is not None and job.ends[1] is JobStatus.FAILED
        for receiver in ("slack", "pager", "hook"):
            ends = _failures(outcome, receiver, job.job.id)
            if ends != int(failed):
                yield f"{job.job.id}: its failure was told {ends} times on {receiver}"


def _failures(outcome: Outcome, receiver: str, job: str) -> int:
    rows = [row.notification for (name, _), found in outcome.told.items() if name == receiver for row in found]
    events = [note for note in rows if note.view.job is not None and note.view.job.job == job]
    changed = [set(note.changed) for note in events]
    return sum(
        alert.name == "JobFailed" and alert.fingerprint in about
        for note, about in zip(events, changed, strict=True)
        for alert in note.view.alerts
    )


def _starts(outcome: Outcome, rule: str, job: str) -> list[float]:
    """Return since when an alert was told to hold, each time."""
    views = [row.notification.view for rows in outcome.told.values() for row in rows]
    mine = [alert for view in views for alert in view.alerts if alert.name == rule]
    return sorted({alert.starts_at for alert in mine if dict(alert.labels).get("job") == job})


def _flapped(outcome: Outcome, job: str) -> bool:
    """Whether it was said that an alert of this job changes too often for each change to be told."""
    notes = [row.notification for rows in outcome.told.values() for row in rows]
    return any(note.reason is Reason.FLAPPING and note.view.job and note.view.job.job == job for note in notes)


def _spans(job: JobLife, until: float) -> list[tuple[float, float]]:
    """Return the spans in which a job was idle while it ran."""
    end = job.ends[0] if job.ends is not None else until
    return [(begin, min(stop, end, until)) for begin, stop in job.idle if begin < min(end, until)]


def _watched(history: History, begin: float, end: float) -> float:
    """Return the seconds of a span in which a process ran and the cloud answered."""
    away = [*history.down, *history.outages]
    return end - begin - sum(max(0.0, min(stop, end) - max(start, begin)) for start, stop in away)


def _any_in(times: list[float], begin: float, end: float) -> bool:
    return any(begin <= time <= end for time in times)


def _stops(outcome: Outcome) -> Iterator[str]:
    """A receiver that refuses for good is said on the others, and at rest its end too."""
    events = outcome.history.events
    for receiver in CHANNELS:
        others = {
            name: found
            for (name, _), rows in outcome.told.items()
            if (found := [row.notification for row in rows if _is_stop(row.notification, receiver)])
        }
        if receiver in others:
            yield f"{receiver}: was told of its own stop"
        stops = events[receiver, EventKind.STOPPED]
        if stops and not others:
            yield f"{receiver}: stopped {stops} times, and nobody was told"
        last = [rows[-1].reason for rows in others.values()]
        if any(reason is not Reason.ALL_RESOLVED for reason in last):
            yield f"{receiver}: works again, and others still believe that it is stopped"


def _is_stop(notification: Notification, receiver: str) -> bool:
    return any(
        alert.name == "ReceiverStopped" and dict(alert.labels)["receiver"] == receiver
        for alert in notification.view.alerts
    )


def _secrets(outcome: Outcome) -> Iterator[str]:
    """No secret is anywhere."""
    said = json.dumps([message.words for message in outcome.slack.workspace.messages])
    data = outcome.history.disk.file.read_bytes()
    for name, secret in SECRETS.items():
        if secret in said or secret.encode() in data:
            yield f"{name} was written down"


def _file(outcome: Outcome) -> Iterator[str]:
    """The file is sound."""
    connection = sqlite3.connect(outcome.history.disk.file)
    (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    if verdict != "ok":
        yield verdict


def _message(outcome: Outcome, ts: str) -> FakeMessage | None:
    return next((message for message in outcome.slack.workspace.messages if message.ts == ts), None)


def _payload(message: FakeMessage) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (message.metadata or {}).get("event_payload", {})
    return found


def _about(message: FakeMessage, incident: str, kind: str) -> bool:
    payload = _payload(message)
    return payload.get("incident") == incident and payload.get("kind") == kind


def _sequence(message: FakeMessage) -> int:
    return int(_payload(message)["sequence"])
