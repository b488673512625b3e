"""Durable state: alerts, incidents and the outbox in one database, and the lease of its one writer."""

from watchdog.store.lease import Lease
from watchdog.store.outbox import LogEntry
from watchdog.store.sql import SqlStore
from watchdog.store.trial import try_out as try_store
from watchdog.store.urls import lease_for, store_exists, store_place

__all__ = ["Lease", "LogEntry", "SqlStore", "lease_for", "store_exists", "store_place", "try_store"]
