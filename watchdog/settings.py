"""What the environment says: settings of the process, and secrets by name. Nothing else reads the environment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

from watchdog.errors import UsageError

REDACTED = "[redacted]"
SHORTEST_SECRET = 6
"""Characters; anything shorter is no secret, and striking it out would tear words apart."""
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/@]+(?=@)")
"""The password of a URL, such as that of a PostgreSQL store."""
_CHOICES = {
    "api_read": ("open", "token"),
    "log_format": ("text", "json"),
    "log_level": ("debug", "info", "warning", "error"),
}


class Settings(BaseSettings):
    """The ``WATCHDOG_…`` variables; an empty one counts as not set. Raises UsageError for a wrong value."""

    model_config = SettingsConfigDict(env_prefix="WATCHDOG_", env_ignore_empty=True, extra="ignore", frozen=True)

    rules: str | None = None
    """Path of the rules file or folder."""
    store: str = "sqlite:////var/lib/watchdog/watchdog.db"
    """SQLAlchemy URL of the store."""
    listen: str = "127.0.0.1:9469"
    """``host:port``; the HTTP server checks it where it is used."""
    api_token: str | None = None
    """What a client must show to write: silences, for one. Without it writing is off."""
    api_read: str = "open"
    """``token``: reading needs the token too."""
    log_format: str = "text"
    log_level: str = "info"

    def model_post_init(self, _: object, /) -> None:
        """Check the values that are chosen from a list."""
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise UsageError(f'WATCHDOG_{name.upper()}="{value}" is not known; write one of {", ".join(choices)}')

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        """Leave the token and the store's password out of every printed form."""
        pairs = [pair for pair in super().__repr_args__() if pair[0] != "api_token"]
        return [(name, _without_password(str(value)) if name == "store" else value) for name, value in pairs]


class EnvSecrets:
    """Secrets from ``NAME``, the file that ``NAME_FILE`` names, or a mounted ``/run/secrets/NAME``.

    Read anew at each call, so that a rotated key needs no restart; blank ones count as not set.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, folder: Path = Path("/run/secrets")) -> None:
        self._environ = os.environ if environ is None else environ
        self._folder = folder
        self._seen: tuple[str, ...] = ()
        self._asked: frozenset[str] = frozenset()

    def find(self, name: str) -> str | None:
        """Return the secret, or None if it is not set.

        Raises UsageError when both variables are set or a file cannot be read; names the variable, never a value.
        """
        self._asked |= {name}
        value = self._environ.get(name, "").strip()
        file = self._environ.get(f"{name}_FILE", "").strip()
        if value and file:
            raise UsageError(f"{name} and {name}_FILE are both set; remove one of them")
        if file:
            value = _read(Path(file), f"{name}_FILE")
        elif not value and (self._folder / name).exists():
            value = _read(self._folder / name, f"the secret {name}")
        if value:
            self._remember(value)
        return value or None

    def version(self) -> int:
        """Return a number that is another one once a secret that was asked for has changed."""
        found: list[tuple[str, str | None]] = []
        for name in sorted(self._asked):
            try:
                found.append((name, self.find(name)))
            except UsageError as error:  # such as a file that is just being replaced
                found.append((name, str(error)))
        return hash(tuple(found))

    def redact(self, text: str) -> str:
        """Return ``text`` with passwords of URLs and every secret that was ever handed out struck out, also in JSON."""
        for secret in self._seen:
            text = text.replace(secret, REDACTED)
        return _without_password(text)

    def _remember(self, value: str) -> None:
        if len(value) < SHORTEST_SECRET:
            return
        forms = {value, json.dumps(value, ensure_ascii=False)[1:-1]}
        if not forms <= set(self._seen):
            # A new tuple each time: other threads may be going through the old one.
            self._seen = tuple(sorted(forms | set(self._seen), key=len, reverse=True))


def _without_password(text: str) -> str:
    return _PASSWORD.sub(rf"\1{REDACTED}", text)


def _read(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{name}: {path} cannot be read ({error.strerror}); mount it or correct its path") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: {path} is not text in UTF-8; write the secret alone into it") from error
