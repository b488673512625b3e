"""What several commands share: the rules option, the output format, tables."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from watchdog.bootstrap import Environment, load_rules, rules_path
from watchdog.client import Client
from watchdog.rules.model import Ruleset
from watchdog.service import log
from watchdog.service.http import parse_listen
from watchdog.settings import EnvSecrets, Settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Commands = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add ``-c RULES``."""
    parser.add_argument("-c", "--rules", metavar="RULES", help="rules file or folder (default: WATCHDOG_RULES)")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format``."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print (default: text)")


def environment(*, logging: bool = False) -> Environment:
    """Return the real environment; with ``logging``, log lines go to standard error."""
    settings = Settings()
    secrets = EnvSecrets()
    if logging:
        log.set_up(settings.log_format, settings.log_level, secrets.redact)
    return Environment(settings, secrets)


def rules_of(arguments: argparse.Namespace, env: Environment) -> Ruleset:
    """Read the rules file that the command line or the environment names."""
    return load_rules(rules_path(arguments.rules, env.settings))


def print_json(value: Any) -> None:
    """Print one JSON document."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=str)
    print()


def plain(value: DataclassInstance) -> dict[str, Any]:
    """Return a frozen dataclass as JSON would have it: label sets as objects."""
    return {key: _labels(key, item) for key, item in asdict(value).items()}


def _labels(key: str, item: Any) -> Any:
    return dict(item) if key in ("labels", "instance", "group_labels") else item


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return aligned columns."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def when(seconds: float | None) -> str:
    """Return a time as people and programs read it, in UTC; a dash for none."""
    return "-" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(seconds))


_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # what a service listens on is not where it is asked


def client(url: str | None) -> Client:
    """Return a client of the service at ``url``, or of the one that WATCHDOG_LISTEN names; it shows the token."""
    settings = Settings()
    if url is None:
        host, port = parse_listen(settings.listen)
        host = _ANYWHERE.get(host, host)
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return Client(url, settings.api_token)
