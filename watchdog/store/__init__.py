"""Durable state: alerts, incidents and the outbox in one SQLite file, and the lease of its one writer."""

from watchdog.store.lease import Lease, lease_for
from watchdog.store.outbox import LogEntry
from watchdog.store.sql import SqlStore, store_exists

__all__ = ["Lease", "LogEntry", "SqlStore", "lease_for", "store_exists"]
