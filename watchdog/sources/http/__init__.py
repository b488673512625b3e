"""The HTTP edge of all sources."""

from __future__ import annotations

from watchdog.sources.http.answer import Answer, RefusedError, json_or_raise, kind_of, refusal
from watchdog.sources.http.edge import Call, Credential, HttpEdge, Site, segment

__all__ = [
    "Answer",
    "Call",
    "Credential",
    "HttpEdge",
    "RefusedError",
    "Site",
    "json_or_raise",
    "kind_of",
    "refusal",
    "segment",
]
