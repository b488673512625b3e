"""What every receiver must do alike. A new receiver is one more line in KINDS."""

import json
import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import Reason, labels_of
from watchdog.receivers import RECEIVER_TYPES
from watchdog.simulated.server import Request, Response

SECRET = "s3cr3t"
OVER_HTTP = {
    "slack": '{"ok": true, "channel": "C1", "ts": "1.000001"}',
    "slack-webhook": "ok",
    "webhook": "",
}
"""Receivers that speak HTTP, with the answer that they take for success."""
KINDS = [*OVER_HTTP, "console"]


@dataclass
class Far:
    """The other end: answers as told, or only when released."""

    url: str = ""
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    holds: bool = False
    released: threading.Event = field(default_factory=threading.Event)

    def __call__(self, _: Request) -> Response:
        if self.holds:
            self.released.wait(5)
        return Response(self.status, self.body.encode(), "application/json", dict(self.headers))


@pytest.fixture
def far(serve: Callable[[Any], str]) -> Iterator[Far]:
    found = Far()
    found.url = serve(found).rstrip("/")
    yield found
    found.released.set()


def build(bench: Any, kind: str, url: str, **options: Any) -> Any:
    """Build a receiver whose token or address holds SECRET."""
    address = f"{url}/services/{SECRET}"
    if kind == "console":
        return bench.build("console")
    if kind == "slack":
        bench.secrets.values = {"SLACK_BOT_TOKEN": f"xoxb-{SECRET}"}
        return bench.build("slack", base_url=f"{url}/api/", **options)
    if kind == "slack-webhook":
        bench.secrets.values = {"SLACK_WEBHOOK_URL": address}
        return bench.build("slack", **options)
    bench.secrets.values = {"URL": address, "KEY": SECRET}
    return bench.build("webhook", url={"env": "URL"}, signing_secret={"env": "KEY"}, **options)


def test_every_type_is_in_the_suite() -> None:
    assert {kind.partition("-")[0] for kind in KINDS} == set(RECEIVER_TYPES)


@pytest.mark.parametrize("kind", OVER_HTTP)
@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (307, "permanent"),
        (400, "content"),
        (401, "permanent"),
        (403, "permanent"),
        (404, "permanent"),
        (408, "transient"),
        (410, "permanent"),
        (413, "content"),
        (429, "transient"),
        (500, "transient"),
        (502, "transient"),
        (503, "transient"),
        (504, "transient"),
    ],
)
def test_statuses(  # kinds times statuses
    bench: Any, make: Any, far: Far, kind: str, status: int, meaning: str
) -> None:
    if kind == "webhook" and meaning == "content":
        meaning = "permanent"  # there is no plainer form of its body
    far.status, far.headers = status, {"Retry-After": "17"}
    with pytest.raises(DeliveryError) as caught:
        build(bench, kind, far.url).deliver(make.delivery())
    assert caught.value.kind.value == meaning
    if status in (429, 503):
        assert caught.value.retry_after == 17.0


