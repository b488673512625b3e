"""The fake is as strict as Slack: checked with Slack's own client, and limit by limit."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import HOOK, TOKEN, FakeSlack, Fault
from watchdog.simulated.slack_rules import Bucket, refusal, shown, texts_of
from watchdog.simulated.slack_workspace import FakeChannel, FakeMessage

ID = "C0GPUALERTS"
NOON = 1_772_452_800.0


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slack(clock: Clock) -> FakeSlack:
    return FakeSlack(clock)


@pytest.fixture
def url(slack: FakeSlack) -> Iterator[str]:
    server = FakeServer(slack.handle)
    server.start()
    yield str(server.url).rstrip("/")
    server.stop()


@pytest.fixture
def client(url: str) -> WebClient:
    return WebClient(TOKEN, base_url=f"{url}/api/", timeout=5, retry_handlers=[])


def refused(call: Any, **arguments: Any) -> str:
    """Return the code with which Slack refuses the call."""
    with pytest.raises(SlackApiError) as caught:
        call(**arguments)
    return str(caught.value.response["error"])


def post(url: str, content: bytes, path: str = HOOK, kind: str = "application/json") -> tuple[int, str]:
    """Post to a path without Slack's client."""
    request = urllib.request.Request(url + path, content, {"Content-Type": kind})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


# --- posting, editing, threads ---


def test_a_post_returns_the_channels_id_and_a_ts(client: WebClient, slack: FakeSlack) -> None:
    answer = client.chat_postMessage(channel="#gpu-alerts", text="hello")
    assert (answer["channel"], answer["ts"]) == (ID, slack.workspace.messages[0].ts)
    assert [client.chat_postMessage(channel=name, text="x")["channel"] for name in (ID, "gpu-alerts")] == [ID, ID]


def test_an_edit_needs_the_channels_id(client: WebClient, slack: FakeSlack) -> None:
    ts = client.chat_postMessage(channel=ID, text="one", attachments=[{"text": "more"}])["ts"]
    assert refused(client.chat_update, channel="#gpu-alerts", ts=ts, text="two") == "channel_not_found"
    client.chat_update(channel=ID, ts=ts, text="two")
    [message] = slack.workspace.messages
    assert message.edits == ["one\nmore"]
    assert message.words == "two\nmore"
    client.chat_update(channel=ID, ts=ts, text="three", attachments=[])
    assert message.words == "three"


def test_what_cannot_be_edited(client: WebClient, slack: FakeSlack, clock: Clock) -> None:
    ts = client.chat_postMessage(channel=ID, text="one")["ts"]
    slack.workspace.edit_window = 60
    clock.now += 60
    assert client.chat_update(channel=ID, ts=ts, text="two")["ok"]
    clock.now += 1
    assert refused(client.chat_update, channel=ID, ts=ts, text="x") == "edit_window_closed"
    slack.workspace.delete(ts)
    assert refused(client.chat_update, channel=ID, ts=ts, text="x") == "message_not_found"
    assert refused(client.chat_postMessage, channel=ID, text="x", thread_ts=ts) == "thread_not_found"


def test_a_reply_is_in_the_thread_and_perhaps_in_the_channel(client: WebClient, slack: FakeSlack) -> None:
    ts = client.chat_postMessage(channel=ID, text="one")["ts"]
    client.chat_postMessage(channel=ID, text="two", thread_ts=ts)
    client.chat_postMessage(channel=ID, text="three", thread_ts=ts, reply_broadcast=True)
    assert [(reply.text, reply.broadcast) for reply in slack.workspace.thread(ts)] == [("two", False), ("three", True)]
    assert [m["text"] for m in client.conversations_history(channel=ID)["messages"]] == ["three", "one"]
    assert [m["text"] for m in client.conversations_replies(channel=ID, ts=ts)["messages"]] == ["one", "two", "three"]
    assert refused(client.conversations_replies, channel=ID, ts="1.0") == "thread_not_found"


def test_history_is_limited_and_shows_metadata_on_request(client: WebClient, clock: Clock) -> None:
    metadata = {"event_type": "t", "event_payload": {"n": 1}}
    client.chat_postMessage(channel=ID, text="one", metadata=metadata)
    clock.now += 10
    client.chat_postMessage(channel=ID, text="two")
    page = client.conversations_history(channel=ID, limit=1)
    assert ([m["text"] for m in page["messages"]], page["has_more"]) == (["two"], True)
    page = client.conversations_history(channel=ID, oldest=str(NOON + 5))
    assert ([m["text"] for m in page["messages"]], page["has_more"]) == (["two"], False)
    assert "metadata" not in client.conversations_history(channel=ID)["messages"][1]
    found = client.conversations_history(channel=ID, include_all_metadata=True)["messages"]
    assert found[1]["metadata"] == metadata
    assert "metadata" not in found[0]


