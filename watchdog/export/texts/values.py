"""What an expression of a template becomes in Go: an operand, a literal, or a number that a query gives.

Prometheus's templates know no arithmetic, and no facts of jobs. Both come from its function ``query``: every number
that is not simply ``$value`` is kept as PromQL, with the operands that ``printf`` puts into it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace

UNKNOWN = "unknown"
"""What a number that nobody knows reads as, as in the rules' own templates."""


class UntranslatableError(Exception):
    """A part of a template has no counterpart in Go."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; None is what nobody knows."""

    value: object


@dataclass(frozen=True, slots=True)
class Text:
    """A Go pipeline that gives a text; an empty one is false."""

    pipeline: str


@dataclass(frozen=True, slots=True)
class Number:
    """PromQL as a pattern of ``printf``, and the operands for it."""

    promql: str
    operands: tuple[str, ...] = ()
    vector: bool = False
    """Whether the PromQL gives a vector, empty where the number is not known."""
    shape: str = ""
    """A Go function that makes a text of it."""

    @property
    def direct(self) -> str | None:
        """The operand that is the number itself, where no query is needed."""
        return self.operands[0] if self.promql == "%v" else None

    def query(self, promql: str | None = None) -> str:
        """Return the Go pipeline of the query."""
        return f"query (printf {' '.join([quoted(promql or self.promql), *self.operands])})"

    def shaped(self, function: str) -> Number:
        """Return the number as a text that ``function`` makes."""
        return replace(self, shape=function)


Value = Literal | Text | Number
VALUE = Number("%v", ("$value",))


def quoted(text: str) -> str:
    """Return a Go string literal."""
    return json.dumps(text, ensure_ascii=False)


def argument(pipeline: str) -> str:
    """Return a pipeline as one operand."""
    simple = " " not in pipeline or pipeline.startswith('"')
    return pipeline if simple else f"({pipeline})"


def literal_text(value: object) -> str:
    """Return a constant as the rules' own templates print it."""
    return UNKNOWN if value is None else str(value)


def text_operand(value: Value) -> str:
    """Return the operand of a text. Raises UntranslatableError for what is none."""
    if isinstance(value, Text):
        return argument(value.pipeline)
    if isinstance(value, Literal):
        return quoted(literal_text(value.value))
    raise UntranslatableError("a number where a text is needed")


def as_number(value: Value) -> Number:
    """Return a number. Raises UntranslatableError for a text."""
    if isinstance(value, Number) and not value.shape:
        return value
    if isinstance(value, Literal) and isinstance(value.value, int | float):
        return Number(repr(float(value.value)))
    raise UntranslatableError("arithmetic or a comparison with what is not a number")


def combined(left: Value, operator: str, right: Value) -> Number:
    """Return ``left operator right`` of two numbers, as PromQL."""
    one, other = as_number(left), as_number(right)
    return Number(
        f"({one.promql} {operator} {other.promql})", one.operands + other.operands, one.vector or other.vector
    )


def printed(value: Value, sure: Collection[str] = ()) -> str:
    """Return the piece of a Go template that prints a value; ``sure`` is PromQL that is known to give one."""
    if isinstance(value, Literal):
        return escaped(literal_text(value.value))
    if isinstance(value, Text):
        return f"{{{{ {value.pipeline} }}}}"
    shape = f" | {value.shape}" if value.shape else ""
    if value.direct is not None:
        return f"{{{{ {value.direct}{shape} }}}}"
    if value.promql in sure:
        return f"{{{{ {value.query()} | first | value{shape} }}}}"
    return f"{{{{ with {value.query()} }}}}{{{{ . | first | value{shape} }}}}{{{{ else }}}}{UNKNOWN}{{{{ end }}}}"


def escaped(text: str) -> str:
    """Return a text that Go prints as it is."""
    return text.replace("{{", '{{ "{{" }}')


def truth(value: Value) -> bool | str:
    """Return a Go pipeline that is true where the value is; a bool where that is known now."""
    if isinstance(value, Literal):
        return bool(value.value)
    if isinstance(value, Text):
        return value.pipeline
    if value.shape:
        return True
    if value.direct is not None:
        return value.direct
    return value.query(f"{value.promql if value.vector else f'vector({value.promql})'} != 0")
