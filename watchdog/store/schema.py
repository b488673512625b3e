"""The tables as they are now: key columns to search by, and a ``body`` that holds the whole value as JSON.

``migrations`` makes them; a test compares the two. Times are unix seconds (UTC).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Double, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", Text, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("source", String, primary_key=True),
    Column("job", String, primary_key=True),
    Column("status", String, nullable=False),
    Column("ended_at", Double),
    Column("body", Text, nullable=False),
    Index("jobs_ended", "ended_at"),
)

alerts = Table(
    "alerts",
    metadata,
    Column("fingerprint", String, primary_key=True),
    Column("rule", String, nullable=False),
    Column("state", String, nullable=False),
    Column("event", Boolean, nullable=False),
    Column("closed_at", Double),
    Column("body", Text, nullable=False),
    Index("alerts_closed", "closed_at"),
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", String, primary_key=True),
    Column("group_key", String, nullable=False),
    Column("opened_at", Double, nullable=False),
    Column("closed_at", Double),
    Column("body", Text, nullable=False),
    Index("incidents_closed", "closed_at"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", String, primary_key=True),
    Column("seq", BigInteger, nullable=False, unique=True),
    Column("receiver", String, nullable=False),
    Column("incident", String, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("state", String, nullable=False),
    Column("not_before", Double, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("plain", Boolean, nullable=False),
    Column("maybe_sent", Boolean, nullable=False),
    Column("error", Text, nullable=False),
    Column("finished_at", Double),
    Column("body", Text, nullable=False),
    Index("outbox_queue", "state", "receiver", "incident", "seq"),
    Index("outbox_finished", "finished_at"),
)
"""``seq`` is the order in which transitions were committed; unlike ``created_at`` it never runs backwards.

A row that was sent or parked stays as the delivery log until it is collected.
"""

deliveries = Table(
    "deliveries",
    metadata,
    Column("incident", String, primary_key=True),
    Column("receiver", String, primary_key=True),
    Column("updated_at", Double),
    Column("body", Text, nullable=False),
)
"""Receipts. ``updated_at`` is null until the first delivery is complete."""

receivers = Table(
    "receivers",
    metadata,
    Column("name", String, primary_key=True),
    Column("held_until", Double, nullable=False),
)
"""Receivers that asked for silence (Retry-After), so that a restart obeys too."""

silences = Table(
    "silences",
    metadata,
    Column("id", String, primary_key=True),
    Column("matchers", Text, nullable=False),
    Column("starts_at", Double, nullable=False),
    Column("ends_at", Double, nullable=False),
    Column("until_job_ends", Text),
    Column("created_by", String, nullable=False),
    Column("comment", Text, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index("silences_ends", "ends_at"),
)

WAITING, DELIVERED, PARKED = "waiting", "delivered", "parked"
"""States of an outbox row."""
