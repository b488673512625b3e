"""``watchdog backtest``: what would these rules have said?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from watchdog.bootstrap import Environment, Material, backtest, from_files, from_providers, load_rules, rules_path
from watchdog.cli import common
from watchdog.cli.backtest_text import comparison_text, replay_text
from watchdog.cli.progress import Progress
from watchdog.config import parse_duration
from watchdog.errors import UsageError
from watchdog.replay import Figures, difference_as_json, difference_of, figures_as_json
from watchdog.rules.model import Ruleset


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("backtest", help="replay history: what would the rules have said, and how often?")
    common.add_rules(parser)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--history", metavar="FILE", nargs="+", type=Path, help="files to replay (docs/backtest.md)")
    where.add_argument("--since", metavar="TIME", type=_duration, help="ask the sources for so much, such as 7d")
    parser.add_argument("--against", metavar="RULES", type=Path, help="other rules to compare with")
    parser.add_argument("--job", metavar="JOB", default="", help="the job of files that name none (default: the file)")
    parser.add_argument("--lag", metavar="TIME", type=_duration, default=0.0, help="how late samples come (default: 0)")
    parser.add_argument(
        "--timezone", metavar="ZONE", type=_zone, default="UTC", help="of times without one (default: UTC)"
    )
    common.add_format(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Print figures; 1 where something could not be read or evaluated, 2 for wrong rules, files or options."""
    env = common.environment()
    paths = [rules_path(arguments.rules, env.settings), *([arguments.against] if arguments.against else [])]
    rulesets = [load_rules(path) for path in paths]
    material = _material(arguments, rulesets, env)
    found = [_replayed(ruleset, path, material, env) for ruleset, path in zip(rulesets, paths, strict=True)]
    _show(arguments.format, [str(path) for path in paths], found, material.errors)
    for error in material.errors:
        print(f"warning: {error}", file=sys.stderr)
    failed = [rule for figures in found for rule in figures.rules if rule.failed_ticks]
    for rule in failed:
        print(f"warning: {rule.rule} failed at {rule.failed_ticks} ticks: {rule.error}", file=sys.stderr)
    return 1 if material.errors or failed else 0


def _material(arguments: argparse.Namespace, rulesets: Sequence[Ruleset], env: Environment) -> Material:
    if arguments.history:
        material = from_files(arguments.history, rulesets[0], arguments.job, arguments.timezone)
        return replace(material, lag=arguments.lag)
    if arguments.job:
        raise UsageError("--job names the job of files; leave it out with --since")
    return replace(from_providers(rulesets, env, arguments.since), lag=arguments.lag)


def _replayed(ruleset: Ruleset, path: Path, material: Material, env: Environment) -> Figures:
    progress = Progress(sys.stderr, str(path))
    try:
        return backtest(ruleset, material, env, progress)
    finally:
        progress.clear()


def _show(form: str, paths: Sequence[str], found: Sequence[Figures], errors: Sequence[str]) -> None:
    plain = [{"rules_file": path, **figures_as_json(one)} for path, one in zip(paths, found, strict=True)]
    if len(found) == 1:
        print(replay_text(found[0])) if form == "text" else common.print_json({**plain[0], "errors": list(errors)})
        return
    difference = difference_of(*found)
    if form == "text":
        print(comparison_text(paths, found, difference))
        return
    both = {"first": plain[0], "second": plain[1], "difference": difference_as_json(difference)}
    common.print_json({**both, "errors": list(errors)})


def _duration(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds <= 0:
        raise argparse.ArgumentTypeError("is not above 0; write how far to look back, such as 7d")
    return seconds


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # not a name, a folder of the database, not in it
        raise argparse.ArgumentTypeError(f'"{name}" is no time zone; write one such as Europe/Berlin') from None
