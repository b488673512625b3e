"""``watchdog export``: the same rules for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from watchdog.cli import common
from watchdog.config import parse_duration
from watchdog.errors import UsageError
from watchdog.export import Note, export


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("export", help="the same rules as a rule file of Prometheus, vmalert or Mimir")
    parser.add_argument("kind", choices=("prometheus",), help="what to write")
    common.add_rules(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="where to write it (default: print it)")
    parser.add_argument(
        "--interval", metavar="TIME", type=_interval, help="how often watchdog is scraped (default: its poll interval)"
    )
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Write the rule file; what it does not carry over goes to standard error."""
    ruleset = common.rules_of(arguments, common.environment())
    exported = export(ruleset, arguments.interval)
    if arguments.output is None:
        print(exported.text, end="")
    else:
        _write(arguments.output, exported.text)
    for note in exported.notes:
        print(f"note: {_said(note)}", file=sys.stderr)
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _said(note: Note) -> str:
    return f"{note.rule}: {note.text}" if note.rule else note.text


def _interval(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds < 1:
        raise argparse.ArgumentTypeError('must be "1s" or more')
    return seconds
