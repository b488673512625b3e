"""Why does a rule fire, and why does it not? Read from the engine that judges, not worked out a second time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchdog.alerts.program import CompiledRule
from watchdog.engine.engine import Engine
from watchdog.errors import EvaluationError
from watchdog.incidents.routing import route
from watchdog.model import Alert, AlertState, Labels
from watchdog.promql import Options, RangeView, Scalar, Value, Vector, evaluate
from watchdog.promql.nodes import Node, Selector


@dataclass(frozen=True, slots=True)
class Input:
    """One series that the expression read."""

    selector: str
    labels: Mapping[str, str]
    samples: int | None
    """In the window; None for an instant selector."""
    expected: float | None
    value: float | None
    """What an instant selector took."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One series for which the expression holds, or an alert that is open."""

    labels: Labels
    state: str
    value: float | None
    why: str
    receivers: tuple[str, ...]
    routes: tuple[str, ...]
    """Places of the routes in the rules file."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One rule at one time."""

    rule: str
    place: str
    expr: str
    clear_expr: str | None
    terms: Mapping[str, float | str]
    inputs: tuple[Input, ...]
    instances: tuple[Instance, ...]
    verdict: str


def explain(engine: Engine, rule: CompiledRule, job: str | None, now: float) -> Explanation:
    """Explain a rule as the last tick judged it; ``job`` (an id or a name) leaves out all other jobs."""
    wanted = _job_ids(engine, job)
    inputs, error = _inputs(engine, rule, wanted, now)
    instances = _instances(engine, rule, wanted, now)
    return Explanation(
        rule=rule.rule.name,
        place=rule.rule.place,
        expr=rule.rule.expr,
        clear_expr=rule.rule.clear_expr,
        terms=_terms(rule),
        inputs=inputs,
        instances=instances,
        verdict=error or _verdict(rule, inputs, instances),
    )


def _job_ids(engine: Engine, job: str | None) -> set[str] | None:
    if job is None:
        return None
    return {record.job.job for record in engine.registry.all() if job in (record.job.job, record.job.job_name)} | {job}


def _about(labels: Mapping[str, str], wanted: set[str] | None) -> bool:
    return wanted is None or labels.get("job", next(iter(wanted))) in wanted


def _terms(rule: CompiledRule) -> dict[str, float | str]:
    terms: dict[str, float | str] = {
        "for": rule.rule.for_seconds,
        "keep_firing_for": rule.rule.keep_firing_for,
        "grace": rule.rule.grace,
        "min_coverage": rule.rule.min_coverage,
        "no_data": rule.rule.no_data,
    }
    return {name: value for name, value in terms.items() if value not in (0.0, "keep")}


def _inputs(engine: Engine, rule: CompiledRule, wanted: set[str] | None, now: float) -> tuple[tuple[Input, ...], str]:
    found: list[Input] = []

    def observe(node: Node, value: Value | RangeView) -> None:
        if isinstance(node, Selector):
            found.extend(item for item in _read(node, value) if _about(item.labels, wanted))

    options = Options(lookback=engine.program.lookback, min_coverage=rule.rule.min_coverage)
    try:
        evaluate(rule.query, engine.history, now, options, observe)
    except EvaluationError as error:
        return tuple(found), f"cannot be evaluated: {error}"
    return tuple(found), ""


def _read(node: Selector, value: Value | RangeView) -> Sequence[Input]:
    if isinstance(value, Scalar):
        return []
    name = node.metric or "{}"
    text = name if node.range is None else f"{name}[{node.range:.0f}s]"
    text += f" offset {node.offset:.0f}s" if node.offset else ""
    rows = value.labels.drop(["__name__"]).rows()
    if isinstance(value, Vector):
        return [Input(text, row, None, None, float(x)) for row, x in zip(rows, value.values, strict=True)]
    return [Input(text, row, int(n), value.expected, None) for row, n in zip(rows, value.counts, strict=True)]


def _instances(engine: Engine, rule: CompiledRule, wanted: set[str] | None, now: float) -> tuple[Instance, ...]:
    alerts = [alert for alert in engine.judge.alerts.values() if alert.rule == rule.rule.name]
    found = [_of_alert(engine, rule, alert, now) for alert in alerts if _about(dict(alert.instance), wanted)]
    doubts = engine.last.doubts if engine.last else {}
    for (name, labels), why in doubts.items():
        if name == rule.rule.name and _about(dict(labels), wanted):
            found.append(Instance(labels, "held back", None, why, (), ()))
    return tuple(found)


def _of_alert(engine: Engine, rule: CompiledRule, alert: Alert, now: float) -> Instance:
    routed = route(alert.label_map, engine.program.terms.routes, rule.rule.group_by)
    receivers = tuple(item.receiver for item in routed.destinations)
    return Instance(alert.instance, _state(alert), alert.value, _why(rule, alert, now), receivers, routed.places)


def _state(alert: Alert) -> str:
    return f"{alert.state.value}, unknown" if alert.unknown_since is not None else alert.state.value


def _why(rule: CompiledRule, alert: Alert, now: float) -> str:
    if alert.unknown_since is not None:
        return f"frozen for {now - alert.unknown_since:.0f} s: its data is missing or its source is down"
    if alert.state is AlertState.PENDING:
        return f"has held for {now - alert.active_at:.0f} s of {rule.rule.for_seconds:.0f} s"
    if alert.keep_firing_since is not None:
        return f"does not hold since {now - alert.keep_firing_since:.0f} s; kept for {rule.rule.keep_firing_for:.0f} s"
    return f"has held for {now - alert.active_at:.0f} s"


def _verdict(rule: CompiledRule, inputs: Sequence[Input], instances: Sequence[Instance]) -> str:
    """Return the first reason why the rule fires or does not."""
    firing = sum(item.state.startswith("firing") for item in instances)
    if firing:
        return f"fires for {firing} series"
    if instances:
        return f"does not fire: {instances[0].why}"
    missing = sorted(rule.required - {item.selector.partition("[")[0].partition(" ")[0] for item in inputs})
    if missing:
        return f"does not fire: there is no sample of {', '.join(missing)}"
    short = [item for item in inputs if item.expected and _share(item) < rule.rule.min_coverage]
    if short and len(short) == sum(item.expected is not None for item in inputs):
        one = short[0]
        return f"does not fire: {one.selector} holds {one.samples} of {one.expected:.0f} samples"
    return "does not fire: the expression does not hold"


def _share(item: Input) -> float:
    return (item.samples or 0) / (item.expected or 1.0)
