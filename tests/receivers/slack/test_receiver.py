import json
import logging
from typing import Any

import pytest

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import Reason
from watchdog.receivers.slack import reconcile
from watchdog.simulated.server import Request, Response
from watchdog.simulated.slack import Fault
from watchdog.simulated.slack_workspace import FakeChannel

ID = "C0GPUALERTS"


@pytest.fixture
def told(bench: Any, make: Any) -> Any:
    """A receiver, and the receipt of a first delivery."""
    receiver = bench.build("slack")
    return receiver, receiver.deliver(make.delivery())


def more(make: Any, **changes: Any) -> Any:
    """The second notification: another GPU idles."""
    return make.note(make.view(make.alert("3"), make.alert("4")), Reason.NEW_ALERTS, 2, **changes)


def test_the_first_delivery_posts_one_parent_and_returns_its_address(bench: Any, make: Any) -> None:
    delivery = make.delivery()
    receipt = bench.build("slack").deliver(delivery)
    [message] = bench.slack.workspace.messages
    assert receipt == {"channel": ID, "ts": message.ts, "told": "1", "name": "#gpu-alerts"}
    assert delivery.kept == [receipt]
    assert message.thread_ts is None
    assert message.metadata == {
        "event_type": "watchdog_notification",
        "event_payload": {"incident": "inc1", "sequence": 1, "kind": "parent"},
    }


