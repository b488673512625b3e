"""What a try of a Slack receiver says: one exact line for each thing that can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watchdog.model import Remark
from watchdog.ports import Triable
from watchdog.receivers.slack import trial
from watchdog.simulated.server import Request, Response
from watchdog.simulated.slack import Fault
from watchdog.simulated.slack_rules import ALL_SCOPES
from watchdog.simulated.slack_workspace import FakeChannel

WHOSE = 'ok: the token is that of "watchdog" in the workspace "Simulated"'
IN = "ok: the bot is in the channel #gpu-alerts (C0GPUALERTS)"
ADD = "add it to the app and install the app again"
UNSEEN = (
    "note: whether the channel #gpu-alerts is there and takes posts cannot be looked up; add the scope channels:read "
    "(private channels: groups:read) to the app, or use send-test"
)
TOKEN = "put the bot token (xoxb-…) of an installed app into SLACK_BOT_TOKEN"
NETWORK = "check the network, HTTPS_PROXY and base_url"
TLS = "name an address that speaks TLS with a valid certificate, or a file with its issuer's in SSL_CERT_FILE"
DOCS = Path(__file__).parents[3] / "docs" / "receivers" / "slack.md"


def line(remark: Remark) -> str:
    return "; ".join(part for part in (f"{remark.level}: {remark.text}", remark.remedy) if part)


@pytest.fixture
def tried(bench: Any) -> Callable[..., list[str]]:
    """Build a receiver and try it; nothing may be posted."""

    def go(**options: Any) -> list[str]:
        receiver = bench.build("slack", **options)
        assert isinstance(receiver, Triable)
        found = [line(remark) for remark in receiver.try_out()]
        assert bench.slack.workspace.messages == []
        assert not [name for _, name in bench.slack.calls if name.startswith(("chat.", "webhook"))]
        return found

    return go


@pytest.mark.parametrize("channel", ["C0GPUALERTS", "#gpu-alerts", "gpu-alerts"])
def test_all_is_well(tried: Any, channel: str) -> None:
    assert tried(channel=channel) == [WHOSE, IN]


def test_the_calls_that_are_made(tried: Any, bench: Any) -> None:
    tried(channel="#gpu-alerts")
    assert [name for _, name in bench.slack.calls] == ["auth.test", "conversations.list", "conversations.info"]


@pytest.mark.parametrize("code", sorted(trial._BAD_TOKEN - {"malformed_token"}))
def test_a_token_that_is_refused(tried: Any, bench: Any, code: str) -> None:
    bench.slack.fail(Fault(code=code))
    assert tried() == [f"FAILED: Slack refuses the token ({code}); {TOKEN}"]


def test_a_wrong_token(tried: Any, bench: Any) -> None:
    bench.secrets.values["SLACK_BOT_TOKEN"] = "xoxb-wrong"
    assert tried() == [f"FAILED: Slack refuses the token (invalid_auth); {TOKEN}"]
    bench.secrets.values["SLACK_BOT_TOKEN"] = "xoxb wrong"
    assert tried() == [f"FAILED: Slack refuses the token (malformed_token); {TOKEN}"]


def test_the_scope_without_which_nothing_works(tried: Any, bench: Any) -> None:
    bench.slack.scopes -= {"chat:write"}
    assert tried() == [
        WHOSE,
        f"FAILED: the token lacks the scope chat:write, without which nothing is posted; {ADD}",
        IN,
    ]


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (
            {"channels:history", "groups:history"},
            "channels:history, for finding out after a timeout whether a message arrived",
        ),
        ({"users:read.email"}, "users:read.email, for mentioning the owner of a job"),
    ],
)
def test_scopes_that_make_deliveries_better(tried: Any, bench: Any, lacking: set[str], said: str) -> None:
    bench.slack.scopes -= lacking
    assert tried() == [WHOSE, f"note: the token lacks the scope {said}; {ADD}, if you want it", IN]


@pytest.mark.parametrize("channel", ["#gpu-alerts", "C0GPUALERTS"])
def test_without_the_scope_the_channel_cannot_be_looked_up(tried: Any, bench: Any, channel: str) -> None:
    bench.slack.scopes -= {"channels:read", "groups:read"}
    assert tried(channel=channel) == [
        WHOSE,
        (
            "note: the token lacks the scope channels:read, for finding the ID of a channel that is given by name; "
            f"{ADD}, if you want it"
        ),
        UNSEEN.replace("#gpu-alerts", channel),
    ]


def test_a_private_channel_needs_its_own_scope(tried: Any, bench: Any) -> None:
    bench.slack.workspace.channels["G1"] = FakeChannel("G1", "secret", private=True)
    assert tried(channel="G1")[-1] == "ok: the bot is in the channel #secret (G1)"
    bench.slack.scopes -= {"groups:read"}
    assert tried(channel="G1")[-1] == UNSEEN.replace("#gpu-alerts", "G1")


def test_every_scope_that_is_named_is_on_the_page_and_known_to_the_fake() -> None:
    page = DOCS.read_text(encoding="utf-8")
    named = {"chat:write", *(scope for any_of in trial.OPTIONAL for scope in any_of)}
    assert {scope for scope in named if f"`{scope}`" not in page} == set()
    assert named <= ALL_SCOPES


def test_a_slack_that_names_no_scopes(bench: Any, serve: Any) -> None:
    """A proxy may take the header away; the channel is then looked up all the same."""

    def bare(request: Request) -> Response:
        response = bench.slack.handle(request)
        return Response(response.status, response.body, response.content_type)

    receiver = bench.build("slack", base_url=f"{serve(bare)}/api/")
    assert [line(remark) for remark in receiver.try_out()] == [
        WHOSE,
        "note: Slack does not say which scopes the token has",
        IN,
    ]
    bench.slack.scopes -= {"channels:read"}
    assert [line(remark) for remark in receiver.try_out()][-1] == UNSEEN


@pytest.mark.parametrize("channel", ["C0NOWHERE", "#nowhere"])
def test_a_channel_that_is_not_there(tried: Any, channel: str) -> None:
    assert tried(channel=channel)[1:] == [
        (
            f"FAILED: there is no channel {channel}, or the bot cannot see it; correct channel; a private one is seen "
            "once the bot is invited: /invite @watchdog in the channel"
        )
    ]


def test_a_private_channel_without_the_bot_is_not_seen(tried: Any, bench: Any) -> None:
    bench.slack.workspace.channels["G1"] = FakeChannel("G1", "secret", private=True, member=False)
    for channel in ("G1", "#secret"):
        assert tried(channel=channel)[1].startswith(f"FAILED: there is no channel {channel}, or the bot cannot see it")


def test_an_archived_channel(tried: Any, bench: Any) -> None:
    bench.slack.workspace.channels["C0GPUALERTS"].archived = True
    for channel in ("C0GPUALERTS", "#gpu-alerts"):
        assert tried(channel=channel)[1:] == [
            "FAILED: the channel #gpu-alerts is archived; choose another one, or unarchive it"
        ]


def test_the_bot_is_not_in_the_channel(tried: Any, bench: Any) -> None:
    bench.slack.workspace.channels["C0GPUALERTS"].member = False
    for channel in ("C0GPUALERTS", "#gpu-alerts"):
        assert tried(channel=channel)[1:] == [
            "FAILED: the bot is not in the channel #gpu-alerts; invite the bot: /invite @watchdog in #gpu-alerts"
        ]
    bench.slack.scopes |= {"chat:write.public"}
    assert tried()[1:] == ["ok: the bot may post to the public channel #gpu-alerts (C0GPUALERTS) without being in it"]


def test_a_person_is_no_channel(tried: Any) -> None:
    assert tried(channel="U012ABC")[1:] == [
        "note: U012ABC is a person, not a channel: it cannot be looked up; use send-test"
    ]


def test_a_channel_on_a_later_page(tried: Any, bench: Any) -> None:
    def many(count: int) -> None:
        others = {f"C{number}": FakeChannel(f"C{number}", f"c{number}") for number in range(count)}
        bench.slack.workspace.channels = {**others, "C0GPUALERTS": FakeChannel("C0GPUALERTS", "gpu-alerts")}

    many(999 * trial.PAGES - 1)
    assert tried()[-1] == IN
    many(999 * trial.PAGES)
    assert tried()[-1] == (
        f"note: the channel #gpu-alerts is not among the first {999 * trial.PAGES} of the workspace; write the "
        "channel's ID, or use send-test"
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(status=429, code="ratelimited", retry_after=30), "ratelimited; wait 30 s and try again"),
        (Fault(status=429), "ratelimited; wait a minute and try again"),
        (Fault(status=503), "http_503; try again later"),
        (Fault(status=200), "http_200; what answers is not Slack: check base_url"),
        (Fault(status=404), "http_404"),
        (Fault(code="fatal_error"), "fatal_error; try again later"),
    ],
)
@pytest.mark.parametrize("method", ["auth.test", "conversations.info"])
def test_an_answer_that_is_none(tried: Any, bench: Any, fault: Fault, said: str, method: str) -> None:
    bench.slack.fail(Fault(fault.status, fault.code, fault.retry_after, method=method))
    assert tried()[-1] == f"FAILED: Slack channel #gpu-alerts: {said}"


def test_a_channel_that_is_no_object(tried: Any, bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.slack.workspace.methods, "conversations.info", lambda _: {"channel": "C1"})
    assert tried()[-1] == (
        "FAILED: Slack channel #gpu-alerts: malformed_answer; what answers is not Slack's Web API: check base_url"
    )


def test_a_slow_slack(tried: Any, bench: Any) -> None:
    bench.slack.fail(Fault(status=200, hold=0.5))
    assert tried(timeout="0.1s") == [f"FAILED: Slack channel #gpu-alerts: timeout (TimeoutError); {NETWORK}"]


def test_nobody_at_the_address(tried: Any) -> None:
    assert tried(base_url="http://127.0.0.1:1/api/") == [
        f"FAILED: Slack channel #gpu-alerts: network (ConnectionRefusedError); {NETWORK}"
    ]


def test_a_slack_without_tls(tried: Any, bench: Any) -> None:
    assert tried(base_url=bench.url.replace("http://", "https://") + "/api/") == [
        f"FAILED: Slack channel #gpu-alerts: network (SSLError); {TLS}"
    ]
