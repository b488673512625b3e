"""The demo: what a newcomer sees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from watchdog.cli import demo
from watchdog.simulated.recordings import bundled

README = Path(__file__).parents[2] / "README.md"


def test_the_story_has_all_it_promises(desk: Any) -> None:
    status, out, err = desk.type("demo")
    assert status == 0, err
    for words in (
        "llama-sft has used no GPU for 15 minutes",
        "Resolved after",
        "rm-train is idle while others work",
        "dpo-70b is running out of GPU memory",
        "cache of project llama",
        "eval-sweep failed: CUDA out of memory",
        "qwen-eval has waited for GPUs",
        "glm-sft has used no GPU",
        "What to do next",
    ):
        assert words in out, words
    assert "That was the demo: 8 messages" in out
    assert "Jobs that were well stayed quiet." in out
    assert re.search(r"^🔴 Critical: eval-sweep failed: .* @here$", out, re.MULTILINE), "what is critical calls people"
    sample = re.findall(r"^```text\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]
    assert _timeless(sample) in _timeless(out), "the README shows what the demo prints"
    assert "nightly-sft" not in out
    assert "embed-train" not in out


def _timeless(text: str) -> str:
    """Take out what differs from run to run: the time of day, and what was wasted until the alert."""
    timeless = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", text)
    return re.sub(r"about \$\d+\.\d\d at list price \([0-9.]+ GPU-hours\)", "WASTED", timeless)


def test_a_demo_that_is_interrupted_says_so(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "stop_on_signals", lambda stop: stop.set())
    status, out, _ = desk.type("demo")
    assert status == 0
    assert "The demo was interrupted: 0 messages with 0 replies in the threads.\n" in out
    assert "stayed quiet" not in out


def test_a_recording_can_be_replayed(desk: Any) -> None:
    status, out, _ = desk.type("demo", "--replay", "r029", "--speed", "240")
    assert status == 0
    assert "recorded-r029 failed: CUDA out of memory" in out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--replay", "nothing"], "there is no recording nothing"),
        (["--replay", __file__], "is not a recording"),
        (["--speed", "0"], "--speed takes"),
    ],
)
def test_what_cannot_be_played_is_said(desk: Any, words: list[str], reason: str) -> None:
    status, _, err = desk.type("demo", *words)
    assert status == 2
    assert reason in err


def test_three_recordings_come_with_the_package() -> None:
    assert [path.name for path in bundled()] == ["r008.csv.gz", "r021.csv.gz", "r029.csv.gz"]
