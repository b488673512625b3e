"""Two real services on one real PostgreSQL: the leader is killed, paused, cut off; nothing is said twice.

Each test prints how long the takeover took: run with ``-s`` to see it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from watchdog.model import JobStatus
from watchdog.simulated import baseten, slack
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import FakeSlack
from watchdog.simulated.world import SimJob, World, steady

TAKEOVER = 10.0
"""Seconds that a takeover may take, as promised."""
STANDBY = "waiting as a standby"


def wait_for(condition: Callable[[], bool], seconds: float = 40.0) -> float:
    """Return how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds, "it did not happen in time"
        time.sleep(0.02)
    return time.monotonic() - began


class Proxy:
    """A network between a service and the database, which can be frozen: nothing gets through, nothing is closed."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        self._flows.clear()

    def thaw(self) -> None:
        self._flows.set()

    def close(self) -> None:
        self.thaw()
        for one in (self._listener, *self._sockets):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [near, far]
            threading.Thread(target=self._pump, args=(near, far), daemon=True).start()

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        try:
            while True:
                for source in select.select([near, far], [], [], 1.0)[0]:
                    data = source.recv(65536)
                    self._flows.wait()
                    if not data:
                        near.close()
                        far.close()
                        return
                    (far if source is near else near).sendall(data)
        except (OSError, ValueError):
            near.close()
            far.close()


class Replica:
    """``watchdog run`` as a process."""

    def __init__(self, rules: Path, store: str, log: Path) -> None:
        self._log = log
        environment = {
            **os.environ,
            "BASETEN_API_KEY": baseten.KEY,
            "SLACK_BOT_TOKEN": slack.TOKEN,
            "WATCHDOG_STORE": store,
            "WATCHDOG_LISTEN": "127.0.0.1:0",
        }
        command = [sys.executable, "-m", "watchdog", "run", "-c", str(rules)]
        with log.open("a") as stream:
            self.process = subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def stands_by(self) -> bool:
        return STANDBY in self.log

    def leads(self) -> bool:
        return " INFO polled " in self.log

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@dataclass
class Rig:
    """A cloud, a Slack, a database, and the replicas on them."""

    folder: Path
    rules: Path
    chat: FakeSlack
    world: World
    server: Any
    database: str
    replicas: list[Replica] = field(default_factory=list)

    def start(self, port: int | None = None) -> Replica:
        url = self.server.url(self.database)
        url = url.replace(f":{self.server.port}/", f":{port or self.server.port}/")
        made = Replica(self.rules, url, self.folder / f"log{len(self.replicas)}.txt")
        self.replicas.append(made)
        return made

    def pair(self, port: int | None = None) -> tuple[Replica, Replica]:
        """Return a leader that has said something, and a standby; ``port``: that of the leader's way to the store."""
        leader = self.start(port)
        wait_for(leader.leads)
        self.fail("job0")
        wait_for(lambda: self.told("job0"))
        standby = self.start()
        wait_for(standby.stands_by)
        return leader, standby

    def fail(self, name: str) -> None:
        """Let a job fail: something new to say."""
        (job,) = (job for job in self.world.jobs if job.id == name)
        job.end(time.time(), JobStatus.FAILED)

    def told(self, name: str) -> bool:
        return any(f"{name}-name failed" in parent.words for parent in self.chat.workspace.parents())

    def said(self) -> Counter[tuple[str, str]]:
        """Count all that was said, by thread and words."""
        parents = self.chat.workspace.parents()
        replies = [(parent.ts, reply.words) for parent in parents for reply in self.chat.workspace.thread(parent.ts)]
        return Counter([*(("", parent.words) for parent in parents), *replies])

    def sql(self, statement: str) -> list[Any]:
        found: list[Any] = self.server.run(statement, self.database)
        return found

    def epoch(self) -> int:
        return int(self.sql("SELECT epoch FROM watchdog_lease")[0][0])

    def check(self, *names: str) -> None:
        """Each of these jobs, and nothing else, was said, once; and nothing waits."""
        wait_for(lambda: self.sql("SELECT count(*) FROM outbox WHERE state = 'waiting'") == [(0,)])
        said = self.said()
        assert [words for words, count in said.items() if count > 1] == []
        parents = [parent.words for parent in self.chat.workspace.parents()]
        assert len(parents) == len(names), parents
        assert all(self.told(name) for name in names)
        logs = "".join(replica.log for replica in self.replicas)
        assert "Traceback" not in logs
        assert "geheim" not in logs


