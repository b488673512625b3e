"""Sources: where jobs and samples come from. One package per provider, one line here."""

from __future__ import annotations

from watchdog.sources import alayanew, baseten
from watchdog.sources.base import BuildContext, SourceType, WithPages

__all__ = ["SOURCE_TYPES", "BuildContext", "SourceType", "WithPages"]

SOURCE_TYPES: dict[str, SourceType] = {
    "alayanew": SourceType(alayanew.AlayaNewConfig, alayanew.build),
    "baseten": SourceType(baseten.BasetenConfig, baseten.build),
}
"""By the ``type`` of a ``[[sources]]`` table."""
