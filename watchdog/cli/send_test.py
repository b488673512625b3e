"""``watchdog send-test``: one real message, to see that a receiver works."""

from __future__ import annotations

import argparse
import uuid
from dataclasses import dataclass

from watchdog.bootstrap import Environment, build_receiver
from watchdog.cli import common
from watchdog.errors import UsageError
from watchdog.model import AlertView, IncidentView, Notification, Reason, Receipt


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("send-test", help="send one real message to a receiver")
    parser.add_argument("receiver", metavar="RECEIVER", help="the receiver's name in the rules file")
    common.add_rules(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Send; the receiver's refusal is the error (exit status 1)."""
    env = common.environment(logging=True)
    ruleset = common.rules_of(arguments, env)
    configs = {config.name: config for config in ruleset.receivers}
    if arguments.receiver not in configs:
        known = ", ".join(sorted(configs)) or "none"
        raise UsageError(f'the rules file has no receiver "{arguments.receiver}"; it has: {known}')
    receiver = build_receiver(configs[arguments.receiver], env)
    try:
        receiver.deliver(SampleDelivery.make(receiver.name, env))
    finally:
        receiver.close()
    print(f"{receiver.name} took the test message")
    return 0


@dataclass(frozen=True, slots=True)
class SampleDelivery:
    """A delivery of one made-up event that asks nobody to do anything."""

    notifications: tuple[Notification, ...]
    current: IncidentView
    now: float
    receipt: Receipt | None = None
    plain: bool = False
    maybe_sent: bool = False

    def keep(self, receipt: Receipt) -> None:
        """Nothing follows a test message."""

    def recent(self) -> Receipt | None:
        """Return None: the store is not asked."""
        return None

    @classmethod
    def make(cls, receiver: str, env: Environment) -> SampleDelivery:
        """Make a delivery that says what it is."""
        now, number = env.clock(), uuid.uuid4().hex[:12]
        alert = AlertView(
            fingerprint=number,
            name="WatchdogTest",
            status="firing",
            severity="info",
            labels=(("alertname", "WatchdogTest"), ("severity", "info")),
            summary="This is a test message of watchdog: alerts for this receiver will arrive here",
            description="Nothing is wrong and nothing needs to be done.",
            runbook_url="",
            starts_at=now,
            ends_at=None,
            value=None,
            worst=None,
            unknown=False,
            event=True,
            end_reason="",
            expr="",
        )
        view = IncidentView(
            id=number,
            group_key='{}:{alertname="WatchdogTest"}',
            group_labels=(("alertname", "WatchdogTest"),),
            status="resolved",
            severity="info",
            opened_at=now,
            closed_at=now,
            alerts=(alert,),
            job=None,
        )
        row = Notification(
            id=f"{number}-{receiver}-1",
            incident=number,
            receiver=receiver,
            sequence=1,
            reason=Reason.EVENT,
            ping=False,
            created_at=now,
            changed=(number,),
            view=view,
        )
        return cls((row,), view, now)