def test_a_change_edits_the_parent_and_replies_in_its_thread(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    delivery = make.delivery(more(make), receipt=receipt)
    assert receiver.deliver(delivery) == {**receipt, "told": "2"}
    [parent] = bench.slack.workspace.parents()
    [reply] = bench.slack.workspace.thread(parent.ts)
    assert len(parent.edits) == 1
    assert "2 of 8 GPUs of node-1" in parent.words
    assert "New alerts: GPUIdle: 2 of 8 GPUs of node-1" in reply.words
    assert not reply.broadcast
    assert [name for _, name in bench.slack.calls[1:]][-2:] == ["chat.update", "chat.postMessage"]


@pytest.mark.parametrize(
    ("reason", "broadcast"),
    [(Reason.REPEAT, True), (Reason.SEVERITY, True), (Reason.REFIRED, True), (Reason.KNOWN, False)],
)
def test_a_ping_is_seen_in_the_channel(bench: Any, make: Any, told: Any, reason: Reason, broadcast: bool) -> None:
    receiver, receipt = told
    receiver.deliver(make.delivery(make.note(reason=reason, sequence=2), receipt=receipt))
    assert bench.slack.workspace.thread(receipt["ts"])[0].broadcast is broadcast


def test_the_end_edits_the_parent_and_replies_once(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    receiver.deliver(make.delivery(make.resolved(), receipt=receipt))
    [parent] = bench.slack.workspace.parents()
    [reply] = bench.slack.workspace.thread(parent.ts)
    assert parent.text.startswith("✅ Resolved after 30m")
    assert parent.attachments[0]["color"] == "#2f9e44"
    assert "Resolved after 30m" in reply.text
    assert not reply.broadcast


def test_what_was_over_before_it_could_be_said_is_one_message(bench: Any, make: Any) -> None:
    delivery = make.delivery(make.note(), make.resolved(), now=make.noon + 1500)
    receipt = bench.build("slack").deliver(delivery)
    [message] = bench.slack.workspace.messages
    assert message.text.startswith("✅ Resolved after 30m")
    assert message.text.endswith("(over before this could be said, late by 25 min)")
    assert receipt["told"] == "2"


def test_an_event_is_one_message(bench: Any, make: Any) -> None:
    view = make.view(make.alert(event=True, severity="critical", summary="train-7b failed"))
    bench.build("slack").deliver(make.delivery(make.note(view, Reason.EVENT)))
    [message] = bench.slack.workspace.messages
    assert message.text == "🔴 Critical: train-7b failed"


def test_changes_that_wait_for_the_first_delivery_become_its_thread(bench: Any, make: Any) -> None:
    receipt = bench.build("slack", mention="@here").deliver(make.delivery(make.note(), more(make, ping=True)))
    [parent] = bench.slack.workspace.parents()
    [reply] = bench.slack.workspace.thread(parent.ts)
    assert "New alerts" in reply.text
    assert not reply.broadcast
    assert receipt["told"] == "2"


def test_a_crash_between_the_parent_and_its_thread_posts_no_second_parent(bench: Any, make: Any) -> None:
    def die(_: float) -> None:
        raise RuntimeError("killed")

    healthy = bench.build("slack")
    bench.clock.sleep = die
    first = make.delivery(make.note(), more(make))
    with pytest.raises(RuntimeError, match="killed"):
        bench.build("slack").deliver(first)
    healthy.deliver(make.delivery(*first.notifications, receipt=first.kept[-1]))
    [parent] = bench.slack.workspace.parents()
    [reply] = bench.slack.workspace.thread(parent.ts)
    assert "New alerts" in reply.text
    assert "Warning:" not in reply.text


@pytest.mark.parametrize("loss", ["deleted", "window", "cant_update_message"])
def test_a_lost_parent_is_replaced_by_one_new_one(bench: Any, make: Any, told: Any, loss: str) -> None:
    receiver, receipt = told
    if loss == "deleted":
        bench.slack.workspace.delete(receipt["ts"])
    elif loss == "window":
        bench.slack.workspace.edit_window = 60
        bench.clock.now += 61
    else:
        bench.slack.fail(Fault(code=loss, method="chat.update"))
    delivery = make.delivery(more(make), receipt=receipt)
    after = receiver.deliver(delivery)
    assert after["ts"] != receipt["ts"]
    assert delivery.kept == [{**after, "told": "1"}]
    assert len(bench.slack.workspace.thread(after["ts"])) == 1
    assert len(bench.slack.workspace.parents()) == (1 if loss == "deleted" else 2)


def test_another_refusal_of_an_edit_is_an_error_and_nothing_is_posted(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    bench.slack.fail(Fault(code="block_mismatch", method="chat.update"))
    with pytest.raises(DeliveryError, match="block_mismatch") as caught:
        receiver.deliver(make.delivery(more(make), receipt=receipt))
    assert caught.value.kind is DeliveryErrorKind.CONTENT
    assert len(bench.slack.workspace.messages) == 1


def test_plain_takes_the_coloured_part_away(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    receiver.deliver(make.delivery(more(make), receipt=receipt, plain=True))
    [parent] = bench.slack.workspace.parents()
    assert parent.attachments == []
    assert "GPUIdle: 2 of 8 GPUs" in parent.text
    assert bench.slack.workspace.thread(parent.ts)[0].metadata is None


def test_posts_to_a_channel_are_1100_ms_apart(bench: Any, make: Any) -> None:
    receiver = bench.build("slack")
    for _ in range(8):
        receiver.deliver(make.delivery())
    assert bench.clock.slept == pytest.approx([1.1] * 7)
    bench.clock.now += 0.6
    receiver.deliver(make.delivery())
    assert bench.clock.slept[-1] == pytest.approx(0.5)
    bench.clock.now += 1.1
    receiver.deliver(make.delivery())
    assert len(bench.clock.slept) == 8


def test_a_clock_that_jumps_back_does_not_stop_the_sender(bench: Any, make: Any) -> None:
    receiver = bench.build("slack")
    receiver.deliver(make.delivery())
    bench.clock.now -= 3600
    receiver.deliver(make.delivery())
    assert bench.clock.slept == [pytest.approx(1.1)]


def test_429_hands_retry_after_to_the_sender(bench: Any, make: Any) -> None:
    bench.slack.fail(Fault(status=429, code="ratelimited", retry_after=30))
    with pytest.raises(DeliveryError) as caught:
        bench.build("slack").deliver(make.delivery())
    assert (caught.value.kind, caught.value.retry_after) == (DeliveryErrorKind.TRANSIENT, 30.0)
    assert not caught.value.ambiguous


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda b: setattr(b.slack, "token", "other"), "invalid_auth"),
        (lambda b: b.slack.scopes.clear(), "missing_scope"),
        (lambda b: setattr(b.slack.workspace.channels[ID], "member", False), "not_in_channel"),
        (lambda b: setattr(b.slack.workspace.channels[ID], "archived", True), "is_archived"),
        (lambda b: b.slack.workspace.channels.clear(), "channel_not_found"),
        (lambda b: b.secrets.values.clear(), "not_configured"),
    ],
)
def test_what_somebody_must_set_right_is_permanent(bench: Any, make: Any, spoil: Any, reason: str) -> None:
    receiver = bench.build("slack")
    spoil(bench)
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery())
    assert (caught.value.kind, caught.value.reason) == (DeliveryErrorKind.PERMANENT, reason)


