"""Everything of a rules file is tried side by side, within one deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from watchdog.bootstrap import Environment, GivenSecrets, Trial, load_rules, try_all
from watchdog.receivers import RECEIVER_TYPES
from watchdog.settings import EnvSecrets, Settings
from watchdog.simulated.server import FakeServer, Request, Response

RULES = """
[[sources]]
name = "baseten"
type = "baseten"
[[sources]]
name = "alaya"
type = "alayanew"
discover = true
{receivers}
[[routes]]
receivers = [{names}]
[[rules]]
alert = "A"
metric = "gpu_utilization"
below = "5%"
window = "15m"
"""
SILENT = "FAILED: no answer within 2 s; check the address, the network and proxies"


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    servers: list[FakeServer] = []

    def start(handle: Any) -> str:
        servers.append(FakeServer(handle))
        servers[-1].start()
        return servers[-1].url

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def tried(tmp_path: Path) -> Callable[..., dict[str, list[str]]]:
    """Try a rules file with these receivers; return the lines by name."""

    def go(receivers: dict[str, str], secrets: Any = None, seconds: float = 30.0) -> dict[str, list[str]]:
        sections = "".join(f'[[receivers]]\nname = "{name}"\n{text}\n' for name, text in receivers.items())
        file = tmp_path / "rules.toml"
        file.write_text(RULES.format(receivers=sections, names=", ".join(f'"{name}"' for name in receivers)))
        settings = Settings(store=f"sqlite:///{tmp_path}/watchdog.db")
        env = Environment(settings, secrets or GivenSecrets({}))
        return {trial.name: lines(trial) for trial in try_all(load_rules(file), env, seconds)}

    return go


def lines(trial: Trial) -> list[str]:
    return ["; ".join(part for part in (f"{item.level}: {item.text}", item.remedy) if part) for item in trial.remarks]


def hook(url: str) -> str:
    return f'type = "webhook"\nurl = "{url}"'


def test_all_that_is_missing_is_said_at_once(tried: Any, tmp_path: Path) -> None:
    found = tried({"slack": 'type = "slack"\nchannel = "#a"', "pager": 'type = "webhook"\nurl = { env = "PAGER" }'})
    assert found == {
        "baseten": ["FAILED: BASETEN_API_KEY is not set; set it, or BASETEN_API_KEY_FILE"],
        "alaya": ["FAILED: ALAYANEW_API_KEY is not set; set it, or ALAYANEW_API_KEY_FILE"],
        "slack": ["FAILED: set SLACK_BOT_TOKEN (edits, threads) or SLACK_WEBHOOK_URL (plain posts only)"],
        "pager": ["FAILED: PAGER is not set; set it, or PAGER_FILE"],
        f"{tmp_path}/watchdog.db": ["ok: can be written, and is made at the first start with schema version 1"],
    }


def test_a_secret_that_is_set_twice(tried: Any) -> None:
    both = EnvSecrets({"BASETEN_API_KEY": "a", "BASETEN_API_KEY_FILE": "b"})
    found = tried({"terminal": 'type = "console"'}, both)
    assert found["baseten"] == ["FAILED: BASETEN_API_KEY and BASETEN_API_KEY_FILE are both set; remove one of them"]


def test_tries_are_made_side_by_side(tried: Any, serve: Any) -> None:
    """Each is answered only once both have asked."""
    both = threading.Barrier(2)

    def meet(_: Request) -> Response:
        both.wait(20)
        return Response(204)

    url = serve(meet)
    found = tried({"one": hook(url), "two": hook(url)})
    assert [found["one"], found["two"]] == [["ok: 127.0.0.1 answers HTTP 204 to OPTIONS"]] * 2


def test_what_does_not_answer_in_time_has_failed_and_harms_no_other(tried: Any, serve: Any) -> None:
    end = threading.Event()
    slow = serve(lambda _: Response(200 if end.wait(20) else 500))
    found = tried({"slow": hook(slow), "terminal": 'type = "console"'}, seconds=2.0)
    end.set()
    assert found["slow"] == [SILENT]
    assert found["terminal"] == ["ok: prints to standard output; there is nothing to try"]


def test_a_receiver_that_cannot_be_tried_says_so(tried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        def close(self) -> None:
            """Nothing is kept open."""

    plain: Any = Plain()
    kind = replace(RECEIVER_TYPES["console"], build=lambda config, context: plain)
    monkeypatch.setitem(RECEIVER_TYPES, "console", kind)
    assert tried({"terminal": 'type = "console"'})["terminal"] == [
        "note: cannot be tried without posting; use send-test"
    ]


def test_a_store_that_has_no_place(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES.format(receivers='[[receivers]]\nname = "t"\ntype = "console"', names='"t"'))
    env = Environment(Settings(store="nonsense"), GivenSecrets({}))
    store = try_all(load_rules(file), env)[-1]
    assert (store.kind, store.name) == ("store", "WATCHDOG_STORE")
    assert lines(store)[0].startswith("FAILED: the store is not a URL; write for example sqlite:////")
