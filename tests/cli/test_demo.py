"""The demo: what a newcomer sees."""

from __future__ import annotations

from typing import Any

import pytest

from watchdog.simulated.recordings import bundled


def test_the_story_has_all_it_promises(desk: Any) -> None:
    status, out, err = desk.type("demo")
    assert status == 0, err
    for words in (
        "llama-sft has used no GPU for 15 minutes",
        "Resolved after",
        "rm-train is idle while others work",
        "of dpo-70b",
        "cache of project llama",
        "eval-sweep failed: CUDA out of memory",
        "qwen-eval has waited for GPUs",
        "glm-sft has used no GPU",
        "What to do next",
    ):
        assert words in out, words
    assert "nightly-sft" not in out
    assert "embed-train" not in out


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
