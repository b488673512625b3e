"""Reads many things side by side, on threads that never keep the process alive.

An executor's threads are joined when the interpreter ends, so one provider that hangs would delay the
end of watchdog by its read timeout. These are daemons, and the caller stops waiting when it is told to.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_SLICE = 0.1
"""Real seconds between looks at whether to stop."""


class _Carrier:
    """Takes what is raised in a worker, so that the caller can raise it."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error or self.error
        return True


class _Round(Generic[T, R]):
    """The items of one call of ``run_all``, and what became of them."""

    def __init__(self, read: Callable[[T], R], items: Sequence[T], stopped: threading.Event) -> None:
        self._read = read
        self._waiting = deque(enumerate(items))
        self._stopped = stopped
        self.results: list[R | None] = [None] * len(items)
        self.finished = threading.Semaphore(0)
        self.carrier = _Carrier()

    def work(self) -> None:
        """Read items until there are no more: the body of each thread."""
        while not self._stopped.is_set():
            try:
                index, item = self._waiting.popleft()
            except IndexError:
                break
            with self.carrier:
                self.results[index] = self._read(item)
        self.finished.release()


def run_all(read: Callable[[T], R], items: Sequence[T], threads: int, stopped: threading.Event) -> list[R | None]:
    """Return ``read(item)`` of each item, in order, from at most ``threads`` threads.

    None stands for an item that was not read because ``stopped`` was set; a read under way is then left
    to its own end. Raises what ``read`` raised, after the other items are done.
    """
    work = _Round(read, items, stopped)
    count = min(threads, len(items))
    for number in range(count):
        threading.Thread(target=work.work, name=f"read-{number}", daemon=True).start()
    for _ in range(count):
        while not work.finished.acquire(timeout=_SLICE):
            if stopped.is_set():
                return list(work.results)
    if work.carrier.error is not None:
        raise work.carrier.error
    return work.results