def test_long_text_is_cut_in_a_post_and_refused_in_an_edit(client: WebClient, slack: FakeSlack) -> None:
    ts = client.chat_postMessage(channel=ID, text="x" * 40001)["ts"]
    assert len(slack.workspace.messages[0].text) == 40000
    assert client.chat_update(channel=ID, ts=ts, text="x" * 4000)["ok"]
    assert refused(client.chat_update, channel=ID, ts=ts, text="x" * 4001) == "msg_too_long"
    assert refused(client.api_call, api_method="chat.postMessage", json={"channel": ID}) == "no_text"


# --- who may do what ---


def test_channels_that_cannot_be_used(client: WebClient, slack: FakeSlack) -> None:
    slack.workspace.channels = {
        "C1": FakeChannel("C1", "other", member=False),
        "C2": FakeChannel("C2", "old", archived=True),
    }
    codes = [refused(client.chat_postMessage, channel=name, text="x") for name in ("#nowhere", "#other", "#old")]
    assert codes == ["channel_not_found", "not_in_channel", "is_archived"]


def test_tokens_and_scopes(client: WebClient, slack: FakeSlack, url: str) -> None:
    assert client.auth_test()["user"] == "watchdog"
    assert refused(WebClient("xoxb-wrong", base_url=f"{url}/api/").auth_test) == "invalid_auth"
    slack.scopes = {"groups:history"}
    assert refused(client.chat_postMessage, channel=ID, text="x") == "missing_scope"
    assert client.conversations_history(channel=ID)["messages"] == []
    assert refused(client.users_lookupByEmail, email="a@x.io") == "missing_scope"
    assert refused(client.api_call, api_method="chat.nonsense") == "unknown_method"


def test_a_call_without_a_token_is_refused(url: str) -> None:
    assert "not_authed" in post(url, b"", "/api/auth.test", "application/x-www-form-urlencoded")[1]


def test_users_are_found_by_address(client: WebClient, slack: FakeSlack) -> None:
    slack.workspace.users["ada@example.com"] = "U0ADA"
    assert client.users_lookupByEmail(email="ada@example.com")["user"]["id"] == "U0ADA"
    assert refused(client.users_lookupByEmail, email="bob@example.com") == "users_not_found"


# --- rates and faults ---


def test_posts_come_one_a_second_and_channel_after_a_short_burst(
    client: WebClient, slack: FakeSlack, clock: Clock
) -> None:
    for _ in range(4):
        client.chat_postMessage(channel=ID, text="x")
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(channel=ID, text="x")
    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "1"
    assert slack.too_early == []
    clock.now += 0.5
    assert refused(client.chat_postMessage, channel=ID, text="x") == "ratelimited"
    assert len(slack.too_early) == 1
    clock.now += 1
    assert client.chat_postMessage(channel=ID, text="x")["ok"]
    assert [name for _, name in slack.calls] == ["chat.postMessage"] * 7


@pytest.mark.parametrize(("after", "wait"), [(0.9, pytest.approx(0.1)), (1.0, 0.0), (1.1, 0.0)])
def test_a_bucket_fills_with_time(after: float, wait: float) -> None:
    bucket = Bucket(1.0, 2.0)
    assert [bucket.take(0.0), bucket.take(0.0)] == [0.0, 0.0]
    assert bucket.take(after) == wait


def test_a_bucket_holds_no_more_than_a_burst() -> None:
    bucket = Bucket(1.0, 2.0)
    bucket.take(0.0)
    assert [bucket.take(1000.0), bucket.take(1000.0), bucket.take(1000.0)] == [0.0, 0.0, 1.0]


def test_faults_come_in_order_and_may_be_lies(client: WebClient, slack: FakeSlack) -> None:
    slack.fail(Fault(status=502, accept=True, method="chat.postMessage"), times=2)
    slack.fail(Fault(code="fatal_error", retry_after=3))
    assert refused(client.auth_test) == "fatal_error"
    for _ in range(2):
        with pytest.raises(SlackApiError):
            client.chat_postMessage(channel=ID, text="x")
    assert client.chat_postMessage(channel=ID, text="y")["ok"]
    assert [message.text for message in slack.workspace.messages] == ["x", "x", "y"]


