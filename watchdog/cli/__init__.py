"""The command line: one module per command, one exit status table.

0 fine; 1 the answer is no (a source cannot be read, a message was not taken); 2 wrong usage or rules.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence

from watchdog import __version__
from watchdog.cli import backtest, check, demo, explain, export, once, query, run, schema, send_test, show, silence
from watchdog.errors import RulesError, UsageError, WatchdogError

EPILOG = "Start with: watchdog demo. Then: watchdog check rules.toml, watchdog run -c rules.toml."


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="watchdog",
        description="Watches GPU training jobs and tells people in Slack when something is wrong or wasted.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"watchdog {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (run, once, check, demo, explain, show, silence, query, backtest, export, send_test, schema):
        module.add_to(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.handle(arguments))
    except RulesError as error:
        for problem in error.problems:
            print(f"error: {problem}", file=sys.stderr)
            if problem.excerpt:
                print(textwrap.indent(problem.excerpt, "    "), file=sys.stderr)
        count = len(error.problems)
        print(f"{count} error{'s' if count != 1 else ''}", file=sys.stderr)
        return 2
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except WatchdogError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
