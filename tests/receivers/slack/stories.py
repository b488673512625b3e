"""Incidents from their first message to their end, for snapshots and pictures: one of each kind, and extremes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from watchdog.incidents.decide import PINGS
from watchdog.model import AlertView, IncidentView, JobStatus, Notification, Reason, labels_of

EMAIL = "ana@example.com"
RUNBOOK = "https://wiki.example.com/gpu-idle"
MINUTE, HOUR = 60.0, 3600.0
LONG = "very-long-name-" * 20
HOSTILE = "<!channel> & <https://evil.example|free GPUs> 🚀 \u202etset\u202c تدريب"

Step = tuple[float, Sequence[Notification]]
"""When a delivery is made, and of what."""


class Stories:
    """Tells stories with the makers of the receivers' tests."""

    def __init__(self, make: Any) -> None:
        self.make = make
        self.noon: float = make.noon
        self.job = make.job(job_name="llama-sft", owner=EMAIL, project_name="llama", cost_usd_per_hour=52.0)

    def idle(self, gpu: int, node: str = "leader", **changes: Any) -> AlertView:
        """A GPU of the starter pack's GPUIdle."""
        told = {
            "summary": f"llama-sft has used no GPU for 15 minutes (peak 0% on GPU {gpu} of {node})",
            "description": "Stop the job if it is done, or look at its logs if it hangs.",
            "runbook_url": RUNBOOK,
            "waste": True,
            "value": 0.0,
            "proves": 900.0,
            "starts_at": self.noon,
        }
        return self.make.alert(str(gpu), node, **{**told, **changes})  # type: ignore[no-any-return]

    def disk(self, **changes: Any) -> AlertView:
        """A disk that is nearly full."""
        told = {
            "name": "EphemeralStorageNearlyFull",
            "severity": "critical",
            "summary": "The local disk of llama-sft on leader is 97% full",
            "description": "Delete old checkpoints, or write them to the cache or to a bucket.",
            "expr": "min_over_time(ephemeral_storage_utilization[3m]) > 0.95",
            "labels": labels_of({"node": "leader", "job": "abc123", "source": "baseten"}),
            "value": 0.97,
            "worst": 0.98,
            "starts_at": self.noon + 30 * MINUTE,
        }
        return self.make.alert(**{**told, **changes})  # type: ignore[no-any-return]

    def failed(self) -> AlertView:
        """A job that failed."""
        return self.make.alert(  # type: ignore[no-any-return]
            name="JobFailed",
            severity="critical",
            summary="llama-sft failed: CUDA out of memory",
            labels=labels_of({"job": "abc123", "source": "baseten"}),
            expr='job_status{status="failed"} == 1',
            event=True,
            starts_at=self.noon,
            value=1.0,
            worst=1.0,
        )

    def view(self, *alerts: AlertView, **changes: Any) -> IncidentView:
        """An incident of the job."""
        return self.make.view(*alerts, **{"job": self.job, "closed_at": None, **changes})  # type: ignore[no-any-return]

    def over(self, minutes: float, *alerts: AlertView, reason: str = "resolved", **changes: Any) -> IncidentView:
        """The incident when all of it is over."""
        at = self.noon + minutes * MINUTE
        ended = [self.make.ended(alert, reason, at) for alert in alerts]
        return self.view(*ended, **{"closed_at": at, **changes})

    def say(self, number: int, minutes: float, reason: Reason, view: IncidentView, *alerts: AlertView) -> Notification:
        """One transition; ``alerts`` are those that changed, all when none is named."""
        changed = {"changed": tuple(alert.fingerprint for alert in alerts)} if alerts else {}
        at = self.noon + minutes * MINUTE
        return self.make.note(view, reason, number, created_at=at, ping=reason in PINGS, **changed)  # type: ignore[no-any-return]

    def tell(self, *notes: Notification, late: float = 1.0) -> list[Step]:
        """Deliver each transition on its own, ``late`` seconds after it happened."""
        return [(note.created_at + late, [note]) for note in notes]


def _eight(tell: Stories, **changes: Any) -> list[AlertView]:
    return [tell.idle(gpu, **changes) for gpu in range(8)]


def idle(tell: Stories) -> list[Step]:
    """All GPUs of a job idle."""
    return tell.tell(tell.say(1, 0, Reason.FIRST, tell.view(*_eight(tell))))


def idle_to_its_end(tell: Stories) -> list[Step]:
    """A whole life: first, more, silence, data lost and back, reminder, resolved."""
    three, eight = _eight(tell)[:3], _eight(tell)
    muted = [replace(alert, muted="silence by ana: restarting") for alert in eight]
    lost = [replace(alert, unknown=True, unknown_since=tell.noon + 60 * MINUTE) for alert in eight]
    return tell.tell(
        tell.say(1, 0, Reason.FIRST, tell.view(*three)),
        tell.say(2, 3, Reason.NEW_ALERTS, tell.view(*eight), *eight[3:]),
        tell.say(3, 20, Reason.MUTED, tell.view(*muted)),
        tell.say(4, 50, Reason.UNMUTED, tell.view(*eight)),
        tell.say(5, 65, Reason.UNKNOWN, tell.view(*lost)),
        tell.say(6, 80, Reason.KNOWN, tell.view(*eight)),
        tell.say(7, 240, Reason.REPEAT, tell.view(*eight)),
        tell.say(8, 255, Reason.ALL_RESOLVED, tell.over(255, *eight)),
    )


def data_missing(tell: Stories) -> list[Step]:
    """A frozen incident."""
    lost = [tell.idle(gpu, unknown=True, unknown_since=tell.noon + 20 * MINUTE) for gpu in range(8)]
    first = tell.say(1, 0, Reason.FIRST, tell.view(*_eight(tell)))
    return tell.tell(first, tell.say(2, 25, Reason.UNKNOWN, tell.view(*lost)))


