"""``watchdog alerts``, ``incidents`` and ``jobs``: what the store holds, while the service runs or after it."""

from __future__ import annotations

import argparse
import time

from watchdog.bootstrap import existing_store
from watchdog.cli import common
from watchdog.incidents.severity import rank
from watchdog.model import Alert, AlertState, Incident, JobRecord

_STATES = (AlertState.FIRING, AlertState.PENDING, AlertState.INACTIVE)


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands."""
    alerts = commands.add_parser("alerts", help="pending and firing alerts in the store")
    alerts.add_argument("--all", action="store_true", help="closed ones too, as long as the store keeps them")
    common.add_format(alerts)
    alerts.set_defaults(handle=handle_alerts)
    incidents = commands.add_parser("incidents", help="open incidents, and what was told of them")
    incidents.add_argument("--all", action="store_true", help="closed ones too, as long as the store keeps them")
    common.add_format(incidents)
    incidents.set_defaults(handle=handle_incidents)
    jobs = commands.add_parser("jobs", help="the jobs that are watched")
    jobs.add_argument("--all", action="store_true", help="ended ones too, as long as the store keeps them")
    common.add_format(jobs)
    jobs.set_defaults(handle=handle_jobs)


def handle_alerts(arguments: argparse.Namespace) -> int:
    """Print alerts: by severity, then firing ones first, then the oldest first."""
    with existing_store(common.environment().settings) as store:
        found = [alert for alert in store.alerts() if arguments.all or alert.state is not AlertState.INACTIVE]
    found.sort(key=lambda alert: (-rank(alert.severity), _STATES.index(alert.state), alert.active_at))
    if arguments.format == "json":
        common.print_json([common.plain(alert) for alert in found])
    elif not found:
        print("no alert is pending or firing")
    else:
        now = time.time()
        header = ("SEVERITY", "STATE", "ALERT", "SOURCE", "JOB", "SINCE", "FOR", "SUMMARY")
        print(common.table(header, [_alert_row(alert, now) for alert in found]))
    return 0


def handle_incidents(arguments: argparse.Namespace) -> int:
    """Print incidents, open ones first, the newest first."""
    with existing_store(common.environment().settings) as store:
        found = [incident for incident in store.incidents() if arguments.all or incident.closed_at is None]
    found.sort(key=lambda incident: (incident.closed_at is not None, -incident.opened_at))
    if arguments.format == "json":
        common.print_json([common.plain(incident) for incident in found])
    elif not found:
        print("no incident is open")
    else:
        header = ("ID", "STATE", "OPENED", "CLOSED", "ABOUT", "ALERTS", "TOLD")
        print(common.table(header, [_incident_row(incident) for incident in found]))
    return 0


def handle_jobs(arguments: argparse.Namespace) -> int:
    """Print jobs, running ones first."""
    with existing_store(common.environment().settings) as store:
        found = [record for record in store.jobs() if arguments.all or record.active]
    found.sort(key=lambda record: (not record.active, record.job.source, record.job.job))
    if arguments.format == "json":
        common.print_json([common.plain(record) for record in found])
    elif not found:
        print("no job is being watched")
    else:
        header = ("SOURCE", "JOB", "NAME", "STATUS", "GPUS", "RUNNING SINCE", "OWNER")
        print(common.table(header, [_job_row(record) for record in found]))
    return 0


def _alert_row(alert: Alert, now: float) -> tuple[str, ...]:
    state = f"{alert.state.value} (unknown)" if alert.unknown_since is not None else alert.state.value
    labels = alert.label_map
    lasted = (alert.resolved_at or now) - alert.active_at
    return (
        alert.severity or "-",
        state,
        alert.rule,
        labels.get("source") or "-",
        labels.get("job_name") or labels.get("job") or "-",
        common.when(alert.active_at),
        f"{lasted / 60:.0f}m",
        alert.summary,
    )


def _incident_row(incident: Incident) -> tuple[str, ...]:
    state = "closed" if incident.closed_at is not None else "flapping" if incident.flapping else "open"
    names = dict.fromkeys(member.rule for member in incident.members)
    told = [f"{one.receiver} {one.sequence}x" for one in incident.conversations]
    return (
        incident.id,
        state,
        common.when(incident.opened_at),
        common.when(incident.closed_at),
        ", ".join(f"{name}={value}" for name, value in incident.group_labels if value) or "-",
        f"{len(incident.members)}: {', '.join(names)}",
        ", ".join(told) or "-",
    )


def _job_row(record: JobRecord) -> tuple[str, ...]:
    job = record.job
    gpus = "-" if job.gpus is None else f"{job.gpus} x {job.gpu_type}" if job.gpu_type else str(job.gpus)
    return (
        job.source,
        job.job,
        job.job_name or "-",
        record.end_reason or job.status.value,
        gpus,
        common.when(record.running_since),
        job.owner or "-",
    )
