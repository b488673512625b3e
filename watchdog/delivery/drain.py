"""Delivers what is due now and comes back: for a command that ends, where the service has threads that stay."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from watchdog.delivery.sender import Sender


def drain(queues: Sequence[Sequence[Sender]], now: float) -> bool:
    """Deliver what is due at ``now``, without waiting; return whether everything was delivered.

    The queues run side by side, the senders of one queue one after the other. Raises StoreError, and what a
    receiver raises beside DeliveryError, after the other queues have come to their ends.
    """
    with ThreadPoolExecutor(max(1, len(queues)), thread_name_prefix="deliver") as pool:
        under_way = [pool.submit(_drain, queue, now) for queue in queues]
    delivered = [job.result() for job in under_way]
    return all(delivered)


def _drain(queue: Sequence[Sender], now: float) -> bool:
    for sender in queue:
        while sender.step(now) <= now:
            pass
    return all(sender.done for sender in queue)