def job_completed(tell: Stories) -> list[Step]:
    """The job ends while its GPUs idle: that is no all-clear."""
    done = tell.over(30, *_eight(tell), reason="job completed", job=replace(tell.job, status=JobStatus.COMPLETED))
    first = tell.say(1, 0, Reason.FIRST, tell.view(*_eight(tell)))
    return tell.tell(first, tell.say(2, 30, Reason.ALL_RESOLVED, done))


def job_failed(tell: Stories) -> list[Step]:
    """An event."""
    job = replace(tell.job, status=JobStatus.FAILED, error="CUDA out of memory")
    return tell.tell(tell.say(1, 0, Reason.EVENT, tell.view(tell.failed(), status="resolved", job=job)))


def severity_raised(tell: Stories) -> list[Step]:
    """A second, worse rule fires; the channel's group is called; then one of the two is over."""
    eight = _eight(tell)
    both = tell.view(tell.disk(), *eight)
    emptied = tell.make.ended(tell.disk(), at=tell.noon + 45 * MINUTE)
    return tell.tell(
        tell.say(1, 0, Reason.FIRST, tell.view(*eight)),
        tell.say(2, 30, Reason.SEVERITY, both, tell.disk()),
        tell.say(3, 45, Reason.SOME_RESOLVED, tell.view(*eight, emptied), emptied),
    )


def flapping(tell: Stories) -> list[Step]:
    """An alert that comes and goes."""
    restless = tell.view(*_eight(tell, flips=7))
    return tell.tell(
        tell.say(1, 0, Reason.FIRST, tell.view(*_eight(tell))),
        tell.say(2, 40, Reason.FLAPPING, restless),
        tell.say(3, 110, Reason.STEADY, tell.view(*_eight(tell))),
    )


def late(tell: Stories) -> list[Step]:
    """Slack was down: two changes arrive together, an hour late."""
    eight = _eight(tell)
    news = [
        tell.say(2, 30, Reason.NEW_ALERTS, tell.view(*eight), eight[7]),
        tell.say(3, 60, Reason.ALL_RESOLVED, tell.over(60, *eight)),
    ]
    first = tell.say(1, 0, Reason.FIRST, tell.view(*eight[:7]))
    return [(tell.noon + 12 * MINUTE, [first]), (tell.noon + 90 * MINUTE, news)]


def over_before_said(tell: Stories) -> list[Step]:
    """All of it happened while Slack was down."""
    eight = _eight(tell)
    first = tell.say(1, 0, Reason.FIRST, tell.view(*eight))
    return [(tell.noon + HOUR, [first, tell.say(2, 30, Reason.ALL_RESOLVED, tell.over(30, *eight))])]


def many_nodes(tell: Stories) -> list[Step]:
    """12 of the 64 GPUs of 8 nodes."""
    job = replace(tell.job, gpus=64, nodes=8, cost_usd_per_hour=416.0)
    some = [tell.idle(gpu % 8, f"worker-{gpu // 8}") for gpu in range(12)]
    return tell.tell(tell.say(1, 0, Reason.FIRST, tell.view(*some, job=job)))


def nothing_known(tell: Stories) -> list[Step]:
    """Neither page nor price nor owner."""
    job = replace(tell.job, provider="alayanew", owner="", project="", project_name="", url="", cost_usd_per_hour=None)
    return tell.tell(tell.say(1, 0, Reason.FIRST, tell.view(tell.idle(0), job=job)))


def source_down(tell: Stories) -> list[Step]:
    """An incident about no job."""
    alert = tell.make.alert(
        name="SourceDown",
        severity="critical",
        labels=labels_of({"source": "baseten", "provider": "baseten"}),
        summary="baseten cannot be read: its jobs are not watched",
        expr="source_up == 0",
        value=0.0,
        starts_at=tell.noon - 5 * MINUTE,
    )
    return tell.tell(tell.say(1, 0, Reason.FIRST, tell.view(alert, job=None, group_labels=(("source", "baseten"),))))


def hostile_names(tell: Stories) -> list[Step]:
    """Names with markup, emoji and letters from right to left."""
    job = replace(tell.job, job_name=HOSTILE, owner=HOSTILE, project_name=HOSTILE, gpu_type=HOSTILE)
    alert = tell.idle(0, HOSTILE, summary=HOSTILE, description=HOSTILE)
    done = tell.over(30, alert, job=job)
    first = tell.say(1, 0, Reason.FIRST, tell.view(alert, job=job))
    return tell.tell(first, tell.say(2, 30, Reason.ALL_RESOLVED, done))


def thousand_gpus(tell: Stories) -> list[Step]:
    """1,000 GPUs of 125 nodes, names of 300 characters, 12 rules."""
    job = replace(tell.job, job_name=LONG, project_name=LONG, gpus=1000, nodes=125, cost_usd_per_hour=6500.0)
    alerts = [
        tell.idle(
            gpu % 8, f"{LONG}{gpu // 8}", name=f"{'GPUIdle' if gpu < 1000 else 'Rule'}{gpu // 1000 or ''}", summary=LONG
        )
        for gpu in (*range(1000), *range(1000, 12000, 1000))
    ]
    return tell.tell(tell.say(1, 0, Reason.FIRST, tell.view(*alerts, job=job)))


STORIES: dict[str, Callable[[Stories], list[Step]]] = {
    story.__name__: story
    for story in (
        idle,
        idle_to_its_end,
        data_missing,
        job_completed,
        job_failed,
        severity_raised,
        flapping,
        late,
        over_before_said,
        many_nodes,
        nothing_known,
        source_down,
        hostile_names,
        thousand_gpus,
    )
}
