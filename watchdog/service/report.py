"""What the log says of a tick: one line per event, nothing while nothing happens."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from watchdog.delivery import SenderEvent
from watchdog.engine.engine import Engine, TickResult
from watchdog.model import Alert, AlertState, JobRecord, Poll
from watchdog.promql.write import duration
from watchdog.service.clockwatch import Interruption

log = logging.getLogger("watchdog")


def tick(result: TickResult, polls: Sequence[Poll], engine: Engine, *, dry: bool = False) -> None:
    """Log what one tick saw and did; ``dry`` when nothing of it is going to be told."""
    for poll in polls:
        _poll(poll)
    for record in result.started:
        log.info("job seen", extra=_job(record))
    _alerts(result.changes.alerts, result.changes.at)
    for record in result.ended:
        log.info("job ended", extra={**_job(record), "reason": record.end_reason})
    for rule, error in result.failures.items():
        log.error("rule failed; its alerts stay as they are", extra={"rule": rule, "error": error})
    for row in () if dry else result.notifications:
        log.info(
            "to be told",
            extra={"receiver": row.receiver, "incident": row.incident, "reason": row.reason.value, "ping": row.ping},
        )
    if result.dropped:
        reasons = ",".join(f"{reason}={count}" for reason, count in sorted(result.dropped.items()))
        log.warning("points were dropped", extra={"reasons": reasons})
    log.debug("state", extra={"jobs": len(engine.registry.active()), "alerts": len(engine.judge.alerts)})


def interruption(found: Interruption) -> None:
    """Log, in a sentence each, that the clock was set and that nothing was judged."""
    if found.set_by:
        way, by = "forward" if found.set_by > 0 else "back", duration(round(abs(found.set_by)))
        log.warning("the clock was set %s by %s: data that does not fit it is not judged", way, by)
    if found.unwatched:
        slept = found.suspended >= 1.0
        why = f"the machine was suspended for {duration(round(found.suspended))}" if slept else "watchdog stood still"
        log.warning("nothing was judged for %s: %s", duration(round(found.unwatched)), why)


def _poll(poll: Poll) -> None:
    fields = {"source": poll.source, "jobs": len(poll.readings), "seconds": poll.finished_at - poll.started_at}
    if poll.error:
        log.warning("source cannot be read", extra={**fields, "error": poll.error, "kind": poll.error_kind})
    else:
        log.info("polled", extra=fields)
    for reading in poll.readings:
        if reading.error:
            log.warning("job cannot be read", extra={"job": reading.job.job, "error": reading.error})


def _job(record: JobRecord) -> dict[str, object]:
    job = record.job
    return {
        "source": job.source,
        "job": job.job,
        "job_name": job.job_name,
        "status": job.status.value,
        "gpus": job.gpus,
        "gpu_type": job.gpu_type,
    }


def _alerts(alerts: Sequence[Alert], now: float) -> None:
    """Log a line for each rule, job and change; of several alerts it says how many, what they share and one text."""
    groups: dict[tuple[str, str, str, str], list[Alert]] = {}
    for alert in alerts:
        labels = dict(alert.instance)
        word = _became(alert, now)
        if word:
            groups.setdefault((word, alert.rule, labels.get("source", ""), labels.get("job", "")), []).append(alert)
    for (word, rule, _, _), group in groups.items():
        every = [set(alert.instance) for alert in group]
        where = ",".join(f"{name}={value}" for name, value in sorted(set.intersection(*every)))
        fields: dict[str, object] = {"alert": rule, "labels": where, "text": group[0].summary}
        if len(group) > 1:
            fields["count"] = len(group)
        log.info("alert %s", word, extra=fields)


def _became(alert: Alert, now: float) -> str:
    """Return what an alert has become with this tick; empty if that is no news."""
    if alert.state is AlertState.FIRING and alert.fired_at == now:
        return "event" if alert.event else "firing"
    if alert.state is AlertState.INACTIVE and not alert.event:
        return alert.end_reason
    return "unknown: its data is missing" if alert.unknown_since == now else ""


def sender(event: SenderEvent) -> None:
    """Log what became of a delivery."""
    level = logging.INFO if event.kind in ("sent", "recovered") else logging.WARNING
    fields = {"receiver": event.receiver, "rows": len(event.ids), "reason": event.reason, "attempts": event.attempts}
    if event.late_seconds is not None and event.late_seconds > 0:
        fields["late"] = event.late_seconds
    if event.held_until is not None:
        fields["held_until"] = datetime.fromtimestamp(event.held_until, UTC).isoformat(timespec="seconds")
    log.log(level, "delivery %s", event.kind.value, extra=fields)
