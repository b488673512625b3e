"""The rules file."""

from watchdog.rules.json_schema import schema
from watchdog.rules.loader import load
from watchdog.rules.read import checksum

__all__ = ["checksum", "load", "schema"]
