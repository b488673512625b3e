"""Every kind of message, compared exactly with what ``snapshots/`` holds.

``UPDATE_SNAPSHOTS=1`` writes them anew: look at the difference before you commit it.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.receivers.slack.preview import MADE_FROM, digest, lines, load, markup, page
from tests.receivers.slack.stories import EMAIL, STORIES, Stories

FOLDER = Path(__file__).parent / "snapshots"
PAGE = Path(__file__).parents[3] / "docs" / "slack.md"
WAYS: Mapping[str, Mapping[str, Any]] = {"bot": {}, "webhook": {}, "plain": {"plain": True}}
"""A bot token, an incoming webhook, and the form that is tried after Slack refused a message."""
ALSO = {"webhook": ("idle", "late", "job_completed"), "plain": ("idle", "late", "thousand_gpus")}
CASES = [("bot", name) for name in STORIES] + [(way, name) for way, names in ALSO.items() for name in names]


def told(bench: Any, make: Any, way: str, story: str) -> list[dict[str, Any]]:
    """Deliver a story to the simulated Slack, and return what stands there."""
    bench.slack.workspace.users[EMAIL] = "U0ANA"
    if way == "webhook":
        bench.secrets.values = {"SLACK_WEBHOOK_URL": bench.hook}
    receiver = bench.build("slack", mention="@here")
    receipt = None
    for now, notes in STORIES[story](Stories(make)):
        bench.clock.now = now
        delivery = make.delivery(*notes, receipt=receipt, now=now, **WAYS[way])
        receipt = receiver.deliver(delivery)
    return [
        {
            "place": "channel" if message.thread_ts is None else "thread",
            **({"also in the channel": True} if message.broadcast else {}),
            "text": message.text,
            **({"attachments": message.attachments} if message.attachments else {}),
        }
        for message in bench.slack.workspace.messages
    ]


@pytest.mark.parametrize(("way", "story"), CASES)
def test_messages_are_as_they_were(bench: Any, make: Any, way: str, story: str) -> None:
    path = FOLDER / f"{story}.{way}.json"
    found = json.dumps(told(bench, make, way, story), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(found, encoding="utf-8")
    assert json.loads(found) == json.loads(path.read_text(encoding="utf-8"))


def test_there_is_no_snapshot_of_a_story_that_is_not_told() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{story}.{way}.json" for way, story in CASES}


def test_the_documentation_shows_the_snapshots() -> None:
    stories = load()
    text = PAGE.read_text(encoding="utf-8")
    block = re.compile(r"(<!-- story: (\w+) -->\n```text\n)(.*?)(?=^```)", re.MULTILINE | re.DOTALL)
    found = block.sub(lambda match: match[1] + lines(stories[match[2]]), text)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        PAGE.write_text(found, encoding="utf-8")
    assert block.search(text)
    assert PAGE.read_text(encoding="utf-8") == found


def test_the_pictures_show_the_snapshots() -> None:
    """Made anew by the preview, where Chromium is: ``--shots docs/pictures --only`` the stories of the page."""
    shown = re.findall(r"<!-- story: (\w+) -->", PAGE.read_text(encoding="utf-8"))
    folder = PAGE.parent / "pictures"
    assert json.loads((folder / MADE_FROM).read_text(encoding="utf-8")) == {
        story: digest(story) for story in sorted(shown)
    }
    for story in shown:
        assert f"](pictures/{story}-600.png)" in PAGE.read_text(encoding="utf-8")
        assert (folder / f"{story}-600.png").read_bytes().startswith(b"\x89PNG")


def test_the_preview_shows_names_and_obeys_none() -> None:
    found = page(load())
    assert "&lt;!channel&gt; &amp; &lt;https://evil.example|free GPUs&gt;" in found
    assert 'evil.example"' not in found
    assert markup("*a* <@U0ANA> <!here> <https://x.example|y> `c`") == (
        '<b>a</b> <span class="call">@Ana</span> <span class="call">@here</span> '
        '<a href="https://x.example">y</a> <code>c</code>'
    )
