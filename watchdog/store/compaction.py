"""What the store may forget: what has long been over and was told."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, exists, or_

from watchdog.store.schema import WAITING, alerts, deliveries, incidents, jobs, outbox, receivers, silences


def compact(connection: Connection, before: float) -> None:
    """Delete what was over before this time (unix seconds); never what is open or undelivered.

    A parked notification counts as told once it is that old: it was given up, and that was said.
    Receipts live as long as their incident, or until they are that old, whichever is later.
    """
    for table, ended in (
        (jobs, jobs.c.ended_at),
        (alerts, alerts.c.closed_at),
        (outbox, outbox.c.finished_at),
        (silences, silences.c.ends_at),
        (receivers, receivers.c.held_until),
    ):
        connection.execute(delete(table).where(ended < before))
    told = incidents.c.closed_at < before
    connection.execute(delete(incidents).where(told, ~_waits(outbox.c.incident == incidents.c.id)))
    connection.execute(
        delete(deliveries).where(
            or_(deliveries.c.updated_at.is_(None), deliveries.c.updated_at < before),
            ~exists().where(incidents.c.id == deliveries.c.incident),
            ~_waits((outbox.c.incident == deliveries.c.incident) & (outbox.c.receiver == deliveries.c.receiver)),
        )
    )


def _waits(row: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(row, outbox.c.state == WAITING)
