"""The rules file."""

from watchdog.rules.json_schema import schema
from watchdog.rules.loader import load

__all__ = ["load", "schema"]
