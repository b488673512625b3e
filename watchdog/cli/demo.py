"""``watchdog demo``: the whole thing with no keys, sped up; what Slack would show appears in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from watchdog.bootstrap import Environment, GivenSecrets, Service, load_rules, point_at, starter_rules, stop_on_signals
from watchdog.errors import UsageError
from watchdog.receivers.slack import SlackConfig
from watchdog.rules.model import Route, Ruleset
from watchdog.service import log
from watchdog.settings import Settings
from watchdog.simulated import alayanew, baseten, slack
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.recordings import Recording, bundled, job_of, read_run
from watchdog.simulated.scenario import LENGTH, demo_world
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import FakeSlack
from watchdog.simulated.slack_workspace import FakeMessage
from watchdog.simulated.world import World

CHANNEL = "gpu-alerts"
MINUTE = 60.0
FASTEST = 240.0
"""Simulated seconds a second; beyond it this machine's own pauses read as outages of the clouds."""
INTRODUCTION = """\
watchdog demo: simulated Baseten, Alaya NeW and Slack on this machine; {speed:.0f} simulated seconds a second.
The rules are the starter pack ({rules}). What Slack would show in #{channel}:
"""
WHAT_NEXT = """
{ending}: {messages} with {replies} in the threads.{quiet}

What to do next:
  1. cp rules.example.toml rules.toml       and name your clouds and your channel in it
  2. export BASETEN_API_KEY=… SLACK_BOT_TOKEN=… WATCHDOG_STORE=sqlite:///watchdog.db
  3. {program} check rules.toml              all mistakes at once, and what is still missing
  4. {program} once -c rules.toml --dry-run  what it would say now; nothing is sent
  5. {program} run -c rules.toml             the service (or the container: see README.md)
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("demo", help="see it work: no keys, no network, less than a minute")
    names = ", ".join(path.name.partition(".")[0] for path in bundled())
    parser.add_argument("--replay", metavar="FILE", help=f"play a recorded run (a file, or a bundled one: {names})")
    parser.add_argument(
        "--speed", type=float, metavar="N", help="simulated seconds a second (default: 60; replay: 120)"
    )
    parser.add_argument("--log", action="store_true", help="show the service's own log lines too")
    parser.set_defaults(handle=handle)


@dataclass(frozen=True, slots=True)
class SpedUp:
    """A clock that begins at ``start`` and runs ``speed`` times as fast as the real one."""

    start: float
    speed: float
    began: float

    def __call__(self) -> float:
        """Return simulated unix seconds."""
        return self.start + (time.monotonic() - self.began) * self.speed


@dataclass(frozen=True, slots=True)
class Stage:
    """What is played: the worlds, how long, from when."""

    clouds: Mapping[str, World]
    length: float
    title: str


def handle(arguments: argparse.Namespace) -> int:
    """Play the story (or a recording) and say what to do next."""
    usual = 120.0 if arguments.replay else 60.0
    speed = usual if arguments.speed is None else arguments.speed
    if not 0 < speed <= FASTEST:
        raise UsageError(f"--speed takes a number above 0, up to {FASTEST:g}")
    start = math.floor(time.time() / MINUTE) * MINUTE
    clock = SpedUp(start, speed, time.monotonic())
    stage = _replay(_find(arguments.replay), clock) if arguments.replay else _story(clock)
    if arguments.log:
        log.set_up("text", "info", lambda text: text)
    else:
        log.set_up("text", "critical", lambda text: text)
    _play(stage, clock)
    return 0


def _story(clock: SpedUp) -> Stage:
    clouds = demo_world(clock.start, clock)
    return Stage({"baseten": clouds.baseten, "alaya": clouds.alaya}, LENGTH, "a bad hour at two clouds")


def _replay(recording: Recording, clock: SpedUp) -> Stage:
    world = World([job_of(recording, clock.start)], clock)
    return Stage({"baseten": world}, recording.duration + 5 * MINUTE, f"the recorded run {recording.run}")


def _find(name: str) -> Recording:
    """Return the recording of a path, or of a bundled one by its name."""
    for path in bundled():
        if name == path.name.partition(".")[0]:
            return read_run(path)
    path = Path(name)
    if not path.exists():
        known = ", ".join(path.name.partition(".")[0] for path in bundled())
        raise UsageError(f"there is no recording {name}; give a file, or one of: {known}")
    return read_run(path)


def _play(stage: Stage, clock: SpedUp) -> None:
    fake = FakeSlack(
        clock, on_message=lambda message: _show(message, clock), sleep=lambda s: time.sleep(s / clock.speed)
    )
    print(INTRODUCTION.format(speed=clock.speed, rules=starter_rules().name, channel=CHANNEL))
    with contextlib.ExitStack() as stack:
        urls = {name: stack.enter_context(_serve(name, world)) for name, world in stage.clouds.items()}
        slack_url = stack.enter_context(FakeServer(fake.handle)).url
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="watchdog-demo-"))
        service = Service(_rules(urls, slack_url), _environment(clock, folder))
        stop_on_signals(service.stop)
        timer = threading.Timer(stage.length / clock.speed, service.stop.set)
        timer.daemon = True
        timer.start()
        service.run()
        timer.cancel()
    _close(fake, whole=clock() >= clock.start + stage.length)


@contextlib.contextmanager
def _serve(name: str, world: World) -> Iterator[str]:
    handle_ = FakeBaseten(world).handle if name == "baseten" else FakeAlaya(world).handle
    with FakeServer(handle_) as server:
        yield server.url


def _rules(urls: Mapping[str, str], slack_url: str) -> Ruleset:
    """Return the starter pack, pointed at the fakes, speaking to one channel."""
    ruleset = point_at(load_rules(starter_rules()), urls)
    receiver = SlackConfig(name="slack", type="slack", channel=CHANNEL, mention="@here", base_url=f"{slack_url}/api/")
    route = Route(receivers=("slack",), place="demo")
    return replace(ruleset, receivers=(receiver,), routes=(route,))


def _environment(clock: SpedUp, folder: str) -> Environment:
    secrets = {
        "BASETEN_API_KEY": baseten.KEY,
        "ALAYANEW_API_KEY": alayanew.KEY,
        "SLACK_BOT_TOKEN": slack.TOKEN,
    }
    settings = Settings(store=f"sqlite:///{folder}/watchdog.db", listen="127.0.0.1:0")
    return Environment(settings, GivenSecrets(secrets), clock=clock, speed=clock.speed)


def _show(message: FakeMessage, clock: SpedUp) -> None:
    minute = (clock() - clock.start) / MINUTE
    kind = "reply in a thread" if message.thread_ts else "edited" if message.edits else "new message"
    print(f"── minute {minute:.0f}, {kind} {'─' * 50}", *_lines(message.words), "", sep="\n", flush=True)


def _lines(words: str) -> list[str]:
    """Return a message as a terminal shows it best: facts in one line, no expressions."""
    facts: list[str] = []
    lines: list[str] = []
    found = iter(words.split("\n"))
    for line in found:
        if re.fullmatch(r"\*[^*]+\*", line):
            facts.append(f"{line.strip('*')}: {next(found, '')}")
        elif not line.startswith(("`", "incident ")):
            lines.append(line)
    head, *rest = lines or [""]
    return [head, *([f"  {' · '.join(facts)}"] if facts else []), *(f"  {line}" for line in rest)]


def _close(fake: FakeSlack, *, whole: bool) -> None:
    parents = fake.workspace.parents()
    replies = sum(len(fake.workspace.thread(parent.ts)) for parent in parents)
    print(
        WHAT_NEXT.format(
            ending="That was the demo" if whole else "The demo was interrupted",
            quiet=" Jobs that were well stayed quiet." if whole else "",
            messages=_count(len(parents), "message"),
            replies=_count(replies, "reply"),
            program=_program(),
        )
    )


def _count(number: int, noun: str) -> str:
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _program() -> str:
    """Return how this program was called, as far as it can be typed again."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "watchdog" and not called.is_absolute() else "watchdog"
