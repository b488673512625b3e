"""``watchdog run``: the service."""

from __future__ import annotations

import argparse

from watchdog.bootstrap import Service, stop_on_signals
from watchdog.cli import common


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("run", help="the service: poll, evaluate, notify, until SIGTERM")
    common.add_rules(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Run until a signal; return 0 after draining."""
    env = common.environment(logging=True)
    service = Service(common.rules_of(arguments, env), env)
    stop_on_signals(service.stop)
    service.run()
    return 0
