"""Values of the model as JSON text and back.

Infinity and NaN are written as strings, so that the text stays JSON and no value turns into null.
"""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from watchdog.errors import StoreError
from watchdog.model import Alert, Incident, JobRecord, Notification

T = TypeVar("T")


def clean(text: str) -> str:
    """Return ``text`` as every database takes it: without half characters, cut off by a provider, and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def encode(value: object) -> str:
    """Return ``value`` as JSON text."""
    try:
        return to_json(value, inf_nan_mode="strings").decode()
    except PydanticSerializationError:
        plain = json.dumps(to_jsonable_python(value, inf_nan_mode="constants"), ensure_ascii=False)
        return encode(json.loads(clean(plain)))


class Codec(Generic[T]):
    """Reads one type from its JSON text."""

    def __init__(self, kind: Any, name: str) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)
        self._name = name

    def decode(self, body: str) -> T:
        """Return the value. Raises StoreError, without the text, when it is not one."""
        try:
            return self._adapter.validate_json(body)
        except ValidationError as error:
            places = ", ".join(".".join(map(str, detail["loc"])) or "its text" for detail in error.errors())
            raise StoreError(
                f"the store holds {self._name} that cannot be read ({places}); restore a backup, "
                "or move the file away: alerts that still hold will be said again"
            ) from None


JOB: Codec[JobRecord] = Codec(JobRecord, "a job")
ALERT: Codec[Alert] = Codec(Alert, "an alert")
INCIDENT: Codec[Incident] = Codec(Incident, "an incident")
NOTIFICATION: Codec[Notification] = Codec(Notification, "a notification")
RECEIPT: Codec[dict[str, str]] = Codec(dict[str, str], "a receipt")
TEXTS: Codec[list[str]] = Codec(list[str], "a silence")
