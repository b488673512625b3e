"""``watchdog silence``: mute pings for a while, in a running service or, while none runs, in the store."""

from __future__ import annotations

import argparse
import getpass
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from watchdog.bootstrap import existing_store, held_store
from watchdog.cli import common
from watchdog.config import parse_duration
from watchdog.errors import QueryError, UsageError
from watchdog.model import Changes, JobKey, Silence, SilenceState
from watchdog.muting import Silences, check_silence
from watchdog.promql.prometheus_json import parse_time
from watchdog.rules.matchers import parse_bare_matcher, written
from watchdog.service.api.alertmanager import silence_json

FOREVER = 365 * 86400.0
"""Seconds; how long a silence that ends with its job may last at most."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its three actions."""
    parser = commands.add_parser("silence", help="mute pings for a while")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="make a silence; prints its id")
    add.add_argument("matchers", metavar="MATCHER", nargs="+", help='such as job=abc or alertname=~"GPU.*"')
    end = add.add_mutually_exclusive_group(required=True)
    end.add_argument("--for", dest="length", metavar="TIME", help="how long, such as 2h")
    end.add_argument("--until", metavar="TIME", help="unix seconds or RFC 3339")
    end.add_argument("--until-job-ends", metavar="SOURCE/JOB", help="as long as this job runs")
    add.add_argument("--comment", default="", help="why")
    add.add_argument("--author", default="", help="who (default: the user)")
    listed = actions.add_parser("list", help="the silences there are")
    listed.add_argument("--expired", action="store_true", help="those that are over too")
    common.add_format(listed)
    expire = actions.add_parser("expire", help="end silences now")
    expire.add_argument("ids", metavar="ID", nargs="+")
    for action, handle in ((add, handle_add), (listed, handle_list), (expire, handle_expire)):
        action.add_argument("--url", metavar="URL", help="service to ask (default: where WATCHDOG_LISTEN says)")
        action.set_defaults(handle=handle)


def handle_add(arguments: argparse.Namespace) -> int:
    """Make a silence and print its id."""
    wanted = _wanted(arguments, time.time())
    try:
        check_silence(wanted)
        body = {**silence_json(wanted, wanted.starts_at), "id": "", "status": None}
        print(_ask(arguments, "POST", "silences", body)["silenceID"])
    except ValueError as error:
        raise UsageError(str(error)) from None
    except _NobodyThere:
        with held_store(common.environment().settings) as store:
            made = Silences(store.silences(), lambda: str(uuid4())).put(wanted, wanted.starts_at)
            store.commit(Changes(wanted.starts_at, silences=tuple(made)))
        print(made[-1].id)
    return 0


def handle_list(arguments: argparse.Namespace) -> int:
    """Print silences, the one that ends last first."""
    now = time.time()
    try:
        found = _ask(arguments, "GET", "silences")
    except _NobodyThere:
        with existing_store(common.environment().settings) as store:
            found = [silence_json(one, now) for one in Silences(store.silences(), str).all()]
    states = [state.value for state in SilenceState if arguments.expired or state is not SilenceState.EXPIRED]
    found = [one for one in found if one["status"]["state"] in states]
    if arguments.format == "json":
        common.print_json(found)
    elif not found:
        print("there is no silence")
    else:
        header = ("ID", "STATE", "ENDS", "MATCHERS", "BY", "COMMENT")
        print(common.table(header, [_row(one) for one in found]))
    return 0


def handle_expire(arguments: argparse.Namespace) -> int:
    """End silences now."""
    try:
        for id_ in arguments.ids:
            _ask(arguments, "DELETE", f"silence/{id_}")
    except _NobodyThere:
        now = time.time()
        with held_store(common.environment().settings) as store:
            there = Silences(store.silences(), str)
            unknown = [id_ for id_ in arguments.ids if there.get(id_) is None]
            if unknown:
                raise UsageError(f"there is no silence {unknown[0]}") from None
            ended = [one for id_ in arguments.ids for one in there.expire(id_, now)]
            store.commit(Changes(now, silences=tuple(ended)))
    return 0


class _NobodyThere(Exception):  # noqa: N818  # a turn of the way, not a mistake
    """No service runs where one would be by default."""


def _ask(arguments: argparse.Namespace, method: str, path: str, body: object = None) -> Any:
    with common.client(arguments.url) as client:
        try:
            return client.call(method, path, body=body)
        except QueryError as error:
            if error.kind == "unavailable" and arguments.url is None:
                raise _NobodyThere from error
            if error.kind == "bad_data":
                raise UsageError(str(error)) from None
            raise


def _wanted(arguments: argparse.Namespace, now: float) -> Silence:
    try:
        matchers = tuple(written(parse_bare_matcher(text)) for text in arguments.matchers)
        ends_at = now + FOREVER
        if arguments.length is not None:
            ends_at = now + parse_duration(arguments.length)
        elif arguments.until is not None:
            ends_at = parse_time(arguments.until)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if ends_at <= now:
        raise UsageError("a silence must end in the future")
    author = arguments.author or getpass.getuser()
    return Silence("", matchers, now, ends_at, author, arguments.comment, now, _job(arguments.until_job_ends))


def _job(text: str | None) -> JobKey | None:
    if text is None:
        return None
    source, _, job = text.partition("/")
    if not source or not job:
        raise UsageError(f'"{text}" is no job; write SOURCE/JOB, as in the columns of watchdog jobs')
    return JobKey(source, job)


def _row(one: Mapping[str, Any]) -> Sequence[str]:
    job = one.get("untilJobEnds")
    ends = f"with job {job['source']}/{job['job']}" if job else _minute(one["endsAt"])
    matchers = ", ".join(_matcher(item) for item in one["matchers"])
    return (one["id"], one["status"]["state"], ends, matchers, one["createdBy"] or "-", one["comment"] or "-")


def _minute(text: str) -> str:
    return datetime.fromtimestamp(parse_time(text), UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _matcher(item: Mapping[str, Any]) -> str:
    op = ("=~" if item["isEqual"] else "!~") if item["isRegex"] else ("=" if item["isEqual"] else "!=")
    return f'{item["name"]}{op}"{item["value"]}"'
