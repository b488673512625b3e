"""What makes two results of a rule the same alert.

As in Prometheus, identity is the rule's name and the labels, never the value or the texts. Labels that
merely describe a job (its name, owner, GPU type) are left out where the job's id is present: a renamed
job is still the same job, and its alert goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from watchdog.model import Labels, labels_of

_DESCRIBE_JOB = frozenset({"job_name", "owner", "gpu_type", "provider", "project_name"})
_DESCRIBE_PROJECT = frozenset({"project_name", "provider"})


def instance_of(labels: Mapping[str, str]) -> Labels:
    """Return the identifying labels of a series that a rule found, metric name left out."""
    if "job" in labels:
        skip = _DESCRIBE_JOB
    elif "project" in labels:
        skip = _DESCRIBE_PROJECT
    else:
        skip = frozenset()
    return labels_of({name: value for name, value in labels.items() if name not in skip and name != "__name__"})


def fingerprint_of(rule: str, instance: Labels, rule_labels: Mapping[str, str]) -> str:
    """Return 16 hex digits that identify an alert: the rule, the instance and the rule's own labels."""
    own = labels_of({name: value for name, value in rule_labels.items() if name != "alertname"})
    text = "\x00".join([rule, *(f"{name}\x01{value}" for name, value in (*instance, ("", ""), *own))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compatible(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two label sets may speak of the same thing: they agree on every name that both have."""
    return all(other.get(name, value) == value for name, value in one.items())
