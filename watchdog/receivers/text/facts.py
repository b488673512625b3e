"""What a person wants to know of an incident before opening anything; what is not known is left out."""

from __future__ import annotations

from dataclasses import dataclass

from watchdog.model import IncidentView, Job, JobStatus
from watchdog.receivers.text.findings import NAME, SENTENCE, clean
from watchdog.receivers.text.looks import Look, is_over, look
from watchdog.receivers.text.quantities import gpu_hours, usd
from watchdog.receivers.text.waste import Waste, wasted


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what it is: a text (perhaps with a link), or a time."""

    name: str
    text: str = ""
    url: str = ""
    at: float | None = None
    more: str = ""
    """What follows the text, outside of the link."""


def facts(view: IncidentView, now: float) -> list[Fact]:
    """Return the job, its owner, since when, and what was wasted."""
    found = _job_facts(view.job) if view.job else _place_facts(view)
    found += _times(view)
    waste = wasted(view, now if view.closed_at is None else view.closed_at)
    if waste is not None:
        over = is_over(view)
        found.append(Fact("Wasted" if over else "Wasted so far", waste_text(waste)))
    return found


def since_of(view: IncidentView) -> float:
    """Return since when anything of the incident is known to have been so."""
    return min((alert.since for alert in view.alerts), default=view.opened_at)


def waste_text(waste: Waste) -> str:
    """Return ``about $2.50 at list price (1 GPU-hour), $7.50 more each hour``; hours alone without a price."""
    if waste.usd is None:
        return gpu_hours(waste.gpu_hours)
    text = f"about {usd(waste.usd)} at list price ({gpu_hours(waste.gpu_hours)})"
    return f"{text}, {usd(waste.usd_per_hour)} more each hour" if waste.usd_per_hour else text


def _times(view: IncidentView) -> list[Fact]:
    shown, since, end = look(view), since_of(view), view.closed_at
    if shown is Look.EVENT:
        return [Fact("When", at=since)]
    if is_over(view) and end is not None:
        return [Fact("From", at=since), Fact("Until", at=end)]  # how long it lasted is in the headline
    lost = [alert.unknown_since for alert in view.alerts if alert.unknown_since is not None]
    missing = [Fact("No data since", at=min(lost))] if shown is Look.UNKNOWN and lost else []
    return [Fact("Since", at=since), *missing]


def _job_facts(job: Job) -> list[Fact]:
    name = clean(job.job_name, NAME) or clean(job.job, NAME)
    project = clean(job.project_name, NAME) or clean(job.project, NAME)
    known = job.status is not JobStatus.UNKNOWN
    status = job.status.value if known else clean(job.provider_status, NAME) or job.status.value
    found = [
        Fact("Job", name, url=job.url.strip(), more=_joined(_hardware(job), status)),
        Fact("Error", clean(job.error, SENTENCE) if job.status is JobStatus.FAILED else ""),
        Fact("Provider", _joined(clean(job.provider, NAME), project)),
        Fact("Owner", clean(job.owner, NAME)),
    ]
    return [fact for fact in found if fact.text]


def _place_facts(view: IncidentView) -> list[Fact]:
    """Return where it is, when it is not about one job: what all alerts have in common."""
    every = [set(alert.labels) for alert in view.alerts]
    common = dict(set.intersection(*every)) if every else {}
    project = common.get("project_name") or common.get("project", "")
    place = _joined(clean(common.get("provider", ""), NAME), clean(project, NAME))
    return [Fact("Provider", place)] if place else []


def _hardware(job: Job) -> str:
    kind = clean(job.gpu_type, NAME)
    if job.gpus is None:
        return kind
    count = f"{job.gpus} × {kind}" if kind else f"{job.gpus} GPU{'' if job.gpus == 1 else 's'}"
    return f"{count} on {job.nodes} nodes" if job.nodes is not None and job.nodes > 1 else count


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