def test_a_slow_answer_is_held_back(url: str, slack: FakeSlack, client: WebClient) -> None:
    held: list[float] = []
    slack._sleep = held.append
    slack.fail(Fault(code="request_timeout", hold=30))
    assert refused(client.auth_test) == "request_timeout"
    assert held == [30]


# --- incoming webhook and files ---


def test_the_incoming_webhook_answers_with_words(url: str, slack: FakeSlack) -> None:
    assert post(url, b'{"text": "hello"}') == (200, "ok")
    assert post(url, b"{}") == (400, "no_text")
    assert post(url, b'{"text": "x", "blocks": [{"type": "odd"}]}') == (400, "invalid_payload")
    assert post(url, b'{"text": "x"}', "/services/T/B/other") == (404, "no_service")
    assert post(url, b'{"text": "x"}')[0] == 429
    slack.clock.now += 10  # type: ignore[attr-defined]
    slack.workspace.channels[ID].archived = True
    assert post(url, b'{"text": "x"}') == (410, "channel_is_archived")
    assert post(url, b"[1]") == (410, "channel_is_archived")
    assert [message.text for message in slack.workspace.messages] == ["hello"]


def test_a_file_goes_into_the_thread(client: WebClient, slack: FakeSlack) -> None:
    ts = client.chat_postMessage(channel=ID, text="one")["ts"]
    client.files_upload_v2(channel=ID, thread_ts=ts, content=b"png", filename="chart.png", title="GPU 3")
    [message] = slack.workspace.thread(ts)
    assert message.file == "GPU 3"
    assert list(slack.workspace.uploads.values()) == ["3 bytes"]


def test_files_that_cannot_be_shared(client: WebClient, slack: FakeSlack) -> None:
    complete = client.files_completeUploadExternal
    assert refused(complete, files=[{"id": "F1"}], channel_id=ID) == "file_not_found"
    assert refused(complete, files=[], channel_id=ID) == "file_not_found"
    assert refused(complete, files=[], channel_id="#gpu-alerts") == "channel_not_found"
    start = client.files_getUploadURLExternal
    assert refused(start, filename="", length=3) == "invalid_arguments"
    assert refused(start, filename="a.png", length=0) == "invalid_arguments"
    slack.workspace.uploads["F9"] = "3 bytes"
    client.files_completeUploadExternal(files=[{"id": "F9"}], channel_id=ID)
    assert slack.workspace.messages[0].file == "F9"


# --- limits ---


def text(size: int, kind: str = "mrkdwn") -> dict[str, Any]:
    return {"type": kind, "text": "x" * size}


def section(size: int) -> dict[str, Any]:
    return {"type": "section", "text": text(size)}


def button(**changes: Any) -> dict[str, Any]:
    return {"type": "button", "text": text(75, "plain_text"), **changes}


IMAGE = {"type": "image", "alt_text": "x", "image_url": "https://x/a.png"}

FINE: list[list[dict[str, Any]]] = [
    [section(3000)],
    [{"type": "section", "fields": [text(1)] * 10}],
    [{"type": "section", "fields": [text(2000)], "text": text(1)}],
    [{"type": "header", "text": text(150, "plain_text")}],
    [{"type": "context", "elements": [text(10)] * 9 + [{"type": "image"}]}],
    [{"type": "actions", "elements": [button(value="x" * 2000, url="x" * 3000, action_id="x" * 255)] * 25}],
    [{"type": "divider", "block_id": "x" * 255}],
    [{"type": "divider"}] * 50,
    [section(2640)] * 5,
    [IMAGE],
    [{"type": "image", "alt_text": "x" * 2000, "slack_file": {"id": "F1"}}],
]
BAD: list[tuple[list[dict[str, Any]], str]] = [
    ([section(3001)], "invalid_blocks"),
    ([section(0)], "invalid_blocks"),
    ([{"type": "section", "text": {"type": "mrkdwn", "text": "🚀" * 1501}}], "invalid_blocks"),
    ([{"type": "section"}], "invalid_blocks"),
    ([{"type": "section", "text": "x"}], "invalid_blocks"),
    ([{"type": "section", "text": {"type": "html", "text": "x"}}], "invalid_blocks"),
    ([{"type": "section", "fields": [text(1)] * 11}], "invalid_blocks"),
    ([{"type": "section", "fields": [text(2001)]}], "invalid_blocks"),
    ([{"type": "header", "text": text(151, "plain_text")}], "invalid_blocks"),
    ([{"type": "header", "text": text(1)}], "invalid_blocks"),
    ([{"type": "context", "elements": [text(1)] * 11}], "invalid_blocks"),
    ([{"type": "context", "elements": []}], "invalid_blocks"),
    ([{"type": "actions", "elements": [button()] * 26}], "invalid_blocks"),
    ([{"type": "actions", "elements": []}], "invalid_blocks"),
    ([{"type": "actions", "elements": [button(text=text(76, "plain_text"))]}], "invalid_blocks"),
    ([{"type": "actions", "elements": [button(value="x" * 2001)]}], "invalid_blocks"),
    ([{"type": "actions", "elements": [button(url="x" * 3001)]}], "invalid_blocks"),
    ([{"type": "actions", "elements": [button(action_id="x" * 256)]}], "invalid_blocks"),
    ([{"type": "divider", "block_id": "x" * 256}], "invalid_blocks"),
    ([{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}], "invalid_blocks"),
    ([{"type": "divider"}] * 51, "invalid_blocks"),
    ([{"type": "odd"}], "invalid_blocks"),
    ([{}], "invalid_blocks"),
    ([{**IMAGE, "alt_text": ""}], "invalid_blocks"),
    ([{**IMAGE, "alt_text": "x" * 2001}], "invalid_blocks"),
    ([{**IMAGE, "image_url": "x" * 3001}], "invalid_blocks"),
    ([{"type": "image", "alt_text": "x"}], "invalid_blocks"),
    ([section(2640)] * 4 + [section(2641)], "msg_blocks_too_long"),
]


