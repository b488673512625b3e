"""``watchdog schema``: the JSON Schema of the rules file, for editors."""

from __future__ import annotations

import argparse

from watchdog.bootstrap import rules_schema
from watchdog.cli import common


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("schema", help="JSON Schema of the rules file, for editors")
    parser.set_defaults(handle=handle)


def handle(_: argparse.Namespace) -> int:
    """Print the schema."""
    common.print_json(rules_schema())
    return 0
