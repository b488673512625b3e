"""What every source is built from, how the registry lists it, and what all sources do alike."""

from __future__ import annotations

from watchdog.sources.base.fields import BaseUrl, Ids, Seconds
from watchdog.sources.base.pages import WithPages
from watchdog.sources.base.polls import (
    BuildContext,
    SourceType,
    patience,
    require_secrets,
    secret_or_raise,
    slow_retry,
    unread,
)
from watchdog.sources.base.workers import run_all

__all__ = [
    "BaseUrl",
    "BuildContext",
    "Ids",
    "Seconds",
    "SourceType",
    "WithPages",
    "patience",
    "require_secrets",
    "run_all",
    "secret_or_raise",
    "slow_retry",
    "unread",
]
