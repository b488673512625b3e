"""Jobs, and what is remembered of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from watchdog.model.labels import Labels, labels_of


class JobStatus(StrEnum):
    """The normalized state of a job; the provider's own word is kept beside it."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    UNKNOWN = "unknown"

    @property
    def terminal(self) -> bool:
        """Whether the job has ended (it may still be resumed under the same id)."""
        return self in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.STOPPED)


@dataclass(frozen=True, slots=True, order=True)
class JobKey:
    """What identifies a job for ever: the source's name in the rules file and the provider's id."""

    source: str
    job: str


@dataclass(frozen=True, slots=True)
class Job:
    """One training job as its provider describes it. Empty strings and None mean: not known."""

    source: str
    provider: str
    job: str
    status: JobStatus
    provider_status: str = ""
    project: str = ""
    project_name: str = ""
    job_name: str = ""
    owner: str = ""
    gpu_type: str = ""
    gpus: int | None = None
    """All GPUs of the job, over all its nodes; 0 for a CPU job."""
    nodes: int | None = None
    created_at: float | None = None
    started_at: float | None = None
    """When the user's code began to run, where the provider says so."""
    ended_at: float | None = None
    cost_usd_per_hour: float | None = None
    """List price of the whole job (an estimate), where known."""
    url: str = ""
    """The provider's own page of the job."""
    error: str = ""
    """The provider's error text; not by itself proof of failure."""

    @property
    def key(self) -> JobKey:
        """The job's identity."""
        return JobKey(self.source, self.job)

    @property
    def labels(self) -> Labels:
        """The labels that every series of the job carries (design, section 2)."""
        return labels_of(
            {
                "source": self.source,
                "provider": self.provider,
                "project": self.project,
                "project_name": self.project_name,
                "job": self.job,
                "job_name": self.job_name,
                "owner": self.owner,
                "gpu_type": self.gpu_type,
            }
        )

    @property
    def project_labels(self) -> Labels:
        """The labels of what the jobs of a project share (the cache): no job in them."""
        return labels_of(
            {
                "source": self.source,
                "provider": self.provider,
                "project": self.project,
                "project_name": self.project_name,
            }
        )


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job and what the engine remembers of it over restarts."""

    job: Job
    first_seen: float
    running_since: float | None = None
    status_since: float | None = None
    newest_sample: float | None = None
    """Newest sample when the record was last written; the live figure is in the history."""
    ended_at: float | None = None
    end_reason: str = ""
    """``job completed``, ``job failed``, ``stopped by its user`` or ``gone``."""
    end_untold: bool = False
    """Its end was read, and a rule with ``event`` has yet to be judged on it without doubt."""

    @property
    def active(self) -> bool:
        """Whether the job is still being watched."""
        return self.ended_at is None
