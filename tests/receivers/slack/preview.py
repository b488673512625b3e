"""The snapshots as people see them: a page close to Slack's look, and texts for docs/slack.md.

    python -m tests.receivers.slack.preview PAGE.html              # every story, wide and as on a phone
    python -m tests.receivers.slack.preview PAGE.html --shots DIR  # pictures too, where Chromium is installed
    python -m tests.receivers.slack.preview PAGE.html --shots docs/pictures --only idle,late,…   # those of the page

The page has no scripts and loads nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from watchdog.simulated.slack_rules import shown, texts_of

FOLDER = Path(__file__).parent / "snapshots"
BROWSERS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
WIDE, PHONE = 600, 360
MADE_FROM = "made-from.json"
"""Beside the pictures: the digest of the snapshot that each shows."""
USERS = {"U0ANA": "Ana"}
Message = Mapping[str, Any]
_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1d1c1d; --soft: #616061; --link: #1264a3; --call: #e8f5fa; }
@media (prefers-color-scheme: dark) {
  :root { --page: #1a1d21; --text: #d1d2d3; --soft: #ababad; --link: #1d9bd1; --call: #15344a; }
}
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.47 Lato, "Noto Sans", Arial, sans-serif; }
h2 { font-size: 18px; margin: 32px 16px 0; }
.pair { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.view { box-sizing: border-box; max-width: 100%; padding: 8px 0; }
.message { display: flex; gap: 8px; padding: 8px 16px; overflow-wrap: anywhere; }
.message.thread { padding-left: 60px; }
.face { flex: none; width: 36px; height: 36px; border-radius: 6px; background: #4a154b; font-size: 20px;
  line-height: 36px; text-align: center; }
.thread .face { width: 24px; height: 24px; font-size: 13px; line-height: 24px; }
.name { font-weight: 700; } .app { font-size: 10px; background: #8883; border-radius: 2px; padding: 1px 3px; }
.note { color: var(--soft); font-size: 13px; }
.body { min-width: 0; flex: 1; }
.card { border-left: 4px solid; border-radius: 4px; margin-top: 4px; padding: 2px 0 4px 12px; }
.card p { margin: 6px 0; } .card .context { color: var(--soft); font-size: 13px; }
a { color: var(--link); text-decoration: none; }
.call { color: var(--link); background: var(--call); border-radius: 3px; padding: 0 2px; }
code { color: #e01e5a; border: 1px solid #8884; border-radius: 3px; padding: 1px 3px; font-size: 12px; }
"""


def markup(text: str) -> str:
    """Return mrkdwn (which has its entities escaped already) as HTML."""
    text = re.sub(r"<!date\^[^|>]*\|([^>]*)>", r"\1", text)
    text = re.sub(r"<(https?://[^|>]*)\|([^>]*)>", r'<a href="\1">\2</a>', text)
    text = re.sub(r"<@(\w+)>", lambda found: f'<span class="call">@{USERS.get(found[1], found[1])}</span>', text)
    text = re.sub(r"<!(here|channel|everyone)>", r'<span class="call">@\1</span>', text)
    text = re.sub(r"(?<![^\s(])\*([^*\n]+)\*(?![^\s:,.)])", r"<b>\1</b>", text)
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", text).replace("\n", "<br>")


def page(
    stories: Mapping[str, Sequence[Message]], widths: Sequence[int] = (WIDE, PHONE), *, titles: bool = True
) -> str:
    """Return one page with every story in every width."""
    parts = []
    for name, messages in stories.items():
        bodies = "".join(_message(message) for message in messages)
        views = "".join(f'<div class="view" style="width: {width}px">{bodies}</div>' for width in widths)
        title = f"<h2>{html.escape(name.replace('_', ' '))}</h2>" if titles else ""
        parts.append(f'{title}<div class="pair">{views}</div>')
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Slack messages</title>'
    return f'<!doctype html><html lang="en">{head}<style>{_STYLE}</style>{"".join(parts)}</html>\n'


