"""A rule as the PromQL of Prometheus: coverage, grace, the end of jobs, hysteresis."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watchdog.export.coverage import Coverage
from watchdog.export.result_labels import common, is_scalar, result_labels
from watchdog.export.tree import both, by, compare, count, either, unless
from watchdog.promql import Query, parse
from watchdog.promql.nodes import Binary, Matching, Node, Selector
from watchdog.promql.parse import walk
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.promql.write import write
from watchdog.rules.model import Rule
from watchdog.vocabulary import RESOURCE_METRICS

NO_DATA_LABEL = "no_data"
"""Tells the alert of missing data from the alert of the rule itself, whose name it has."""
_JOB = ("source", "job")
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_BY_ALERTS = ("alertgroup", "alertname", "alertstate")
"""Labels of the series ALERTS beside the alert's own; vmalert adds ``alertgroup``."""
_GRACE_LEFT_OUT = "grace is left out: its alerts name no job"
_CLEAR_LEFT_OUT = "clear_expr is left out: no comparison stands at the top of expr, so it clears when expr ends"
_NO_DATA_LEFT_OUT = 'no_data = "alert" is left out: what it reads does not belong to one job'


@dataclass(frozen=True, slots=True)
class Expressions:
    """What Prometheus evaluates for one rule."""

    main: str
    no_data: str | None
    """When ``no_data = "alert"`` fires: a rule of its own."""
    notes: tuple[str, ...]
    """What could not be carried over."""


def expressions(rule: Rule, step: float) -> Expressions:
    """Return the rule's expressions; ``step`` is the number of seconds between two samples in Prometheus."""
    query = parse(rule.expr)
    clear = parse(rule.clear_expr) if rule.clear_expr else None
    coverage = Coverage(rule.min_coverage, step)
    names = result_labels(query.root)
    about_job = set(_JOB) <= names
    notes = [_GRACE_LEFT_OUT] if rule.grace and not about_job else []
    whole = coverage.guarded(query.root)
    in_grace = bool(rule.grace and about_job)
    if in_grace:
        whole = both(whole, _old_enough(rule), _JOB)
    held = _held(query.root)
    if clear is not None and held is None:
        notes.append(_CLEAR_LEFT_OUT)
    elif clear is not None and held is not None:
        on = common(names, result_labels(clear.root))
        whole = either(whole, unless(_firing(rule, held), coverage.covered(clear.root), on))
        in_grace = False
    if about_job and not in_grace and _reads_resources(query, clear):
        whole = both(whole, _running(), _JOB)
    missing = _missing(rule, query, coverage) if rule.no_data == "alert" else None
    if rule.no_data == "alert" and missing is None:
        notes.append(_NO_DATA_LEFT_OUT)
    return Expressions(write(whole), None if missing is None else write(missing), tuple(notes))


def _reads_resources(query: Query, clear: Query | None) -> bool:
    return bool((query.metrics | (clear.metrics if clear else frozenset())) & RESOURCE_METRICS)


def _old_enough(rule: Rule) -> Node:
    """``job_running_seconds`` is there only while the job runs, so this also says that it does."""
    return compare(parse("job_running_seconds").root, ">=", rule.grace)


def _running() -> Node:
    return parse('job_status{status="running"} == 1').root


def _firing(rule: Rule, held: Node) -> Node:
    """Return the series of ``held``, with their values, for which the alert fires by its last evaluation."""
    wanted = {"__name__": "ALERTS", "alertname": rule.name, "alertstate": "firing"}
    if rule.no_data == "alert":
        wanted[NO_DATA_LABEL] = ""
    matchers = tuple(Matcher(name, MatchOp.EQUAL, text) for name, text in wanted.items())
    alerts = Selector(0, 0, "ALERTS", matchers, None, 0.0)
    own = tuple(sorted({*_BY_ALERTS, *rule.labels}))
    return replace(both(held, alerts), matching=Matching(on=False, labels=own))


def _held(node: Node) -> Node | None:
    """Return what the top comparison looks at, whether the comparison holds or not; None without one."""
    if not isinstance(node, Binary) or node.bool_:
        return None
    if node.op in ("and", "unless"):
        return _held(node.left)
    if node.op == "or":
        left, right = _held(node.left), _held(node.right)
        return None if left is None or right is None else either(left, right)
    if node.op not in _NEGATED:
        return None
    if is_scalar(node.right):
        return node.left
    return node.right if is_scalar(node.left) else either(node, replace(node, op=_NEGATED[node.op]))


def _missing(rule: Rule, query: Query, coverage: Coverage) -> Node | None:
    """Return the running jobs that lack what the rule must have; None when that belongs to no job."""
    selectors = [node for node in walk(query.root) if isinstance(node, Selector) and node.metric in query.required]
    if not selectors or not all(set(_JOB) <= result_labels(one) for one in selectors):
        return None
    held: Node | None = None
    for there in {write(one): _there(one, coverage) for one in selectors}.values():
        held = there if held is None else both(held, there, _JOB)
    jobs: Node = compare(parse('max without (status) (job_status{status="running"})').root, "==", 1)
    if rule.grace:
        jobs = both(jobs, _old_enough(rule), _JOB)
    return jobs if held is None else unless(jobs, held, _JOB)


def _there(selector: Selector, coverage: Coverage) -> Node:
    """Return one series per job whose data is there, all of its series in full."""
    if selector.range is None:
        return by("count", _JOB, selector)
    return compare(by("min", _JOB, count(selector)), ">=", coverage.needed(selector))
