"""``watchdog explain``: which samples, which values, which state, which route, and why (not)."""

from __future__ import annotations

import argparse

from watchdog.bootstrap import build_sources, stored
from watchdog.cli import common
from watchdog.cli.once import tick
from watchdog.engine.explain import as_json, as_text, explain, rules_named, subjects
from watchdog.errors import QueryError, UsageError


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("explain", help="why each rule fires or does not")
    common.add_rules(parser)
    parser.add_argument("--url", metavar="URL", help="ask a running service, instead of polling once")
    parser.add_argument("--alert", metavar="NAME", help="only this rule")
    parser.add_argument("--job", metavar="JOB", help="only this job (id or name)")
    common.add_format(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Explain a running service, or poll once and judge on top of the stored state; nothing is stored or sent."""
    if arguments.url is None:
        return _fresh(arguments)
    if arguments.rules is not None:
        raise UsageError("a running service has its own rules; leave out -c or --url")
    _show(arguments, _asked(arguments))
    return 0


def _asked(arguments: argparse.Namespace) -> object:
    given = {"alert": arguments.alert, "job": arguments.job, "format": arguments.format}
    form = {name: value for name, value in given.items() if value is not None}
    try:
        with common.client(arguments.url) as client:
            return client.ask("explain", form, api="watchdog")
    except QueryError as error:
        if error.kind == "bad_data":
            raise UsageError(str(error)) from None
        raise


def _fresh(arguments: argparse.Namespace) -> int:
    env = common.environment(logging=True)
    ruleset = common.rules_of(arguments, env)
    names = [rule.name for rule in ruleset.rules]
    if arguments.alert is not None and arguments.alert not in names:
        raise UsageError(f'there is no rule "{arguments.alert}"; there are: {", ".join(names)}')
    engine, _, polls = tick(ruleset, build_sources(ruleset, env), stored(env.settings), env)
    about = subjects(engine, arguments.job)
    told = [explain(engine, rule, one) for rule in rules_named(engine, arguments.alert) for one in about]
    text = arguments.format == "text"
    _show(arguments, "\n\n".join(as_text(item) for item in told) if text else [as_json(item) for item in told])
    return 0 if all(poll.up for poll in polls) else 1


def _show(arguments: argparse.Namespace, told: object) -> None:
    if arguments.format == "json":
        common.print_json(told)
    else:
        print(told)