def test_a_new_token_is_used_at_once(bench: Any, make: Any) -> None:
    receiver = bench.build("slack")
    bench.slack.token = bench.secrets.values["SLACK_BOT_TOKEN"] = "xoxb-new"
    assert receiver.deliver(make.delivery())["channel"] == ID


def test_a_page_that_is_not_json_is_transient(bench: Any, make: Any) -> None:
    bench.slack.fail(Fault())
    with pytest.raises(DeliveryError, match="http_200") as caught:
        bench.build("slack").deliver(make.delivery())
    assert caught.value.kind is DeliveryErrorKind.TRANSIENT


# --- after a timeout ---


def test_a_timeout_after_accept_is_ambiguous(bench: Any, make: Any) -> None:
    bench.slack.fail(Fault(accept=True, hold=0.4))
    with pytest.raises(DeliveryError, match="timeout") as caught:
        bench.build("slack", timeout="100ms").deliver(make.delivery())
    assert caught.value.ambiguous
    assert len(bench.slack.workspace.messages) == 1


def test_a_parent_that_arrived_all_the_same_is_found(bench: Any, make: Any) -> None:
    receiver = bench.build("slack", channel=ID)
    bench.slack.fail(Fault(status=502, accept=True))
    with pytest.raises(DeliveryError):
        receiver.deliver(make.delivery())
    again = make.delivery(maybe_sent=True)
    receipt = receiver.deliver(again)
    [message] = bench.slack.workspace.messages
    assert receipt == again.kept[0] == {"channel": ID, "ts": message.ts, "told": "1"}
    assert len(message.edits) == 1


def test_a_channel_given_by_name_is_known_after_the_first_post(bench: Any, make: Any) -> None:
    receiver = bench.build("slack")
    receiver.deliver(make.delivery())
    other = make.view(id="inc2")
    bench.slack.fail(Fault(status=502, accept=True))
    with pytest.raises(DeliveryError):
        receiver.deliver(make.delivery(make.note(other)))
    receiver.deliver(make.delivery(make.note(other), maybe_sent=True))
    assert len(bench.slack.workspace.messages) == 2


def lost(bench: Any, make: Any, receiver: Any, **changes: Any) -> DeliveryError:
    """Post a first message that arrives, and whose answer is lost."""
    bench.slack.fail(Fault(status=502, accept=True, method="chat.postMessage"))
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery(**changes))
    assert caught.value.ambiguous
    return caught.value


def asked(bench: Any, method: str) -> int:
    return [name for _, name in bench.slack.calls].count(method)


def test_a_new_process_learns_the_channel_from_an_earlier_receipt(bench: Any, make: Any) -> None:
    """Killed between Slack's acceptance and the answer: the message is there, and no list needs to be read."""
    bench.slack.scopes -= {"channels:read", "groups:read"}
    other = bench.build("slack").deliver(make.delivery(make.note(make.view(id="inc0"))))
    lost(bench, make, bench.build("slack"))
    receipt = bench.build("slack").deliver(make.delivery(maybe_sent=True, newest=other))
    assert receipt == {**other, "ts": bench.slack.workspace.messages[1].ts}
    assert len(bench.slack.workspace.messages) == 2
    assert asked(bench, "conversations.list") == 0


