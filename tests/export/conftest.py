"""The rule engine of Prometheus itself, by way of `promtool test rules`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from watchdog.export import export
from watchdog.rules.model import Rule, Ruleset

Cells = Sequence[float | str | None]
"""One value a minute; None for a gap, "stale" for a series that ended."""
Alerts = Mapping[str, Mapping[str, str]]
"""Annotations by rule."""
Firing = frozenset[tuple[tuple[str, str], ...]]
_ELEMENT = re.compile(r"\{([^{}]*)\} ([-+0-9.eENaInf]+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_AT = re.compile(r'expr: "ALERTS\{alertstate=\\"firing\\"\}", time: (\w+),\s+exp: nil\s+got: ?(.*)')


def ruleset(*rules: Rule, interval: float = 60.0) -> Ruleset:
    return Ruleset(interval, (), (), (), rules, checksum="x", files=("rules.toml",))


def notation(cells: Cells) -> str:
    """Return one word per minute, runs of equal values in short."""
    return " ".join("_" if cell is None else cell if isinstance(cell, str) else repr(cell) for cell in cells)


def series(metric: str, labels: Mapping[str, str]) -> str:
    return metric + "{" + ", ".join(f"{name}={json.dumps(text)}" for name, text in labels.items()) + "}"


@dataclass(frozen=True)
class Promtool:
    """promtool in a folder of its own."""

    folder: Path

    def check(self, text: str) -> str:
        """Return what `promtool check rules` says of a rule file that it accepts."""
        file = self.folder / "rules.yml"
        file.write_text(text, encoding="utf-8")
        done = self._run("check", "rules", "--lint-fatal", str(file))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def firing(self, text: str, held: Mapping[str, Cells], minutes: Iterable[int]) -> dict[int, Firing]:
        """Return the labels of the alerts that Prometheus's own engine holds firing at these minutes."""
        wanted = list(minutes)
        asked = [
            {"expr": 'ALERTS{alertstate="firing"}', "eval_time": f"{minute}m", "exp_samples": []} for minute in wanted
        ]
        done = self._test(text, held, {"promql_expr_test": asked})
        found = dict.fromkeys(wanted, frozenset[tuple[tuple[str, str], ...]]())
        told = _AT.findall(done.stdout + done.stderr)
        for time, elements in told:
            found[_minutes(time)] = frozenset(_labels(inner) for inner, _ in _ELEMENT.findall(elements))
        assert done.returncode == 0 or told, done.stdout + done.stderr
        return found

    def expect(self, text: str, held: Mapping[str, Cells], labels: Mapping[str, str], alerts: Alerts) -> None:
        """Check that each rule fires at minute 10 once, with these labels, and with its annotations."""
        tests = [
            {
                "eval_time": "10m",
                "alertname": name,
                "exp_alerts": [{"exp_labels": dict(labels), "exp_annotations": dict(annotations)}],
            }
            for name, annotations in alerts.items()
        ]
        done = self._test(text, held, {"alert_rule_test": tests})
        assert done.returncode == 0, done.stdout + done.stderr

    def _test(
        self, text: str, held: Mapping[str, Cells], tests: Mapping[str, object]
    ) -> subprocess.CompletedProcess[str]:
        (self.folder / "rules.yml").write_text(text, encoding="utf-8")
        inputs = [{"series": name, "values": notation(cells)} for name, cells in held.items()]
        group = {"interval": "1m", "input_series": inputs, **tests}
        document = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [group]}
        (self.folder / "test.yml").write_text(json.dumps(document), encoding="utf-8")
        return self._run("test", "rules", "test.yml")

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        tool = shutil.which("promtool")
        assert tool, "promtool is missing; install Debian's package prometheus"
        return subprocess.run([tool, *words], cwd=self.folder, capture_output=True, text=True, check=False)


def _labels(inner: str) -> tuple[tuple[str, str], ...]:
    found = {name: json.loads(f'"{value}"') for name, value in _LABEL.findall(inner)}
    return tuple(sorted((name, text) for name, text in found.items() if name not in ("__name__", "alertstate")))


def _minutes(time: str) -> int:
    hours, minutes = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:0s)?", time).groups()  # type: ignore[union-attr]
    return 60 * int(hours or 0) + int(minutes or 0)


@pytest.fixture
def promtool(tmp_path: Path) -> Promtool:
    return Promtool(tmp_path)


@dataclass(frozen=True)
class Watch:
    """One rule in Prometheus, over series of one job."""

    promtool: Promtool
    rule: Rule

    def fires(self, held: Mapping[str, Cells], minutes: Collection[int], interval: float = 60.0) -> list[int]:
        """Return the minutes, of those asked for, at which any alert of it fires."""
        text = export(ruleset(self.rule, interval=interval)).text
        return [minute for minute, alerts in self.promtool.firing(text, held, minutes).items() if alerts]


@pytest.fixture
def watch(promtool: Promtool) -> Callable[[Rule], Watch]:
    return lambda rule: Watch(promtool, rule)


@pytest.fixture
def make_ruleset() -> Callable[..., Ruleset]:
    return ruleset


@pytest.fixture
def named() -> Callable[[str, Mapping[str, str]], str]:
    return series
