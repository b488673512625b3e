"""Why rules fire and why they do not, from the engine that runs: ``/api/watchdog/explain?alert=&job=&format=``.

The envelope and the errors are those of Prometheus's API, so that one client reads both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from watchdog.engine.engine import Engine
from watchdog.engine.explain import Explanation, as_json, as_text, explain, rules_named, subjects
from watchdog.errors import UsageError
from watchdog.service.api.forms import Form, ParameterError
from watchdog.service.api.replies import endpoint, success
from watchdog.service.desk import Desk

T = TypeVar("T")
FORMATS = ("json", "text")


@dataclass(frozen=True, slots=True)
class _Explain:
    desk: Desk[Engine]

    async def explain(self, form: Form) -> Response:
        """Answer with a list of explanations, or with one text. Each rule is a question of its own."""
        kind, alert, job = form.text("format") or "json", form.text("alert") or None, form.text("job") or None
        if kind not in FORMATS:
            raise ParameterError("format", f'"{kind}" is neither of {", ".join(FORMATS)}')
        names = await self._ask(form, "alert", lambda engine: [one.rule.name for one in rules_named(engine, alert)])
        told: list[Explanation] = []
        for name in names:
            told += await self._ask(form, "job", partial(_told, name=name, job=job))
        if kind == "text":
            return success("\n\n".join(as_text(item) for item in told))
        return success([as_json(item) for item in told])

    async def _ask(self, form: Form, parameter: str, question: Callable[[Engine], T]) -> T:
        try:
            return await self.desk.ask(question, form.timeout())
        except UsageError as error:
            raise ParameterError(parameter, str(error)) from None


def routes(desk: Desk[Engine]) -> list[BaseRoute]:
    """Return the route; it only reads."""
    return [Route("/api/watchdog/explain", endpoint(_Explain(desk).explain), methods=["GET", "POST"])]


def _told(engine: Engine, name: str, job: str | None) -> list[Explanation]:
    (rule,) = rules_named(engine, name)
    return [explain(engine, rule, subject) for subject in subjects(engine, job)]
