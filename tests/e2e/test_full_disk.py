"""The real process on a disk that is full for a while: a limit of the operating system on the size of its files."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from watchdog.model import JobStatus
from watchdog.simulated import baseten, slack
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.recordings import bundled, job_of, read_run
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import FakeSlack
from watchdog.simulated.world import World

FULL = "the store cannot be written"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Service:
    """``watchdog run`` as a process; its log goes through a pipe, which no limit on files touches."""

    def __init__(self, rules: Path, folder: Path) -> None:
        self.listen = f"127.0.0.1:{free_port()}"
        environment = {
            **os.environ,
            "BASETEN_API_KEY": baseten.KEY,
            "SLACK_BOT_TOKEN": slack.TOKEN,
            "WATCHDOG_STORE": f"sqlite:///{folder}/watchdog.db",
            "WATCHDOG_LISTEN": self.listen,
        }
        command = [sys.executable, "-m", "watchdog", "run", "-c", str(rules)]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def count(self, words: str) -> int:
        return sum(words in line for line in self.lines)

    def limit_files(self, size: int) -> None:
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, hard))

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://{self.listen}{path}", timeout=20, trust_env=False)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(30)
        self._reader.join(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


class Town:
    """A cloud with one busy job, a Slack, and rules."""

    def __init__(self, world: World, fake: FakeSlack, rules: Path) -> None:
        self.world, self.fake, self.rules = world, fake, rules

    def fail_the_job(self) -> None:
        self.world.jobs[0].end(time.time(), JobStatus.FAILED)


@pytest.fixture
def town(rules_file: Callable[..., Path]) -> Iterator[Town]:
    fake = FakeSlack(time.time)
    path = next(path for path in bundled() if path.name.startswith("r008"))
    began = time.time() // 60 * 60 - 7200.0
    world = World([job_of(read_run(path), began, nodes=("rec-master-0",))], time.time)
    with FakeServer(FakeBaseten(world).handle) as cloud, FakeServer(fake.handle) as chat:
        yield Town(world, fake, rules_file(cloud.url, chat.url, "baseten"))


@contextmanager
def running(town: Town, folder: Path) -> Iterator[Service]:
    service = Service(town.rules, folder)
    try:
        yield service
    finally:
        service.close()


def test_nothing_is_told_while_the_disk_is_full_and_all_of_it_after(town: Town, tmp_path: Path) -> None:
    with running(town, tmp_path) as service:
        wait_for(lambda: service.count(" INFO polled ") >= 2)
        assert service.get("/readyz").status_code == 200
        service.limit_files(1)
        town.fail_the_job()
        wait_for(lambda: service.count(FULL) >= 1 and service.count("alert event alert=JobFailed") >= 1)
        ticks = service.count(" INFO polled ")
        wait_for(lambda: service.count(" INFO polled ") >= ticks + 4)
        assert service.count(FULL) == 1, "it is said once"
        assert "make room" in next(line for line in service.lines if FULL in line)
        assert town.fake.workspace.parents() == []
        ready, alive = service.get("/readyz"), service.get("/healthz")
        assert (ready.status_code, alive.status_code) == (503, 200)
        assert "make room" in ready.json()["status"]
        metrics = service.get("/metrics").text
        assert "watchdog_store_writable 0.0" in metrics
        assert "watchdog_store_unwritten_notifications 1.0" in metrics
        assert "watchdog_store_commit_failures_total 0.0" not in metrics
        assert "watchdog_internal_failures 0.0" in metrics, "a full disk is no mistake of ours"
        service.limit_files(resource.RLIM_INFINITY)
        wait_for(lambda: len(town.fake.workspace.parents()) == 1)
        wait_for(lambda: service.get("/readyz").status_code == 200)
        assert service.count("the store takes writes again") == 1
        assert service.end(signal.SIGTERM) == 0
        assert service.count("Traceback") == 0
    (parent,) = town.fake.workspace.parents()
    assert "recorded-r008 failed" in parent.words


def test_what_a_full_disk_and_a_kill_take_away_is_found_again(town: Town, tmp_path: Path) -> None:
    with running(town, tmp_path) as service:
        wait_for(lambda: service.count(" INFO polled ") >= 2)
        service.limit_files(1)
        town.fail_the_job()
        wait_for(lambda: service.count("alert event alert=JobFailed") >= 1)
        service.end(signal.SIGKILL)
    assert town.fake.workspace.parents() == []
    with running(town, tmp_path) as service:
        wait_for(lambda: len(town.fake.workspace.parents()) == 1)
        assert service.end(signal.SIGTERM) == 0
    assert "recorded-r008 failed" in town.fake.workspace.parents()[0].words


def test_a_disk_that_is_full_at_the_start_is_an_error_with_its_remedy(town: Town, tmp_path: Path) -> None:
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))\n"
        "from watchdog.__main__ import main\n"
        f"sys.argv = ['watchdog', 'run', '-c', {str(town.rules)!r}]\n"
        "sys.exit(main())\n"
    )
    environment = {
        **os.environ,
        "BASETEN_API_KEY": baseten.KEY,
        "SLACK_BOT_TOKEN": slack.TOKEN,
        "WATCHDOG_STORE": f"sqlite:///{tmp_path}/watchdog.db",
        "WATCHDOG_LISTEN": "127.0.0.1:0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "make room" in done.stderr


def test_another_program_that_locks_the_store_is_waited_for(town: Town, tmp_path: Path) -> None:
    with running(town, tmp_path) as service:
        wait_for(lambda: service.count(" INFO polled ") >= 2)
        with closing(sqlite3.connect(tmp_path / "watchdog.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            town.fail_the_job()
            wait_for(lambda: service.count(FULL) >= 1)
            assert "locked by another program" in next(line for line in service.lines if FULL in line)
            assert town.fake.workspace.parents() == []
            other.execute("ROLLBACK")
        wait_for(lambda: len(town.fake.workspace.parents()) == 1)
        assert service.end(signal.SIGTERM) == 0


def test_a_store_that_is_moved_away_is_said_and_goes_on_when_it_is_back(town: Town, tmp_path: Path) -> None:
    file = tmp_path / "watchdog.db"
    with running(town, tmp_path) as service:
        wait_for(lambda: service.count(" INFO polled ") >= 2)
        file.rename(tmp_path / "elsewhere.db")
        town.fail_the_job()
        wait_for(lambda: service.count(FULL) >= 1)
        assert "was moved, deleted or replaced" in next(line for line in service.lines if FULL in line)
        assert not file.exists(), "no empty store is made in its place"
        assert town.fake.workspace.parents() == []
        (tmp_path / "elsewhere.db").rename(file)
        wait_for(lambda: len(town.fake.workspace.parents()) == 1)
        assert service.end(signal.SIGTERM) == 0
