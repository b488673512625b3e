"""Live and backtest are one engine: from the same arrivals come the same changes, also through history files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from watchdog.bootstrap import Material, backtest, build_engine, build_program, from_files
from watchdog.model import Changes, JobStatus, Poll, Snapshot
from watchdog.replay import Arrival, replay

Cloud = Any
KINDS = ("baseten", "alaya")


def live(cloud: Cloud, story: Sequence[tuple[int, float]]) -> tuple[list[Arrival], list[Changes]]:
    """Watch a simulated cloud whose GPUs are as busy as the story says, each part so many minutes."""
    arrivals, changes = [], []
    for minutes, busy in story:
        cloud.busy(busy)
        for _ in range(minutes):
            now = cloud.now[0]
            polls = [source.poll(cloud.engine.request(name, now)) for name, source in cloud.sources.items()]
            arrivals.append(Arrival(now, polls))
            changes.append(cloud.engine.tick(now, polls).changes)
            cloud.now[0] = (now // 60.0 + 1) * 60.0
    return arrivals, changes


STORY = ((20, 0.9), (40, 0.01), (30, 0.8), (25, 0.02), (10, 0.7))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_arrivals_give_the_same_changes(cloud: Callable[[str, float], Cloud], kind: str) -> None:
    here = cloud(kind, 0.9)
    start = here.now[0]
    arrivals, changes = live(here, STORY)
    assert sum(bool(one.outbox) for one in changes) > 3
    program = build_program(here.rules, here.sources)
    here.now[0] = start
    again = [result.changes for _, result in replay(build_engine(program, Snapshot(), here.env), arrivals)]
    assert again == changes


def transitions(changes: Sequence[Changes]) -> list[tuple[float, str, str, dict[str, str]]]:
    """When which alert began to fire or was over."""
    return [
        (one.at, alert.rule, alert.state.value, dict(alert.instance))
        for one in changes
        for alert in one.alerts
        if one.at in (alert.fired_at, alert.resolved_at)
    ]


def open_metrics(arrivals: Sequence[Arrival]) -> Iterator[str]:
    """What was polled, as a history file."""
    seen: set[tuple[str, float]] = set()
    for now, polls in arrivals:
        for labels, metric, time, value in samples(polls, now):
            name = ",".join(f'{key}="{text}"' for key, text in labels.items())
            line = f"{metric}{{{name}}}"
            if (line, time) not in seen:
                seen.add((line, time))
                yield f"{line} {value!r} {time!r}\n"
    yield "# EOF\n"


def samples(polls: Sequence[Poll], now: float) -> Iterator[tuple[dict[str, str], str, float, float]]:
    for poll in polls:
        for reading in poll.readings:
            base = dict(reading.job.labels)
            for points in reading.points:
                for time, value in zip(points.times, points.values, strict=True):
                    yield {**base, **dict(points.labels)}, points.metric, time, value
            for status in JobStatus:
                yield {**base, "status": status.value}, "job_status", now, float(status is reading.job.status)
            if reading.job.gpus is not None:
                yield base, "job_gpus", now, float(reading.job.gpus)


@pytest.mark.parametrize("kind", KINDS)
def test_a_history_file_of_what_was_polled_gives_the_same_transitions(
    cloud: Callable[[str, float], Cloud], kind: str, tmp_path: Path
) -> None:
    here = cloud(kind, 0.9)
    start = here.now[0]
    arrivals, changes = live(here, STORY)
    file = tmp_path / "history.om"
    file.write_text("".join(open_metrics(arrivals)), encoding="utf-8")
    material = from_files([file], here.rules, "", UTC)
    found = backtest(here.rules, Material(material.recording, start), here.env, lambda done, total: None)
    replayed = [(one.start, one.alert.rule, "firing", dict(one.alert.instance)) for one in found.firings]
    replayed += [(one.end, one.alert.rule, "inactive", dict(one.alert.instance)) for one in found.firings if one.end]
    assert len(replayed) > 4
    assert sorted(replayed, key=str) == sorted(transitions(changes), key=str)
    assert found.messages == sum(len(one.outbox) for one in changes)
    assert found.pings == sum(row.ping for one in changes for row in one.outbox)
