"""The thread around a sender: steps when there is something to do, sleeps when there is not."""

from __future__ import annotations

import threading
from collections.abc import Callable

from watchdog.delivery.sender import Sender
from watchdog.ports import Receiver

Guard = Callable[[str, Callable[[], None]], bool]
"""Runs a job under its name; returns False, after logging, if it raised."""

_LONGEST_PAUSE = 60.0


class SenderThread:
    """One sender in a thread of its own, which closes the receiver at its end. None delays another."""

    def __init__(self, sender: Sender, guard: Guard, speed: float = 1.0) -> None:
        """``speed``: seconds of the sender's clock per real second."""
        self._sender = sender
        self._guard = guard
        self._speed = speed
        self._resume_at = 0.0
        self._wake = threading.Event()
        self._finishing = threading.Event()
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"deliver to {sender.name}", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def wake(self) -> None:
        """Look into the outbox now: something was committed."""
        self._wake.set()

    def reset(self) -> None:
        """Try a stopped receiver again now: its configuration may have been repaired."""
        self._sender.reset()
        self._wake.set()

    def replace(self, receiver: Receiver) -> None:
        """Deliver through this receiver of the same name from now on."""
        self._sender.replace(receiver)
        self._wake.set()

    def finish(self) -> None:
        """Deliver what is due, then end; returns at once."""
        self._finishing.set()
        self._wake.set()

    def stop(self, seconds: float) -> bool:
        """Deliver what is due for at most ``seconds`` (real ones), then end; the rest stays in the outbox.

        Returns whether the thread has ended; a delivery that is still under way is left to itself.
        """
        self.finish()
        self._thread.join(seconds)
        self._abandoned.set()
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._deliver()
        finally:
            self._sender.close()

    def _deliver(self) -> None:
        failures = 0
        while not self._abandoned.is_set():
            self._wake.clear()
            if self._guard(self._thread.name, self._step):
                failures = 0
                pause = self._resume_at - self._sender.clock()
            else:
                failures += 1
                pause = min(_LONGEST_PAUSE, 2.0**failures / 2)
            if self._finishing.is_set() and pause > 0:
                return
            self._wake.wait(max(0.0, pause) / self._speed)

    def _step(self) -> None:
        self._resume_at = self._sender.step(self._sender.clock(), self._interrupted)

    def _interrupted(self) -> bool:
        return self._abandoned.is_set() or self._wake.is_set()
