"""``watchdog check``: all errors of a rules file at once."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from watchdog.bootstrap import load_rules, missing, rules_path
from watchdog.cli import common, online
from watchdog.errors import RulesError
from watchdog.rules.model import Ruleset


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("check", help="all errors of a rules file at once")
    parser.add_argument("rules", nargs="?", metavar="RULES", help="rules file or folder (default: WATCHDOG_RULES)")
    parser.add_argument(
        "--online", action="store_true", help="also try each source, each receiver and the store; posts nothing"
    )
    common.add_format(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Print what the file holds, or every mistake in it; return 2 for mistakes, 1 if a try of something failed."""
    env = common.environment()
    path = rules_path(arguments.rules, env.settings)
    try:
        ruleset = load_rules(path)
    except RulesError as error:
        if arguments.format == "text":
            raise
        common.print_json({"ok": False, "problems": [asdict(problem) for problem in error.problems]})
        return 2
    if arguments.online:
        if arguments.format == "text":
            print(_fine(path, ruleset))
        return online.report(ruleset, env, arguments.format)
    lacking = missing(ruleset, env)
    if arguments.format == "json":
        facts = {"checksum": ruleset.checksum, **_counts(ruleset), "missing": lacking}
        common.print_json({"ok": True, "problems": [], **facts})
    else:
        print(_fine(path, ruleset))
        for text in lacking:
            print(f"note: before it can run: {text}")
    return 0


def _fine(path: Path, ruleset: Ruleset) -> str:
    return f"{path} is fine: " + ", ".join(f"{count} {name}" for name, count in _counts(ruleset).items())


def _counts(ruleset: Ruleset) -> dict[str, int]:
    return {
        "sources": len(ruleset.sources),
        "receivers": len(ruleset.receivers),
        "routes": len(ruleset.routes),
        "rules": len(ruleset.rules),
    }
