from typing import Any

import pytest

from watchdog.model import Reason
from watchdog.receivers.slack.mrkdwn import weight
from watchdog.receivers.slack.render import Calls, first_note, is_critical, parent, reply, should_ping
from watchdog.simulated.slack_rules import refusal, shown, texts_of


def _text(message: Any) -> str:
    return shown("\n".join([message.text, *texts_of(list(message.attachments))]))


def test_the_parent_says_everything_a_person_needs(make: Any) -> None:
    more = {"runbook_url": "https://wiki.example/idle", "description": "Stop it", "waste": True}
    alerts = [make.alert(str(gpu), **more) for gpu in range(3)]
    message = parent(make.view(*alerts), make.noon, plain=False)
    assert shown(message.text) == (
        "🟡 Warning: GPUIdle: 3 of 8 GPUs of node-1, such as: GPU 0 of train-7b has been idle for 20m"
    )
    [attachment] = message.attachments
    assert attachment["color"] == "#f2b01e"
    facts, rule, footer = attachment["blocks"]
    assert shown(facts["text"]["text"]).split("\n") == [
        "*Job:* train-7b · 8 × H100 · running",
        "*Provider:* baseten · llm",
        "*Owner:* ada",
        "*Since:* 2026-03-02 11:40 UTC",
        "*Wasted so far:* about $2.50 at list price (1 GPU-hour), $7.50 more each hour",
    ]
    assert "<https://provider.example/jobs/abc123|train-7b>" in facts["text"]["text"]
    assert "<https://wiki.example/idle|runbook>" in rule["text"]["text"]
    assert shown(rule["text"]["text"]).split("\n") == [
        "*GPUIdle* · warning · 3 of 8 GPUs of node-1",
        "now 2 %, worst 0 %",
        "*What to do:* Stop it · runbook",
    ]
    assert shown(footer["elements"][0]["text"]) == "As of 2026-03-02 12:00 UTC · incident inc1"


@pytest.mark.parametrize(
    ("changes", "sign", "colour"),
    [
        ({"severity": "critical"}, "🔴", "#d7263d"),
        ({"severity": "PAGE"}, "🔴", "#d7263d"),
        ({"severity": "error"}, "🟠", "#e8590c"),
        ({"severity": "info"}, "🔵", "#3b82f6"),
        ({"severity": "odd"}, "🔔", "#6b7280"),
        ({"severity": ""}, "🔔", "#6b7280"),
        ({"unknown": True}, "❔", "#8a8f98"),
        ({"event": True}, "🟡", "#f2b01e"),
        ({"status": "resolved"}, "✅", "#2f9e44"),
        ({"status": "resolved", "end_reason": "job completed"}, "🏁", "#64748b"),
        ({"status": "resolved", "end_reason": "job failed"}, "❌", "#64748b"),
        ({"status": "resolved", "end_reason": "rule removed"}, "⏹️", "#64748b"),
    ],
)
def test_the_colour_shows_the_severity_and_the_state(make: Any, changes: Any, sign: str, colour: str) -> None:
    message = parent(make.view(make.alert(**changes)), make.noon, plain=False)
    assert message.text.startswith(sign + " ")
    assert message.attachments[0]["color"] == colour


def test_a_note_and_a_mention_are_in_the_sentence(make: Any) -> None:
    message = parent(make.view(), make.noon, plain=False, note="late by 12 min", calls=Calls("<!here>"))
    assert message.text.endswith("idle for 20m (late by 12 min) <!here>")


def test_what_is_lost_or_over_is_said_per_rule(make: Any) -> None:
    lost, over = make.alert("0", unknown=True), make.ended(make.alert("1"), "job completed")
    text = _text(parent(make.view(lost, over), make.noon, plain=False))
    assert "last known 2 %, worst 0 % · data missing · since" in text
    assert "*GPUIdle* · warning · GPU 1 of node-1 · closed: the job completed" in text
    plainly = _text(parent(make.view(make.ended(make.alert("1"))), make.noon, plain=False))
    assert "*GPUIdle* · warning · GPU 1 of node-1 · resolved" in plainly


def test_plain_is_text_without_markup_or_coloured_part(make: Any) -> None:
    message = parent(make.view(make.alert(), make.alert(name="Odd", labels=(), value=None, worst=None)), 0, plain=True)
    assert message.attachments == ()
    assert message.body()["attachments"] == []
    assert message.text.split("\n")[1:] == [
        "GPUIdle: GPU 3 of node-1, now 2 %, worst 0 %",
        "Odd: the whole job",
    ]


def test_no_text_of_others_is_obeyed(make: Any) -> None:
    bad = "<!channel> <@U1> & <https://evil.example|ok>"
    job = make.job(
        job_name=bad, owner=bad, project_name=bad, gpu_type=bad, provider_status=bad, url="http://x/|<!here>"
    )
    alert = make.alert(bad, bad, summary=bad, description=bad, name=bad, expr=bad, end_reason=bad, severity=bad)
    view = make.view(alert, make.ended(alert, bad), job=job, id=bad)
    found = [parent(view, 0, plain=False), parent(view, 0, plain=True)]
    texts = [text for item in found for text in (item.text, *texts_of(list(item.attachments)))]
    texts.append(reply([make.note(view), make.note(view, Reason.ALL_RESOLVED)], view, 99999))
    assert not any(sign in text for text in texts for sign in ("<!channel", "<@U", "<!here", "<https://evil"))


