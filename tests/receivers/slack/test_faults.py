"""A seeded walk through everything that can go wrong between us and Slack; the outcome must not show it."""

import random
from typing import Any

import pytest

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import Reason
from watchdog.simulated.slack import Fault

ID = "C0GPUALERTS"
STORY = [Reason.FIRST, Reason.NEW_ALERTS, Reason.REPEAT, Reason.SEVERITY, Reason.REFIRED, Reason.ALL_RESOLVED]
FAULTS = [
    Fault(status=502, accept=True),
    Fault(status=504),
    Fault(code="fatal_error", accept=True),
    Fault(code="fatal_error"),
    Fault(status=429, code="ratelimited", retry_after=7),
    Fault(accept=True),
]


class KilledError(Exception):
    """The process died at the moment that it wrote a receipt, just after writing it."""


def walk(bench: Any, make: Any, seed: int) -> None:
    """Deliver the story as a sender would, over faults and deaths, until all of it is told."""
    chance = random.Random(seed)
    rows = [make.note(reason=reason, sequence=n) for n, reason in enumerate(STORY[:-1], 1)]
    rows.append(make.resolved(len(STORY)))
    kept: dict[str, Any] = {"receipt": None}

    def keep(receipt: Any) -> None:
        kept["receipt"] = dict(receipt)
        if chance.random() < 0.2:
            raise KilledError

    position, maybe_sent = 0, False
    receiver = bench.build("slack", channel=ID)
    while position < len(rows):
        size = chance.randint(1, 2)
        batch = rows[position : position + size]
        if chance.random() < 0.6:
            bench.slack.fail(chance.choice(FAULTS))
        delivery = make.delivery(*batch, receipt=kept["receipt"], now=bench.clock.now, maybe_sent=maybe_sent)
        delivery.keep = keep
        try:
            kept["receipt"] = receiver.deliver(delivery)
            position, maybe_sent = position + len(batch), False
        except DeliveryError as error:
            if error.kind is not DeliveryErrorKind.TRANSIENT:
                raise
            maybe_sent = maybe_sent or error.ambiguous
            bench.clock.now += error.retry_after or 2.0
        except KilledError:
            maybe_sent = True
            receiver = bench.build("slack", channel=ID)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_fails_people_read_each_change_once(bench: Any, make: Any, seed: int) -> None:
    walk(bench, make, seed)
    slack = bench.slack.workspace
    [parent] = slack.parents()
    assert parent.text.startswith("✅")
    said = "\n".join(reply.text for reply in slack.thread(parent.ts)).replace("Now: Resolved", "Now:")
    for word in ("New alerts", "Still firing", "Severity raised", "Fired again", "Resolved after"):
        assert said.count(word) == 1
    assert bench.slack.too_early == []
