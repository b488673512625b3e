"""Asks a running watchdog, or anything else that speaks the HTTP APIs of Prometheus or Alertmanager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx

from watchdog.errors import QueryError, UsageError

__all__ = ["Client"]

SECONDS = 60.0
"""How long an answer may take; the service itself gives up earlier and says so."""


class Client:
    """One service, by its address. Use as a context manager."""

    def __init__(self, url: str, token: str | None = None) -> None:
        if httpx.URL(url).scheme not in ("http", "https"):
            raise UsageError(f'"{url}" is not the address of a service; write for example http://127.0.0.1:9469')
        self._base = url.rstrip("/")
        # No proxies from the environment: the service is this machine's, or one that was named on purpose.
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(timeout=SECONDS, trust_env=False, headers=headers)

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
            raise self._silent(error) from error
        except ValueError:
            raise self._foreign(response) from None
        match body:
            case {"status": "success", "data": data}:
                return data
            case {"status": "error", "errorType": str(kind), "error": str(text)}:
                raise QueryError(kind, text)
        raise self._foreign(response)

    def call(
        self, method: str, path: str, query: Mapping[str, Sequence[str]] | None = None, body: object = None
    ) -> Any:
        """Return what an address of Alertmanager's API answers; None for an empty answer. Raises QueryError."""
        try:
            response = self._http.request(method, f"{self._base}/api/v2/{path}", params=query, json=body)
            found = response.json() if response.content else None
        except httpx.HTTPError as error:
            raise self._silent(error) from error
        except ValueError:
            raise self._foreign(response) from None
        if response.status_code == 200:
            return found
        kind = "bad_data" if response.status_code in (400, 404) else "refused"
        raise QueryError(kind if isinstance(found, str) else "internal", str(found))

    def _silent(self, error: httpx.HTTPError) -> QueryError:
        return QueryError("unavailable", f"no answer from {self._place} ({error}); is the service running?")

    @property
    def _place(self) -> str:
        """The address without a user and a password."""
        return str(httpx.URL(self._base).copy_with(username=None, password=None))

    def _foreign(self, response: httpx.Response) -> QueryError:
        return QueryError(
            "internal",
            f"{self._place} does not speak Prometheus's HTTP API (status {response.status_code}); correct --url",
        )
