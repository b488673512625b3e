"""Log lines: one readable line per event, or one JSON object per line on request."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import TextIO

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_NOISY = ("httpx", "httpcore", "slack_sdk", "uvicorn", "uvicorn.error", "uvicorn.access", "schedule")
"""Libraries that log URLs or bodies below warning."""

Redact = Callable[[str], str]


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _stamp(created: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created))


class TextFormatter(logging.Formatter):
    """``2026-03-02T09:01:00Z INFO polled source=baseten jobs=3``."""

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Return one line (and the traceback below it, if there is one)."""
        fields = "".join(f" {key}={_plain(value)}" for key, value in _fields(record).items() if value not in ("", None))
        line = f"{_stamp(record.created)} {record.levelname} {record.getMessage()}{fields}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return self._redact(line)


class JsonFormatter(logging.Formatter):
    """The same as one JSON object per line."""

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON."""
        entry: dict[str, object] = {
            "time": _stamp(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return self._redact(json.dumps(entry, ensure_ascii=False, default=str))


def _plain(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    text = text.replace("\n", "\\n")
    return json.dumps(text, ensure_ascii=False) if " " in text or '"' in text else text


def set_up(style: str, level: str, redact: Redact, stream: TextIO | None = None) -> None:
    """Send all logging to ``stream`` (standard error by default), in one style, secrets struck out."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(redact) if style == "json" else TextFormatter(redact))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
