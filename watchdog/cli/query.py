"""``watchdog query``: any PromQL, over history files or a running service."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from watchdog.cli import common
from watchdog.errors import EvaluationError, PromQLError, QueryError, UsageError, WatchdogError
from watchdog.files import read_history
from watchdog.history import History
from watchdog.promql import Answer, Query, instant, over_range, parse, point
from watchdog.promql.numbers import format_float
from watchdog.promql.prometheus_json import answer_of, data_of, parse_step, parse_time

Times = float | tuple[float, float, float] | None
"""One time, or start, end and step; None: the newest there is."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("query", help="any PromQL, over history files or a running service")
    parser.add_argument("expr", metavar="EXPR", help="the expression")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--history", metavar="FILE", nargs="+", type=Path, help="files to read (OpenMetrics, also .gz)")
    where.add_argument("--url", metavar="URL", help="service to ask (default: where WATCHDOG_LISTEN says)")
    parser.add_argument("--at", metavar="TIME", type=_time, help="unix seconds or RFC 3339 (default: the newest)")
    parser.add_argument("--start", metavar="TIME", type=_time, help="first time of a range")
    parser.add_argument("--end", metavar="TIME", type=_time, help="last time of a range")
    parser.add_argument("--step", metavar="TIME", type=_step, help="distance between the times, such as 1m")
    common.add_format(parser)
    parser.set_defaults(handle=handle)


def handle(arguments: argparse.Namespace) -> int:
    """Print the answer; 2 for a wrong expression or file, 1 when there is no answer."""
    try:
        data = _data(arguments)
        answer = answer_of(data)
    except WatchdogError as error:
        kind = _kind(error)
        if arguments.format == "json":
            common.print_json({"status": "error", "errorType": kind, "error": str(error)})
        else:
            print(f"error: {_pointed(error, arguments.expr)}", file=sys.stderr)
        return 2 if kind == "bad_data" else 1
    if arguments.format == "json":
        common.print_json({"status": "success", "data": data})
    else:
        _print_text(answer)
    return 0


def _data(arguments: argparse.Namespace) -> Any:
    """Return Prometheus's ``data`` object. Raises UsageError, PromQLError, EvaluationError, QueryError."""
    times, query = _times(arguments), parse(arguments.expr)
    if arguments.history:
        return data_of(_over_files(query, read_history(arguments.history), times))
    with common.client(arguments.url) as client:
        endpoint = "query_range" if isinstance(times, tuple) else "query"
        return client.ask(endpoint, {"query": arguments.expr, **_form(times)})


def _over_files(query: Query, history: History, times: Times) -> Answer:
    if isinstance(times, tuple):
        return over_range(query, history, times)
    at = _newest(history) if times is None else times
    if at is None:
        raise UsageError("the files hold no sample; name a time with --at")
    return instant(query, history, at)


def _newest(history: History) -> float | None:
    found = [selection.latest(-np.inf, np.inf)[0] for selection in history.select([])]
    return max((float(np.nanmax(times)) for times in found), default=None)


def _times(arguments: argparse.Namespace) -> Times:
    given = (arguments.start, arguments.end, arguments.step)
    if given == (None, None, None):
        at: float | None = arguments.at
        return at
    if arguments.at is not None or None in given:
        raise UsageError("write --at for one time, or --start, --end and --step for a range")
    return given


def _form(times: Times) -> Mapping[str, str]:
    if times is None:
        return {}
    names = ("start", "end", "step") if isinstance(times, tuple) else ("time",)
    numbers: Sequence[float] = times if isinstance(times, tuple) else (times,)
    return {name: format_float(number) for name, number in zip(names, numbers, strict=True)}


def _kind(error: WatchdogError) -> str:
    if isinstance(error, QueryError):
        return error.kind
    return "execution" if isinstance(error, EvaluationError) else "bad_data"


def _pointed(error: WatchdogError, text: str) -> str:
    """Return the error, and the place in the expression if it has one."""
    if isinstance(error, PromQLError | EvaluationError) and error.start is not None and error.end is not None:
        return f"{error}\n{point(text, error.start, error.end)}"
    return str(error)


def _print_text(answer: Answer) -> None:
    """Print as ``promtool query`` does."""
    if answer.kind == "string":
        print(answer.text)
        return
    for series in answer.series:
        points = [f"{format_float(value)} @[{format_float(time)}]" for time, value in series.points]
        if answer.kind == "matrix":
            print(f"{_name(series.labels)} =>\n" + "\n".join(points))
        elif answer.kind == "vector":
            print(f"{_name(series.labels)} => {points[0]}")
        else:
            print(f"scalar: {points[0]}")
    if not answer.series:
        print("no series", file=sys.stderr)


def _name(labels: Mapping[str, str]) -> str:
    inner = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in sorted(labels.items())
        if name != "__name__"
    )
    metric = labels.get("__name__", "")
    return metric if metric and not inner else f"{metric}{{{inner}}}"


def _time(text: str) -> float:
    try:
        return parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _step(text: str) -> float:
    try:
        return parse_step(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