def test_1000_alerts_of_100_rules_stay_below_every_limit(make: Any) -> None:
    long = "<&>🚀" * 75
    alerts = [
        make.alert(f"{gpu}{long}", long, name=f"Rule{rule}{long}", summary=long * 9, description=long * 9, expr=long,
                   runbook_url="https://x/" + "&" * 150)
        for rule in range(100) for gpu in range(10)
    ]  # fmt: skip
    job = make.job(job_name=long, owner=long, project_name=long, gpu_type=long, provider_status=long)
    view = make.view(*alerts, job=job)
    message = parent(view, make.noon, plain=False, note="late by 12 min", calls=Calls("<!here>", "<@U1>"))
    assert refusal(message.body(), update=True) == ""
    assert sum(weight(text) for text in texts_of(list(message.attachments))) < 10_000
    assert "more rules" in _text(message)
    assert refusal(parent(view, make.noon, plain=True).body(), update=True) == ""
    notes = [make.note(view, Reason.NEW_ALERTS, n) for n in range(1, 101)]
    text = reply(notes, view, make.noon + 9999, mention="<!here>")
    assert weight(text) < 4000
    assert "88 earlier changes are left out here." in text


def test_one_rule_too_many_is_counted(make: Any) -> None:
    message = parent(make.view(*(make.alert(name=f"R{n}") for n in range(9))), 0, plain=False)
    assert "and 1 more rule\n" in _text(message)


def test_an_incident_without_anything_known_is_still_a_message(make: Any) -> None:
    view = make.view(make.alert(summary="", name="", severity="", labels=(), expr="", value=None, worst=None), job=None,
                     group_labels=(), id="")  # fmt: skip
    assert refusal(parent(view, 0, plain=False).body()) == ""
    assert refusal(parent(make.view(make.alert(), alerts=()), 0, plain=False).body()) == ""


def test_a_reply_has_each_transition_with_its_time(make: Any) -> None:
    more = make.view(make.alert("3"), make.alert("4"))
    notes = [
        make.note(more, Reason.NEW_ALERTS, 2, changed=(more.alerts[1].fingerprint,), created_at=make.noon + 60),
        make.resolved(3),
    ]
    assert shown(reply(notes, notes[-1].view, make.noon + 601, named=True)).split("\n") == [
        "*train-7b* 🟡 2026-03-02 12:01 UTC New alerts: GPU 4 of train-7b has been idle for 20m (late by 9 min)",
        "✅ 2026-03-02 12:10 UTC Resolved after 30m: GPUIdle, GPU 3 of node-1",
        "Now: Resolved after 30m: GPUIdle, GPU 3 of node-1 on train-7b",
        "In all: 30m, worst 0 %, 0.33 GPU-hours affected.",
    ]


def test_one_change_in_time_is_one_sentence(make: Any) -> None:
    note = make.note(reason=Reason.NEW_ALERTS)
    assert reply([note], note.view, make.noon) == "🟡 New alerts: GPU 3 of train-7b has been idle for 20m"


def test_a_reply_in_time_does_not_repeat_how_things_stand(make: Any) -> None:
    assert "Now:" not in reply([make.note()], make.view(), make.noon + 120)
    assert "Now:" in reply([make.note()], make.view(), make.noon + 121)
    assert reply([make.note()], make.view(), make.noon, mention="<!here>").endswith("\n<!here>")


def test_the_first_message_says_that_it_is_late_or_over(make: Any) -> None:
    over = make.resolved()
    assert first_note([make.note()], make.view(), make.noon) == ""
    assert first_note([make.note()], make.view(), make.noon + 121) == "late by 2 min"
    assert (
        first_note([make.note(), over], over.view, make.noon + 720) == "over before this could be said, late by 12 min"
    )


def test_nobody_is_called_to_what_is_over(make: Any) -> None:
    assert should_ping([make.note()], make.view())
    assert not should_ping([make.note(reason=Reason.NEW_ALERTS)], make.view())
    assert not should_ping([make.note()], make.resolved().view)


@pytest.mark.parametrize(("severity", "calls"), [("critical", True), ("Page", True), ("warning", False), ("", False)])
def test_only_critical_calls_the_group(make: Any, severity: str, calls: bool) -> None:
    assert is_critical(make.view(make.alert(severity=severity))) is calls


def test_the_body_says_only_what_the_sentence_above_has_not_said(make: Any) -> None:
    hot = make.alert("0", name="GPUHot", summary="GPU 0 is hot")
    message = parent(make.view(make.alert(), hot), make.noon, plain=False)
    assert "has been idle" in message.text
    assert _text(message).count("has been idle") == 1
    assert "GPU 0 is hot" in _text(message)
