"""Reads many things side by side, on threads that never keep the process alive.

An executor's threads are joined when the interpreter ends, so one provider that hangs would delay the
end of watchdog by its read timeout. These are daemons, and the caller stops waiting when it is told to.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_SLICE = 0.1
"""Real seconds between looks at whether to stop."""


class _Carrier:
    """Takes what is raised in a worker, so that the caller can raise it."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> _Carrier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error or self.error
        return True


def run_all(
    read: Callable[[T], R], items: Sequence[T], threads: int, stopped: threading.Event
) -> list[R | None]:
    """Return ``read(item)`` of each item, in order, from at most ``threads`` threads.

    None stands for an item that was not read because ``stopped`` was set; a read under way is then left
    to its own end. Raises what ``read`` raised, after the other items are done.
    """
    waiting = deque(enumerate(items))
    results: list[R | None] = [None] * len(items)
    finished = threading.Semaphore(0)
    carrier = _Carrier()

    def work() -> None:
        while waiting and not stopped.is_set():
            with carrier:
                index, item = waiting.popleft()
                results[index] = read(item)
        finished.release()

    count = min(threads, len(items))
    for number in range(count):
        threading.Thread(target=work, name=f"read-{number}", daemon=True).start()
    for _ in range(count):
        while not finished.acquire(timeout=_SLICE):
            if stopped.is_set():
                return list(results)
    if carrier.error is not None:
        raise carrier.error
    return results
