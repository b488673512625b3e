"""The store: everything one tick changed, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Table, bindparam, delete, or_, select

from watchdog.model import Alert, AlertState, Changes, Incident, JobKey, JobRecord, Silence, Snapshot
from watchdog.store import dialect, outbox
from watchdog.store.codec import ALERT, INCIDENT, JOB, TEXTS, Codec, clean, encode
from watchdog.store.compaction import compact
from watchdog.store.database import Database
from watchdog.store.lease import FreeLease, Lease
from watchdog.store.schema import alerts, incidents, jobs, meta, silences

T = TypeVar("T")

RETENTION = 7 * 86400.0
"""Seconds for which what is over is loaded again."""
_OWN_KEYS = "store."
"""Keys of ``meta`` that are the store's own."""
_COMMITTED_KEY = "store.committed_at"


class SqlStore(outbox.SqlOutbox):
    """Implements ``ports.Store`` and ``ports.Outbox``. Every method may raise StoreError."""

    def __init__(self, url: str, retention: float = RETENTION, lease: Lease | None = None) -> None:
        """Take a URL such as ``sqlite:////var/lib/watchdog/watchdog.db``; ``sqlite://`` keeps it in memory.

        The store is opened, made and migrated at the first use. With a lease, every transaction that writes
        proves that it is held, else raises LeaseLost. Raises StoreError for an unusable URL.
        """
        super().__init__(Database(url, lease or FreeLease()))
        self._retention = retention

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release the file or the connections."""
        self._database.close()

    def load(self) -> Snapshot:
        """Return what a restarted engine needs: what is open, and what ended within the retention.

        The retention counts back from the last commit: the store reads no clock, and how long watchdog was
        down says nothing of what is still of use.
        """
        with self._database.read() as connection:
            notes = {row.key: row.value for row in connection.execute(select(meta))}
            since = float(notes.get(_COMMITTED_KEY, 0.0)) - self._retention
            return Snapshot(
                jobs=_read(connection, jobs, JOB, _open_or_since(jobs.c.ended_at, since)),
                alerts=_read(connection, alerts, ALERT, or_(alerts.c.event, _open_or_since(alerts.c.closed_at, since))),
                incidents=_read(connection, incidents, INCIDENT, _open_or_since(incidents.c.closed_at, since)),
                meta={key: value for key, value in notes.items() if not key.startswith(_OWN_KEYS)},
                silences=_silences(connection),
                at=float(notes[_COMMITTED_KEY]) if _COMMITTED_KEY in notes else None,
            )

    def commit(self, changes: Changes) -> None:
        """Write all of ``changes`` in one transaction; idempotent, so that it may be repeated.

        A notification that is in the outbox already stays as it is, delivered or not.
        """
        notes = {**changes.meta, _COMMITTED_KEY: repr(changes.at)}
        with self._database.write() as connection:
            gone = [{"gone": clean(fingerprint)} for fingerprint in changes.forgotten_alerts]
            if gone:
                connection.execute(delete(alerts).where(alerts.c.fingerprint == bindparam("gone")), gone)
            dialect.upsert(connection, jobs, [_job_row(record) for record in changes.jobs])
            dialect.upsert(connection, alerts, [_alert_row(alert, changes.at) for alert in changes.alerts])
            dialect.upsert(connection, incidents, [_incident_row(incident) for incident in changes.incidents])
            outbox.put(connection, changes.outbox)
            dialect.upsert(connection, silences, [_silence_row(silence) for silence in changes.silences])
            dialect.upsert(connection, meta, [{"key": clean(k), "value": clean(v)} for k, v in notes.items()])

    def compact(self, now: float, retention: float) -> None:
        """Delete what was over ``retention`` seconds before ``now``; never what is open or undelivered."""
        with self._database.write() as connection:
            compact(connection, now - retention)

    def alerts(self) -> Sequence[Alert]:
        """Return every alert that the store holds, closed ones too."""
        with self._database.read() as connection:
            return _read(connection, alerts, ALERT)

    def jobs(self) -> Sequence[JobRecord]:
        """Return every job that the store holds, ended ones too."""
        with self._database.read() as connection:
            return _read(connection, jobs, JOB)

    def silences(self) -> Sequence[Silence]:
        """Return every silence that the store holds, expired ones too."""
        with self._database.read() as connection:
            return _silences(connection)

    def incidents(self) -> Sequence[Incident]:
        """Return every incident that the store holds, closed ones too."""
        with self._database.read() as connection:
            return _read(connection, incidents, INCIDENT)


def _open_or_since(ended: Any, since: float) -> Any:
    return or_(ended.is_(None), ended >= since)


def _read(connection: Connection, table: Table, codec: Codec[T], *where: Any) -> tuple[T, ...]:
    """Return the values of a table's rows, in the order of its primary key."""
    rows = connection.scalars(select(table.c.body).where(*where).order_by(*table.primary_key))
    return tuple(codec.decode(body) for body in rows)


def _job_row(record: JobRecord) -> Mapping[str, Any]:
    job = record.job
    return {
        "source": clean(job.source),
        "job": clean(job.job),
        "status": job.status.value,
        "ended_at": record.ended_at,
        "body": encode(record),
    }


def _alert_row(alert: Alert, at: float) -> Mapping[str, Any]:
    closed = alert.resolved_at if alert.resolved_at is not None else at
    return {
        "fingerprint": clean(alert.fingerprint),
        "rule": clean(alert.rule),
        "state": alert.state.value,
        "event": alert.event,
        "closed_at": closed if alert.state is AlertState.INACTIVE else None,
        "body": encode(alert),
    }


def _incident_row(incident: Incident) -> Mapping[str, Any]:
    return {
        "id": clean(incident.id),
        "group_key": clean(incident.group_key),
        "opened_at": incident.opened_at,
        "closed_at": incident.closed_at,
        "body": encode(incident),
    }


def _silence_row(silence: Silence) -> Mapping[str, Any]:
    job = silence.until_job_ends
    return {
        "id": clean(silence.id),
        "matchers": encode(silence.matchers),
        "starts_at": silence.starts_at,
        "ends_at": silence.ends_at,
        "until_job_ends": None if job is None else encode([job.source, job.job]),
        "created_by": clean(silence.created_by),
        "comment": clean(silence.comment),
        "updated_at": silence.updated_at,
    }


def _silences(connection: Connection) -> tuple[Silence, ...]:
    return tuple(
        Silence(
            id=row.id,
            matchers=tuple(TEXTS.decode(row.matchers)),
            starts_at=row.starts_at,
            ends_at=row.ends_at,
            created_by=row.created_by,
            comment=row.comment,
            updated_at=row.updated_at,
            until_job_ends=None if row.until_job_ends is None else JobKey(*TEXTS.decode(row.until_job_ends)),
        )
        for row in connection.execute(select(silences).order_by(silences.c.id))
    )
