"""The outbox: notifications on their way, receipts, and the log of what was delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, Select, bindparam, exists, func, select, update

from watchdog.model import Notification, Pending, Receipt
from watchdog.store import dialect
from watchdog.store.codec import NOTIFICATION, RECEIPT, clean, encode
from watchdog.store.database import Database
from watchdog.store.schema import DELIVERED, PARKED, WAITING, deliveries, outbox, receivers
from watchdog.waiting import MAX_RETRY_AFTER


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What became of one notification."""

    id: str
    receiver: str
    incident: str
    created_at: float
    finished_at: float
    attempts: int
    """Tries made, the last one included."""
    parked: bool
    """Given up: its content was refused."""
    error: str
    """Why it was given up; empty for one that was delivered."""


class SqlOutbox:
    """Implements ``ports.Outbox``; several sender threads may use it at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due(self, receiver: str, now: float, limit: int) -> Sequence[Pending]:
        """Return waiting rows that may be sent at ``now``, in the order in which they were committed.

        A row behind one of its incident that may not be sent yet is not due. At most ``limit`` rows.
        """
        with self._database.read() as connection:
            held = connection.scalar(select(receivers.c.held_until).where(receivers.c.name == clean(receiver)))
            waits = held is not None and now < held
            asked = {"receiver": clean(receiver), "now": now, "limit": limit}
            rows = () if waits else connection.execute(_DUE, asked).all()
        if held is not None and held > now + MAX_RETRY_AFTER:  # of a clock that was wrong
            self.hold(receiver, now + MAX_RETRY_AFTER)
        return tuple(_pending(row) for row in rows)

    def receipt(self, incident: str, receiver: str) -> Receipt | None:
        """Return the newest receipt for this incident and receiver."""
        where = (deliveries.c.incident == clean(incident)) & (deliveries.c.receiver == clean(receiver))
        with self._database.read() as connection:
            body = connection.scalar(select(deliveries.c.body).where(where))
        return None if body is None else RECEIPT.decode(body)

    def recent_receipt(self, receiver: str) -> Receipt | None:
        """Return the newest receipt of ``receiver``, whatever the incident."""
        newest = deliveries.c.updated_at.desc().nulls_last()
        wanted = select(deliveries.c.body).where(deliveries.c.receiver == clean(receiver)).order_by(newest).limit(1)
        with self._database.read() as connection:
            body = connection.scalar(wanted)
        return None if body is None else RECEIPT.decode(body)

    def keep_receipt(self, incident: str, receiver: str, receipt: Receipt) -> None:
        """Write a receipt now, before the delivery is complete."""
        with self._database.write() as connection:
            _write_receipt(connection, incident, receiver, receipt)

    def trying(self, ids: Sequence[str]) -> None:
        """Write down that a try begins: should it never report back, the rows read as ``maybe_sent``."""
        self._change(ids, {"maybe_sent": True})

    def hold(self, receiver: str, until: float) -> None:
        """Write down that ``receiver`` asked for silence: nothing of it is due before ``until``."""
        with self._database.write() as connection:
            dialect.upsert(connection, receivers, [{"name": clean(receiver), "held_until": until}])

    def delivered(self, ids: Sequence[str], receiver: str, incident: str, receipt: Receipt, now: float) -> None:
        """Mark rows as sent and keep the receipt, in one transaction. May be repeated."""
        with self._database.write() as connection:
            _write_receipt(connection, incident, receiver, receipt, updated_at=now)
            _change(connection, ids, {**_TRIED, "state": DELIVERED, "finished_at": now, "error": ""})

    def postpone(self, ids: Sequence[str], not_before: float, *, error: str, plain: bool, maybe_sent: bool) -> None:
        """Count a failed try and set when the next may be made."""
        values = {"not_before": not_before, "error": clean(error), "plain": plain, "maybe_sent": maybe_sent}
        self._change(ids, {**_TRIED, **values})

    def park(self, ids: Sequence[str], *, error: str, now: float) -> None:
        """Give rows up with a reason (content refused twice); later rows go on. May be repeated."""
        self._change(ids, {**_TRIED, "state": PARKED, "finished_at": now, "error": clean(error)})

    def waiting(self) -> Sequence[tuple[str, int, float]]:
        """Return receiver, rows that wait, and the time of the oldest of them; none for one without any."""
        columns = (outbox.c.receiver, func.count().label("rows"), func.min(outbox.c.created_at).label("oldest"))
        wait = select(*columns).where(outbox.c.state == WAITING).group_by(outbox.c.receiver)
        with self._database.read() as connection:
            found = connection.execute(wait.order_by(outbox.c.receiver)).all()
        return [(row.receiver, row.rows, row.oldest) for row in found]

    def outbox_depth(self) -> Mapping[str, int]:
        """Return how many rows wait, by receiver; one without any is not named."""
        counts = select(outbox.c.receiver, func.count().label("rows")).where(outbox.c.state == WAITING)
        with self._database.read() as connection:
            found = connection.execute(counts.group_by(outbox.c.receiver)).all()
        return {row.receiver: row.rows for row in found}

    def delivered_log(self, limit: int) -> Sequence[LogEntry]:
        """Return what was sent or given up last, newest first."""
        finished = select(outbox).where(outbox.c.state != WAITING)
        newest = finished.order_by(outbox.c.finished_at.desc(), outbox.c.seq.desc()).limit(limit)
        with self._database.read() as connection:
            rows = connection.execute(newest).all()
        return tuple(_entry(row) for row in rows)

    def _change(self, ids: Sequence[str], values: Mapping[str, Any]) -> None:
        with self._database.write() as connection:
            _change(connection, ids, values)


_TRIED: Mapping[str, Any] = {"attempts": outbox.c.attempts + 1}


def put(connection: Connection, notifications: Sequence[Notification]) -> None:
    """Add notifications in order; one that is there already stays as it is, delivered or not."""
    last = connection.scalar(select(func.max(outbox.c.seq))) if notifications else None
    rows = [
        {
            "id": clean(notification.id),
            "seq": seq,
            "receiver": clean(notification.receiver),
            "incident": clean(notification.incident),
            "created_at": notification.created_at,
            "state": WAITING,
            "not_before": 0.0,
            "attempts": 0,
            "plain": False,
            "maybe_sent": False,
            "error": "",
            "body": encode(notification),
        }
        for seq, notification in enumerate(notifications, start=(last or 0) + 1)
    ]
    dialect.insert_new(connection, outbox, rows)


def _due() -> Select[Any]:
    now: BindParameter[float] = bindparam("now")
    receiver: BindParameter[str] = bindparam("receiver")
    earlier = outbox.alias("earlier")
    blocked = exists().where(
        earlier.c.state == WAITING,
        earlier.c.receiver == receiver,
        earlier.c.incident == outbox.c.incident,
        earlier.c.seq <= outbox.c.seq,
        earlier.c.not_before > now,
        earlier.c.not_before <= now + MAX_RETRY_AFTER,  # no wait is longer: the clock was set back
    )
    mine = select(outbox).where(outbox.c.state == WAITING, outbox.c.receiver == receiver, ~blocked)
    return mine.order_by(outbox.c.seq).limit(bindparam("limit"))


_DUE = _due()
"""Built once: every sender asks it over and over, and to build it takes longer than to run it."""


def _change(connection: Connection, ids: Sequence[str], values: Mapping[str, Any]) -> None:
    """Change rows that still wait; what is finished stays as it is."""
    wanted = [clean(one) for one in ids]
    connection.execute(update(outbox).where(outbox.c.id.in_(wanted), outbox.c.state == WAITING).values(**values))


def _write_receipt(connection: Connection, incident: str, receiver: str, receipt: Receipt, **more: float) -> None:
    row = {"incident": clean(incident), "receiver": clean(receiver), "body": encode(dict(receipt)), **more}
    dialect.upsert(connection, deliveries, [row])


def _pending(row: Row[Any]) -> Pending:
    return Pending(
        notification=NOTIFICATION.decode(row.body),
        attempts=row.attempts,
        not_before=row.not_before,
        plain=row.plain,
        maybe_sent=row.maybe_sent,
    )


def _entry(row: Row[Any]) -> LogEntry:
    return LogEntry(
        id=row.id,
        receiver=row.receiver,
        incident=row.incident,
        created_at=row.created_at,
        finished_at=row.finished_at,
        attempts=row.attempts,
        parked=row.state == PARKED,
        error=row.error,
    )
