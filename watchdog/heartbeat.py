"""The dead man's switch: a URL that is called after each good tick. Whoever owns it says so when it is not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx

from watchdog.errors import UsageError

log = logging.getLogger("watchdog.heartbeat")

VARIABLE = "WATCHDOG_HEARTBEAT_URL"
TIMEOUT = 10.0
"""Seconds for one call."""


def checked(url: str) -> str:
    """Return the URL. Raises UsageError, which does not show it: it is a secret."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and url.isascii() and url.isprintable()
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{VARIABLE} is not a URL that begins with http:// or https://; correct it, or unset it")
    return url


class Heartbeat:
    """Calls the URL in a thread of its own, so that no tick waits for it. A call under way is not doubled."""

    def __init__(self, find: Callable[[], str | None], counted: Callable[[bool], None]) -> None:
        """``find`` returns the URL, read anew for each call; ``counted`` is told whether a call arrived."""
        self._find = find
        self._counted = counted
        self._due = threading.Event()
        self._ending = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def beat(self) -> None:
        """Call the URL soon; returns at once."""
        self._due.set()

    def stop(self) -> None:
        """End; a call under way is left to itself."""
        self._ending.set()
        self._due.set()

    def _run(self) -> None:
        with httpx.Client(timeout=TIMEOUT, follow_redirects=True) as client:
            while self._due.wait() and not self._ending.is_set():
                self._due.clear()
                self._tell(self._call(client))

    def _call(self, client: httpx.Client) -> str:
        """Return what went wrong, without the URL; empty if nothing did."""
        try:
            url = self._find()
            if url is None:
                return "it is not set any more"
            status = client.get(checked(url)).status_code
        except UsageError as error:
            return str(error)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return type(error).__name__
        return "" if 200 <= status < 300 else f"it answers {status}"

    def _tell(self, problem: str) -> None:
        if problem and not self._failing:
            log.warning("the heartbeat URL cannot be called; trying again after each tick", extra={"reason": problem})
        elif self._failing and not problem:
            log.info("the heartbeat URL is called again")
        self._failing = bool(problem)
        self._counted(not problem)
