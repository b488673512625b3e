"""What can be said without the history: the build, the metrics, and that there are no exemplars."""

from __future__ import annotations

from starlette.responses import Response

from watchdog import __version__
from watchdog.service.api.forms import Form
from watchdog.service.api.replies import success
from watchdog.vocabulary import METRICS

FOLLOWS = "3.0.0"
"""The Prometheus whose API this is: Grafana decides by the version what it may ask."""


async def build(_: Form) -> Response:
    """Return the version; ``revision`` tells who answers."""
    words = dict.fromkeys(("branch", "buildUser", "buildDate", "goVersion"), "")
    return success({"version": FOLLOWS, "revision": f"watchdog {__version__}", **words})


async def metadata(form: Form) -> Response:
    """Return type, help and unit of the metrics that there can be."""
    wanted = form.text("metric")
    metrics = [metric for metric in METRICS.values() if wanted in ("", metric.name)][: form.limit()]
    return success({one.name: [{"type": "gauge", "help": one.help, "unit": one.unit}] for one in metrics})


async def exemplars(form: Form) -> Response:
    """Return none: the sources have no exemplars."""
    form.query()
    return success([])
