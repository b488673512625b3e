"""Templates of alert texts: sandboxed Jinja2 with the filter names and outputs of Prometheus.

A template sees ``labels``, ``value``, ``duration`` (seconds), ``job`` (facts of the job) and
``threshold``. A label that an alert does not have reads as ``""``, as in Prometheus.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from jinja2 import ChainableUndefined, Undefined, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_OUTPUT = 4000
"""Characters of one rendered text; Slack cuts its own blocks at 3,000."""
UNKNOWN = "unknown"
"""What a number that nobody knows reads as."""
_FAILURES = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Everything that an expression of a template can raise; RuntimeError for endless recursion."""

_BUILT_IN = (
    *("abs", "capitalize", "count", "d", "default", "escape", "e", "first", "float", "int", "join", "last", "length"),
    *("list", "lower", "max", "min", "round", "sort", "string", "title", "trim", "truncate", "unique", "upper"),
)
"""Jinja2's filters whose output is not much larger than their input."""
_METHODS = frozenset(
    {"capitalize", "endswith", "lower", "lstrip", "rstrip", "split", "startswith", "strip", "title", "upper"}
)
"""The same of a text's methods."""
_WIDE = re.compile(r"%[^a-zA-Z%]*(\d{4,}|\*)")

Data = Mapping[str, Any]
DATA_NAMES = frozenset({"labels", "value", "duration", "job", "threshold"})
"""What a template may name; see the module's docstring."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a template uses, so that a misspelt one is found before it prints as nothing."""

    variables: frozenset[str]
    """Names that are neither set in the template nor built in."""
    labels: frozenset[str]
    """``x`` of ``labels.x`` and ``labels["x"]``."""
    job: frozenset[str]
    """``x`` of ``job.x`` and ``job["x"]``."""


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template and the text that it came from."""

    text: str
    compiled: jinja2.Template


def _number(value: object) -> float | None:
    """Return a number, or None for what is not known. Raises ValueError for text that is not a number."""
    if value is None or isinstance(value, Undefined):
        return None
    if isinstance(value, (int, float, str)):
        return float(value)
    raise ValueError(f"a number is wanted here, not {type(value).__name__}")


def _filter(shape: Callable[[float], str], unit: str = "") -> Callable[[object], str]:
    """Make a filter that prints what is not known as ``unknown``, and what is not finite as Prometheus does."""

    def apply(value: object) -> str:
        number = _number(value)
        if number is None:
            return UNKNOWN
        if not math.isfinite(number):
            return ("NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf") + unit
        return shape(number)

    return apply


def _four(number: float) -> str:
    """Return Go's ``%.4g``, whose exponents have two digits as Python's do."""
    return f"{number:.4g}"


def _large(number: float, step: int, prefixes: Sequence[str]) -> str:
    for prefix in ("", *prefixes[:-1]):
        if abs(number) < step:
            return _four(number) + prefix
        number /= step
    return _four(number) + prefixes[-1]


def humanize(number: float) -> str:
    """Return ``1.235k`` for 1234.5: four digits with a metric prefix."""
    if number == 0 or abs(number) >= 1:
        return _large(number, 1000, "kMGTPEZY")
    for prefix in "munpfaz":
        number *= 1000
        if abs(number) >= 1:
            return _four(number) + prefix
    return _four(number * 1000) + "y"


def humanize1024(number: float) -> str:
    """Return ``1.206ki`` for 1234.5: four digits with a binary prefix."""
    return _large(number, 1024, ("ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"))


def humanize_percentage(ratio: float) -> str:
    """Return ``12.34%`` for 0.1234."""
    return f"{ratio * 100:.4g}%"


def humanize_duration(seconds: float) -> str:
    """Return ``1h 2m 3s`` for 3723: whole units from a minute on, a metric prefix below a second."""
    if seconds == 0:
        return "0s"
    if abs(seconds) < 1:
        return humanize(seconds) + "s"
    sign, whole = ("-" if seconds < 0 else ""), int(abs(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{sign}{days}d {hours}h {minutes}m {rest}s"
    if hours:
        return f"{sign}{hours}h {minutes}m {rest}s"
    if minutes:
        return f"{sign}{minutes}m {rest}s"
    return f"{sign}{abs(seconds):.4g}s"


def _plain(value: object) -> object:
    """Print what is not known as such; everything else as it is."""
    return UNKNOWN if value is None else value


class _Sandbox(ImmutableSandboxedEnvironment):
    """Refuses aloud what the plain sandbox turns into empty text, and what can fill the memory."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return super().is_safe_attribute(obj, attr, value) and (not isinstance(obj, str) or attr in _METHODS)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        raise SecurityError(f"access to {attribute!r} of {type(obj).__name__} is not allowed")

    def call_binop(self, _: Context, operator: str, left: Any, right: Any) -> Any:
        texts = isinstance(left, str) and isinstance(right, str)
        if operator == "+" and texts and len(left) + len(right) <= MAX_OUTPUT:
            return left + right
        if operator == "**" or not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            raise SecurityError(f"{operator} is for two numbers and never a power")
        return left * right if operator == "*" else left % right if operator == "%" else left + right


