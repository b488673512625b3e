"""The job boundary: the one place that catches everything, so that a bug in one job does not end the process.

A store that cannot be read or written is no bug: a job that fails for it is said once, until it works again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from watchdog.errors import LeaseLost, StoreError

log = logging.getLogger("watchdog.service")


class Guard:
    """Runs jobs; logs and counts what they raise."""

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self._without_store: set[str] = set()

    def count(self) -> int:
        """Return how many jobs have failed so far."""
        return sum(self.failures.values())

    def __call__(self, name: str, job: Callable[[], None]) -> bool:
        """Run ``job``; return whether it came to its end."""
        try:
            job()
        except LeaseLost as error:  # the service is about to stop, which says it all
            log.warning("job ended", extra={"job_name": name, "error": str(error)})
            return False
        except StoreError as error:
            level = logging.DEBUG if name in self._without_store else logging.ERROR
            self._without_store.add(name)
            log.log(level, "job failed for the store; it is tried again", extra={"job_name": name, "error": str(error)})
            return False
        except Exception:  # the job boundary: everything is logged and counted, nothing is lost
            self.failures[name] = self.failures.get(name, 0) + 1
            log.exception("job failed", extra={"job_name": name, "failures": self.failures[name]})
            return False
        if name in self._without_store:
            self._without_store.discard(name)
            log.info("job works again", extra={"job_name": name})
        return True
