"""The console: what Slack would show, as text. Used by the demo and by dry runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from watchdog.config import ReceiverConfig
from watchdog.model import IncidentView, Level, Reason, Receipt, Remark
from watchdog.ports import Delivery
from watchdog.receivers.base import TOLD, ReceiverContext, not_yet_told
from watchdog.receivers.text.facts import Fact, facts
from watchdog.receivers.text.findings import Finding, findings
from watchdog.receivers.text.looks import is_over
from watchdog.receivers.text.quantities import utc
from watchdog.receivers.text.wording import change, closing, headline, lateness

FINDINGS = 8


class ConsoleConfig(ReceiverConfig):
    """Prints to standard output; has no options of its own."""


class ConsoleReceiver:
    """Prints an incident once in full, and each change as a line."""

    coalesces = True

    def __init__(self, name: str, write: Callable[[str], None]) -> None:
        self.name = name
        self._write = write

    def deliver(self, delivery: Delivery) -> Receipt:
        """Print; see ``ports.Receiver``. Never fails."""
        told = int((delivery.receipt or {}).get(TOLD, "0"))
        news = not_yet_told(delivery.notifications, told)
        if delivery.receipt is None:
            late = lateness(delivery.notifications[0], delivery.now)
            self._write(f"[{self.name}] {full_text(delivery.current, delivery.now, late)}")
            news = [] if is_over(delivery.current) else news[1:]
        for item in (change(notification, delivery.now) for notification in news):
            late = f" ({item.late})" if item.late else ""
            self._write(f"[{self.name}]   ↳ {utc(item.at)} {item.what}{late}")
        if news and news[-1].reason is Reason.ALL_RESOLVED and closing(delivery.current):
            self._write(f"[{self.name}]     {closing(delivery.current)}")
        return {TOLD: str(max(told, delivery.notifications[-1].sequence))}

    def try_out(self) -> Sequence[Remark]:
        """Say that there is nothing to try; see ``ports.Triable``."""
        return [Remark(Level.OK, "prints to standard output; there is nothing to try")]

    def close(self) -> None:
        """Nothing is kept open."""


def build(config: ConsoleConfig, context: ReceiverContext) -> ConsoleReceiver:
    """Return the receiver; no secret is needed."""
    return ConsoleReceiver(config.name, context.write)


def full_text(view: IncidentView, now: float, late: str = "") -> str:
    """Return an incident as some lines of text."""
    found = findings(view.alerts, view.job)
    lines = [f"{headline(view)} ({late})" if late else headline(view)]
    lines += [f"    {fact.name}: {_fact(fact)}" for fact in facts(view, now)]
    lines += [f"    • {_finding(item)}" for item in found[:FINDINGS]]
    left = len(found) - FINDINGS
    return "\n".join([*lines, f"    and {left} more rules"] if left > 0 else lines)


def _finding(item: Finding) -> str:
    parts = (item.rule, item.severity, item.where, item.state, item.reading, item.note)
    return ", ".join(part for part in parts if part)


def _fact(fact: Fact) -> str:
    text = fact.text if fact.at is None else utc(fact.at)
    return (f"{text} · {fact.more}" if fact.more else text) + _url(fact.url)


def _url(url: str) -> str:
    return f" {url}" if url.isprintable() and url else ""
