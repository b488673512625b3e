"""Replays as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from watchdog.cli import common
from watchdog.replay import Difference, Figures, Firing, RuleFigures

_SHOWN = 20
"""Alerts listed of each side of a comparison; ``--format json`` has all."""


def replay_text(figures: Figures) -> str:
    """Return one replay as a table, a line for each rule."""
    header = ("RULE", "SEVERITY", *(name for name, _ in _COLUMNS))
    rows = [(rule.rule, rule.severity or "-", *(show(rule) for _, show in _COLUMNS)) for rule in figures.rules]
    total = ("total", "", str(len(figures.firings)), str(figures.incidents), str(figures.pings))
    blank = [""] * (len(header) - len(total))
    return "\n".join([_what(figures), "", common.table(header, [*rows, (*total, *blank)]), *_notes(figures)])


def comparison_text(paths: Sequence[str], found: Sequence[Figures], difference: Difference) -> str:
    """Return two replays side by side, and the alerts that only one of them has."""
    header = ("RULE", *(name for name, _ in _COLUMNS))
    rows = [_pair(first, second) for first, second in difference.rules]
    first, second = found
    totals = (
        _change(str(len(first.firings)), str(len(second.firings))),
        _change(str(first.incidents), str(second.incidents)),
        _change(str(first.pings), str(second.pings)),
    )
    blank = [""] * (len(header) - len(totals) - 1)
    lines = [f"first: {paths[0]}", f"second: {paths[1]}", _what(first), ""]
    lines += [common.table(header, [*rows, ("total", *totals, *blank)])]
    for path, firings in ((paths[0], difference.only_first), (paths[1], difference.only_second)):
        lines += ["", f"only with {path}: {len(firings)} alerts", *_listed(firings)]
    return "\n".join(lines)


def span(seconds: float | None) -> str:
    """Return a duration such as ``1h 5m``; a dash for none."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s")]
    shown = [f"{number}{unit}" for number, unit in parts if number]
    return " ".join(shown[:2]) or "0s"


_COLUMNS: tuple[tuple[str, Callable[[RuleFigures], str]], ...] = (
    ("FIRINGS", lambda rule: "?" if rule.missing and not rule.firings else str(rule.firings)),
    ("INCIDENTS", lambda rule: str(rule.incidents)),
    ("PINGS", lambda rule: str(rule.pings)),
    ("DELAY", lambda rule: span(rule.delay_median)),
    ("WORST DELAY", lambda rule: span(rule.delay_max)),
    ("FLAPS", lambda rule: str(rule.flaps)),
    ("LONGEST", lambda rule: span(rule.longest)),
    ("JOBS", lambda rule: str(rule.jobs)),
)


def _what(figures: Figures) -> str:
    extent = figures.extent
    return (
        f"{extent.jobs:,} jobs, {extent.series:,} series, {extent.samples:,} samples; "
        f"{figures.ticks:,} ticks from {common.when(extent.start)} to {common.when(extent.end)}"
    )


def _notes(figures: Figures) -> list[str]:
    """Return what a reader must know of the table: what could not be judged, and what was left out."""
    unknown = [rule for rule in figures.rules if rule.missing]
    lines = [f"? {rule.rule}: the history has no {', '.join(rule.missing)}" for rule in unknown]
    lines += [f"left out: {count:,} samples ({reason})" for reason, count in sorted(figures.dropped.items())]
    return ["", *lines] if lines else []


def _pair(first: RuleFigures | None, second: RuleFigures | None) -> tuple[str, ...]:
    one = first or second
    name = one.rule if one is not None else ""
    cells = [
        _change("none" if first is None else show(first), "none" if second is None else show(second))
        for _, show in _COLUMNS
    ]
    return name, *cells


def _change(first: str, second: str) -> str:
    return first if first == second else f"{first} → {second}"


def _listed(firings: Sequence[Firing]) -> list[str]:
    lines = [f"  {common.when(firing.start)}  {firing.alert.rule}  {_instance(firing)}" for firing in firings[:_SHOWN]]
    return [*lines, f"  and {len(firings) - _SHOWN} more"] if len(firings) > _SHOWN else lines


def _instance(firing: Firing) -> str:
    return " ".join(f"{name}={value}" for name, value in firing.alert.instance)
