"""One history: lives of the process one after the other, then calm, then rest."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from faultsim.clock import Agent, CrashError, Timeline
from faultsim.dice import Dice
from faultsim.disk import Disk
from faultsim.life import Life, simulated
from faultsim.story import LENGTH, MINUTE, story
from faultsim.story import Life as JobLife
from faultsim.wire import CloudWire, SimSlack, Wire
from watchdog.bootstrap.build import load_rules
from watchdog.delivery import EventKind, SenderEvent
from watchdog.errors import StoreError
from watchdog.rules.model import Ruleset
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.server import Request, Response
from watchdog.simulated.slack_workspace import FakeChannel
from watchdog.simulated.world import World

START = 1_700_000_040.0
_CALM = 4 * MINUTE
_REST = 6 * 3600.0
"""The longest that a sender may need to come to rest once everything is well again."""


@dataclass(slots=True)
class Posted:
    """One body that the webhook took."""

    id: str
    at: float
    status: str
    reason: str


@dataclass(slots=True)
class History:
    """What happened, for the invariants."""

    seed: int
    jobs: list[JobLife]
    slack: SimSlack
    disk: Disk
    dice: Dice
    wires: dict[str, Wire]
    outages: list[tuple[float, float]]
    hook: list[Posted] = field(default_factory=list)
    events: Counter[tuple[str, EventKind]] = field(default_factory=Counter)
    crashes: int = 0
    rested: bool = False
    down: list[tuple[float, float]] = field(default_factory=list)
    """Spans in which no process ran."""
    ended_at: float = 0.0


@cache
def rules() -> Ruleset:
    """Return the rules of every history."""
    return load_rules(Path(__file__).parent / "rules.toml")


class Run:
    """Makes one history."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.timeline = Timeline(START)
        self.dice = Dice(seed)
        jobs = story(Random(seed), START)
        world = World([life.job for life in jobs], self.timeline.clock)
        cloud = FakeBaseten(world, seconds=self.timeline.clock)
        channels = (FakeChannel("C0ALERTS", "alerts"), FakeChannel("C0PAGER", "pager"))
        self.slack = SimSlack(self.timeline, channels=channels)
        if self.dice.random.random() < 0.2:
            self.slack.scopes -= {"channels:history", "groups:history"}
        cloud_wire = CloudWire(self.timeline, self.dice, cloud.handle)
        self.wires = {
            "slack": Wire(self.timeline, self.dice, self.slack.handle, words=True),
            "hook": Wire(self.timeline, self.dice, self._hook, words=False),
            "cloud": cloud_wire,
        }
        self.disk = Disk(folder)
        self.history = History(seed, jobs, self.slack, self.disk, self.dice, self.wires, cloud_wire.outages)

    def __call__(self) -> History:
        """Run to the end."""
        with simulated(self.wires["slack"], self.wires["hook"]):
            self._run()
        return self.history

    def _run(self) -> None:
        people = Agent(self._people, START + 30.0)
        until = START + LENGTH
        while (life := self._live(people, until)) is None:
            began = self.timeline.now
            self.timeline.now += self.dice.random.choice((0.5, 3.0, 40.0, 130.0))
            self.history.down.append((began, self.timeline.now))
        self._heal()
        self.timeline.run_until(until + _CALM)
        self.history.ended_at = self.timeline.now
        life.ticker.due = math.inf
        self._rest(life)
        life.end()

    def _live(self, people: Agent, until: float) -> Life | None:
        """Return the process that lived until then; None if it died before."""
        life = Life(rules(), self.timeline, self.dice, self.disk, self.wires, self._event)
        try:
            life.begin()
            people.busy = False
            self.timeline.agents.append(people)
            self.timeline.run_until(until)
        except (CrashError, StoreError):  # the store could not be read at the start: the process ends
            self.disk.die(life.end)
            self.history.crashes += 1
            for wire in self.wires.values():
                wire.watch.crashed()
            return None
        return life

    def _heal(self) -> None:
        self.dice.calm = True
        self.slack.revoked = False
        self.slack.workspace.edit_window = None
        for channel in self.slack.workspace.channels.values():
            channel.archived = False

    def _rest(self, life: Life) -> None:
        end = self.timeline.now + _REST
        while self.timeline.now < end:
            if not life.store.outbox_depth():
                self.history.rested = True
                return
            self.timeline.run_until(min(agent.due for agent in self.timeline.agents))

    def _event(self, event: SenderEvent) -> None:
        self.history.events[event.receiver, event.kind] += 1

    def _people(self) -> float:
        """Do what people do to a workspace, once a minute."""
        workspace, random = self.slack.workspace, self.dice.random
        parents = workspace.parents()
        if parents and self.dice.happens("parent deleted"):
            self.slack.delete(random.choice(parents))
        channel = random.choice(list(workspace.channels.values()))
        channel.archived = self.dice.happens("channel archived") or (channel.archived and random.random() < 0.7)
        self.slack.revoked = self.dice.happens("token revoked") or (self.slack.revoked and random.random() < 0.7)
        if self.dice.happens("edit window"):
            workspace.edit_window = random.choice((60.0, 600.0))
        return self.timeline.now + MINUTE

    def _hook(self, request: Request) -> Response:
        body = json.loads(request.body)
        name = request.headers["webhook-id"]
        self.history.hook.append(Posted(name, self.timeline.now, body["status"], body["notification_reason"]))
        return Response(200, b"", "text/plain", {})


def run(seed: int, folder: Path) -> History:
    """Return the history of one seed; ``folder`` is empty and its own."""
    return Run(seed, folder)()
