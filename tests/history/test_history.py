"""What the engine asks of the history: take in, select, know the newest, forget, stay small."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from watchdog.history import FUTURE_TOLERANCE, History, OwnRow, SeriesPoints
from watchdog.history.matrix import FARTHEST
from watchdog.labels import METRIC_NAME
from watchdog.model import Labels
from watchdog.promql.storage import Matcher, MatchOp

T0 = 1_772_442_000.0
"""2026-03-02 09:00:00 UTC, as in the fixtures."""
MakeSeries = Callable[..., SeriesPoints]
MakeBase = Callable[..., Labels]
Samples = Callable[..., list[tuple[float, float]]]


def named(metric: str, *more: Matcher) -> list[Matcher]:
    return [Matcher(METRIC_NAME, MatchOp.EQUAL, metric), *more]


def test_disorder_repeats_and_revisions_end_in_order(history: History, series: MakeSeries, samples: Samples) -> None:
    first = history.ingest([series([60, 0, 120, 60], [1, 2, 3, 4])], 60.0, T0 + 120)
    assert samples(history) == [(0, 2), (60, 4), (120, 3)], "the later of two with equal time counts"
    assert (first.new, first.revised, first.dropped) == (3, 0, {})
    again = history.ingest([series([0, 60, 120, 180], [2, 5, 3, 9])], 60.0, T0 + 180)
    assert samples(history) == [(0, 2), (60, 5), (120, 3), (180, 9)]
    assert (again.new, again.revised) == (1, 1), "a repeat is neither"


def test_late_samples_find_their_place(history: History, series: MakeSeries, samples: Samples) -> None:
    history.ingest([series([0, 300], [1, 2])], 60.0, T0 + 300)
    history.ingest([series([120, -60], [3, 4])], 60.0, T0 + 300)
    assert samples(history) == [(-60, 4), (0, 1), (120, 3), (300, 2)]


def test_several_samples_of_a_slot_are_kept_apart(history: History, series: MakeSeries, samples: Samples) -> None:
    history.ingest([series([0, 61, 119.5], gpu="0"), series([0, 60], gpu="1")], 60.0, T0 + 120)
    history.ingest([series([60, 119.5], [7, 8], gpu="0")], 60.0, T0 + 120)
    assert samples(history, gpu="0") == [(0, 1), (60, 7), (61, 2), (119.5, 8)]
    assert samples(history, gpu="1") == [(0, 1), (60, 2)]


@pytest.mark.parametrize(("age", "kept"), [(3600.5, 0), (3600, 1), (3599.5, 1)])
def test_samples_older_than_the_retention_are_left_out_quietly(
    history: History, series: MakeSeries, age: float, kept: int
) -> None:
    report = history.ingest([series([-age])], 60.0, T0)
    assert (report.new, report.dropped) == (kept, {})
    assert history.stats().series == kept, "no series without samples"


@pytest.mark.parametrize(("ahead", "dropped"), [(-0.5, {}), (0, {}), (0.5, {"future": 1})])
def test_samples_too_far_ahead_are_counted(
    history: History, series: MakeSeries, ahead: float, dropped: dict[str, int]
) -> None:
    report = history.ingest([series([FUTURE_TOLERANCE + ahead])], 60.0, T0)
    assert report.dropped == dropped
    assert report.new == 1 - len(dropped)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_are_counted(
    history: History, series: MakeSeries, base: MakeBase, value: float
) -> None:
    assert history.ingest([series([0, 1], [value, 1])], 60.0, T0 + 1).dropped == {"nan": 1}
    assert history.ingest([series([math.nan, 2])], 60.0, T0 + 2).dropped == {"nan": 1}
    assert history.put_many([OwnRow(base(), "job_gpus", (), value)], T0, 60.0).dropped == {"nan": 1}
    assert history.select(named("job_gpus")) == []


def test_attributes_change_without_a_new_series(history: History, series: MakeSeries, base: MakeBase) -> None:
    history.ingest([series([0], of=base(job_name="old", owner="a"), gpu="0")], 60.0, T0)
    history.ingest([series([60], of=base(job_name="new", gpu_type="H100"), gpu="0")], 60.0, T0 + 60)
    (selection,) = history.select(named("gpu_utilization"))
    assert selection.labels.rows() == [
        {METRIC_NAME: "gpu_utilization", "gpu": "0", "gpu_type": "H100", "job": "j1", "job_name": "new"}
        | {"project": "p1", "source": "cloud"}
    ]
    assert selection.window(-np.inf, np.inf).times.shape == (2, 1)


def test_a_series_moves_when_its_step_changes(history: History, series: MakeSeries, samples: Samples) -> None:
    history.ingest([series([0, 60], gpu="0"), series([0, 60], gpu="1")], 60.0, T0 + 60)
    history.ingest([series([90], [5], gpu="0")], 30.0, T0 + 90)
    assert samples(history, gpu="0") == [(0, 1), (60, 2), (90, 5)]
    assert sorted(s.step for s in history.select(named("gpu_utilization"))) == [30.0, 60.0]
    history.ingest([series([90], [6], gpu="1")], 30.0, T0 + 90)
    assert [s.step for s in history.select(named("gpu_utilization"))] == [30.0]
    assert history.stats().samples == 6


def test_a_step_of_nothing_is_refused(history: History, series: MakeSeries) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        history.ingest([series([0])], 0.0, T0)


def test_own_rows_are_written_at_now(history: History, base: MakeBase, samples: Samples) -> None:
    for minute in range(3):
        rows = [OwnRow(base(job), "job_gpus", (), float(minute)) for job in ("a", "b")]
        report = history.put_many(rows, T0 + 60 * minute, 60.0)
        assert report.new == 2
    assert samples(history, "job_gpus", job="b") == [(0, 0), (60, 1), (120, 2)]


@pytest.mark.parametrize("now", [T0 + 863.7203376, T0 + 863.7207, T0 + 863.7199999])
def test_a_sample_of_this_very_moment_is_not_ahead_of_it(history: History, base: MakeBase, now: float) -> None:
    """The clock does not tell whole milliseconds, times of samples do."""
    history.put_many([OwnRow(base("a"), "job_gpus", (), 8.0)], now, 60.0)
    (selection,) = history.select(named("job_gpus"))
    times, values = selection.latest(now - 300.0, now)
    assert values.tolist() == [8.0]
    assert now - 0.001 < times[0] <= now
    assert history.newest(["job_gpus"], {}) == {"job_gpus": times[0]}
    assert selection.window(now - 300.0, now).times.tolist() == [times.tolist()]


def test_two_samples_of_a_millisecond_are_one(history: History, series: MakeSeries, samples: Samples) -> None:
    report = history.ingest([series([0, 0.0004, 0.001], [1, 2, 3])], 60.0, T0 + 60)
    assert report.new == 2
    assert [value for _, value in samples(history)] == [2, 3]


def test_a_time_without_milliseconds_is_left_out(series: MakeSeries) -> None:
    history = History(math.inf)
    report = history.ingest([series([-FARTHEST - T0, -FARTHEST - T0 - 1, 0], of=(("source", "s"),))], 60.0, T0)
    assert (report.new, report.dropped) == (2, {"nan": 1})


def test_all_series_of_a_metric_are_views(history: History, series: MakeSeries, base: MakeBase) -> None:
    batch = [series([0, 60, 120], of=base(job), gpu=gpu) for job in ("a", "b") for gpu in ("0", "1")]
    history.ingest(batch, 60.0, T0 + 120)
    (every,) = history.select(named("gpu_utilization"))
    window = every.window(T0, T0 + 120)
    assert window.complete
    assert window.times.tolist() == [[T0 + 60] * 4, [T0 + 120] * 4]
    assert not window.values.flags.owndata
    assert not window.values.flags.writeable
    (one,) = history.select(named("gpu_utilization", Matcher("gpu", MatchOp.EQUAL, "1")))
    assert [row["job"] for row in one.labels.rows()] == ["a", "b"]
    assert one.window(T0, T0 + 120).times.shape == (2, 2)


def test_select_without_a_name_goes_over_all_metrics(history: History, series: MakeSeries) -> None:
    history.ingest(
        [series([0], metric=metric) for metric in ("gpu_utilization", "cpu_utilization", "gpu_power_watts")], 60.0, T0
    )

    def metrics(*matchers: Matcher) -> list[str]:
        return sorted(row[METRIC_NAME] for selection in history.select(matchers) for row in selection.labels.rows())

    assert metrics() == ["cpu_utilization", "gpu_power_watts", "gpu_utilization"]
    assert metrics(Matcher(METRIC_NAME, MatchOp.REGEX, "gpu_.*")) == ["gpu_power_watts", "gpu_utilization"]
    assert metrics(Matcher(METRIC_NAME, MatchOp.NOT_EQUAL, "gpu_utilization"), Matcher("job", MatchOp.EQUAL, "j1")) == [
        "cpu_utilization",
        "gpu_power_watts",
    ]
    assert metrics(*named("gpu_utilization"), *named("cpu_utilization")) == []
    assert metrics(*named("nothing")) == []


def test_newest_asks_compatible_series_only(history: History, series: MakeSeries, base: MakeBase) -> None:
    history.ingest(
        [
            series([0, 60], of=base("a"), gpu="0", node="x"),
            series([0, 120], of=base("a"), gpu="1", node="x"),
            series([180], of=base("b"), gpu="0"),
            series([240], of=(("project", "p1"), ("source", "cloud")), metric="cache_utilization"),
        ],
        60.0,
        T0 + 240,
    )
    metrics = ["gpu_utilization", "cache_utilization", "cpu_utilization"]
    gpu = history.newest(metrics, {"source": "cloud", "job": "a", "gpu": "0", "alertname": "x"})
    assert gpu == {"gpu_utilization": T0 + 60, "cache_utilization": T0 + 240, "cpu_utilization": None}
    assert history.newest(metrics, {"gpu": "0"})["gpu_utilization"] == T0 + 180
    assert history.newest(metrics, {"source": "cloud", "job": "a", "project": "p2"})["cache_utilization"] is None
    assert history.newest([], {}) == {}


def test_newest_of_job_does_not_count_own_series(history: History, series: MakeSeries, base: MakeBase) -> None:
    history.put_many([OwnRow(base(), "job_gpus", (), 8.0)], T0 + 600, 60.0)
    assert history.newest_of_job("cloud", "j1") is None
    history.ingest([series([0], gpu="0"), series([60], metric="cpu_utilization")], 60.0, T0 + 60)
    assert history.newest_of_job("cloud", "j1") == T0 + 60
    assert history.newest_of_job("other", "j1") is None


def test_forget_drops_a_job_and_leaves_the_others_whole(
    history: History, series: MakeSeries, base: MakeBase, samples: Samples
) -> None:
    batch = [series([0, 60], [n, n], of=base(job), gpu=gpu) for n, job in enumerate("abcd") for gpu in "01"]
    history.ingest([*batch, series([0], of=base("b"), metric="cpu_utilization")], 60.0, T0 + 60)
    assert history.forget({"source": "cloud", "job": "b"}) == 3
    assert history.forget({"source": "cloud", "job": "b"}) == 0
    assert history.select(named("cpu_utilization")) == []
    for n, job in ((0, "a"), (2, "c"), (3, "d")):
        assert samples(history, job=job, gpu="1") == [(0, n), (60, n)]
    history.ingest([series([120], [9], of=base("d"), gpu="1"), series([120], of=base("b"), gpu="0")], 60.0, T0 + 120)
    assert samples(history, job="d", gpu="1") == [(0, 3), (60, 3), (120, 9)]
    assert samples(history, job="b") == [(120, 1)], "a job that comes back begins anew"
    assert history.forget({}) == 7
    assert history.stats().bytes == 0


def test_trim_drops_slots_and_series_behind_the_retention(
    history: History, series: MakeSeries, samples: Samples
) -> None:
    history.ingest([series([0, 60, 120], gpu="0"), series([0], gpu="1")], 60.0, T0 + 120)
    history.trim(T0 + 3600)
    assert history.stats().series == 2, "exactly at the retention"
    history.trim(T0 + 3660)
    assert samples(history) == [(60, 2), (120, 3)]
    history.trim(T0 + 3780)
    assert history.stats().series == 0


def test_a_clock_set_back_drops_what_was_written_ahead(
    history: History, series: MakeSeries, base: MakeBase, samples: Samples
) -> None:
    history.ingest([series([0, 60])], 60.0, T0 + 60)
    history.put_many([OwnRow(base(), "job_gpus", (), 1.0)], T0 + 86400, 60.0)
    history.ingest([series([86400])], 60.0, T0 + 86400)
    history.trim(T0 + 60)
    assert samples(history) == [(0, 1), (60, 2)]
    assert history.newest_of_job("cloud", "j1") == T0 + 60
    assert history.select(named("job_gpus")) == []
    (selection,) = history.select(named("gpu_utilization"))
    assert selection.latest(-np.inf, np.inf)[1].tolist() == [2.0]


def test_a_jump_of_the_clock_costs_one_row(series: MakeSeries) -> None:
    history = History(retention=math.inf)
    history.ingest([series([0], gpu=str(gpu)) for gpu in range(100)], 60.0, T0)
    size = history.stats().bytes
    history.ingest([series([4e9])], 60.0, T0 + 4e9)
    assert history.stats().bytes - size < 2 * size


def test_memory_does_not_grow_over_a_thousand_ticks(history: History, series: MakeSeries, base: MakeBase) -> None:
    """Jobs come and go, each with the samples of the last five minutes at every tick."""
    sizes = []
    for tick in range(1000):
        now = 60.0 * tick
        jobs = [f"j{(tick + 10 * n) // 100 * 10 + n}" for n in range(10)]
        batch = [series([now - 60.0 * back for back in range(5)], of=base(job), gpu="0") for job in jobs]
        history.ingest(batch, 60.0, T0 + now)
        history.put_many([OwnRow(base(job), "job_gpus", (), 8.0) for job in jobs], T0 + now, 60.0)
        history.trim(T0 + now)
        sizes.append(history.stats().bytes)
    assert max(sizes[500:]) <= max(sizes[100:500])
    samples = 2 * 20 * (60 + 2)  # two metrics, at most 20 jobs within an hour, an hour of slots
    assert sizes[-1] < 16 * samples * 2.5, "16 bytes a sample, with room to grow"


def test_strings_of_jobs_that_are_gone_are_left_behind(
    history: History, series: MakeSeries, base: MakeBase, samples: Samples
) -> None:
    history.ingest([series([0, 60], of=base("stays"), gpu="0")], 60.0, T0 + 60)
    for generation in range(3):
        rows = [OwnRow(base(f"j{generation}-{n}"), "job_gpus", (), 1.0) for n in range(2500)]
        history.put_many(rows, T0 + generation, 60.0)
        history.forget({METRIC_NAME: "job_gpus"})
        history.trim(T0 + 60)
    assert len(history.table) < 5000
    assert samples(history, job="stays", gpu="0") == [(0, 1), (60, 2)]
    history.ingest([series([120], [3], of=base("stays"), gpu="0")], 60.0, T0 + 120)
    assert samples(history, job="stays") == [(0, 1), (60, 2), (120, 3)]
    (selection,) = history.select(named("gpu_utilization", Matcher("job", MatchOp.REGEX, "st.ys")))
    assert selection.labels.table is history.table


def test_from_series_takes_rows_as_they_are(samples: Samples) -> None:
    history = History.from_series(
        [
            ({METRIC_NAME: "up", "job": "a", "empty": ""}, [T0, T0 + 15], [1.0, math.nan]),
            ({METRIC_NAME: "up", "job": "b"}, [T0 + 1e9], [math.inf]),
            ({METRIC_NAME: "up", "job": "a"}, [T0 + 30], [2.0]),
            ({METRIC_NAME: "up", "job": "none"}, [], []),
        ],
        15.0,
    )
    found = samples(history, "up", job="a")
    assert [time for time, _ in found] == [0, 15, 30]
    assert math.isnan(found[1][1]), "NaN is a value here"
    assert samples(history, "up", job="b") == [(1e9, math.inf)]
    assert history.stats().series == 2


@pytest.mark.parametrize(
    ("labels", "times", "values"),
    [
        ({"job": "a"}, [1.0], [1.0]),
        ({METRIC_NAME: "up"}, [1.0, 2.0], [1.0]),
        ({METRIC_NAME: "up"}, [math.nan], [1.0]),
        ({METRIC_NAME: "up"}, [-1e300], [1.0]),
    ],
)
def test_from_series_refuses_what_is_no_series(labels: dict[str, str], times: list[float], values: list[float]) -> None:
    with pytest.raises(ValueError, match="needs a __name__, and a finite time for each value"):
        History.from_series([(labels, times, values)], 15.0)


def test_stats_count_what_is_there(history: History, series: MakeSeries) -> None:
    assert (history.stats().series, history.stats().samples, history.stats().bytes) == (0, 0, 0)
    history.ingest([series([0, 60], gpu="0"), series([60], gpu="1")], 60.0, T0 + 60)
    stats = history.stats()
    assert (stats.series, stats.samples) == (2, 3)
    assert stats.bytes >= 16 * 4
