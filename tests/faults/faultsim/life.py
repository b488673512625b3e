"""One life of the process: from the start to its death, or to the end of the history."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from unittest.mock import patch

import httpx

import watchdog.receivers.webhook
import watchdog.sources.baseten.source
from faultsim.clock import Agent, Pulse, Timeline
from faultsim.dice import Dice
from faultsim.disk import Disk, open_store
from faultsim.wire import Wire, opened, transport
from watchdog.bootstrap.build import Environment, GivenSecrets, build_engine, build_program, build_receivers
from watchdog.bootstrap.build import build_sources as real_sources
from watchdog.delivery import Sender, SenderEvent
from watchdog.delivery.decide import Policy
from watchdog.errors import StoreError
from watchdog.model import Poll, PollRequest
from watchdog.ports import Receiver, Source
from watchdog.receivers.webhook import WebhookConfig
from watchdog.rules.model import Ruleset
from watchdog.service.guard import Guard
from watchdog.service.loop import Loop
from watchdog.service.notices import Notices
from watchdog.service.poller import Poller
from watchdog.settings import Settings
from watchdog.simulated import baseten, slack
from watchdog.simulated.server import Request, Response

SECRETS = {"BASETEN_API_KEY": baseten.KEY, "SLACK_BOT_TOKEN": slack.TOKEN, "HOOK_URL": "http://hook.sim/geheim-5f1c"}

POLICY = Policy(idle_wait=600.0)
"""A sender that has nothing to send need not look: whoever commits wakes it."""


def one_by_one(read: Callable[[Any], Any], items: Sequence[Any], threads: int, stopped: Any) -> list[Any]:
    """Stand in for ``run_all``: threads would make the order of draws a matter of luck."""
    return [read(item) for item in items]


class Polls:
    """Stands in for the poller, without its threads: a poll is over when it is started."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self._sources = sources
        self._done: list[Poll] = []

    def start(self, now: float, request: Callable[[str, float], PollRequest]) -> None:
        """Poll everything."""
        self._done = [source.poll(request(name, now)) for name, source in self._sources.items()]

    def collect(self, patience: float, stopped: Callable[[], bool]) -> list[Poll]:
        """Return what was read."""
        return self._done


class Life:
    """A process. Everything of it but the disk is gone when it dies."""

    def __init__(
        self,
        rules: Ruleset,
        timeline: Timeline,
        dice: Dice,
        disk: Disk,
        wires: dict[str, Wire],
        on_event: Callable[[SenderEvent], None],
    ) -> None:
        self.pulse = Pulse()
        self.timeline = timeline
        env = SimEnvironment(Settings(), GivenSecrets(SECRETS), clock=timeline.clock, timeline=timeline)
        for wire in wires.values():
            wire.pulse = self.pulse
        self.store = open_store(disk, dice, self.pulse, wires["slack"].watch.committed)
        self.receivers = build_receivers(rules, env)
        sources = _sources(rules, env, wires["cloud"])
        self._rules, self._env = rules, env
        self.dice = dice
        self._sources = sources
        self.on_event = on_event
        """Called with what becomes of notifications."""

    def begin(self) -> None:
        """Load the state and put the agents onto the timeline. Raises StoreError when the store cannot be read."""
        env, rules = self._env, self._rules
        snapshot = self.store.load()
        engine = build_engine(build_program(rules, self._sources), snapshot, env)
        names = {config.name: config.send_resolved for config in rules.receivers}
        notices = Notices(
            names, snapshot.meta, self.store.commit, lambda name: self.store.outbox_depth().get(name, 0), env.clock
        )
        notices.settle()
        self.senders = {name: SenderAgent(self, receiver, notices) for name, receiver in self.receivers.items()}
        self.loop = Loop(
            engine=engine,
            poller=cast("Poller", Polls(self._sources)),
            store=self.store,
            clock=env.clock,
            guard=Guard(),
            period=rules.interval,
            wake=self._wake,
        )
        self.ticker = Agent(self._tick, self.timeline.now)
        self.timeline.agents = [self.ticker, *(sender.agent for sender in self.senders.values())]

    def end(self) -> None:
        """Die, or stop: nothing is left on the timeline."""
        self.pulse.dead = True
        self.timeline.agents = []
        self.store.close()
        for source in self._sources.values():
            source.close()
        for receiver in self.receivers.values():
            receiver.close()

    def _tick(self) -> float:
        self.pulse.check()
        began = self.timeline.now
        self.loop.tick()
        return max(began + self._rules.interval, self.timeline.now)

    def _wake(self, receivers: Sequence[str]) -> None:
        for name in receivers:
            self.senders[name].agent.wake(self.timeline.now)


class SenderAgent:
    """What ``SenderThread`` does, without a thread."""

    def __init__(self, life: Life, receiver: Receiver, notices: Notices) -> None:
        self._life = life
        self._failures = 0

        def on_event(event: SenderEvent) -> None:
            notices.tell(event)
            life.on_event(event)

        clock = life.timeline.clock
        self.sender = Sender(
            receiver, life.store, clock=clock, on_event=on_event, policy=POLICY, random=life.dice.random.random
        )
        self.agent = Agent(self._step, clock())

    def _step(self) -> float:
        self._life.pulse.check()
        now = self._life.timeline.now
        try:
            due = self.sender.step(now, lambda: self.agent.woken)
        except StoreError:
            self._failures += 1
            return self._life.timeline.now + min(60.0, 2.0**self._failures / 2)
        self._failures = 0
        return due


@dataclass(frozen=True, slots=True, kw_only=True)
class SimEnvironment(Environment):
    """An environment whose sleep is virtual."""

    timeline: Timeline

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.timeline.sleep(seconds)


def _sources(rules: Ruleset, env: Environment, wire: Wire) -> dict[str, Source]:
    found = real_sources(rules, env)

    def send(request: Request) -> Response:
        return wire.send(request, request.path)

    for source in found.values():
        http = cast("Any", source)._api.http
        http._idle.append(httpx.Client(transport=transport(send)))
    return found


@contextmanager
def simulated(slack: Wire, hook: Wire) -> Iterator[None]:
    """Put Slack and the webhook onto their wires, take threads out of the source, and keep the log quiet."""

    def client(config: WebhookConfig) -> httpx.Client:
        return httpx.Client(transport=transport(lambda request: hook.send(request, "hook")))

    with (
        opened(slack),
        patch.object(watchdog.receivers.webhook, "_client", client),
        patch.object(watchdog.sources.baseten.source, "run_all", one_by_one),
    ):
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
