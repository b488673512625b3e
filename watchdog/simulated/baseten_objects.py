"""Parts of the fake Baseten's answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from watchdog.simulated.world import CACHE, SimJob

_MIB = 1024.0**2


def has_cache(job: SimJob) -> bool:
    """Whether the job's project has a cache: without one the reply says null."""
    return job.signal(CACHE, "", "", job.created_at) is not None


def instance(job: SimJob) -> dict[str, Any]:
    """Return the instance type of one node."""
    return {
        "id": f"{job.gpu_type}x{job.gpus_per_node}",
        "name": f"{job.gpu_type} x{job.gpus_per_node}",
        "memory_limit_mib": int(job.memory_bytes / _MIB),
        "millicpu_limit": job.millicpu,
        "gpu_count": job.gpus_per_node,
        "gpu_type": job.gpu_type if job.gpus_per_node else None,
        "gpu_memory_limit_mib": int(job.gpu_memory_bytes / _MIB) if job.gpus_per_node else None,
    }


def unordered(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same points in an order that nobody may rely on."""
    return points[1::2] + points[0::2]


def iso(time_: float) -> str:
    """Return a time as the API writes it."""
    return datetime.fromtimestamp(time_, UTC).isoformat().replace("+00:00", "Z")
