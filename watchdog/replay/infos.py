"""The constants of the sources that a recording has, without their keys."""

from __future__ import annotations

import numpy as np

from watchdog.engine.program import info_of
from watchdog.jobs.sources import SourceInfo
from watchdog.replay.recording import Recording
from watchdog.rules.model import Ruleset

_USUAL = 60.0


def infos_of(ruleset: Ruleset, recording: Recording) -> tuple[SourceInfo, ...]:
    """Return one for each source of the recording.

    Interval, step and ``stale_after`` are those of the rules file; of a source that it does not have, the step is
    the median distance of the samples.
    """
    configs = {config.name: config for config in ruleset.sources}
    infos = []
    for name in recording.sources:
        config = configs.get(name)
        step: float | None = getattr(config, "step", None)
        interval = config.interval if config is not None and config.interval else ruleset.interval
        stale_after = config.stale_after if config is not None else None
        infos.append(info_of(name, step or _measured(recording, name), interval, stale_after))
    return tuple(infos)


def names_of(ruleset: Ruleset) -> dict[str, str]:
    """Return the source of each provider that only one source of the rules file has."""
    kinds = [config.type for config in ruleset.sources]
    return {config.type: config.name for config in ruleset.sources if kinds.count(config.type) == 1}


def _measured(recording: Recording, source: str) -> float:
    distances = [
        float(np.median(np.diff(one.times)))
        for job in recording.jobs
        if job.job.source == source
        for one in job.series
        if len(one.times) > 1
    ]
    return _whole(float(np.median(distances))) if distances else _USUAL


def _whole(step: float) -> float:
    """Return a distance to the second, or to the millisecond below one."""
    return float(round(step)) if step >= 1 else max(round(step, 3), 0.001)
