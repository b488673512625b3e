"""The way out: the same rules for Prometheus, vmalert and Mimir."""

from watchdog.export.prometheus import Exported, Note, export, poll_interval

__all__ = ["Exported", "Note", "export", "poll_interval"]
