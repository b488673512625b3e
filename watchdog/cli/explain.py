"""``watchdog explain``: which samples, which values, which state, which route, and why (not)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict

from watchdog.bootstrap import build_sources, stored
from watchdog.cli import common
from watchdog.cli.once import tick
from watchdog.engine.explain import Explanation, Input, Instance, explain
from watchdog.errors import UsageError

SHOWN = 16
"""Series shown of one rule; the rest is counted."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("explain", help="why each rule fires or does not, on fresh data")
    common.add_rules(parser)
    parser.add_argument("--alert", metavar="NAME", help="only this rule")
    parser.add_argument("--job", metavar="JOB", help="only this job (id or name)")
    common.add_format(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Poll once, judge on top of the stored state, and print; nothing is stored or sent."""
    env = common.environment(logging=True)
    ruleset = common.rules_of(arguments, env)
    names = [rule.name for rule in ruleset.rules]
    if arguments.alert is not None and arguments.alert not in names:
        raise UsageError(f'there is no rule "{arguments.alert}"; the file has: {", ".join(names)}')
    engine, _, polls = tick(ruleset, build_sources(ruleset, env), stored(env.settings), env)
    now = env.clock()
    told = [
        explain(engine, rule, arguments.job, now)
        for rule in engine.program.rules
        if arguments.alert in (None, rule.rule.name)
    ]
    if arguments.format == "json":
        common.print_json([asdict(item) for item in told])
    else:
        print("\n\n".join(_text(item) for item in told))
    return 0 if all(poll.up for poll in polls) else 1


def _text(item: Explanation) -> str:
    lines = [f"{item.rule} ({item.place}) {item.verdict}", f"  expr   {item.expr}"]
    if item.clear_expr:
        lines.append(f"  clear  {item.clear_expr}")
    if item.terms:
        lines.append("  terms  " + ", ".join(f"{name}={_short(value)}" for name, value in item.terms.items()))
    lines += [f"  read   {_input(one)}" for one in item.inputs[:SHOWN]]
    if len(item.inputs) > SHOWN:
        lines.append(f"  read   and {len(item.inputs) - SHOWN} more series")
    lines += [f"  alert  {_instance(one)}" for one in item.instances[:SHOWN]]
    if len(item.instances) > SHOWN:
        lines.append(f"  alert  and {len(item.instances) - SHOWN} more")
    return "\n".join(lines)


def _input(one: Input) -> str:
    labels = _labels({key: one.labels[key] for key in ("source", "job", "node", "gpu", "status") if key in one.labels})
    if one.samples is not None:
        return f"{one.selector} {labels} {one.samples} of {one.expected:.0f} samples"
    return f"{one.selector} {labels} = {_short(one.value)}"


def _instance(one: Instance) -> str:
    where = f" → {', '.join(one.receivers)} by {', '.join(one.routes)}" if one.receivers else ""
    value = "" if one.value is None else f" value {_short(one.value)}"
    return f"{_labels(dict(one.labels))} {one.state}{value}: {one.why}{where}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}={value}" for key, value in labels.items()) + "}"


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
