"""What is let in, and what is counted as left out."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from watchdog.history.intake import acceptable


@pytest.mark.parametrize(
    ("time", "value", "kept", "counted"),
    [
        (99.9, 1.0, False, {}),
        (100.0, 1.0, True, {}),
        (100.1, 1.0, True, {}),
        (199.9, 1.0, True, {}),
        (200.0, 1.0, True, {}),
        (200.1, 1.0, False, {"future": 1}),
        (150.0, math.nan, False, {"nan": 1}),
        (150.0, math.inf, False, {"nan": 1}),
        (math.nan, 1.0, False, {"nan": 1}),
        (math.inf, 1.0, False, {"nan": 1}),
        (-math.inf, 1.0, False, {"nan": 1}),
        (999.0, math.nan, False, {"nan": 1}),
    ],
)
def test_one_sample(time: float, value: float, kept: bool, counted: dict[str, int]) -> None:
    dropped: Counter[str] = Counter()
    columns, times, values = acceptable(
        (np.array([7, 8]), np.array([150.0, time]), np.array([1.0, value])), 100.0, 200.0, dropped
    )
    assert columns.tolist() == ([7, 8] if kept else [7])
    assert times.tolist() == ([150.0, time] if kept else [150.0])
    assert len(values) == len(columns)
    assert {reason: count for reason, count in dropped.items() if count} == counted