@pytest.mark.parametrize("blocks", FINE)
def test_blocks_at_their_limits_are_taken(blocks: list[dict[str, Any]]) -> None:
    assert refusal({"text": "x", "blocks": blocks}) == ""
    assert refusal({"text": "x", "attachments": [{"blocks": blocks}]}) == ""


@pytest.mark.parametrize(("blocks", "code"), BAD)
def test_blocks_beyond_their_limits_are_refused(blocks: list[dict[str, Any]], code: str) -> None:
    assert refusal({"text": "x", "blocks": blocks}) == code
    assert refusal({"text": "x", "attachments": [{"blocks": blocks}]}) == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "no_text"),
        ({"text": ""}, "no_text"),
        ({"text": "x"}, ""),
        ({"blocks": [{"type": "divider"}]}, ""),
        ({"attachments": [{}] * 100}, ""),
        ({"attachments": [{}] * 101}, "too_many_attachments"),
        ({"text": "x", "metadata": {}}, "invalid_metadata_format"),
        ({"text": "x", "metadata": {"event_type": "t"}}, "invalid_metadata_format"),
        ({"text": "x", "metadata": "t"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": {"event_type": "t", "event_payload": {}}}, ""),
    ],
)
def test_messages(body: dict[str, Any], code: str) -> None:
    assert refusal(body) == code


# --- what a reader sees ---


@pytest.mark.parametrize(
    ("marked", "read"),
    [
        ("a &lt;b&gt; &amp;amp;", "a <b> &amp;"),
        ("<!date^1^{time}|noon> x", "noon x"),
        ("<https://x/?a=1&amp;b|the &lt;job&gt;>", "the <job>"),
        ("<!here> <!subteam^S1> <@U1>", "@here @S1 @U1"),
    ],
)
def test_markup_is_undone(marked: str, read: str) -> None:
    assert shown(marked) == read


def test_texts_come_in_reading_order() -> None:
    assert texts_of([section(1), {"type": "divider", "n": 1}, {"fields": [text(2), text(3)]}]) == ["x", "xx", "xxx"]


def test_the_transcript_is_what_slack_would_show(client: WebClient, slack: FakeSlack, clock: Clock) -> None:
    told: list[str] = []
    slack.workspace.on_message = lambda message: told.append(message.text)
    ts = client.chat_postMessage(channel=ID, text="idle", attachments=[{"blocks": [section(3)]}])["ts"]
    clock.now += 60
    client.chat_postMessage(channel=ID, text="still idle", thread_ts=ts, reply_broadcast=True)
    client.chat_update(channel=ID, ts=ts, text="over")
    client.files_upload_v2(channel=ID, thread_ts=ts, content=b"png", filename="chart.png")
    slack.workspace.channels["C2"] = FakeChannel("C2", "quiet")
    assert slack.workspace.transcript().split("\n") == [
        "#gpu-alerts",
        "  [12:00] over  (edited 1×)",
        "          │ xxx",
        "    ↳ [12:01] still idle  (also sent to the channel)",
        "    ↳ [12:01]   (file: chart.png)",
        "#quiet",
    ]
    assert told == ["idle", "still idle", "over", ""]