def _replaced(text: object, old: str, new: str) -> str:
    found = str(text)
    if len(found) + found.count(old) * (len(new) - len(old)) > MAX_OUTPUT:
        raise ValueError(f"replace makes more than {MAX_OUTPUT} characters")
    return found.replace(old, new)


def _formatted(text: object, *values: object) -> str:
    if _WIDE.search(str(text)):
        raise ValueError("format takes widths of at most 999")
    return str(text) % values


def _environment() -> _Sandbox:
    env = _Sandbox(undefined=ChainableUndefined, autoescape=False, finalize=_plain)
    env.filters = {name: env.filters[name] for name in _BUILT_IN} | {"replace": _replaced, "format": _formatted}
    env.filters["humanize"] = _filter(humanize)
    env.filters["humanize1024"] = _filter(humanize1024)
    env.filters["humanizeDuration"] = _filter(humanize_duration)
    env.filters["humanizePercentage"] = _filter(humanize_percentage, "%")
    # A template that builds a huge text would hold up the tick of every other rule.
    for name in ("range", "lipsum", "cycler", "joiner", "namespace"):
        env.globals.pop(name)
    return env


_ENVIRONMENT = _environment()


def compile_template(text: str) -> Template:
    """Compile a template. Raises ValueError that names the line for bad syntax or an unknown filter."""
    try:
        tree = _ENVIRONMENT.parse(text)
        _check_filters(tree)
        _check_growth(tree)
        return Template(text, _ENVIRONMENT.from_string(text))
    except jinja2.TemplateSyntaxError as error:
        raise ValueError(f"is not a template: line {error.lineno}: {error.message}") from error
    except (RecursionError, SyntaxError, MemoryError) as error:
        raise ValueError("is not a template: it is nested too deeply") from error


def parse_template(text: str) -> nodes.Template:
    """Return the syntax tree of a template, for those who translate it. Raises ValueError as ``compile_template``."""
    return _ENVIRONMENT.parse(compile_template(text).text)


def _check_filters(tree: nodes.Template) -> None:
    # Jinja2 itself leaves an unknown filter behind an ``if`` to the day when the branch is taken.
    for node in tree.find_all(nodes.Filter):
        if node.name not in _ENVIRONMENT.filters:
            close = difflib.get_close_matches(node.name, _ENVIRONMENT.filters, n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise jinja2.TemplateSyntaxError(f"no filter named {node.name!r}{meant}", node.lineno)


def _check_growth(tree: nodes.Template) -> None:
    """Refuse what can double a text over and over: macros, and variables put together from put together ones."""
    for node in tree.find_all((nodes.Macro, nodes.CallBlock)):
        raise jinja2.TemplateSyntaxError("macros are not allowed", node.lineno)
    grown: set[str] = set()
    for node in tree.find_all(nodes.Assign):
        joined = any(True for _ in node.node.find_all((nodes.Concat, nodes.Add))) or isinstance(
            node.node, nodes.Concat | nodes.Add
        )
        used = {name.name for name in node.find_all(nodes.Name)} & grown
        if joined and used:
            raise jinja2.TemplateSyntaxError(f"{min(used)} is put together already", node.lineno)
        if joined or used:
            grown |= {name.name for name in node.target.find_all(nodes.Name)} | {getattr(node.target, "name", "")}


def names_in(template: Template) -> Names:
    """Return the names that a template uses."""
    tree = _ENVIRONMENT.parse(template.text)
    found: dict[str, set[str]] = {"labels": set(), "job": set()}
    for node in tree.find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and node.node.name in found:
            found[node.node.name].add(node.attr)
    for item in tree.find_all(nodes.Getitem):
        if isinstance(item.node, nodes.Name) and item.node.name in found and isinstance(item.arg, nodes.Const):
            found[item.node.name].add(str(item.arg.value))
    variables = meta.find_undeclared_variables(tree) - set(_ENVIRONMENT.globals)
    return Names(frozenset(variables), frozenset(found["labels"]), frozenset(found["job"]))


def render(template: Template, data: Data) -> str:
    """Render a template, at most ``MAX_OUTPUT`` characters. Raises ValueError for one that fails on this data."""
    pieces: list[str] = []
    size = 0
    try:
        for piece in template.compiled.generate(data):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_OUTPUT:
                break
    except _FAILURES as error:
        raise ValueError(f"fails: {type(error).__name__}: {error}") from error
    text = "".join(pieces)
    return text if len(text) <= MAX_OUTPUT else text[: MAX_OUTPUT - 1] + "…"


def render_or_explain(template: Template, data: Data, *, blank: bool = True) -> str:
    """Render a template; one that fails gives a text that says so. Never raises.

    ``blank`` says whether it may print nothing, as a label or a description may and a summary may not.
    """
    try:
        text = render(template, data)
    except ValueError as error:
        return f"[template {str(error)[:300]}] {template.text[:300]}"
    if not blank and not text.strip():
        return f"[template prints nothing] {template.text[:300]}"
    return text
