"""What a selector gives: the protocol of ``promql.storage``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from watchdog.history import History, SeriesPoints
from watchdog.model import Labels
from watchdog.promql.storage import Matcher, MatchOp, Selection, Storage

T0 = 1_772_442_000.0


def test_labels_step_and_samples_belong_together(
    history: History, series: Callable[..., SeriesPoints], base: Callable[..., Labels]
) -> None:
    history.ingest([series([0, 60], [n, n + 10], of=base(f"j{n}"), gpu="0") for n in range(5)], 60.0, T0 + 60)
    storage: Storage = history
    wanted = [Matcher("__name__", MatchOp.EQUAL, "gpu_utilization"), Matcher("job", MatchOp.REGEX, "j[024]")]
    found: Selection = storage.select(wanted)[0]
    assert found.step == 60.0
    assert found.labels.size == 3
    assert found.labels is found.labels
    assert found.labels.table is storage.table
    jobs = [row["job"] for row in found.labels.rows()]
    assert jobs == ["j0", "j2", "j4"]
    assert found.window(T0 - 1, T0 + 60).values.tolist() == [[0, 2, 4], [10, 12, 14]]
    np.testing.assert_array_equal(found.latest(T0, T0 + 60), [[T0 + 60] * 3, [10, 12, 14]])
