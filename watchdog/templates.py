"""Texts of rules: sandboxed Jinja2 with Prometheus's filter names.

A template that fails never loses its message: ``render_or_explain`` returns a text that names the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

Template = jinja2.Template

LONGEST = 8192
"""Characters of a rendered text; more is cut."""
UNKNOWN = "unknown"


class _Labels(dict[str, str]):
    """Labels as a template sees them: one that is absent reads as an empty string, as in Prometheus."""

    def __missing__(self, key: str) -> str:
        return ""


def compile_template(text: str) -> Template:
    """Compile. Raises ValueError that says what is wrong with the template."""
    return _compile(text)


@lru_cache(maxsize=4096)
def _compile(text: str) -> Template:
    try:
        return _ENVIRONMENT.from_string(text)
    except jinja2.TemplateError as error:
        raise ValueError(f"the template {text!r} is not valid: {error}") from None


def render(template: Template, data: Mapping[str, Any]) -> str:
    """Render. Raises ValueError when the template fails on this data."""
    labels = _Labels(data.get("labels", {}))
    try:
        text = template.render({**data, "labels": labels})
    except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def render_or_explain(template: Template, data: Mapping[str, Any]) -> str:
    """Render; a template that fails gives a built-in text that names the alert and the error."""
    try:
        return render(template, data)
    except ValueError as error:
        labels = data.get("labels", {})
        name = labels.get("alertname", "alert")
        where = ", ".join(f"{key}={labels[key]}" for key in ("job", "node", "gpu") if labels.get(key))
        return f"{name} {where} (its text could not be made: {error})".replace("  ", " ")


def sample_data() -> dict[str, Any]:
    """Return data with which every template must render; used when a rules file is loaded."""
    return {
        "labels": {"alertname": "Sample", "source": "s", "job": "1", "job_name": "j", "node": "n", "gpu": "0"},
        "value": 0.5,
        "duration": 90.0,
        "threshold": 0.5,
        "job": {
            "id": "1",
            "name": "j",
            "status": "running",
            "url": "",
            "owner": "",
            "gpus": 8,
            "gpu_type": "H100",
            "cost_usd_per_hour": 1.0,
            "error": "",
        },
    }


# --- filters, with Prometheus's outputs ---------------------------------------------------------------


def humanize(value: Any) -> str:
    """Return a number with a metric prefix: 1234567 is ``1.235M``."""
    return _scaled(value, 1000.0, ("k", "M", "G", "T", "P", "E", "Z", "Y"), ("m", "u", "n", "p", "f", "a", "z", "y"))


def humanize1024(value: Any) -> str:
    """Return a number with a binary prefix: 2048 is ``2ki``."""
    return _scaled(value, 1024.0, ("ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"), ())


def humanize_percentage(value: Any) -> str:
    """Return a ratio as a percentage: 0.123456 is ``12.35%``."""
    number = _number(value)
    return UNKNOWN if number is None else f"{_general(number * 100)}%"


def humanize_duration(value: Any) -> str:
    """Return seconds in words: 4000 is ``1h 6m 40s``, 0.0015 is ``1.5ms``."""
    number = _number(value)
    if number is None or not math.isfinite(number):
        return UNKNOWN if number is None else _general(number)
    if number == 0:
        return "0s"
    if abs(number) < 1:
        return _scaled(number, 1000.0, (), ("m", "u", "n", "p")) + "s"
    sign, total = ("-" if number < 0 else ""), abs(number)
    if total < 60:
        return f"{sign}{_general(total)}s"
    whole = int(total)
    days, hours, minutes, seconds = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if days:
        return f"{sign}{days}d {hours}h {minutes}m {seconds}s"
    return f"{sign}{hours}h {minutes}m {seconds}s" if hours else f"{sign}{minutes}m {seconds}s"


def _scaled(value: Any, base: float, large: tuple[str, ...], small: tuple[str, ...]) -> str:
    number = _number(value)
    if number is None:
        return UNKNOWN
    if number == 0 or not math.isfinite(number):
        return _general(number)
    prefix = ""
    if abs(number) >= 1:
        for prefix_, next_ in zip(("", *large), (*large, None), strict=True):
            prefix = prefix_
            if abs(number) < base or next_ is None:
                break
            number /= base
        return _general(number) + prefix
    for sign in small:
        if abs(number) >= 1:
            break
        prefix, number = sign, number * base
    return _general(number) + prefix


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, jinja2.Undefined):
        return None
    return float(value)


def _general(number: float) -> str:
    """Return a number as Go's ``%.4g`` writes it."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return f"{number:.4g}"


_FILTERS: Mapping[str, Callable[[Any], str]] = {
    "humanize": humanize,
    "humanize1024": humanize1024,
    "humanizeDuration": humanize_duration,
    "humanizePercentage": humanize_percentage,
}


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)  # plain text; each receiver escapes for itself
    environment.filters.update(_FILTERS)
    return environment


_ENVIRONMENT = _environment()
