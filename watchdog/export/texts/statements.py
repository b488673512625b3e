"""A whole template: text, outputs, conditions and variables of Jinja2 as a template of Go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from jinja2 import nodes

from watchdog import templates
from watchdog.export.texts.expressions import Condition, Scope, condition_of, value_of
from watchdog.export.texts.values import Number, UntranslatableError, escaped, printed


@dataclass(frozen=True, slots=True)
class Translation:
    """A template of Go; ``text`` is None where the template has no counterpart, and ``notes`` say why."""

    text: str | None
    notes: tuple[str, ...] = ()


def translate(
    text: str,
    alert: str,
    threshold: float | None = None,
    own_labels: Mapping[str, str] | None = None,
    *,
    proves: float = 0.0,
) -> Translation:
    """Translate a checked template of a rule.

    ``own_labels`` are the templates of the labels that the rule adds, which its texts may name: Prometheus's see
    only the labels of the series. ``proves`` is the rule's (see ``Query.proves``).
    Raises ValueError for what is not a template.
    """
    notes: list[str] = []
    scope = Scope(alert, threshold, own_labels or {}, note=notes.append, proves=proves)
    try:
        found = _body(templates.parse_template(text).body, scope, top=True)
    except UntranslatableError as error:
        return Translation(None, (*dict.fromkeys(notes), str(error)))
    return Translation(found, tuple(dict.fromkeys(notes)))


def _body(body: Iterable[nodes.Node], scope: Scope, *, top: bool = False) -> str:
    pieces = []
    for node in body:
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name) and top:
            scope = replace(scope, sets={**scope.sets, node.target.name: (node.node, scope)})
        elif isinstance(node, nodes.Output):
            pieces += [_printed(part, scope) for part in node.nodes]
        elif isinstance(node, nodes.If):
            pieces.append(_if(node, scope))
        else:
            word = type(node).__name__.lower()
            raise UntranslatableError(f"{word} has no counterpart in Prometheus's templates")
    return "".join(pieces)


def _printed(node: nodes.Node, scope: Scope) -> str:
    """Return what prints an expression; a choice becomes an ``if``."""
    if isinstance(node, nodes.TemplateData):
        return escaped(node.data)
    if isinstance(node, nodes.CondExpr):
        other = "" if node.expr2 is None else _printed(node.expr2, scope)
        return _choice(condition_of(node.test, scope), _printed(node.expr1, scope), other)
    try:
        return printed(value_of(node, scope), scope.sure)
    except UntranslatableError:
        if isinstance(node, nodes.Or):  # of numbers, say
            test = condition_of(node.left, scope)
            return _choice(test, _printed(node.left, scope), _printed(node.right, scope))
        if isinstance(node, nodes.Concat):
            return "".join(_printed(part, scope) for part in node.nodes)
        raise


def _if(node: nodes.If, scope: Scope) -> str:
    rest = _body(node.else_, scope)
    for branch in reversed(node.elif_):
        rest = _choice(condition_of(branch.test, scope), _body(branch.body, scope), rest)
    return _choice(condition_of(node.test, scope), _body(node.body, _surer(node.test, scope)), rest)


def _surer(test: nodes.Node, scope: Scope) -> Scope:
    """Return the scope inside ``if test``: a number that it asks for is there."""
    try:
        value = value_of(test, scope)
    except UntranslatableError:  # a comparison, say
        return scope
    return replace(scope, sure=scope.sure | {value.promql}) if isinstance(value, Number) else scope


def _choice(test: Condition, then: str, other: str) -> str:
    """Return ``if`` with what it chooses between; only the right one where that is known now."""
    if isinstance(test, bool):
        return then if test else other
    rest = f"{{{{ else }}}}{other}" if other else ""
    return f"{{{{ if {test} }}}}{then}{rest}{{{{ end }}}}"
