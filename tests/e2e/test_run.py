"""The real service as a process: recorded runs at both clouds, kill -9 in the middle, a clean stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from watchdog.simulated import alayanew, baseten, slack
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.recordings import bundled, job_of, read_run
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import FakeSlack
from watchdog.simulated.world import World

HOUR = 3600.0


def recorded(run: str, kind: str, began: float) -> World:
    path = next(path for path in bundled() if path.name.startswith(run))
    job = job_of(read_run(path), began, nodes=("rec-master-0",))
    if kind == "alaya":
        job.gpu_type = "NVIDIA-RTX-3090-24G"
    return World([job], time.time)


@contextlib.contextmanager
def served(world: World, kind: str) -> Iterator[str]:
    handle = FakeBaseten(world).handle if kind == "baseten" else FakeAlaya(world).handle
    with FakeServer(handle) as server:
        yield server.url


class Service:
    """``watchdog run`` as a process."""

    def __init__(self, rules: Path, folder: Path) -> None:
        self.log = folder / "log.txt"
        environment = {
            **os.environ,
            "BASETEN_API_KEY": baseten.KEY,
            "ALAYANEW_API_KEY": alayanew.KEY,
            "SLACK_BOT_TOKEN": slack.TOKEN,
            "WATCHDOG_STORE": f"sqlite:///{folder}/watchdog.db",
            "WATCHDOG_LISTEN": "127.0.0.1:0",
        }
        command = [sys.executable, "-m", "watchdog", "run", "-c", str(rules)]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def ticked(self, times: int) -> bool:
        return self.log.read_text().count(" INFO polled ") >= times

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.parametrize("kind", ["baseten", "alaya"])
def test_an_idle_stretch_is_one_incident_also_across_kill_9(
    kind: str, tmp_path: Path, rules_file: Callable[..., Path]
) -> None:
    """r021 idles from minute 15 on; it is 60 minutes old when the service first sees it."""
    fake = FakeSlack(time.time)
    world = recorded("r021", kind, time.time() // 60 * 60 - HOUR)
    with served(world, kind) as cloud, FakeServer(fake.handle) as chat:
        rules = rules_file(cloud, chat.url, kind)
        service = Service(rules, tmp_path)
        wait_for(lambda: len(fake.workspace.parents()) >= 1 and service.ticked(2))
        service.kill()
        seen = service.log.read_text().count(" INFO polled ")
        again = Service(rules, tmp_path)
        wait_for(lambda: again.ticked(seen + 4))
        assert again.stop() == 0
    (parent,) = fake.workspace.parents()
    words = "\n".join([parent.words, *parent.edits, *(reply.words for reply in fake.workspace.thread(parent.ts))])
    assert "recorded-r021" in parent.words
    assert "GPUIdle" in words
    assert "GPU 0" in words
    assert ("leader" if kind == "baseten" else "rec-master-0") in words
    assert words.count("used no GPU for 15 minutes") >= 1
    for secret in (baseten.KEY, alayanew.KEY, slack.TOKEN):
        assert secret not in again.log.read_text()
        assert secret.encode() not in (tmp_path / "watchdog.db").read_bytes()


@pytest.mark.parametrize("kind", ["baseten", "alaya"])
def test_a_clean_run_is_quiet(kind: str, tmp_path: Path, rules_file: Callable[..., Path]) -> None:
    """r008 keeps its GPU busy for all of its 3.4 hours."""
    fake = FakeSlack(time.time)
    world = recorded("r008", kind, time.time() // 60 * 60 - 2 * HOUR)
    with served(world, kind) as cloud, FakeServer(fake.handle) as chat:
        service = Service(rules_file(cloud, chat.url, kind), tmp_path)
        wait_for(lambda: service.ticked(5))
        assert service.stop() == 0
    assert fake.workspace.parents() == []
    assert "Traceback" not in service.log.read_text()


def test_an_out_of_memory_death_is_named(tmp_path: Path, rules_file: Callable[..., Path]) -> None:
    """r029 ran out of memory; the service sees it run, then fail."""
    fake = FakeSlack(time.time)
    world = recorded("r029", "baseten", time.time() // 60 * 60 - 600.0)
    job = world.jobs[0]
    end = job.timeline[-1][1]
    with served(world, "baseten") as cloud, FakeServer(fake.handle) as chat:
        service = Service(rules_file(cloud, chat.url, "baseten"), tmp_path)
        wait_for(lambda: service.ticked(2))
        job.end(time.time(), end)
        wait_for(lambda: len(fake.workspace.parents()) >= 1)
        assert service.stop() == 0
    (parent,) = fake.workspace.parents()
    assert "recorded-r029 failed: CUDA out of memory" in parent.words


def test_a_second_instance_waits_and_takes_over(tmp_path: Path, rules_file: Callable[..., Path]) -> None:
    fake = FakeSlack(time.time)
    world = recorded("r021", "baseten", time.time() // 60 * 60 - HOUR)
    second_folder = tmp_path / "second"
    second_folder.mkdir()
    with served(world, "baseten") as cloud, FakeServer(fake.handle) as chat:
        rules = rules_file(cloud, chat.url, "baseten")
        first = Service(rules, tmp_path)
        wait_for(lambda: len(fake.workspace.parents()) >= 1)
        second = Service(rules, tmp_path)
        second.log = first.log
        wait_for(lambda: "waiting as a standby" in first.log.read_text())
        first.kill()
        seen = first.log.read_text().count(" INFO polled ")
        wait_for(lambda: second.ticked(seen + 2))
        assert second.stop() == 0
    assert len(fake.workspace.parents()) == 1


def test_a_stop_while_standing_by_is_clean(tmp_path: Path, rules_file: Callable[..., Path]) -> None:
    fake = FakeSlack(time.time)
    world = recorded("r008", "baseten", time.time() - HOUR)
    with served(world, "baseten") as cloud, FakeServer(fake.handle) as chat:
        rules = rules_file(cloud, chat.url, "baseten")
        first = Service(rules, tmp_path)
        wait_for(lambda: first.ticked(1))
        second = Service(rules, tmp_path)
        wait_for(lambda: "waiting as a standby" in first.log.read_text())
        assert second.stop() == 0
        assert first.stop() == 0
