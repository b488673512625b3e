"""``watchdog check --online``, from the command line to the simulated services and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from watchdog.simulated import faults, slack
from watchdog.simulated.slack import HOOK, Fault

SOURCE = "ok      source baseten: the key is accepted, 6 active jobs"
WHOSE = 'ok      receiver slack: the token is that of "watchdog" in the workspace "Simulated"'
IN = "ok      receiver slack: the bot is in the channel #gpu-alerts (C0GPUALERTS)"


def online(desk: Any) -> tuple[int, list[str]]:
    """Check; return the exit status and the lines after the first. Nothing may be posted or made."""
    before = sorted(path.name for path in desk.folder.iterdir())
    status, out, err = desk.type("check", str(desk.rules), "--online")
    assert err == ""
    assert desk.slack.workspace.messages == []
    assert sorted(path.name for path in desk.folder.iterdir()) == before
    first, *rest = out.splitlines()
    assert first == f"{desk.rules} is fine: 1 sources, 1 receivers, 1 routes, 1 rules"
    assert slack.TOKEN not in out
    return status, rest


def store(desk: Any) -> str:
    return (
        f"ok      store {desk.folder}/watchdog.db: can be written, and is made at the first start with schema version 1"
    )


def test_all_is_well(desk: Any) -> None:
    assert online(desk) == (0, [SOURCE, WHOSE, IN, store(desk)])


def test_the_same_as_json(desk: Any) -> None:
    status, out, _ = desk.type("check", str(desk.rules), "--online", "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert found[0] == {
        "level": "ok",
        "kind": "source",
        "name": "baseten",
        "text": "the key is accepted, 6 active jobs",
        "remedy": "",
    }
    assert [(item["level"], item["kind"]) for item in found] == [
        ("ok", "source"),
        ("ok", "receiver"),
        ("ok", "receiver"),
        ("ok", "store"),
    ]
    desk.slack.workspace.channels["C0GPUALERTS"].member = False
    status, out, _ = desk.type("check", str(desk.rules), "--online", "--format", "json")
    assert status == 1
    assert json.loads(out)[2] == {
        "level": "FAILED",
        "kind": "receiver",
        "name": "slack",
        "text": "the bot is not in the channel #gpu-alerts",
        "remedy": "invite the bot: /invite @watchdog in #gpu-alerts",
    }


def test_after_a_run_the_store_is_there(desk: Any) -> None:
    assert desk.type("once", "-c", str(desk.rules), "--dry-run")[0] == 0
    assert desk.type("once", "-c", str(desk.rules))[0] == 0
    desk.slack.workspace.messages.clear()
    status, lines = online(desk)
    assert (status, lines[-1]) == (
        0,
        f"ok      store {desk.folder}/watchdog.db: opens and can be written, schema version 1",
    )


def test_a_note_is_no_failure(desk: Any) -> None:
    desk.slack.scopes -= {"users:read.email"}
    assert online(desk) == (
        0,
        [
            SOURCE,
            WHOSE,
            (
                "note    receiver slack: the token lacks the scope users:read.email, for mentioning the owner of a "
                "job; add it to the app and install the app again, if you want it"
            ),
            IN,
            store(desk),
        ],
    )


def test_missing_secrets_are_lines_and_the_rest_is_tried(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASETEN_API_KEY")
    monkeypatch.setenv("WATCHDOG_STORE", f"sqlite:///{desk.folder}/no/watchdog.db")
    assert online(desk) == (
        1,
        [
            "FAILED  source baseten: BASETEN_API_KEY is not set; set it, or BASETEN_API_KEY_FILE",
            WHOSE,
            IN,
            (
                f"FAILED  store {desk.folder}/no/watchdog.db: folder {desk.folder}/no cannot be written (No such "
                "file or directory); make it exist and be writable for this user, or name another one in WATCHDOG_STORE"
            ),
        ],
    )


def test_wrong_keys(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASETEN_API_KEY", "wrong-key-1")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "wrong-key-2")
    status, lines = online(desk)
    assert status == 1
    assert lines[:2] == [
        (
            "FAILED  source baseten: job search: HTTP 401; the key is wrong, expired, or may not do this; Invalid API "
            "key; set a valid key in BASETEN_API_KEY"
        ),
        (
            "FAILED  receiver slack: Slack refuses the token (invalid_auth); put the bot token (xoxb-…) of an "
            "installed app into SLACK_BOT_TOKEN"
        ),
    ]
    assert "wrong-key" not in "".join(lines)


def test_an_incoming_webhook(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACK_BOT_TOKEN")
    chat = desk.rules.read_text().split('base_url = "')[2].split("/api/")[0]
    monkeypatch.setenv("SLACK_WEBHOOK_URL", chat + HOOK)
    status, lines = online(desk)
    assert status == 0
    assert lines[1:3] == [
        "ok      receiver slack: the webhook is there: it refuses an empty message (no_text), as it should",
        (
            "note    receiver slack: the address in SLACK_WEBHOOK_URL does not begin with https://hooks.slack.com/; "
            "copy it again, unless it is a proxy's"
        ),
    ]
    assert slack.HOOK not in "".join(lines)


def test_services_that_are_ill(desk: Any) -> None:
    desk.faults.plan(faults.html(502))
    desk.slack.fail(Fault(status=429, retry_after=20))
    status, lines = online(desk)
    assert status == 1
    assert lines[:2] == [
        (
            "FAILED  source baseten: job search: HTTP 502; check base_url and the network; if both are right, "
            "try again later"
        ),
        "FAILED  receiver slack: Slack channel gpu-alerts: ratelimited; wait 20 s and try again",
    ]


def test_a_store_of_another_program_is_named_once(desk: Any) -> None:
    (desk.folder / "watchdog.db").write_text("not a database, but long enough to look like something else" * 20)
    status, lines = online(desk)
    assert (status, lines[-1]) == (
        1,
        (
            f"FAILED  store {desk.folder}/watchdog.db: is not a database; move the file away, or name another one in "
            "WATCHDOG_STORE"
        ),
    )


def test_wrong_rules_are_not_tried(desk: Any, mistakes: Any) -> None:
    status, out, err = desk.type("check", str(mistakes()), "--online")
    assert (status, out, desk.slack.calls) == (2, "", [])
    assert "error: " in err
    status, out, _ = desk.type("check", str(mistakes()), "--online", "--format", "json")
    assert (status, json.loads(out)["ok"]) == (2, False)


def test_without_the_option_nothing_is_asked(desk: Any) -> None:
    assert desk.type("check", str(desk.rules))[0] == 0
    assert desk.slack.calls == []
    assert not Path(desk.folder / "watchdog.db").exists()


def test_without_the_option_a_missing_secret_is_a_note(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASETEN_API_KEY")
    status, out, _ = desk.type("check", str(desk.rules))
    assert status == 0
    assert out.splitlines()[1:] == [
        'note: before it can run: source "baseten": BASETEN_API_KEY is not set; set it, or BASETEN_API_KEY_FILE'
    ]
