"""A hot standby: everything is loaded and checked; it waits for the lease of the store."""

from __future__ import annotations

import logging
import threading

from watchdog.errors import SchemaTooNew, StoreError
from watchdog.service.health import Health
from watchdog.service.http import HttpServer, make_app
from watchdog.store import Lease

log = logging.getLogger("watchdog")

WAITING = "another instance holds the store; waiting as a standby"


def wait_for_lease(lease: Lease, stop: threading.Event, listen: str, health: Health) -> bool:
    """Wait as a standby while another instance holds the store; return False if told to stop first.

    Meanwhile ``/healthz`` says that the process is alive and ``/readyz`` that it does not watch. A store that
    cannot be used at the start is an error: StoreError. One that goes away later is waited for.
    """
    if lease.try_acquire():
        return True
    log.warning(WAITING)
    health.last_commit_failed = WAITING
    http = HttpServer(make_app(health, lambda: 60.0), listen)
    http.start()
    try:
        while not stop.is_set():
            if _try(lease, stop):
                log.warning("the lease is free; taking over")
                return True
    finally:
        http.stop()
        health.last_commit_failed = ""
    return False


def _try(lease: Lease, stop: threading.Event) -> bool:
    try:
        return lease.acquire(timeout=1.0)
    except SchemaTooNew:
        raise
    except StoreError as error:
        log.warning("the store cannot be asked who holds it; waiting", extra={"error": str(error)})
        stop.wait(1.0)
        return False