def lines(messages: Sequence[Message]) -> str:
    """Return a story as plain text, replies indented: what docs/slack.md shows."""
    found = []
    for message in messages:
        indent = "" if message["place"] == "channel" else "    ↳ "
        also = " [also in the channel]" if "also in the channel" in message else ""
        told = [message["text"] + also, *texts_of(message.get("attachments", []))]
        first, *others = "\n".join(_plain(text) for text in told).split("\n")
        found += [indent + first, *(" " * max(2, len(indent)) + line for line in others)]
    return "\n".join(found) + "\n"


def load(way: str = "bot") -> dict[str, list[Message]]:
    """Return the snapshots of one way of sending, by story."""
    paths = sorted(FOLDER.glob(f"*.{way}.json"))
    return {path.name.split(".")[0]: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _plain(text: str) -> str:
    named = re.sub(r"<@(\w+)>", lambda found: f"@{USERS.get(found[1], found[1])}", text)
    return re.sub(r"(?<![^\s(])\*([^*\n]+)\*(?![^\s:,.)])", r"\1", shown(named))


def _message(message: Message) -> str:
    place = message["place"]
    note = ' <span class="note">also sent to the channel</span>' if "also in the channel" in message else ""
    cards = "".join(_card(card) for card in message.get("attachments", []))
    who = f'<span class="name">watchdog</span> <span class="app">APP</span>{note}'
    body = f'<div class="body">{who}<div>{markup(message["text"])}</div>{cards}</div>'
    return f'<div class="message {place}"><div class="face" aria-hidden="true">🐕</div>{body}</div>'


def _card(card: Mapping[str, Any]) -> str:
    blocks = "".join(
        f'<p class="{block["type"]}">{"<br>".join(markup(text) for text in texts_of(block))}</p>'
        for block in card["blocks"]
    )
    return f'<div class="card" style="border-color: {html.escape(card["color"])}">{blocks}</div>'


def _shoot(stories: Mapping[str, Sequence[Message]], folder: Path) -> None:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit(f"no pictures: none of {', '.join(BROWSERS)} is installed")
    folder.mkdir(parents=True, exist_ok=True)
    for name, messages in stories.items():
        for width in (WIDE, PHONE):
            file = folder / f"{name}-{width}.html"
            file.write_text(page({name: messages}, (width,), titles=False) + _MEASURE, encoding="utf-8")
            # Chromium has no window narrower than 500: the view is as narrow as a phone, and so is the picture's scale.
            height = re.search(r"data-height=\"(\d+)\"", _chromium(browser, file, "--dump-dom", width, 900))
            if height is None:
                raise SystemExit(f"no picture of {name}: {browser} did not measure the page")
            picture = f"--screenshot={file.with_suffix('.png')}"
            _chromium(browser, file, picture, width, int(height[1]))
            file.unlink()
    (folder / MADE_FROM).write_text(json.dumps({name: digest(name) for name in stories}, indent=2) + "\n", "utf-8")


def digest(story: str) -> str:
    """Return what changes when the snapshot of a story does."""
    return hashlib.sha256((FOLDER / f"{story}.bot.json").read_bytes()).hexdigest()[:16]


_MEASURE = "<script>document.body.dataset.height = document.body.scrollHeight</script>"


def _chromium(browser: str, file: Path, action: str, width: int, height: int) -> str:
    with tempfile.TemporaryDirectory() as profile:
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--hide-scrollbars",
        )
        quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
        size = (f"--window-size={width},{height}", "--force-device-scale-factor=2", f"--user-data-dir={profile}")
        command = [browser, *options, *quiet, *size, action, file.resolve().as_uri()]
        return subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout


def main() -> None:
    """Write the page, and pictures if they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--shots", type=Path, metavar="DIR")
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="STORY,…")
    options = parser.parse_args()
    stories = {name: story for name, story in load().items() if name in (options.only or [name])}
    options.page.write_text(page(stories), encoding="utf-8")
    if options.shots:
        _shoot(stories, options.shots)


if __name__ == "__main__":
    main()
