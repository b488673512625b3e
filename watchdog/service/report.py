"""What the log says of a tick: one line per event, nothing while nothing happens."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from watchdog.delivery import SenderEvent
from watchdog.engine.engine import Engine, TickResult
from watchdog.model import Alert, AlertState, JobRecord, Poll

log = logging.getLogger("watchdog")


def tick(result: TickResult, polls: Sequence[Poll], engine: Engine) -> None:
    """Log what one tick saw and did."""
    for poll in polls:
        _poll(poll)
    for record in result.started:
        log.info("job seen", extra=_job(record))
    for alert in result.changes.alerts:
        _alert(alert, result.changes.at)
    for record in result.ended:
        log.info("job ended", extra={**_job(record), "reason": record.end_reason})
    for rule, error in result.failures.items():
        log.error("rule failed; its alerts stay as they are", extra={"rule": rule, "error": error})
    for row in result.notifications:
        log.info(
            "to be told",
            extra={"receiver": row.receiver, "incident": row.incident, "reason": row.reason.value, "ping": row.ping},
        )
    if result.dropped:
        reasons = ",".join(f"{reason}={count}" for reason, count in sorted(result.dropped.items()))
        log.warning("points were dropped", extra={"reasons": reasons})
    log.debug("state", extra={"jobs": len(engine.registry.active()), "alerts": len(engine.judge.alerts)})


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


def _alert(alert: Alert, now: float) -> None:
    if alert.state is AlertState.FIRING and alert.fired_at == now:
        word = "event" if alert.event else "firing"
    elif alert.state is AlertState.INACTIVE and not alert.event:
        word = alert.end_reason
    elif alert.unknown_since == now:
        word = "unknown: its data is missing"
    else:
        return
    where = ",".join(f"{name}={value}" for name, value in alert.instance)
    log.info("alert %s", word, extra={"alert": alert.rule, "labels": where, "text": alert.summary})


def sender(event: SenderEvent) -> None:
    """Log what became of a delivery."""
    level = logging.INFO if event.kind in ("sent", "recovered") else logging.WARNING
    fields = {"receiver": event.receiver, "rows": len(event.ids), "reason": event.reason, "attempts": event.attempts}
    if event.late_seconds is not None and event.late_seconds > 0:
        fields["late"] = event.late_seconds
    log.log(level, "delivery %s", event.kind.value, extra=fields)