@pytest.mark.parametrize("kind", OVER_HTTP)
@pytest.mark.parametrize("trouble", ["refused", "500", "403", "html", "closed port"])
def test_no_secret_in_errors_tracebacks_or_logs(  # kinds times troubles
    bench: Any, make: Any, far: Far, kind: str, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    far.status = {"500": 500, "403": 403}.get(trouble, 404)
    far.body = "<html>" if trouble == "html" else ""
    receiver = build(bench, kind, "http://127.0.0.1:9" if trouble == "closed port" else far.url)
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery())
    said = "".join(traceback.format_exception(caught.value)) + caplog.text + caught.value.reason
    assert SECRET not in said
    assert "127.0.0.1" not in said.replace(__file__, "")


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_no_secret_in_the_log_of_a_success(
    bench: Any, make: Any, far: Far, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    far.body = OVER_HTTP[kind]
    build(bench, kind, far.url).deliver(make.delivery())
    assert SECRET not in caplog.text


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_a_timeout_is_honoured_and_ambiguous(bench: Any, make: Any, far: Far, kind: str) -> None:
    far.holds = True
    receiver = build(bench, kind, far.url, timeout="100ms")
    begun = time.monotonic()
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery())
    assert time.monotonic() - begun < 2
    assert (caught.value.kind, caught.value.ambiguous) == (DeliveryErrorKind.TRANSIENT, True)


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_what_was_never_sent_is_not_ambiguous(bench: Any, make: Any, kind: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        build(bench, kind, "http://127.0.0.1:9").deliver(make.delivery())
    assert (caught.value.kind, caught.value.ambiguous) == (DeliveryErrorKind.TRANSIENT, False)


@pytest.fixture
def ready(bench: Any, far: Far) -> Callable[[str], Any]:
    """Build a receiver of a kind against the strict Slack, or against a far end that takes everything."""

    def start(kind: str) -> Any:
        if kind == "slack":
            return bench.build("slack")
        if kind == "slack-webhook":
            bench.secrets.values = {"SLACK_WEBHOOK_URL": bench.hook}
            return bench.build("slack")
        return build(bench, kind, far.url)

    return start


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_is_text_and_comes_back(make: Any, ready: Any, kind: str) -> None:
    receiver = ready(kind)
    receipt = receiver.deliver(make.delivery())
    assert all(isinstance(item, str) for pair in receipt.items() for item in pair)
    again = json.loads(json.dumps(dict(receipt)))
    later = receiver.deliver(make.delivery(make.resolved(), receipt=again))
    assert set(later) == set(receipt)


@pytest.mark.parametrize("kind", KINDS)
def test_a_receiver_has_its_name_and_closes_twice(ready: Any, kind: str) -> None:
    receiver = ready(kind)
    assert receiver.name == "r"
    assert receiver.coalesces is (kind != "webhook")
    receiver.close()
    receiver.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flags", [{"plain": True}, {"maybe_sent": True}, {"plain": True, "maybe_sent": True}])
def test_every_reason_is_delivered_in_every_form(make: Any, ready: Any, kind: str, flags: dict[str, bool]) -> None:
    receiver = ready(kind)
    receipt = None
    for sequence, reason in enumerate(Reason, 1):
        delivery = make.delivery(make.note(reason=reason, sequence=sequence), receipt=receipt, **flags)
        receipt = receiver.deliver(delivery)


def extreme(make: Any, case: str) -> Any:
    """Return a notification that is odd in one way."""
    long = "n" * 300
    alerts = {
        "1000 alerts": [make.alert(str(gpu), f"node-{gpu // 8}") for gpu in range(1000)],
        "1000 rules": [make.alert(name=f"Rule{rule}") for rule in range(1000)],
        "long names": [make.alert(long, long, name=long, summary=long * 20, description=long * 20, expr=long * 20)],
        "entities": [make.alert("&" * 300, "<" * 300, name=">" * 300, summary="&" * 9000, description="<" * 9000)],
        "emoji": [make.alert("🚀" * 300, "🔥", name="🧨" * 300, summary="👩‍👩‍👧‍👦" * 3000)],
        "right to left": [make.alert("0", "צומת", summary="אימון עצר \u202e gnp.exe", name="עצירה")],
        "commands": [make.alert("<!channel>", "<!here>", name="<@U1>", summary="<!channel> *x* `y` @here #general")],
        "control characters": [make.alert("0\x00\x1b[2J", "a\nb", summary="\r\n\t\x07", name="x\ny")],
        "lone surrogates": [make.alert("0", "n", summary="broken \ud800 text", name="\udfff")],
        "empty": [make.alert("", "", name="", summary="", severity="", labels=(), expr="", fingerprint="")],
        "unknown": [make.alert(value=None, worst=None, unknown=True)],
        "not finite": [make.alert(value=float("nan"), worst=float("inf"))],
        "no alerts": [],
    }[case]
    bare = {"owner": "", "gpus": None, "gpu_type": "", "cost_usd_per_hour": None, "url": "", "project": ""}
    job = {
        "long names": make.job(job_name=long, owner=long, project_name=long, gpu_type=long, url="https://x/" + long),
        "commands": make.job(job_name="<!channel>", url="https://x/|<!channel>", owner="<@U1>"),
        "empty": make.job(job_name="", project_name="", provider_status="", **bare),
        "unknown": None,
    }.get(case, make.job())
    view = make.view(*alerts, job=job, severity="warning") if alerts else make.view(alerts=(), job=job)
    if case == "empty":
        view = make.view(*alerts, job=job, severity="", group_labels=labels_of({}), group_key="{}:{}")
    return make.note(view)


CASES = [
    "1000 alerts",
    "1000 rules",
    "long names",
    "entities",
    "emoji",
    "right to left",
    "commands",
    "control characters",
    "lone surrogates",
    "empty",
    "unknown",
    "not finite",
    "no alerts",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_extremes_are_delivered(bench: Any, make: Any, ready: Any, kind: str, case: str) -> None:
    receiver = ready(kind)
    note = extreme(make, case)
    receipt = receiver.deliver(make.delivery(note))
    repeat = make.note(note.view, Reason.REPEAT, 2)
    receiver.deliver(make.delivery(repeat, receipt=receipt, now=make.noon + 9999))
    receiver.deliver(make.delivery(repeat, receipt=None, plain=True))
    for message in bench.slack.workspace.messages:
        assert "<!channel" not in json.dumps([message.text, message.attachments])
        assert message.words.strip()
    assert all(text.strip() and "\x1b" not in text for text in bench.written)
