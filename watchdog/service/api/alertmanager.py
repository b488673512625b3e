"""Alertmanager's API version 2, so that ``amtool``, Grafana and Karma work as they are.

Facts: Alertmanager's ``api/v2/openapi.yaml``. Alerts cannot be posted: they come from the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchdog import __version__
from watchdog.engine.engine import Engine
from watchdog.errors import WatchdogError
from watchdog.incidents.routing import route
from watchdog.incidents.views import group_labels_of, is_firing
from watchdog.model import Alert, Changes, JobKey, Silence
from watchdog.muting import Mutes
from watchdog.promql.prometheus_json import parse_time
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules.matchers import matches, parse_matcher, written
from watchdog.service.api.times import rfc3339

Commit = Callable[[Changes], None]
LONGEST_TEXT = 1000
"""Characters of a comment or an author."""


class UnknownSilenceError(WatchdogError):
    """There is no silence of this id."""


class WrongRequestError(WatchdogError):
    """What was asked for makes no sense; the text says why."""


@dataclass(frozen=True, slots=True)
class AlertQuery:
    """Which alerts are wanted."""

    matchers: Sequence[Matcher] = ()
    active: bool = True
    silenced: bool = True
    inhibited: bool = True
    receiver: str = ""


def status(engine: Engine, started: float) -> dict[str, Any]:
    """Return who answers. There is no cluster."""
    words = dict.fromkeys(("branch", "buildDate", "buildUser", "goVersion", "revision"), "")
    return {
        "cluster": {"status": "disabled", "peers": []},
        "versionInfo": {**words, "version": f"watchdog {__version__}"},
        "config": {"original": "\n".join(f"rule: {rule.rule.name}" for rule in engine.program.rules)},
        "uptime": rfc3339(started),
    }


def receivers(engine: Engine) -> list[dict[str, Any]]:
    """Return the receivers by name."""
    return [{"name": name} for name in engine.program.terms.send_resolved]


def alerts(engine: Engine, wanted: AlertQuery, now: float) -> list[dict[str, Any]]:
    """Return the firing alerts that are wanted."""
    mutes = engine.mutes(now)
    found = [_alert(alert, engine, mutes) for alert in engine.judge.alerts.values() if is_firing(alert)]
    return [one for one in found if _is_wanted(one, wanted)]


def groups(engine: Engine, wanted: AlertQuery, now: float) -> list[dict[str, Any]]:
    """Return the same alerts by receiver and incident."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[dict[str, Any]]] = {}
    for one in alerts(engine, wanted, now):
        rule = engine.program.terms.rules.get(one["labels"]["alertname"])
        routed = route(one["labels"], engine.program.terms.routes, rule.group_by if rule else None)
        labels = group_labels_of(one["labels"], routed.group_by)
        for receiver in one["receivers"]:
            found.setdefault((receiver["name"], labels), []).append(one)
    return [
        {"receiver": {"name": name}, "labels": dict(labels), "alerts": members}
        for (name, labels), members in sorted(found.items())
    ]


def silences(engine: Engine, matchers: Sequence[Matcher], now: float) -> list[dict[str, Any]]:
    """Return the silences whose matchers name what these name."""
    return [silence_json(one, now) for one in engine.silences.all() if _names(one, matchers)]


def silence(engine: Engine, id_: str, now: float) -> dict[str, Any]:
    """Return one silence. Raises UnknownSilenceError."""
    found = engine.silences.get(id_)
    if found is None:
        raise UnknownSilenceError(f"there is no silence {id_}")
    return silence_json(found, now)


def put_silence(engine: Engine, body: Any, commit: Commit, now: float) -> dict[str, Any]:
    """Create or change a silence and write it down, or change nothing.

    Raises WrongRequestError, UnknownSilenceError, StoreError.
    """
    wanted = _read(body)
    with engine.silences.undoable():
        try:
            changed = engine.silences.put(wanted, now)
        except KeyError:
            raise UnknownSilenceError(f"there is no silence {wanted.id}") from None
        except ValueError as error:
            raise WrongRequestError(str(error)) from None
        commit(Changes(at=now, silences=tuple(changed)))
    return {"silenceID": changed[-1].id}


def expire_silence(engine: Engine, id_: str, commit: Commit, now: float) -> None:
    """End a silence now and write that down, or change nothing. Raises UnknownSilenceError, StoreError."""
    with engine.silences.undoable():
        try:
            changed = engine.silences.expire(id_, now)
        except KeyError:
            raise UnknownSilenceError(f"there is no silence {id_}") from None
        if changed:
            commit(Changes(at=now, silences=tuple(changed)))


