"""What an explanation is about: one job, or all that a rule speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watchdog.engine.engine import Engine
from watchdog.errors import UsageError
from watchdog.labels import METRIC_NAME, LabelColumns
from watchdog.model import JobRecord, Labels, labels_of

_DESCRIPTIONS = frozenset({METRIC_NAME, "provider", "project", "project_name", "owner", "gpu_type"})
_OF_THE_JOB = _DESCRIPTIONS | {"source", "job", "job_name"}
_FIRST = ("job", "project_name", "source", "node", "gpu")
NOWHERE = -1
"""No label has this code."""
LISTED = 8
"""Jobs named in an error."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A job, or everything."""

    record: JobRecord | None = None
    labels: Labels = ()
    """What a series of it must not contradict."""

    @classmethod
    def of(cls, record: JobRecord) -> Subject:
        """Return one job as the subject."""
        job = record.job
        return cls(record, labels_of({"source": job.source, "project": job.project, "job": job.job}))

    def narrowed(self, instance: Labels) -> Subject:
        """Return the series of one alert as the subject."""
        return Subject(self.record, instance)

    def mask(self, labels: LabelColumns) -> npt.NDArray[np.bool_]:
        """Return which series speak of it: those whose labels do not name another."""
        mask = np.ones(labels.size, dtype=np.bool_)
        for name, value in self.labels:
            codes = labels.columns.get(name)
            if codes is not None:
                code = labels.table.find(value)
                mask &= (codes == 0) | (codes == (NOWHERE if code is None else code))
        return mask

    def about(self, labels: Mapping[str, str]) -> bool:
        """Whether an alert with these labels speaks of it."""
        return all(labels.get(name, value) == value for name, value in self.labels)

    def name(self, labels: Mapping[str, str]) -> str:
        """Return the labels that tell a series of it from the others, as ``node=n0 gpu=3``."""
        told = _OF_THE_JOB | {name for name, _ in self.labels}
        left = {name: value for name, value in labels.items() if name not in told}
        if self.record is None:
            if "job" in labels:
                left["job"] = labels.get("job_name", labels["job"])
            else:
                left |= {name: labels[name] for name in ("project_name", "source") if name in labels}
        order = [name for name in _FIRST if name in left]
        order += sorted(left.keys() - set(order))
        return " ".join(f"{name}={left[name]}" for name in order)


def subjects(engine: Engine, job: str | None) -> list[Subject]:
    """Return what ``job`` (an id or a name; None for everything) means; of a name, the jobs that still live.

    Raises UsageError when there is no such job.
    """
    if job is None:
        return [Subject()]
    records = [record for record in engine.registry.all() if job in (record.job.job, record.job.job_name)]
    living = [record for record in records if record.active]
    if not records:
        raise UsageError(f'there is no job "{job}"; {_known(engine)}')
    return [Subject.of(record) for record in living or records[-1:]]


def _known(engine: Engine) -> str:
    names = sorted(record.job.job_name or record.job.job for record in engine.registry.active())
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    known = f"watched are: {', '.join(names[:LISTED])}{more}" if names else "no job is being watched"
    down = sorted(state.info.name for state in engine.sources if not state.up)
    return known + (f" (source {', '.join(down)} is down)" if down else "")
