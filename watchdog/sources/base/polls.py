"""What a source is built from, and the parts of a poll that no provider changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from watchdog.config import EnvRef, SourceConfig
from watchdog.errors import SourceError, SourceErrorKind, UsageError
from watchdog.model import Job, JobReading
from watchdog.ports import Clock, Secrets, Source
from watchdog.vocabulary import RESOURCE_METRICS

_ACT = frozenset({SourceErrorKind.CREDENTIALS, SourceErrorKind.CONFIGURATION})
"""Errors that go on until somebody acts."""


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What the composition root gives to a source."""

    interval: float
    """Seconds between polls: the source's own, else the ``[poll]`` table's."""
    secrets: Secrets
    clock: Clock
    sleep: Callable[[float], None]
    """Waits this many seconds of ``clock``."""


@dataclass(frozen=True, slots=True)
class SourceType:
    """One kind of source: the model of its section in the rules file, and what builds it."""

    config: type[SourceConfig]
    build: Callable[[Any, BuildContext], Source]
    """Takes an instance of ``config`` and the context. Raises UsageError for a secret that is not set."""


def require_secrets(secrets: Secrets, refs: Iterable[EnvRef], source: str) -> None:
    """Raise UsageError naming the first variable of ``refs`` that is not set."""
    for ref in refs:
        if not secrets.find(ref.env):
            raise UsageError(f'source "{source}": {ref.env} is not set; set it, or {ref.env}_FILE')


def secret_or_raise(secrets: Secrets, ref: EnvRef) -> str:
    """Return the secret that ``ref`` names, as it is now. Raises SourceError (credentials) naming the variable."""
    found = (secrets.find(ref.env) or "").strip()
    if not found:
        text = f"{ref.env} is not set; set it, or {ref.env}_FILE"
        raise SourceError(SourceErrorKind.CREDENTIALS, text)
    if not found.isascii() or not found.isprintable() or " " in found:
        text = f"{ref.env} holds characters that no key has (a space, a line break or a letter outside ASCII)"
        raise SourceError(SourceErrorKind.CREDENTIALS, f"{text}; copy it again")
    return found


def patience(interval: float) -> float:
    """Return the seconds that one poll may take: its interval, at least 60 s, and below the core's "silent" limit."""
    return min(max(interval, 60.0), 240.0)


def slow_retry(error: SourceError, interval: float) -> float | None:
    """Return the seconds to wait before the next poll after ``error``: ten intervals where somebody has to act."""
    if error.kind in _ACT:
        return min(max(10.0 * interval, 300.0), 3600.0)
    return error.retry_after


def unread(job: Job, error: str) -> JobReading:
    """Return the reading of a job whose metrics could not be read: all unknown, its last state kept."""
    return JobReading(job, failed_metrics=RESOURCE_METRICS, error=error)