@pytest.fixture
def rig(tmp_path: Path, rules_file: Callable[..., Path], postgres: Any) -> Iterator[Rig]:
    now = time.time()
    life = [(now - 700.0, JobStatus.STARTING), (now - 600.0, JobStatus.RUNNING)]
    jobs = [SimJob(f"job{n}", f"job{n}-name", "p1", "proj", steady(), list(life), gpus_per_node=1) for n in range(4)]
    world, chat, database = World(jobs, time.time), FakeSlack(time.time), postgres.new_database()
    with FakeServer(FakeBaseten(world).handle) as cloud, FakeServer(chat.handle) as talk:
        rules = rules_file(cloud.url, talk.url, "baseten")
        made = Rig(tmp_path, rules, chat, world, postgres, database)
        yield made
        for replica in made.replicas:
            if replica.process.poll() is None:
                replica.process.kill()
                replica.process.wait(10)
    postgres.run(f"DROP DATABASE {database} WITH (FORCE)")


def test_a_killed_leader_is_replaced_and_nothing_is_said_twice(rig: Rig) -> None:
    leader, standby = rig.pair()
    for number in (1, 2):
        leader.process.kill()
        rig.fail(f"job{number}")
        took = wait_for(standby.leads, TAKEOVER)
        told = took + wait_for(lambda name=f"job{number}": rig.told(name))  # type: ignore[misc]
        print(f"SIGKILL: the standby polled after {took:.1f} s, told after {told:.1f} s")
        leader.process.wait(10)
        leader, standby = standby, rig.start()
        wait_for(standby.stands_by)
    assert rig.epoch() == 3
    assert standby.stop() == 0
    assert leader.stop() == 0
    rig.check("job0", "job1", "job2")


def test_a_leader_that_stops_hands_over_at_once(rig: Rig) -> None:
    leader, standby = rig.pair()
    assert leader.stop() == 0
    took = wait_for(standby.leads, 5.0)
    print(f"SIGTERM: the standby polled {took:.1f} s after the leader had ended")
    assert standby.stop() == 0
    rig.check("job0")


def test_a_leader_that_is_paused_is_replaced_and_writes_and_says_nothing_after_it(rig: Rig) -> None:
    leader, standby = rig.pair()
    began = time.monotonic()
    leader.process.send_signal(signal.SIGSTOP)
    rig.fail("job1")
    took = wait_for(standby.leads, TAKEOVER)
    print(f"SIGSTOP: the standby polled after {took:.1f} s")
    wait_for(lambda: rig.told("job1"))
    time.sleep(max(0.0, began + 15.0 - time.monotonic()))
    rig.fail("job2")
    before = rig.sql("SELECT holder, epoch FROM watchdog_lease")
    leader.process.send_signal(signal.SIGCONT)
    assert leader.process.wait(10) == 1
    assert "error: another instance has taken over the store 127.0.0.1" in leader.log
    wait_for(lambda: rig.told("job2"))
    assert rig.sql("SELECT holder, epoch FROM watchdog_lease") == before
    assert standby.stop() == 0
    rig.check("job0", "job1", "job2")


def test_a_leader_without_a_network_is_replaced_and_says_nothing(rig: Rig) -> None:
    """Its packets to the database go nowhere; it still reaches the cloud and Slack."""
    proxy = Proxy(rig.server.port)
    leader, standby = rig.pair(proxy.port)
    proxy.freeze()
    rig.fail("job1")
    took = wait_for(standby.leads, TAKEOVER)
    print(f"network lost: the standby polled after {took:.1f} s")
    wait_for(lambda: rig.told("job1"))
    proxy.thaw()
    assert leader.process.wait(20) == 1
    assert standby.stop() == 0
    proxy.close()
    rig.check("job0", "job1")


def test_cut_connections_are_survived_without_a_takeover(rig: Rig) -> None:
    leader, standby = rig.pair()
    for number in (1, 2, 3):
        rig.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'watchdog %'")
        rig.fail(f"job{number}")
        wait_for(lambda name=f"job{number}": rig.told(name))  # type: ignore[misc]
    assert rig.epoch() == 1
    assert not standby.leads()
    assert standby.stop() == 0
    assert leader.stop() == 0
    rig.check("job0", "job1", "job2", "job3")
