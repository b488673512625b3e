"""Rules that change while the real service runs, in this process: real files, a real cloud and Slack on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from watchdog.bootstrap import Environment, GivenSecrets, Service, load_rules, reload
from watchdog.settings import EnvSecrets, Settings
from watchdog.simulated import alayanew, slack
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import FakeSlack
from watchdog.simulated.world import World
from watchdog.store import SqlStore, lease_for

HEAD = """
[poll]
interval = "1s"
"""
SOURCE = """
[[sources]]
name = "{name}"
type = "alayanew"
base_url = "{url}"
discover = true
"""
CONSOLE = """
[[receivers]]
name = "{name}"
type = "console"
"""
SLACK = """
[[receivers]]
name = "{name}"
type = "slack"
channel = "{channel}"
base_url = "{url}/api/"
"""
ROUTE = """
[[routes]]
receivers = [{names}]
"""
RULE = """
[[rules]]
alert = "{name}"
expr = "source_up {op} 1"
summary = "{name} speaks"
"""
UP = RULE.format(name="Up", op="==")


@dataclass
class Rig:
    """A service over a rules file that the test writes."""

    folder: Path
    cloud: str
    chat: str
    listen: str
    said: list[str] = field(default_factory=list)
    secrets: Any = field(default_factory=lambda: GivenSecrets({"ALAYANEW_API_KEY": alayanew.KEY}))
    services: list[tuple[Service, threading.Thread]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "rules.toml"

    @property
    def store(self) -> str:
        return f"sqlite:///{self.folder}/watchdog.db"

    def write(self, *parts: str) -> None:
        self.file.write_text("".join([HEAD, *parts]), encoding="utf-8")

    def usual(self, *rules: str, source: str = "alaya") -> None:
        self.write(
            SOURCE.format(name=source, url=self.cloud),
            CONSOLE.format(name="here"),
            ROUTE.format(names='"here"'),
            *(rules or (UP,)),
        )

    def start(self) -> Service:
        env = Environment(Settings(store=self.store, listen=self.listen), self.secrets, write=self.said.append)
        service = Service(load_rules(self.file), env, self.file)
        thread = threading.Thread(target=service.run)
        thread.start()
        self.services.append((service, thread))
        return service

    def reload(self) -> None:
        self.services[0][0].reload()

    def health(self) -> dict[str, Any]:
        body: dict[str, Any] = httpx.get(f"http://{self.listen}/healthz").json()["rules"]
        return body

    def metric(self, name: str) -> float:
        lines = httpx.get(f"http://{self.listen}/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(f"{name} ")).split()[-1])

    def rules(self) -> list[str]:
        groups = httpx.get(f"http://{self.listen}/api/v1/rules").json()["data"]["groups"]
        return [rule["name"] for group in groups for rule in group["rules"]]

    def ready(self) -> bool:
        try:
            return httpx.get(f"http://{self.listen}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def heard(self, words: str) -> bool:
        return any(words in text for text in self.said)

    def stop(self) -> None:
        for service, thread in self.services:
            service.stop.set()
            thread.join(20)
            assert not thread.is_alive()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    fake = FakeSlack(time.time)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
    with FakeServer(FakeAlaya(World([], time.time)).handle) as cloud, FakeServer(fake.handle) as chat:
        made = Rig(tmp_path, cloud.url, chat.url, listen)
        yield made
        made.stop()


def test_a_changed_file_is_in_force_a_few_seconds_later(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "EVERY", 0.1)
    rig.usual()
    rig.start()
    wait_for(lambda: rig.ready() and rig.heard("Up speaks"))
    before = rig.health()
    assert (rig.rules(), before["refused"]) == (["Up"], "")
    rig.usual(UP, RULE.format(name="AlsoUp", op="=="))
    wait_for(lambda: rig.heard("AlsoUp speaks"))
    assert rig.rules() == ["Up", "AlsoUp"]
    assert rig.health()["checksum"] == load_rules(rig.file).checksum != before["checksum"]
    assert rig.metric("watchdog_config_last_reload_successful") == 1
    rig.usual(RULE.format(name="AlsoUp", op="=="))
    wait_for(lambda: any("rule removed" in alert.end_reason for alert in SqlStore(rig.store).alerts()))
    assert sum("Up speaks" in text for text in rig.said if "AlsoUp" not in text) >= 1


def test_a_bad_file_is_refused_and_said_once_and_so_is_its_repair(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.usual()
    rig.start()
    wait_for(lambda: rig.ready() and rig.heard("Up speaks"))
    rig.usual(
        UP, '[[rules]]\nalert = "Broken"\nexpr = "source_up == 1"\nfro = "5m"\n', RULE.format(name="Bad", op="== ==")
    )
    for _ in range(2):
        rig.reload()
        wait_for(lambda: rig.heard("the rules file is refused, and the rules before it stay in force"))
    assert rig.rules() == ["Up"]
    assert "rules.toml:" in rig.health()["refused"]
    assert rig.metric("watchdog_config_last_reload_successful") == 0
    assert rig.ready(), "old rules are as good as they were"
    (error,) = {vars(r)["error"] for r in caplog.records if "the rules file is refused" in r.message}
    assert "rules[1].fro: unknown key" in error
    assert "rules[2].expr" in error
    rig.usual()
    rig.reload()
    wait_for(lambda: rig.metric("watchdog_config_last_reload_successful") == 1)
    wait_for(lambda: sum("RulesRejected" in text for text in rig.said) == 2)
    assert rig.health()["refused"] == ""
    assert sum("Resolved after" in text for text in rig.said) == 1


def test_a_file_that_is_gone_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "EVERY", 0.1)
    rig.usual()
    rig.start()
    wait_for(rig.ready)
    rig.file.rename(rig.folder / "elsewhere")
    wait_for(lambda: "cannot be read" in rig.health()["refused"])
    assert rig.rules() == ["Up"]
    (rig.folder / "elsewhere").rename(rig.file)
    wait_for(lambda: rig.health()["refused"] == "")


def test_a_rules_file_that_lacks_a_secret_is_refused(rig: Rig) -> None:
    rig.usual()
    rig.start()
    wait_for(rig.ready)
    more = SLACK.format(name="chat", channel="gpu-alerts", url=rig.chat)
    rig.write(
        SOURCE.format(name="alaya", url=rig.cloud),
        CONSOLE.format(name="here"),
        more,
        ROUTE.format(names='"here", "chat"'),
        UP,
    )
    rig.reload()
    wait_for(lambda: "SLACK_BOT_TOKEN" in rig.health()["refused"])


def test_receivers_and_sources_come_change_and_go(rig: Rig) -> None:
    rig.secrets = GivenSecrets({"ALAYANEW_API_KEY": alayanew.KEY, "SLACK_BOT_TOKEN": slack.TOKEN})
    rig.usual()
    rig.start()
    wait_for(lambda: rig.ready() and rig.heard("Up speaks"))
    source = SOURCE.format(name="second", url=rig.cloud)
    chat = SLACK.format(name="chat", channel="no-such-channel", url=rig.chat)
    rig.write(source, chat, CONSOLE.format(name="here"), ROUTE.format(names='"chat", "here"'), UP)
    rig.reload()
    wait_for(lambda: rig.heard("receiver chat refuses messages"))
    ended = [alert.end_reason for alert in SqlStore(rig.store).alerts() if dict(alert.instance)["source"] == "alaya"]
    assert ended == ["source removed"]
    chat = SLACK.format(name="chat", channel="gpu-alerts", url=rig.chat)
    rig.write(source, chat, CONSOLE.format(name="here"), ROUTE.format(names='"chat", "here"'), UP)
    rig.reload()
    wait_for(lambda: not SqlStore(rig.store).outbox_depth().get("chat"))
    wait_for(lambda: sum("ReceiverStopped" in text for text in rig.said) == 2)
    rig.usual(source="second")
    rig.reload()
    wait_for(lambda: rig.health()["checksum"] == load_rules(rig.file).checksum)
    assert 'receiver_stopped{receiver="chat"}' not in httpx.get(f"http://{rig.listen}/metrics").text


def test_what_waits_for_a_receiver_that_goes_is_given_up_and_its_stop_is_over(rig: Rig) -> None:
    rig.secrets = GivenSecrets({"ALAYANEW_API_KEY": alayanew.KEY, "SLACK_BOT_TOKEN": slack.TOKEN})
    chat = SLACK.format(name="chat", channel="no-such-channel", url=rig.chat)
    source = SOURCE.format(name="alaya", url=rig.cloud)
    rig.write(source, chat, CONSOLE.format(name="here"), ROUTE.format(names='"chat", "here"'), UP)
    rig.start()
    wait_for(lambda: rig.heard("receiver chat refuses messages"))
    rig.usual()
    rig.reload()
    wait_for(lambda: rig.heard("Closed after"))
    assert SqlStore(rig.store).outbox_depth() == {}
    assert [entry.error for entry in SqlStore(rig.store).delivered_log(99) if entry.parked] == ["receiver removed"]


def test_a_standby_takes_on_the_rules_of_now(rig: Rig) -> None:
    lease = lease_for(rig.store, time.sleep)
    assert lease.try_acquire()
    rig.usual()
    rig.start()
    wait_for(lambda: _answers(rig))
    rig.usual(RULE.format(name="Later", op="=="))
    rig.reload()
    wait_for(lambda: rig.health()["checksum"] == load_rules(rig.file).checksum)
    good = rig.health()["checksum"]
    rig.usual("[[rules]]\n")
    rig.reload()
    wait_for(lambda: rig.health()["refused"] != "")
    assert rig.said == [], "a standby does not speak"
    lease.release()
    wait_for(lambda: rig.heard("Later speaks"))
    wait_for(lambda: rig.heard("the rules file is refused"))
    assert (rig.rules(), rig.health()["checksum"]) == (["Later"], good)


def _answers(rig: Rig) -> bool:
    try:
        return bool(rig.health())
    except httpx.TransportError:
        return False


def test_a_rotated_secret_wakes_a_receiver_that_refuses(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "EVERY", 0.1)
    token = rig.folder / "token"
    token.write_text("xoxb-revoked", encoding="utf-8")
    rig.secrets = EnvSecrets({"ALAYANEW_API_KEY": alayanew.KEY, "SLACK_BOT_TOKEN_FILE": str(token)}, rig.folder)
    chat = SLACK.format(name="chat", channel="gpu-alerts", url=rig.chat)
    source = SOURCE.format(name="alaya", url=rig.cloud)
    rig.write(source, chat, CONSOLE.format(name="here"), ROUTE.format(names='"chat", "here"'), UP)
    rig.start()
    wait_for(lambda: rig.heard("receiver chat refuses messages: invalid_auth"))
    token.write_text(slack.TOKEN, encoding="utf-8")
    wait_for(lambda: rig.heard("Resolved after"))
    assert not SqlStore(rig.store).outbox_depth()
