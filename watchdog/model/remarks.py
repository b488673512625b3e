"""What a try of a source, a receiver or the store found, before anything depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a remark matters."""

    OK = "ok"
    FAILED = "FAILED"
    """It will not work before somebody acts."""
    NOTE = "note"
    """It works, but something is worth knowing; or it could not be tried."""


TLS_REMEDY = "name an address that speaks TLS with a valid certificate, or a file with its issuer's in SSL_CERT_FILE"
"""What to do where no TLS connection comes about."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was found. Neither text ever holds a secret."""

    level: Level
    text: str
    remedy: str = ""
    """What to do about it; empty when the text says so itself, or there is nothing to do."""
