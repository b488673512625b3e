"""Alerts summed up: 64 GPUs that idle are one line, and every text is on one line and bounded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from watchdog.model import AlertView, Job
from watchdog.receivers.text.looks import ends
from watchdog.receivers.text.quantities import span, unit_of

NAME = 120
SENTENCE = 400
PARAGRAPH = 600
_REVERSERS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Controls that turn the reading direction of what follows them, outside the name they came with."""
_BRACKETS = re.compile(r"\s*\([^()]*\)")
"""Where a summary says what differs from GPU to GPU: ``(peak 2% on GPU 3)``."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The alerts of one rule that stand alike, summed up."""

    rule: str
    severity: str
    firing: bool
    where: str
    """``GPU 3 of node-1``, ``3 of 8 GPUs of node-1``; empty when the whole job is meant."""
    summary: str
    """The sentence; of several alerts, with how many there are."""
    detail: str
    """What the sentence says beside ``rule`` and ``where``."""
    description: str
    """Empty when several alerts differ in it."""
    reading: str
    """``now 2 %, worst 0 %``, ``forecast 120 %``; of what is over, ``at fire 2 %, worst 0 %``; empty if not known."""
    worst: str
    """The worst value; empty if not known or a forecast."""
    note: str
    """``data missing``, ``flapping, 7 changes``; empty when it is over."""
    state: str
    """Empty while it fires; ``resolved``, or ``closed: the job completed``."""
    since: float
    """Since when it is known to have been so."""
    expr: str
    runbook_url: str


def clean(text: str, limit: int) -> str:
    """Return ``text`` on one line, without control characters, with at most ``limit`` characters."""
    kept = text[: limit * 4]
    if not kept.isprintable():
        kept = "".join(" " if char.isspace() else char for char in kept if char not in _REVERSERS)
        kept = "".join(char for char in kept if unicodedata.category(char) not in ("Cc", "Cs"))
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def findings(alerts: Iterable[AlertView], job: Job | None) -> list[Finding]:
    """Return the alerts summed up by rule, state and severity, in the order in which they come."""
    groups: dict[tuple[str, str, str], list[AlertView]] = {}
    for alert in alerts:
        groups.setdefault((alert.name, alert.status, alert.severity), []).append(alert)
    return [_finding(group, job) for group in groups.values()]


def where(alerts: Sequence[AlertView], job: Job | None) -> str:
    """Return which GPUs or nodes these alerts are about, summed up; empty when the whole job is meant."""
    labels = [dict(alert.labels) for alert in alerts]
    nodes = sorted({found["node"] for found in labels if found.get("node")})  # cut below: long names begin alike
    gpus = {(found.get("job", ""), found.get("node", ""), found["gpu"]) for found in labels if found.get("gpu")}
    if gpus:
        of = f" of {clean(nodes[0], NAME)}" if len(nodes) == 1 else f" on {len(nodes)} nodes" if nodes else ""
        if len(gpus) == 1:
            return f"GPU {clean(min(gpus)[2], NAME)}{of}"
        return _share(len(gpus), _gpus_of(job, len(nodes)), "GPUs") + of
    if len(nodes) == 1:
        return f"node {clean(nodes[0], NAME)}"
    if nodes:
        return _share(len(nodes), job.nodes if job else None, "nodes")
    return f"{len(alerts)} alerts" if len(alerts) > 1 else ""


def _finding(group: Sequence[AlertView], job: Job | None) -> Finding:
    first = group[0]
    place = where(group, job)
    firing = first.status == "firing"
    rule = clean(first.name, NAME)
    summary, detail = _sentence(group, rule, place)
    descriptions = {clean(alert.description, PARAGRAPH) for alert in group}
    return Finding(
        rule=rule,
        severity=clean(first.severity, 30),
        firing=firing,
        where=place,
        summary=summary,
        detail=detail,
        description=descriptions.pop() if len(descriptions) == 1 else "",
        reading=_reading(group, firing=firing and not first.event),
        worst=_worst(group),
        note=_note(group),
        state="" if firing else _state(group),
        since=min(alert.since for alert in group),
        expr=clean(first.expr, 200),
        runbook_url=first.runbook_url.strip(),
    )


def _reading(group: Sequence[AlertView], *, firing: bool) -> str:
    unit = unit_of(group[0].expr)
    if unit == "bool":
        return ""
    fresh = [alert for alert in group if not alert.unknown and not alert.held]
    shown = fresh or group
    if not firing:
        word, values = "at fire", [alert.value_at_fire for alert in group if not alert.event]
    else:
        word, values = _word_for(group, fresh), [alert.value for alert in shown]
    read = [(word, span(values, unit)), ("worst", _worst(group))]
    return ", ".join(f"{name} {text}" for name, text in read if text)


def _worst(group: Sequence[AlertView]) -> str:
    unit = unit_of(group[0].expr)
    return "" if unit == "bool" or group[0].forecast else span([alert.worst for alert in group], unit)


def _word_for(group: Sequence[AlertView], fresh: Sequence[AlertView]) -> str:
    """Return what a current value is called: one that is old, or of a time to come, is not "now"."""
    if fresh:
        return "forecast" if group[0].forecast else "now"
    word = "last known" if all(alert.unknown for alert in group) else "last"
    return f"{word} forecast" if group[0].forecast else word


def _sentence(group: Sequence[AlertView], rule: str, place: str) -> tuple[str, str]:
    """Return what a rule's alerts say as one sentence, and what of it ``rule`` and ``place`` do not say."""
    texts = [clean(alert.summary, SENTENCE) for alert in group]
    if len(group) == 1:
        return texts[0], texts[0]
    if not texts[0]:
        return f"{rule}: {place}", ""
    same = {text if len(set(texts)) == 1 else " ".join(_BRACKETS.sub("", text).split()) for text in texts}
    if len(same) == 1 and (said := same.pop()):
        return f"{said} · {place}", said
    return f"{rule}: {place}, such as: {texts[0]}", f"such as: {texts[0]}"


def _state(group: Sequence[AlertView]) -> str:
    causes = [clean(text, NAME) for text in ends(group)]
    return f"closed: {', '.join(causes[:3])}" if causes else "resolved"


def _note(group: Sequence[AlertView]) -> str:
    if group[0].status == "resolved":
        return ""
    notes = [
        _part([alert for alert in group if alert.unknown], group, "data missing"),
        _part([alert for alert in group if alert.muted], group, _muted(group)),
        _part([alert for alert in group if alert.flips], group, f"flapping, {max(a.flips for a in group)} changes"),
    ]
    return ", ".join(note for note in notes if note)


def _part(some: Sequence[AlertView], group: Sequence[AlertView], what: str) -> str:
    """Return what is true of some alerts of a group, and of how many."""
    if not some:
        return ""
    return what if len(some) == len(group) else f"{what} for {len(some)} of {len(group)}"


def _muted(group: Sequence[AlertView]) -> str:
    reasons = dict.fromkeys(clean(alert.muted, NAME) for alert in group if alert.muted)
    return "; ".join(list(reasons)[:2])


def _gpus_of(job: Job | None, nodes: int) -> int | None:
    """Return how many GPUs there are on the one node that is meant, or in the whole job."""
    if job is None or job.gpus is None or nodes > 1:
        return job.gpus if job else None
    if job.nodes is None or job.nodes < 1 or job.gpus % job.nodes:
        return None
    return job.gpus // job.nodes


def _share(count: int, total: int | None, noun: str) -> str:
    return f"{count} of {total} {noun}" if total is not None and total >= count else f"{count} {noun}"