def test_a_receipt_of_another_channel_is_no_help(bench: Any, make: Any) -> None:
    newest = {"channel": "C0OTHER", "ts": "1.000001", "told": "1", "name": "#other"}
    lost(bench, make, bench.build("slack"), newest=newest)
    receipt = bench.build("slack").deliver(make.delivery(maybe_sent=True, newest=newest))
    [message] = bench.slack.workspace.messages
    assert (receipt["channel"], receipt["ts"]) == (ID, message.ts)


@pytest.mark.parametrize(("private", "scopes"), [(False, {"channels:read"}), (True, {"groups:read"})])
@pytest.mark.parametrize("channel", ["#gpu-alerts", "gpu-alerts"])
def test_without_a_receipt_slacks_list_tells_the_channel(
    bench: Any, make: Any, private: bool, scopes: set[str], channel: str
) -> None:
    workspace = bench.slack.workspace
    workspace.channels[ID].private = private
    first = {
        f"C{number:05d}": FakeChannel(f"C{number:05d}", f"other-{number}", private=private) for number in range(999)
    }
    workspace.channels = {**first, **workspace.channels}
    bench.slack.scopes -= {"channels:read", "groups:read"} - scopes
    lost(bench, make, bench.build("slack", channel=channel))
    receiver = bench.build("slack", channel=channel)
    receipt = receiver.deliver(make.delivery(maybe_sent=True))
    [message] = workspace.messages
    assert receipt == {"channel": ID, "ts": message.ts, "told": "1", "name": channel}
    assert bench.slack.too_early == []
    lists = asked(bench, "conversations.list")
    receiver.deliver(make.delivery(make.note(make.view(id="inc2")), maybe_sent=True))
    assert asked(bench, "conversations.list") == lists, "the ID is kept"


@pytest.mark.parametrize("spoil", ["scope", "gone"])
def test_a_channel_that_nothing_tells_gets_the_message_again(bench: Any, make: Any, spoil: str) -> None:
    if spoil == "scope":
        bench.slack.scopes -= {"channels:read", "groups:read"}
    receiver = bench.build("slack", channel="#gpu-alerts")
    assert lost(bench, make, receiver).blind, "so the sender waits long before it says it again"
    if spoil == "gone":
        bench.slack.workspace.channels[ID].name = "renamed"
        with pytest.raises(DeliveryError, match="channel_not_found"):
            receiver.deliver(make.delivery(maybe_sent=True))
    else:
        receiver.deliver(make.delivery(maybe_sent=True))
        assert len(bench.slack.workspace.messages) == 2


def test_a_list_without_end_is_given_up(bench: Any, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "PAGES", 2)
    workspace = bench.slack.workspace
    first = {f"C{number:05d}": FakeChannel(f"C{number:05d}", f"other-{number}") for number in range(1998)}
    workspace.channels = {**first, **workspace.channels}
    bench.build("slack").deliver(make.delivery(maybe_sent=True))
    assert asked(bench, "conversations.list") == 3, "two of public channels, one of private ones"
    assert asked(bench, "conversations.history") == 0


def test_a_list_that_cannot_be_read_now_is_read_later(bench: Any, make: Any) -> None:
    receiver = bench.build("slack")
    lost(bench, make, receiver)
    bench.slack.fail(Fault(status=429, code="ratelimited", retry_after=9, method="conversations.list"))
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery(maybe_sent=True))
    assert (caught.value.ambiguous, caught.value.retry_after) == (True, 9.0)
    bench.clock.now += 9
    receiver.deliver(make.delivery(maybe_sent=True))
    assert len(bench.slack.workspace.messages) == 1


@pytest.mark.parametrize("plain", [False, True])
def test_the_next_try_can_look_unless_the_message_is_plain(bench: Any, make: Any, plain: bool) -> None:
    """Plain text goes without metadata, and so nobody would recognize it."""
    assert lost(bench, make, bench.build("slack", channel=ID), plain=plain).blind is plain


