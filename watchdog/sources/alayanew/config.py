"""The section of an Alaya NeW source in the rules file."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone, tzinfo
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, model_validator

from watchdog.config import EnvRef, SourceConfig
from watchdog.sources.base import BaseUrl, Ids, Seconds

_FIXED: dict[str, tzinfo] = {"Asia/Shanghai": timezone(timedelta(hours=8)), "UTC": UTC}
"""Zones without summer time, which need no zone database."""


def zone_of(name: str) -> tzinfo:
    """Return the zone of this name. Raises ValueError with a remedy."""
    try:
        return _FIXED.get(name) or ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # not a name, a folder of the database, not in it
        text = f'"{name}" is not a time zone here; write one such as "Asia/Shanghai" or "UTC"'
        raise ValueError(text) from None


def _zone(name: str) -> str:
    zone_of(name)
    return name


def _prefix(value: str) -> str:
    if value and (not value.startswith("/") or value != "".join(value.split()) or {"?", "#"} & set(value)):
        raise ValueError('is not the beginning of a path; write one such as "/api/osm", or leave it out')
    return value.rstrip("/")


class AlayaNewConfig(SourceConfig):
    """An Alaya NeW account: named jobs, or all that its job list shows."""

    type: Literal["alayanew"]
    jobs: Ids = ()
    discover: bool = False
    """Whether to watch every job of the job list, beside ``jobs``."""
    base_url: BaseUrl = "https://api.alayanew.com"
    path_prefix: Annotated[str, AfterValidator(_prefix)] = ""
    """Put before ``/v1/…``; ``/api/osm`` where the API document's own path answers with a web page."""
    timezone: Annotated[str, AfterValidator(_zone)] = "Asia/Shanghai"
    """The zone of times that the job list states without one."""
    api_key: EnvRef = EnvRef(env="ALAYANEW_API_KEY")
    """An Open API key (the documented form)."""
    access_key: EnvRef | None = None
    """With ``secret_key``: requests are signed (HMAC) instead."""
    secret_key: EnvRef | None = None
    step: Seconds = 60.0
    """Seconds between two samples, as expected: the provider does not state it."""
    timeout: Seconds = 30.0
    """Seconds without a byte after which a read is given up."""

    @model_validator(mode="after")
    def _something_to_watch(self) -> Self:
        if not self.jobs and not self.discover:
            raise ValueError('nothing to watch; write jobs = ["…"] with job ids, or discover = true')
        return self

    @model_validator(mode="after")
    def _one_credential(self) -> Self:
        if (self.access_key is None) != (self.secret_key is None):
            raise ValueError("access_key and secret_key belong together; write both, or neither to use api_key")
        if self.access_key is not None and "api_key" in self.model_fields_set:
            raise ValueError(
                "api_key and access_key/secret_key are two kinds of credentials; keep one of them, "
                "the one that your account has"
            )
        return self

    @property
    def secrets(self) -> tuple[EnvRef, ...]:
        """The secrets that the source needs."""
        if self.access_key is not None and self.secret_key is not None:
            return self.access_key, self.secret_key
        return (self.api_key,)
