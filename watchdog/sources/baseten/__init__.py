"""Baseten: training jobs of an organisation, with their metrics. Facts: the provider's API document."""

from __future__ import annotations

from watchdog.sources.base import BuildContext, require_secrets
from watchdog.sources.baseten.config import BasetenConfig
from watchdog.sources.baseten.source import BasetenSource

__all__ = ["BasetenConfig", "BasetenSource", "build"]


def build(config: BasetenConfig, context: BuildContext) -> BasetenSource:
    """Return the source. Raises UsageError when its key is not set."""
    require_secrets(context.secrets, (config.api_key,), config.name)
    return BasetenSource(config, context)
