"""The real process: SIGHUP, and the dead man's switch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from watchdog.simulated import alayanew
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.server import FakeServer, Request, Response
from watchdog.simulated.world import World

RULES = """
[poll]
interval = "1s"
[[sources]]
name = "alaya"
type = "alayanew"
base_url = "{url}"
discover = true
[[receivers]]
name = "here"
type = "console"
[[routes]]
receivers = ["here"]
[[rules]]
alert = "{name}"
expr = "source_up == 1"
"""


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_sighup_reloads_and_each_good_tick_calls_the_heartbeat_url(tmp_path: Path) -> None:
    beats: list[str] = []

    def switch(request: Request) -> Response:
        beats.append(request.path)
        return Response(200)

    rules, log = tmp_path / "rules.toml", tmp_path / "log.txt"
    url_file = tmp_path / "heartbeat"
    with FakeServer(FakeAlaya(World([], time.time)).handle) as cloud, FakeServer(switch) as beat:
        rules.write_text(RULES.format(url=cloud.url, name="First"), encoding="utf-8")
        url_file.write_text(f"{beat.url}/ping/geheim-5d5d", encoding="utf-8")
        environment = {
            **os.environ,
            "ALAYANEW_API_KEY": alayanew.KEY,
            "WATCHDOG_STORE": f"sqlite:///{tmp_path}/watchdog.db",
            "WATCHDOG_LISTEN": "127.0.0.1:0",
            "WATCHDOG_LOG_LEVEL": "debug",
            "WATCHDOG_HEARTBEAT_URL_FILE": str(url_file),
        }
        command = [sys.executable, "-m", "watchdog", "run", "-c", str(rules)]
        with log.open("w") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process:
            try:
                wait_for(lambda: "alert firing alert=First" in log.read_text() and len(beats) >= 2)
                rules.write_text(RULES.format(url=cloud.url, name="Second"), encoding="utf-8")
                process.send_signal(signal.SIGHUP)
                wait_for(lambda: "alert firing alert=Second" in log.read_text())
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
            finally:
                process.kill()
    text = log.read_text()
    assert "other rules are in force" in text
    assert "added=Second" in text
    assert "removed=First" in text
    assert set(beats) == {"/ping/geheim-5d5d"}
    assert "geheim" not in text
