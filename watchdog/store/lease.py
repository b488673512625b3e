"""One writer per store: a lease that a second instance waits for.

For a SQLite file it is an operating system lock on ``<file>.lock``, which ends with the process that holds
it, kill -9 included. The lock file itself stays: to remove it would let two instances hold two locks.
For PostgreSQL it is a row that is renewed (``row_lease``).
"""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection

from watchdog.errors import LeaseLost, StoreError
from watchdog.store import dialect

_POLL_SECONDS = 0.1


class Lease(Protocol):
    """The right to write; held by one process at a time."""

    @property
    def application(self) -> str:
        """How a server names the sessions of this process."""
        ...

    @property
    def lost(self) -> bool:
        """Whether it was held and another process has it now."""
        ...

    def try_acquire(self) -> bool:
        """Return whether the lease is held now, without waiting. Raises StoreError."""
        ...

    def acquire(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; return whether the lease is held. Raises StoreError."""
        ...

    def check(self) -> None:
        """Raise StoreError unless the lease is held, as far as this process knows; asks nobody."""
        ...

    def prove(self, connection: Connection) -> None:
        """Make sure that the lease is held until the end of this transaction. Raises LeaseLost, StoreError."""
        ...

    def release(self) -> None:
        """Give the lease back; harmless when it is not held."""
        ...


def wait(
    try_acquire: Callable[[], bool], timeout: float, sleep: Callable[[float], None], poll: float = _POLL_SECONDS
) -> bool:
    """Try every ``poll`` seconds, for ``timeout`` seconds; return whether it worked."""
    for _ in range(math.ceil(timeout / poll)):
        if try_acquire():
            return True
        sleep(poll)
    return try_acquire()


class FileLease:
    """A lease by file lock. It is never lost: the lock of a process that stands still stays."""

    application = dialect.APPLICATION
    lost = False

    def __init__(self, file: Path, sleep: Callable[[float], None]) -> None:
        self._file = file
        self._sleep = sleep
        self._held: int | None = None

    def try_acquire(self) -> bool:
        """Return whether the lease is held now, without waiting. Raises StoreError."""
        if self._held is not None:
            return True
        try:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(
                f"lock file {self._file} cannot be opened ({error.strerror}); "
                "make its folder exist and be writable for this user"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._held = descriptor
        return True

    def acquire(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; return whether the lease is held. Raises StoreError."""
        return wait(self.try_acquire, timeout, self._sleep)

    def check(self) -> None:
        """Raise LeaseLost once the lease was given back: a thread that comes late must not write."""
        if self._held is None:
            raise LeaseLost(f"the lease {self._file} is not held; nothing is written")

    def prove(self, connection: Connection) -> None:  # noqa: ARG002  # the lock is not in the database
        """Raise LeaseLost unless the lease is held."""
        self.check()

    def release(self) -> None:
        """Give the lease back; harmless when it is not held."""
        if self._held is not None:
            os.close(self._held)
            self._held = None


class FreeLease:
    """The lease of a store in memory, which no other process can see, and of commands that only read."""

    application = dialect.APPLICATION
    lost = False

    def try_acquire(self) -> bool:
        """Return True."""
        return True

    def acquire(self, timeout: float) -> bool:  # noqa: ARG002  # never waits
        """Return True."""
        return True

    def check(self) -> None:
        """Do nothing."""

    def prove(self, connection: Connection) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""
