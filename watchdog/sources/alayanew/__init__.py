"""Alaya NeW Cloud (HyperTrain): training jobs with their metrics. Facts: the provider's API document."""

from __future__ import annotations

from watchdog.sources.alayanew.config import AlayaNewConfig
from watchdog.sources.alayanew.source import AlayaNewSource
from watchdog.sources.base import BuildContext, require_secrets

__all__ = ["AlayaNewConfig", "AlayaNewSource", "build"]


def build(config: AlayaNewConfig, context: BuildContext) -> AlayaNewSource:
    """Return the source. Raises UsageError when a secret that its section names is not set."""
    require_secrets(context.secrets, config.secrets, config.name)
    return AlayaNewSource(config, context)