def test_the_next_try_cannot_look_once_the_scope_turned_out_to_be_missing(bench: Any, make: Any) -> None:
    bench.slack.scopes -= {"channels:history", "groups:history"}
    receiver = bench.build("slack", channel=ID)
    assert not lost(bench, make, receiver).blind
    assert lost(bench, make, receiver, maybe_sent=True).blind
    bench.slack.scopes.add("channels:history")
    receiver.deliver(make.delivery(maybe_sent=True))
    assert not lost(bench, make, receiver).blind, "the scope was added"


def test_an_edit_that_may_have_arrived_can_be_made_again(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    bench.slack.fail(Fault(status=502, accept=True, method="chat.update"))
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery(more(make), receipt=receipt))
    assert (caught.value.ambiguous, caught.value.blind) == (True, False)


@pytest.mark.parametrize("thread", [True, False])
def test_a_reply_that_arrived_all_the_same_is_not_sent_again(bench: Any, make: Any, thread: bool) -> None:
    receiver = bench.build("slack", thread=thread)
    receipt = receiver.deliver(make.delivery())
    note = make.note(reason=Reason.REPEAT, sequence=2)
    bench.slack.fail(Fault(status=500, accept=True, method="chat.postMessage"))
    with pytest.raises(DeliveryError):
        receiver.deliver(make.delivery(note, receipt=receipt))
    later = make.note(reason=Reason.SEVERITY, sequence=3)
    again = make.delivery(note, later, receipt=receipt, maybe_sent=True)
    assert receiver.deliver(again)["told"] == "3"
    assert again.kept == [{**receipt, "told": "2"}]
    texts = [message.text for message in bench.slack.workspace.messages[1:]]
    assert ["Still firing" in text for text in texts] == [True, False]


