from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from watchdog.delivery import EventKind, SenderEvent
from watchdog.service import log, report


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(style: str, level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    log.set_up(style, level, lambda text: text.replace("s3cret", "[redacted]"), stream)
    return stream


def test_a_text_line_has_time_level_message_and_fields() -> None:
    stream = lines("text")
    logging.getLogger("watchdog").info("polled", extra={"source": "b", "seconds": 0.12345, "error": "", "note": "a b"})
    line = stream.getvalue()
    assert line.endswith('Z INFO polled source=b seconds=0.123 note="a b"\n')
    assert line[4] == "-"


def test_a_json_line_is_one_object() -> None:
    stream = lines("json")
    logging.getLogger("watchdog").warning("it is %s", "late", extra={"jobs": 3})
    entry = json.loads(stream.getvalue())
    assert (entry["level"], entry["message"], entry["jobs"]) == ("warning", "it is late", 3)
    assert entry["time"].endswith("Z")


@pytest.mark.parametrize("style", ["text", "json"])
def test_secrets_and_tracebacks(style: str) -> None:
    stream = lines(style)
    try:
        raise ValueError("token s3cret")  # noqa: TRY301
    except ValueError:
        logging.getLogger("watchdog").exception("failed with s3cret")
    text = stream.getvalue()
    assert "s3cret" not in text
    assert "[redacted]" in text
    assert "ValueError" in text


def test_a_newline_in_a_field_does_not_break_the_line() -> None:
    stream = lines("text")
    logging.getLogger("watchdog").info("x", extra={"error": "a\nb"})
    assert stream.getvalue().count("\n") == 1


def test_levels_are_obeyed_and_libraries_stay_quiet() -> None:
    stream = lines("text", "debug")
    logging.getLogger("slack_sdk").debug("url with token")
    logging.getLogger("httpx").info("GET …")
    logging.getLogger("watchdog").debug("seen")
    assert "seen" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_the_log_says_until_when_a_receiver_is_held() -> None:
    stream = lines("json")
    report.sender(SenderEvent(EventKind.RETRY, "slack", ("x",), "ratelimited", held_until=1_772_452_800.0))
    report.sender(SenderEvent(EventKind.RETRY, "slack", ("x",), "timeout"))
    held, free = (json.loads(line) for line in stream.getvalue().splitlines())
    assert held["held_until"] == "2026-03-02T12:00:00+00:00"
    assert "held_until" not in free
