from __future__ import annotations

import pytest

from watchdog.alerts.identity import compatible, fingerprint_of, instance_of


def test_a_renamed_job_is_the_same_instance() -> None:
    one = {"source": "b", "job": "1", "job_name": "old", "owner": "x", "gpu_type": "H100", "provider": "p", "gpu": "0"}
    assert instance_of(one) == instance_of({**one, "job_name": "new", "owner": "y", "gpu_type": "H200"})
    assert instance_of(one) == (("gpu", "0"), ("job", "1"), ("source", "b"))


def test_descriptions_identify_where_there_is_no_job() -> None:
    assert instance_of({"owner": "x"}) == (("owner", "x"),)
    assert instance_of({"project": "p", "project_name": "n", "owner": "x"}) == (("owner", "x"), ("project", "p"))


def test_the_metric_name_is_no_part_of_the_identity() -> None:
    assert instance_of({"__name__": "gpu_utilization", "source": "b"}) == (("source", "b"),)


def test_fingerprints_tell_rules_instances_and_rule_labels_apart() -> None:
    base = fingerprint_of("R", (("job", "1"),), {})
    assert base == fingerprint_of("R", (("job", "1"),), {"alertname": "R"})
    others = {
        fingerprint_of("S", (("job", "1"),), {}),
        fingerprint_of("R", (("job", "2"),), {}),
        fingerprint_of("R", (("job", "1"),), {"severity": "critical"}),
        fingerprint_of("R", (), {"job": "1"}),
    }
    assert len(others) == 4
    assert base not in others
    assert len(base) == 16


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"job": "a", "gpu": "0"}, {"job": "a", "gpu": "0", "node": "x"}, True),
        ({"job": "a", "gpu": "0"}, {"job": "a", "gpu": "1"}, False),
        ({"job": "a"}, {"job": "a", "gpu": "1"}, True),
        ({}, {"job": "a"}, True),
        ({"job": "a"}, {"source": "s"}, True),
    ],
)
def test_compatible(one: dict[str, str], other: dict[str, str], expected: bool) -> None:
    assert compatible(one, other) is expected
    assert compatible(other, one) is expected
