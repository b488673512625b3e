"""What watchdog says of itself at ``/metrics``, named like Prometheus's and Alertmanager's own where they have one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from watchdog import __version__
from watchdog.delivery import EventKind, SenderEvent
from watchdog.engine.engine import Engine, TickResult
from watchdog.model import AlertState, Poll, SilenceState
from watchdog.service.clockwatch import Interruption
from watchdog.service.health import Health
from watchdog.service.snapshot import Family

_FAILURES = (EventKind.RETRY, EventKind.PARKED, EventKind.STOPPED)
_LATENCY = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 600, 3600, 21600)


class Metrics:
    """Counts what happens; safe from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._gauge("build_info", "The version that runs.", "version").labels(__version__).set(1)
        self._add_sources()
        self._add_rules()
        self._add_delivery()
        self._add_clock()
        self._receivers: set[str] = set()
        self._heartbeats = self._counter("heartbeats_total", "Calls of the heartbeat URL, by result.", "result")
        self._reload_ok = self._gauge("config_last_reload_successful", "Whether the last try to load the rules worked.")
        self._reload_at = self._gauge(
            "config_last_reload_success_timestamp_seconds", "When the rules in force were loaded."
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"watchdog_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"watchdog_{name}", text, labels, registry=self.registry)

    def _add_sources(self) -> None:
        self._polls = self._counter("source_polls_total", "Polls that ended.", "source")
        self._poll_failures = self._counter(
            "source_polls_failed_total", "Polls that failed, by kind of error.", "source", "reason"
        )
        self._dropped = self._counter("samples_dropped_total", "Points left out, by reason.", "reason")

    def _add_rules(self) -> None:
        self._ticks = self._counter("rule_group_iterations_total", "Evaluations of all rules.")
        self._last = self._gauge(
            "rule_group_last_duration_seconds", "How long the last evaluation took, its commit included."
        )
        self._last_at = self._gauge("rule_group_last_evaluation_timestamp_seconds", "When rules were last evaluated.")
        self._rule_failures = self._counter(
            "rule_evaluation_failures_total", "Evaluations of a rule that failed.", "rule"
        )
        self._alerts = self._gauge("alerts", "Alerts by state.", "state")
        self._silences = self._gauge("silences", "Silences by state.", "state")

    def _add_delivery(self) -> None:
        self._sent = self._counter("notifications_total", "Transitions delivered.", "receiver")
        self._failed = self._counter("notifications_failed_total", "Deliveries that failed.", "receiver", "reason")
        self._given_up = self._counter(
            "notifications_dropped_total", "Transitions given up: the content was refused.", "receiver"
        )
        self._stopped = self._gauge("receiver_stopped", "1 while a receiver refuses everything for good.", "receiver")
        self._late = Histogram(
            "watchdog_notification_latency_seconds",
            "From a transition to its delivery.",
            ["receiver"],
            registry=self.registry,
            buckets=_LATENCY,
        )

    def _add_clock(self) -> None:
        self._jumps = self._counter("clock_jumps_total", "How often the clock was set, by direction.", "direction")
        for direction in ("forward", "back"):
            self._jumps.labels(direction)
        self._unwatched = self._counter("unwatched_seconds_total", "Seconds in which nothing was judged.")

    def watch(self, health: Health, outbox: Callable[[], Sequence[Family]], job_failures: Callable[[], int]) -> None:
        """Read these at every scrape as well."""
        self.registry.register(_Live(health, outbox, job_failures))

    def receivers(self, names: Iterable[str]) -> None:
        """Begin to count for these receivers at 0, so that a first failure is an increase; only they can be stopped."""
        names = set(names)
        for name in self._receivers - names:
            self._stopped.remove(name)
        for name in names - self._receivers:
            self._sent.labels(name)
            self._given_up.labels(name)
            self._stopped.labels(name).set(0)
        self._receivers = names

    def loaded(self, at: float, *, good: bool) -> None:
        """Note a try to load the rules."""
        self._reload_ok.set(1 if good else 0)
        if good:
            self._reload_at.set(at)

    def heartbeat(self, arrived: bool) -> None:  # noqa: FBT001  # the one thing that there is to say
        """Count a call of the heartbeat URL."""
        self._heartbeats.labels("success" if arrived else "failure").inc()

    def interruption(self, found: Interruption) -> None:
        """Count a clock that was set, and time in which nothing was judged."""
        if found.set_by:
            self._jumps.labels("forward" if found.set_by > 0 else "back").inc()
        self._unwatched.inc(found.unwatched)

    def tick(self, result: TickResult, polls: Sequence[Poll], engine: Engine, seconds: float) -> None:
        """Count one tick."""
        self._ticks.inc()
        self._last.set(seconds)
        self._last_at.set(result.changes.at)
        for poll in polls:
            self._polls.labels(poll.source).inc()
            if poll.error:
                self._poll_failures.labels(poll.source, poll.error_kind or "other").inc()
        for reason, count in result.dropped.items():
            self._dropped.labels(reason).inc(count)
        for rule in result.failures:
            self._rule_failures.labels(rule).inc()
        alerts = engine.judge.alerts.values()
        for state in (AlertState.PENDING, AlertState.FIRING):
            self._alerts.labels(state.value).set(sum(alert.state is state for alert in alerts))
        self._alerts.labels("unknown").set(sum(alert.unknown_since is not None for alert in alerts))
        for silence_state in SilenceState:
            count = sum(silence.state(result.changes.at) is silence_state for silence in engine.silences.all())
            self._silences.labels(silence_state.value).set(count)

    def sender(self, event: SenderEvent) -> None:
        """Count what became of a delivery."""
        if event.kind is EventKind.SENT:
            self._sent.labels(event.receiver).inc(len(event.ids))
            self._late.labels(event.receiver).observe(event.age_seconds)
        elif event.kind in _FAILURES:
            self._failed.labels(event.receiver, event.reason or "other").inc()
        if event.kind is EventKind.PARKED:
            self._given_up.labels(event.receiver).inc(len(event.ids))
        if event.kind in (EventKind.STOPPED, EventKind.RECOVERED):
            self._stopped.labels(event.receiver).set(event.kind is EventKind.STOPPED)

    def text(self) -> bytes:
        """Return everything in Prometheus's text format."""
        return generate_latest(self.registry)


class _Live(Collector):
    """What is read when it is asked for."""

    def __init__(self, health: Health, outbox: Callable[[], Sequence[Family]], job_failures: Callable[[], int]) -> None:
        self._health = health
        self._outbox = outbox
        self._job_failures = job_failures

    def collect(self) -> Iterable[Metric]:
        """Yield the families."""
        health = self._health
        yield _one("watchdog_jobs", "Jobs that are watched.", health.jobs)
        yield _one(
            "watchdog_rule_group_iterations_missed", "Ticks that were left out, being late.", health.missed_ticks
        )
        yield _one("watchdog_store_writable", "Whether the last tick could be written.", not health.last_commit_failed)
        yield CounterMetricFamily(
            "watchdog_store_commit_failures", "Ticks that could not be written.", value=health.failed_commits
        )
        yield _one(
            "watchdog_store_unwritten_notifications", "Messages that the store has not taken yet.", health.unwritten
        )
        yield _one("watchdog_internal_failures", "Mistakes of watchdog itself; the log has them.", self._job_failures())
        for family in self._outbox():
            yield family.metric()


def _one(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], float(value))
    return family
