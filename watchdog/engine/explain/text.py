"""An explanation as people read it: the reason first, then the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from watchdog.engine.explain.blame import short, sides
from watchdog.engine.explain.model import Explanation, Expression, OpenAlert, Reading, Reason, Step, Verdict
from watchdog.engine.explain.reasons import clock
from watchdog.engine.trace import Evaluated

SHOWN = 8
"""Series, alerts and jobs that are written out; the rest is counted."""
ALIKE = 2
"""Series that are all the same are one line when there are more than these."""
LONGEST_ERROR = 60
"""Characters of an error in the table of evaluations."""
_VERBS = {
    Reason.ERROR: "cannot be evaluated",
    Reason.FIRING: "fires",
    Reason.MUTED: "fires",
    Reason.UNROUTED: "fires",
    Reason.FROZEN: "is frozen",
    Reason.PENDING: "is pending",
}
"""All other reasons mean that it does not fire."""


def as_text(item: Explanation) -> str:
    """Return all of it."""
    about = f" for {_job(item.job, item.job_name)}" if item.job else ""
    blocks = [
        [f"{item.rule} {_headline(about, item.verdict)}"],
        [f"  {line}" for line in _head(item)],
        _tree(item.expr),
        ["  it ends when clear_expr holds:", *_tree(item.clear)] if item.clear else [],
        list(_alerts(item)),
        list(_jobs(item)),
        _evaluations(item.evaluations),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


def _headline(about: str, verdict: Verdict) -> str:
    but = {Reason.MUTED: ", but pings nobody", Reason.UNROUTED: ", but goes nowhere"}.get(verdict.reason, "")
    return f"{_VERBS.get(verdict.reason, 'does not fire')}{about}{but}: {verdict.text}"


def _job(job: str, name: str) -> str:
    return f"{name} ({job})" if name and name != job else job


def _head(item: Explanation) -> Iterator[str]:
    terms = ", ".join(f"{name} {text}" for name, text in item.terms.items())
    yield f"rule at {item.place}, judged {clock(item.at)}, with {terms}"


def _tree(expression: Expression) -> list[str]:
    long = expression.text != expression.steps[0].text
    lines = [*(f"  {line}" for line in expression.text.splitlines()), ""] if long and not expression.pointer else []
    if expression.pointer:
        lines += [f"  {line}" for line in expression.pointer.splitlines()] + [""]
    cells = [(f"{'  ' * step.depth}{step.text}", _values(step)) for step in expression.steps if not step.literal]
    width = max(len(text) for text, _ in cells)
    for text, values in cells:
        for index, value in enumerate(values):
            lines.append(f"  {text if index == 0 else '':<{width}}   {value}")
    return lines


def _values(step: Step) -> list[str]:
    if step.number is not None:
        return [short(step.number)]
    if step.note:
        return [step.note]
    if len(step.readings) > ALIKE and not step.more and len({_reading(one) for one in step.readings}) == 1:
        return [f"all {len(step.readings)} series  {_reading(step.readings[0])}"]
    shown = step.readings[:SHOWN]
    width = max(len(one.name) for one in shown)
    lines = [f"{one.name:<{width}}  {_reading(one)}" if width else _reading(one) for one in shown]
    return lines + _rest(len(step.readings) - len(shown) + step.more, "series")


def _reading(one: Reading) -> str:
    if one.samples is not None:
        text = f"{one.samples} of {short(one.expected or 0.0)} samples"
        return f"{text}, {math.ceil((one.needed or 0.0) - 1e-9)} are needed" if one.short else text
    if one.holds is not None:
        return sides(one)
    return short(one.value) if one.value is not None else ""


def _rest(count: int, what: str) -> list[str]:
    plural = "" if count == 1 or what == "series" else "s"
    return [f"and {count} more {what}{plural}"] if count > 0 else []


def _alerts(item: Explanation) -> Iterator[str]:
    for alert in item.alerts[:SHOWN]:
        yield f"  alert  {_alert(alert, alone=len(item.alerts) == 1)}"
    yield from (f"  {line}" for line in _rest(len(item.alerts[SHOWN:]) + item.more_alerts, "alert"))


def _alert(alert: OpenAlert, *, alone: bool) -> str:
    """Return one line; why the only alert stands as it does is in the headline."""
    state = f"{alert.state}, frozen" if alert.frozen else alert.state
    value = "" if alert.value is None else f", value {short(alert.value)}"
    muted = f" (muted: {alert.muted})" if alert.muted else ""
    places = ", ".join(place for place in alert.routes if place)
    where = ", ".join(alert.receivers) + (f" by {places}" if places else "") if alert.receivers else "nowhere"
    name = f"{alert.name}  " if alert.name else ""
    why = "" if alone else f": {alert.text}"
    return f"{name}{state}{value}{why} → {where}{muted}"


def _jobs(item: Explanation) -> Iterator[str]:
    if len(item.jobs) + item.more_jobs < 2:  # the reason of one is said above
        return
    for one in item.jobs[:SHOWN]:
        yield f"  job  {_job(one.job, one.job_name)} {_headline('', one.verdict)}"
    yield from (f"  {line}" for line in _rest(len(item.jobs[SHOWN:]) + item.more_jobs, "job"))


def _evaluations(evaluations: Sequence[Evaluated]) -> list[str]:
    """Return the last evaluations, newest first; those that came to the same are one line."""
    runs = [list(run) for _, run in groupby(reversed(evaluations), key=lambda one: replace(one, at=0.0))]
    header = ("last evaluations", "times", "found", "pending", "firing", "frozen", "uncovered")
    rows = [header, *(_run(run) for run in runs)]
    if len(rows) == 1:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    errors = ["", *(run[0].error for run in runs)]
    return [
        "  "
        + "  ".join([f"{row[0]:<{widths[0]}}", *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))])
        + (f"  {error[:LONGEST_ERROR]}" if error else "")
        for row, error in zip(rows, errors, strict=True)
    ]


def _run(run: Sequence[Evaluated]) -> tuple[str, ...]:
    newest, oldest = run[0], run[-1]
    time = _time(newest.at) if newest is oldest else f"{_time(oldest.at)} to {_time(newest.at)}"
    figures = (len(run), newest.found, newest.pending, newest.firing, newest.frozen, newest.uncovered)
    return (time, *(str(figure) for figure in figures))


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"
