"""``watchdog run``: the service."""

from __future__ import annotations

import argparse

from watchdog.bootstrap import Service, load_rules, reload_on_hangup, rules_path, stop_on_signals
from watchdog.cli import common


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("run", help="the service: poll, evaluate, notify, until SIGTERM")
    common.add_rules(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Run until a signal; return 0 after draining."""
    env = common.environment(logging=True)
    path = rules_path(arguments.rules, env.settings)
    service = Service(load_rules(path), env, path)
    stop_on_signals(service.stop)
    reload_on_hangup(service.reload)
    service.run()
    return 0
