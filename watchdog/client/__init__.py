"""Asks a running watchdog, or anything else that speaks Prometheus's HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import httpx

from watchdog.errors import QueryError, UsageError

__all__ = ["Client"]

SECONDS = 60.0
"""How long an answer may take; the service itself gives up earlier and says so."""


class Client:
    """One service, by its address. Use as a context manager."""

    def __init__(self, url: str) -> None:
        if httpx.URL(url).scheme not in ("http", "https"):
            raise UsageError(f'"{url}" is not the address of a service; write for example http://127.0.0.1:9469')
        self._base = url.rstrip("/")
        # No proxies from the environment: the service is this machine's, or one that was named on purpose.
        self._http = httpx.Client(timeout=SECONDS, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def ask(self, endpoint: str, form: Mapping[str, str], api: str = "v1") -> Any:
        """Return ``data`` of ``/api/<api>/<endpoint>``. Raises QueryError, with the kind that the service gave."""
        url = f"{self._base}/api/{api}/{endpoint}"
        try:
            response = self._http.post(url, data=form)
            body = response.json()
        except httpx.HTTPError as error:
            raise QueryError(
                "unavailable", f"no answer from {self._place} ({error}); is the service running?"
            ) from error
        except ValueError:
            raise self._foreign(response) from None
        match body:
            case {"status": "success", "data": data}:
                return data
            case {"status": "error", "errorType": str(kind), "error": str(text)}:
                raise QueryError(kind, text)
        raise self._foreign(response)

    @property
    def _place(self) -> str:
        """The address without a user and a password."""
        return str(httpx.URL(self._base).copy_with(username=None, password=None))

    def _foreign(self, response: httpx.Response) -> QueryError:
        return QueryError(
            "internal",
            f"{self._place} does not speak Prometheus's HTTP API (status {response.status_code}); correct --url",
        )
