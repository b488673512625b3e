"""One writer per store: a lease that a second instance waits for.

For a SQLite file it is an operating system lock on ``<file>.lock``, which ends with the process that holds
it, kill -9 included. The lock file itself stays: to remove it would let two instances hold two locks.
"""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from watchdog.errors import StoreError
from watchdog.store import dialect

_POLL_SECONDS = 0.1


class Lease(Protocol):
    """The right to write; held by one process at a time."""

    def try_acquire(self) -> bool:
        """Return whether the lease is held now, without waiting. Raises StoreError."""
        ...

    def acquire(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; return whether the lease is held. Raises StoreError."""
        ...

    def release(self) -> None:
        """Give the lease back; harmless when it is not held."""
        ...


class FileLease:
    """A lease by file lock."""

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
        for _ in range(math.ceil(timeout / _POLL_SECONDS)):
            if self.try_acquire():
                return True
            self._sleep(_POLL_SECONDS)
        return self.try_acquire()

    def release(self) -> None:
        """Give the lease back; harmless when it is not held."""
        if self._held is not None:
            os.close(self._held)
            self._held = None


class FreeLease:
    """The lease of a store in memory, which no other process can see."""

    def try_acquire(self) -> bool:
        """Return True."""
        return True

    def acquire(self, timeout: float) -> bool:  # noqa: ARG002  # never waits
        """Return True."""
        return True

    def release(self) -> None:
        """Do nothing."""


def lease_for(url: str, sleep: Callable[[float], None]) -> Lease:
    """Return the lease of the store at ``url``. Raises StoreError for a URL that cannot be used."""
    file = dialect.file_of(dialect.parse(url))
    if file is None:
        return FreeLease()
    real = file.resolve()  # two names of one file are one lease
    return FileLease(real.with_name(real.name + ".lock"), sleep)