def silence_json(one: Silence, now: float) -> dict[str, Any]:
    """Return a silence as the API writes it; ``untilJobEnds`` is our own."""
    job = one.until_job_ends
    return {
        "id": one.id,
        "status": {"state": one.state(now).value},
        "matchers": [_matcher_json(parse_matcher(text)) for text in one.matchers],
        "startsAt": rfc3339(one.starts_at),
        "endsAt": rfc3339(one.ends_at),
        "updatedAt": rfc3339(one.updated_at),
        "createdBy": one.created_by,
        "comment": one.comment,
        **({} if job is None else {"untilJobEnds": {"source": job.source, "job": job.job}}),
    }


def _alert(alert: Alert, engine: Engine, mutes: Mutes) -> dict[str, Any]:
    labels = alert.label_map
    rule = engine.program.terms.rules.get(alert.rule)
    routed = route(labels, engine.program.terms.routes, rule.group_by if rule else None)
    texts = {"summary": alert.summary, "description": alert.description, "runbook_url": alert.runbook_url}
    silenced, inhibited = mutes.silenced_by(labels), mutes.inhibited_by(labels)
    return {
        "labels": labels,
        "annotations": {name: text for name, text in texts.items() if text},
        "startsAt": rfc3339(alert.active_at),
        "endsAt": rfc3339(mutes.now + 4 * engine.program.interval),
        "updatedAt": rfc3339(alert.last_seen_at or alert.active_at),
        "fingerprint": alert.fingerprint,
        "generatorURL": "",
        "receivers": [{"name": item.receiver} for item in routed.destinations],
        "status": {
            "state": "suppressed" if silenced or inhibited else "active",
            "silencedBy": list(silenced),
            "inhibitedBy": list(inhibited),
        },
    }


def _is_wanted(one: Mapping[str, Any], wanted: AlertQuery) -> bool:
    status_, names = one["status"], [receiver["name"] for receiver in one["receivers"]]
    if wanted.receiver and wanted.receiver not in names:
        return False
    shown = (
        (wanted.active or status_["state"] != "active")
        and (wanted.silenced or not status_["silencedBy"])
        and (wanted.inhibited or not status_["inhibitedBy"])
    )
    return shown and matches(wanted.matchers, one["labels"])


def _names(one: Silence, matchers: Sequence[Matcher]) -> bool:
    values = {matcher.name: matcher.value for matcher in map(parse_matcher, one.matchers)}
    return matches(matchers, values)


def _matcher_json(matcher: Matcher) -> dict[str, Any]:
    return {
        "name": matcher.name,
        "value": matcher.value,
        "isRegex": matcher.op in (MatchOp.REGEX, MatchOp.NOT_REGEX),
        "isEqual": matcher.op in (MatchOp.EQUAL, MatchOp.REGEX),
    }


_OPS = {
    (False, True): MatchOp.EQUAL,
    (False, False): MatchOp.NOT_EQUAL,
    (True, True): MatchOp.REGEX,
    (True, False): MatchOp.NOT_REGEX,
}


def _read(body: Any) -> Silence:
    """Read a silence that was posted. Raises WrongRequestError."""
    if not isinstance(body, dict):
        raise WrongRequestError("a silence is a JSON object")
    job = body.get("untilJobEnds")
    if job is not None and not (isinstance(job, dict) and isinstance(job.get("source"), str) and job.get("job")):
        raise WrongRequestError('untilJobEnds is {"source": …, "job": …}')
    try:
        return Silence(
            id=_text(body, "id"),
            matchers=tuple(_matcher(item) for item in body.get("matchers") or []),
            starts_at=parse_time(_text(body, "startsAt")),
            ends_at=parse_time(_text(body, "endsAt")),
            created_by=_text(body, "createdBy"),
            comment=_text(body, "comment"),
            updated_at=0.0,
            until_job_ends=None if job is None else JobKey(job["source"], str(job["job"])),
        )
    except ValueError as error:
        raise WrongRequestError(str(error)) from None


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name) or ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise WrongRequestError(f"{name} is not a text of at most {LONGEST_TEXT} characters")
    return value


def _matcher(item: Any) -> str:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str) or not isinstance(item.get("value"), str):
        raise WrongRequestError('a matcher is {"name": …, "value": …, "isRegex": …, "isEqual": …}')
    op = _OPS[bool(item.get("isRegex", False)), bool(item.get("isEqual", True))]
    text = written(Matcher(item["name"], op, item["value"]))
    parse_matcher(text)
    return text