def test_without_the_scope_it_is_sent_again(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    bench.slack.scopes = {"chat:write"}
    receiver.deliver(make.delivery(more(make), receipt=receipt, maybe_sent=True))
    assert len(bench.slack.workspace.thread(receipt["ts"])) == 1


def test_a_look_up_that_fails_stays_ambiguous(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    bench.slack.fail(Fault(status=429, code="ratelimited", retry_after=9, method="conversations.replies"))
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery(more(make), receipt=receipt, maybe_sent=True))
    assert (caught.value.ambiguous, caught.value.retry_after) == (True, 9.0)


def test_messages_of_others_and_of_other_incidents_are_not_taken_for_ours(bench: Any, make: Any) -> None:
    receiver = bench.build("slack", channel=ID)
    receiver.deliver(make.delivery(make.note(make.view(id="inc2"))))
    bench.slack.workspace.messages[0].metadata["event_payload"]["kind"] = "reply"
    bench.slack.workspace.hook({"text": "hello"})
    bench.slack.workspace.hook(
        {"text": "x", "metadata": {"event_type": "other", "event_payload": {"incident": "inc1"}}}
    )
    receiver.deliver(make.delivery(maybe_sent=True))
    assert len(bench.slack.workspace.messages) == 4


@pytest.mark.parametrize("arrived", [True, False])
def test_a_new_parent_that_arrived_all_the_same_is_found(bench: Any, make: Any, told: Any, arrived: bool) -> None:
    receiver, receipt = told
    bench.slack.workspace.delete(receipt["ts"])
    bench.slack.fail(Fault(status=502, accept=arrived, method="chat.postMessage"))
    with pytest.raises(DeliveryError):
        receiver.deliver(make.delivery(more(make), receipt=receipt))
    again = make.delivery(more(make), receipt=receipt, maybe_sent=True)
    after = receiver.deliver(again)
    [parent] = bench.slack.workspace.parents()
    assert after == {"channel": ID, "ts": parent.ts, "told": "2", "name": "#gpu-alerts"}
    assert again.kept == [{**after, "told": "1"}]
    assert len(bench.slack.workspace.thread(parent.ts)) == 1


def test_a_new_parent_that_arrived_all_the_same_is_brought_up_to_date(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    bench.slack.workspace.delete(receipt["ts"])
    bench.slack.fail(Fault(status=502, accept=True, method="chat.postMessage"))
    with pytest.raises(DeliveryError):
        receiver.deliver(make.delivery(more(make), receipt=receipt))
    over = make.resolved(3)
    receiver.deliver(make.delivery(more(make), over, receipt=receipt, maybe_sent=True))
    [parent] = bench.slack.workspace.parents()
    assert parent.text.startswith("✅ Resolved")


def test_a_new_parent_that_was_lost_too_is_replaced(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    bench.slack.workspace.delete(receipt["ts"])
    bench.slack.fail(Fault(status=502, accept=True, method="chat.postMessage"))
    with pytest.raises(DeliveryError):
        receiver.deliver(make.delivery(more(make), receipt=receipt))
    bench.slack.workspace.edit_window = 0
    bench.clock.now += 1
    after = receiver.deliver(make.delivery(more(make), receipt=receipt, maybe_sent=True))
    first, second = bench.slack.workspace.parents()
    assert after["ts"] == second.ts != first.ts


def test_a_parent_that_cannot_be_edited_is_not_its_own_successor(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    bench.slack.workspace.edit_window = 0
    bench.clock.now += 1
    after = receiver.deliver(make.delivery(more(make), receipt=receipt, maybe_sent=True))
    assert after["ts"] != receipt["ts"]
    assert len(bench.slack.workspace.parents()) == 2


def test_slack_is_told_to_find_no_names_and_no_links_of_its_own(make: Any, bench: Any, serve: Any) -> None:
    bodies: list[dict[str, Any]] = []

    def handle(request: Request) -> Response:
        bodies.append(json.loads(request.body))
        return Response(200, b'{"ok": true, "channel": "C1", "ts": "1.000001"}', "application/json", {})

    receiver = bench.build("slack", base_url=serve(handle))
    receipt = receiver.deliver(make.delivery())
    receiver.deliver(make.delivery(more(make), receipt=receipt))
    post, edit, reply = bodies
    assert all((body["parse"], body["link_names"]) == ("none", False) for body in bodies)
    assert all((body["unfurl_links"], body["unfurl_media"]) == (False, False) for body in (post, reply))
    assert "unfurl_links" not in edit
    facts, rule, footer = post["attachments"][0]["blocks"]
    assert all(text["verbatim"] for text in (facts["text"], rule["text"], footer["elements"][0]))


def test_an_answer_without_an_address_may_have_been_a_success(bench: Any, make: Any, serve: Any) -> None:
    """Stopping would mean ten minutes of silence, and not looking a second parent."""
    url = serve(lambda _: Response(200, b'{"ok": true}', "application/json", {}))
    with pytest.raises(DeliveryError, match="check base_url") as caught:
        bench.build("slack", base_url=url).deliver(make.delivery())
    error = caught.value
    assert (error.kind, error.ambiguous, error.unsure) == (DeliveryErrorKind.TRANSIENT, True, True)


@pytest.mark.parametrize("token", ["xoxb-a\nb", "xoxb-é", "xoxb a", "xoxb-\x00"])
def test_a_token_that_cannot_be_sent_is_permanent(bench: Any, make: Any, token: str) -> None:
    bench.secrets.values["SLACK_BOT_TOKEN"] = token
    with pytest.raises(DeliveryError, match="holds characters that no token has") as caught:
        bench.build("slack").deliver(make.delivery())
    assert (caught.value.kind, caught.value.reason) == (DeliveryErrorKind.PERMANENT, "malformed_token")
    assert token not in str(caught.value)
    assert bench.slack.calls == []


def test_receivers_of_one_channel_are_paced_and_held_together(bench: Any, make: Any) -> None:
    one, two, elsewhere = bench.build_together({}, {}, {"channel": "#other"})
    bench.slack.workspace.channels["C0OTHER"] = FakeChannel("C0OTHER", "other")
    one.deliver(make.delivery())
    two.deliver(make.delivery())
    elsewhere.deliver(make.delivery())
    assert bench.clock.slept == [pytest.approx(1.1)]
    bench.slack.fail(Fault(status=429, code="ratelimited", retry_after=30))
    for receiver, left in ((one, 30.0), (two, 30.0)):
        with pytest.raises(DeliveryError) as caught:
            receiver.deliver(make.delivery())
        assert (caught.value.reason, caught.value.retry_after) == ("ratelimited", left)
    elsewhere.deliver(make.delivery())
    calls = len(bench.slack.calls)
    bench.clock.now += 29.5
    with pytest.raises(DeliveryError):
        two.deliver(make.delivery())
    assert len(bench.slack.calls) == calls
    bench.clock.now += 0.5
    two.deliver(make.delivery())


# --- whom to call ---


def owned(make: Any, **changes: Any) -> Any:
    """A first notification of a job whose owner is an e-mail address."""
    return make.note(make.view(make.alert(**changes), job=make.job(owner="ada@example.com")))


def test_the_owner_is_called_where_their_address_is_known(bench: Any, make: Any) -> None:
    bench.slack.workspace.users["ada@example.com"] = "U0ADA"
    receiver = bench.build("slack", mention="<!subteam^S0OPS>")
    receiver.deliver(make.delivery(owned(make)))
    receiver.deliver(make.delivery(owned(make, severity="critical")))
    texts = [message.text for message in bench.slack.workspace.messages]
    assert texts[0].endswith("idle for 20m <@U0ADA>")
    assert texts[1].endswith("<@U0ADA> <!subteam^S0OPS>")
    assert [name for _, name in bench.slack.calls].count("users.lookupByEmail") == 1


def test_only_a_ping_calls(bench: Any, make: Any) -> None:
    bench.slack.workspace.users["ada@example.com"] = "U0ADA"
    receiver = bench.build("slack")
    first = owned(make)
    receipt = receiver.deliver(make.delivery(first))
    for sequence, reason in ((2, Reason.NEW_ALERTS), (3, Reason.REPEAT)):
        receiver.deliver(make.delivery(make.note(first.view, reason, sequence), receipt=receipt))
    [parent] = bench.slack.workspace.parents()
    assert "<@U0ADA>" not in parent.text
    assert ["<@U0ADA>" in reply.text for reply in bench.slack.workspace.thread(parent.ts)] == [False, True]


def critical(make: Any) -> Any:
    return make.note(make.view(make.alert(severity="critical")))


def test_an_incident_without_a_job_has_no_owner_to_call(bench: Any, make: Any) -> None:
    bench.build("slack", mention="@here").deliver(make.delivery(critical(make)))
    bench.build("slack").deliver(make.delivery(make.note(make.view(job=None))))
    assert bench.slack.workspace.messages[0].text.endswith(" <!here>")
    assert bench.slack.workspace.messages[1].text.endswith("idle for 20m")


# --- thread = false ---


def test_without_threads_only_pings_and_the_end_are_said(bench: Any, make: Any) -> None:
    receiver = bench.build("slack", thread=False)
    receipt = receiver.deliver(make.delivery())
    for note in (more(make), make.note(reason=Reason.REPEAT, sequence=3), make.resolved(4)):
        receipt = receiver.deliver(make.delivery(note, receipt=receipt))
    assert receipt["told"] == "4"
    texts = [message.text for message in bench.slack.workspace.parents()]
    assert len(texts) == 3
    assert "Still firing" in texts[1]
    assert "Resolved" in texts[2]
    assert len(bench.slack.workspace.messages[0].edits) == 3


def test_a_receipt_of_an_older_version_still_works(bench: Any, make: Any, told: Any) -> None:
    receiver, receipt = told
    old = {"channel": receipt["channel"], "ts": receipt["ts"]}
    assert receiver.deliver(make.delivery(more(make), receipt=old))["told"] == "2"
    receiver.close()


def test_the_log_says_nothing_at_debug_level(bench: Any, make: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bench.slack.fail(Fault(status=500))
    receiver = bench.build("slack")
    with pytest.raises(DeliveryError):
        receiver.deliver(make.delivery())
    receiver.deliver(make.delivery())
    assert "xoxb" not in caplog.text
