"""Commands run in this process, against simulated services."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from watchdog.cli import main
from watchdog.simulated import baseten, slack
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.faults import Faults
from watchdog.simulated.scenario import demo_world
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import FakeSlack

RULES = """
[poll]
interval = "60s"
[[sources]]
name = "baseten"
type = "baseten"
base_url = "{cloud}"
[[receivers]]
name = "slack"
type = "slack"
channel = "gpu-alerts"
base_url = "{chat}/api/"
[[routes]]
receivers = ["slack"]
[[rules]]
alert = "GPUIdle"
metric = "gpu_utilization"
below = "5%"
window = "15m"
clear = "15%"
for = "5m"
summary = "GPU {{{{ labels.gpu }}}} of {{{{ labels.job_name }}}} is idle"
"""


@dataclass
class Desk:
    """A rules file, the services behind it, and a way to type commands."""

    rules: Path
    folder: Path
    slack: FakeSlack
    faults: Faults
    capsys: pytest.CaptureFixture[str]

    def type(self, *words: str) -> tuple[int, str, str]:
        """Run a command; return exit status, output, errors."""
        try:
            status = main(list(words))
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        captured = self.capsys.readouterr()
        return status, captured.out, captured.err


@pytest.fixture(autouse=True)
def _quiet_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    fake, faults = FakeSlack(time.time), Faults()
    world = demo_world(time.time() // 60 * 60, time.time).baseten
    monkeypatch.setenv("BASETEN_API_KEY", baseten.KEY)
    monkeypatch.setenv("SLACK_BOT_TOKEN", slack.TOKEN)
    monkeypatch.setenv("WATCHDOG_STORE", f"sqlite:///{tmp_path}/watchdog.db")
    with FakeServer(FakeBaseten(world).handle, faults) as cloud, FakeServer(fake.handle) as chat:
        rules = tmp_path / "rules.toml"
        rules.write_text(RULES.format(cloud=cloud.url, chat=chat.url))
        yield Desk(rules, tmp_path, fake, faults, capsys)


@pytest.fixture
def mistakes(tmp_path: Path) -> Callable[[], Path]:
    """Write a rules file with ten different mistakes."""

    def go() -> Path:
        file = tmp_path / "wrong.toml"
        file.write_text(
            """[poll]
intervall = "60s"
[[sources]]
name = "b"
type = "basetn"
[[receivers]]
name = "slack"
type = "slack"
chanel = "x"
[[routes]]
receivers = ["slak"]
match = ['severity=~"("']
[[rules]]
alert = "A"
metric = "gpu_utilisation"
below = "5%"
[[rules]]
alert = "B"
metric = "gpu_utilization"
below = "5%"
above = "9%"
[[rules]]
alert = "C"
expr = "mad_over_time(gpu_utilization[5m]) < 1"
[[rules]]
alert = "D"
metric = "gpu_utilization"
below = "5%"
window = "1m"
[[rules]]
alert = "E"
metric = "gpu_utilization"
below = "5%"
for = "10s"
[[rules]]
alert = "F"
metric = "gpu_utilization"
below = "5%"
summary = "{{ labels.gpu | humanise }}"
""",
            encoding="utf-8",
        )
        return file

    return go
