"""``watchdog once``: one tick."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence

from watchdog.bootstrap import (
    Environment,
    build_engine,
    build_program,
    build_receivers,
    build_sources,
    held_store,
    stored,
)
from watchdog.cli import common
from watchdog.delivery import Sender, SenderDelivery, drain
from watchdog.engine.engine import Engine, TickResult
from watchdog.model import Poll, Snapshot
from watchdog.ports import Source
from watchdog.receivers import console_receiver
from watchdog.receivers.console import ConsoleConfig
from watchdog.rules.model import Ruleset
from watchdog.service import report
from watchdog.service.poller import Poller


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("once", help="one tick: poll, evaluate, notify, and end")
    common.add_rules(parser)
    parser.add_argument("--dry-run", action="store_true", help="print what would be sent; send and store nothing")
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Run one tick; return 1 when a source could not be read or a message was not taken."""
    env = common.environment(logging=True)
    ruleset = common.rules_of(arguments, env)
    return dry_run(ruleset, env) if arguments.dry_run else real_run(ruleset, env)


def real_run(ruleset: Ruleset, env: Environment) -> int:
    """Poll, evaluate, commit, deliver."""
    with held_store(env.settings) as store:
        sources = build_sources(ruleset, env)
        receivers = build_receivers(ruleset, env)
        engine, result, polls = tick(ruleset, sources, store.load(), env)
        store.commit(result.changes)
        report.tick(result, polls, engine)
        senders = {name: Sender(one, store, clock=env.clock, on_event=report.sender) for name, one in receivers.items()}
        # Those that print share one output, and never wait: one after the other, so that it reads the same each time.
        printing = [senders.pop(config.name) for config in ruleset.receivers if isinstance(config, ConsoleConfig)]
        delivered = drain([printing, *([sender] for sender in senders.values())], env.clock())
        for receiver in receivers.values():
            receiver.close()
    return 0 if delivered and all(poll.up for poll in polls) else 1


def dry_run(ruleset: Ruleset, env: Environment) -> int:
    """Poll and evaluate on top of the stored state; print what would be sent, change nothing."""
    sources = build_sources(ruleset, env)
    engine, result, polls = tick(ruleset, sources, stored(env.settings), env)
    report.tick(result, polls, engine, dry=True)
    count = len(result.notifications)
    print(f"{count} message{'s' if count != 1 else ''} would be sent")
    for row in result.notifications:
        delivery = SenderDelivery(
            notifications=(row,),
            current=row.view,
            receipt=None,
            now=env.clock(),
            plain=False,
            maybe_sent=False,
            keeper=lambda _: None,
        )
        console_receiver(row.receiver, print).deliver(delivery)
    return 0 if all(poll.up for poll in polls) else 1


def tick(
    ruleset: Ruleset, sources: Mapping[str, Source], snapshot: Snapshot, env: Environment
) -> tuple[Engine, TickResult, Sequence[Poll]]:
    """Poll all sources side by side and run the engine once; polls are in the order of the sources."""
    engine = build_engine(build_program(ruleset, sources), snapshot, env)
    turns = {name: (source, ruleset.interval) for name, source in sources.items()}
    poller = Poller(turns, env.clock, workers=max(1, len(turns)))
    poller.start(env.clock(), engine.request)
    polls = poller.collect(math.inf, lambda: False)
    poller.close()
    return engine, engine.tick(env.clock(), polls), polls