def test_many_threads_may_call_at_once(slack: FakeSlack, client: WebClient) -> None:
    seen: list[FakeMessage] = []
    slack.workspace.on_message = seen.append
    calls = [threading.Thread(target=client.chat_postMessage, kwargs={"channel": ID, "text": str(n)}) for n in range(4)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert len({message.ts for message in seen}) == 4


# --- the list of channels ---


@pytest.fixture
def channels(slack: FakeSlack) -> dict[str, FakeChannel]:
    found = [
        FakeChannel("C1", "one"),
        FakeChannel("C2", "two", member=False),
        FakeChannel("C3", "three", archived=True),
        FakeChannel("G1", "secret", private=True),
        FakeChannel("G2", "others", private=True, member=False),
    ]
    slack.workspace.channels = {channel.id: channel for channel in found}
    return slack.workspace.channels


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ({}, ["C1", "C2", "C3"]),
        ({"exclude_archived": True}, ["C1", "C2"]),
        ({"types": "private_channel"}, ["G1"]),
        ({"types": "public_channel,private_channel"}, ["C1", "C2", "C3", "G1"]),
    ],
)
def test_channels_are_listed_by_type(
    client: WebClient, channels: dict[str, FakeChannel], arguments: dict[str, Any], ids: list[str]
) -> None:
    assert [channel["id"] for channel in client.conversations_list(**arguments)["channels"]] == ids


def test_the_list_comes_in_pages(client: WebClient, channels: dict[str, FakeChannel]) -> None:
    first = client.conversations_list(limit=2)
    assert [channel["name"] for channel in first["channels"]] == ["one", "two"]
    rest = client.conversations_list(limit=2, cursor=first["response_metadata"]["next_cursor"])
    assert [channel["name"] for channel in rest["channels"]] == ["three"]
    assert rest["response_metadata"]["next_cursor"] == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"limit": 1000}, "invalid_limit"),
        ({"limit": 0}, "invalid_limit"),
        ({"cursor": "x"}, "invalid_cursor"),
    ],
)
def test_a_wrong_page_is_refused(client: WebClient, arguments: dict[str, Any], code: str) -> None:
    assert refused(client.conversations_list, **arguments) == code


@pytest.mark.parametrize(
    ("scope", "types", "code"),
    [
        ("channels:read", "private_channel", "missing_scope"),
        ("groups:read", "public_channel", "missing_scope"),
        ("channels:read", "public_channel,private_channel", "missing_scope"),
        ("channels:read", "channels", "invalid_types"),
    ],
)
def test_each_type_of_channel_needs_its_scope(
    slack: FakeSlack, client: WebClient, scope: str, types: str, code: str
) -> None:
    slack.scopes = {scope}
    assert refused(client.conversations_list, types=types) == code


def test_lists_are_limited_to_twenty_a_minute(slack: FakeSlack, client: WebClient, clock: Clock) -> None:
    for _ in range(20):
        client.conversations_list()
    assert refused(client.conversations_list) == "ratelimited"
    clock.now += 3
    client.conversations_list()


def test_a_channel_is_described_by_its_id(client: WebClient, channels: dict[str, FakeChannel]) -> None:
    channels["C2"].member, channels["C3"].archived = False, True
    assert client.conversations_info(channel="C2")["channel"] == {
        "id": "C2",
        "name": "two",
        "is_private": False,
        "is_archived": False,
        "is_member": False,
    }
    assert client.conversations_info(channel="C3")["channel"]["is_archived"] is True
    channels["G1"].member = False
    for unseen in ("#two", "two", "C9", "G1"):
        assert refused(client.conversations_info, channel=unseen) == "channel_not_found"


@pytest.mark.parametrize(
    ("scopes", "channel", "code"),
    [
        ({"channels:read"}, "G1", "missing_scope"),
        ({"groups:read"}, "C1", "missing_scope"),
        (set(), "C9", "missing_scope"),
    ],
)
def test_a_channel_is_described_to_those_with_its_scope(
    slack: FakeSlack, client: WebClient, channels: dict[str, FakeChannel], scopes: set[str], channel: str, code: str
) -> None:
    slack.scopes = scopes
    assert refused(client.conversations_info, channel=channel) == code


def test_answers_name_the_scopes_of_the_token(slack: FakeSlack, client: WebClient) -> None:
    slack.scopes = {"chat:write", "channels:read"}
    assert client.auth_test().headers["X-OAuth-Scopes"] == "channels:read,chat:write"
