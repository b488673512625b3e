"""What templates may name, as Prometheus knows it: labels, facts of jobs as metrics, since when the alert is active."""

from __future__ import annotations

from watchdog.export.result_labels import IDENTITY
from watchdog.export.texts.values import UNKNOWN, Number, Text, Value

_OF_JOB = "{source=%q, job=%q}"
_OPERANDS = ("$labels.source", "$labels.job")
_STATUS = Number(
    f'job_status{_OF_JOB} == 1 or on () label_replace(vector(1), "status", "{UNKNOWN}", "", "")', _OPERANDS
)
_JOB: dict[str, Value] = {
    "id": Text("$labels.job"),
    "name": Text("or $labels.job_name $labels.job"),
    "owner": Text("$labels.owner"),
    "gpu_type": Text("$labels.gpu_type"),
    "gpus": Number(f"max(job_gpus{_OF_JOB})", _OPERANDS, vector=True),
    "cost_usd_per_hour": Number(f"max(job_cost_usd_per_hour{_OF_JOB})", _OPERANDS, vector=True),
    "status": Text(f'{_STATUS.query()} | first | label "status"'),
}


def fact(name: str) -> Value | None:
    """Return ``job.name``; None for what is no metric and no label."""
    return _JOB.get(name)


def duration(alert: str, proves: float = 0.0) -> Number:
    """Return the seconds for which the alert is active (0 when Prometheus sees it first) and ``proves``."""
    matchers = ", ".join(f"{name}=%q" for name in IDENTITY)
    operands = tuple(f"$labels.{name}" for name in IDENTITY)
    active_at = f'ALERTS_FOR_STATE{{alertname="{alert}", {matchers}}}'
    more = f" + {proves!r}" if proves else ""
    return Number(f"((max(time() - {active_at}) or vector(0)){more})", operands, vector=True)
