"""Recorded runs through our engine and, exported, through Prometheus's: the same alerts of the same GPUs.

Prometheus 2 takes a sample on a window's left edge as inside; Prometheus 3 and our engine do not. promtool is of the
former here, so its windows are made a millisecond shorter. All that differs then is listed in FROZEN, and why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from watchdog.bootstrap import load_rules, starter_rules
from watchdog.config import parse_duration
from watchdog.engine.engine import Engine
from watchdog.engine.program import program_of
from watchdog.export import export
from watchdog.jobs.sources import SourceInfo
from watchdog.model import AlertState, Job, JobReading, Labels, Points, Poll, Snapshot, labels_of
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules.model import Ruleset
from watchdog.simulated.recordings import Recording, bundled, job_of, read_run
from watchdog.simulated.world import GPU_METRICS, NODE_METRICS, SimJob, World
from watchdog.vocabulary import METRICS

STEP = 60.0
T0 = 1_772_442_000.0
BEFORE, AFTER = 10, 40
"""Minutes before the run begins, and after its end."""
NODE = "node-0"
SHOWN = ("alertname", "source", "project", "job", "node", "gpu")
Alerts = Mapping[Labels, list[int]]
"""The minutes in which each alert fires."""

RAISED = {
    "r008": set(),
    "r021": {"GPUIdle", "JobMetricsMissing"},
    "r029": {"JobFailed"},
    "together": {"JobPartlyIdle", "VRAMNearLimit"},
}
"""By run; "together" is one job whose GPUs do what those of the three runs did."""
SILENT = "its samples end: ours stands still, theirs ends with the last window"
FROZEN: Mapping[tuple[str, str], str] = {
    ("r021", "GPUIdle"): SILENT,
    ("r029", "JobFailed"): "ours is said once, theirs lasts for the look-back of its last sample",
    ("together", "JobPartlyIdle"): SILENT,
    ("together", "VRAMNearLimit"): SILENT,
}
"""Alerts that end at different times, by run and name, and why."""


class Recorder(Engine):
    """An engine that shows its history, minute by minute, as a scraper would see it."""

    def __init__(self, rules: Ruleset, now: float) -> None:
        super().__init__(program_of(rules, [SourceInfo("baseten", STEP, STEP, 300.0)]), Snapshot(), now)
        self.began = now
        self.seen: dict[tuple[str, Labels], dict[int, float]] = {}

    def _tidy(self, now: float) -> None:
        self._look(now)
        super()._tidy(now)

    def _look(self, now: float) -> None:
        minute = round((now - self.began) / STEP)
        for name in METRICS:
            for selection in self.history.select([Matcher("__name__", MatchOp.EQUAL, name)]):
                times, values = selection.latest(now - STEP, now)
                for index in np.flatnonzero(~np.isnan(times)):
                    labels = selection.labels.row(int(index))
                    labels.pop("__name__")
                    self.seen.setdefault((name, labels_of(labels)), {})[minute] = float(values[index])


def reading(world: World, job: SimJob, now: float) -> JobReading | None:
    status = job.status_at(now)
    if status is None:
        return None
    facts = Job(
        source="baseten",
        provider="baseten",
        job=job.id,
        status=status,
        project=job.project,
        job_name=job.name,
        gpu_type=job.gpu_type,
        gpus=job.gpus_per_node,
        nodes=1,
        created_at=job.created_at,
        started_at=job.first_run(),
    )
    places = [(metric, str(gpu)) for metric in GPU_METRICS for gpu in range(job.gpus_per_node)]
    places += [(metric, "") for metric in NODE_METRICS]
    points = []
    for metric, gpu in places:
        found = world.samples(job, metric, (NODE, gpu), (now - STEP + 1, now))
        if found:
            times, values = zip(*found, strict=True)
            points.append(Points(metric, labels_of({"node": NODE, "gpu": gpu}), times, values))
    return JobReading(facts, tuple(points))


def live(recording: Recording, rules: Ruleset) -> tuple[Alerts, Recorder, int]:
    """Return what our engine holds firing in each minute, and the engine."""
    job = job_of(recording, T0)
    now = [T0 - BEFORE * STEP]
    world, engine = World([job], lambda: now[0]), Recorder(rules, now[0])
    fired: dict[Labels, list[int]] = {}
    minutes = BEFORE + int(recording.duration // STEP) + AFTER
    for minute in range(minutes):
        one = reading(world, job, now[0])
        engine.tick(now[0], [Poll("baseten", now[0], now[0], readings=() if one is None else (one,))])
        for alert in engine.judge.alerts.values():
            if alert.state is AlertState.FIRING:
                shown = labels_of({**dict(alert.instance), "alertname": alert.rule})
                fired.setdefault(tuple(pair for pair in shown if pair[0] in SHOWN), []).append(minute)
        now[0] += STEP
    return fired, engine, minutes


def exported(engine: Recorder, rules: Ruleset, minutes: int, promtool: Any, named: Any) -> Alerts:
    """Return what Prometheus's engine holds firing in each minute, over the same series."""
    held = {
        named(name, dict(labels)): [seen.get(minute) for minute in range(minutes)]
        for (name, labels), seen in engine.seen.items()
    }
    fired: dict[Labels, list[int]] = {}
    text = re.sub(r"\[(\w+)\]", lambda found: f"[{parse_duration(found[1]) * 1000 - 1:.0f}ms]", export(rules).text)
    for minute, alerts in promtool.firing(text, held, range(minutes)).items():
        for alert in alerts:
            fired.setdefault(tuple(pair for pair in alert if pair[0] in SHOWN), []).append(minute)
    return fired


RUNS = {path.name.partition(".")[0]: read_run(path) for path in bundled()}


def together() -> Recording:
    """The GPUs of one job do what those of the three runs did; it lives as long as the longest."""
    clean = RUNS["r008"]
    series = {
        (metric, str(number) if gpu else ""): values
        for number, run in enumerate(RUNS.values())
        for (metric, gpu), values in run.series.items()
        if gpu or number == 0
    }
    return replace(clean, run="together", series=series, gpus=3)


@pytest.mark.parametrize("run", [*RUNS, "together"])
def test_prometheus_fires_on_what_our_engine_fires_on(run: str, promtool: Any, named: Any) -> None:
    rules = load_rules(starter_rules())
    ours, engine, minutes = live(RUNS.get(run) or together(), rules)
    theirs = exported(engine, rules, minutes, promtool, named)
    assert {dict(key)["alertname"] for key in ours} == RAISED[run]
    assert ours.keys() == theirs.keys()
    assert {key: minutes[0] for key, minutes in ours.items()} == {key: minutes[0] for key, minutes in theirs.items()}
    differ = {(run, dict(key)["alertname"]) for key in ours if ours[key] != theirs[key]}
    assert differ == {key for key in FROZEN if key[0] == run}
