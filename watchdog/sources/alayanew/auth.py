"""The two credentials of Alaya NeW: an Open API key, or a pair of keys that signs each request.

The signature is not in the vendor's documents; three independent clients agree on it (reference, section 2).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from watchdog.ports import Clock, Secrets
from watchdog.sources.alayanew.config import AlayaNewConfig
from watchdog.sources.base import secret_or_raise
from watchdog.sources.http import Credential


def signature(secret_key: str, milliseconds: int, method: str, path: str) -> str:
    """Return the hexadecimal HMAC-SHA256 of time, method and path (with its prefix, without the query)."""
    signed = f"{milliseconds}|{method}|{path}"
    return hmac.new(secret_key.encode(), signed.encode(), hashlib.sha256).hexdigest()


def authorizer(config: AlayaNewConfig, secrets: Secrets, clock: Clock) -> Callable[[str, str], Credential]:
    """Return what makes the header of one request, from the secrets as they are then. It raises SourceError."""

    def bearer(_method: str, _path: str) -> Credential:
        key = secret_or_raise(secrets, config.api_key)
        return Credential(f"Bearer {key}", (key,))

    def signed(method: str, path: str) -> Credential:
        access_key, secret_key = (secret_or_raise(secrets, ref) for ref in config.secrets)
        milliseconds = int(clock() * 1000)
        code = signature(secret_key, milliseconds, method, path)
        header = f"alayanew-HMAC-SHA256 {access_key}:{milliseconds}:{code}"
        return Credential(header, (access_key, secret_key, code))

    return bearer if config.access_key is None else signed
