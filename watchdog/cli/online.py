"""``watchdog check --online``: a line for each thing that trying it really has shown."""

from __future__ import annotations

from watchdog.bootstrap import Environment, Trial, try_all
from watchdog.cli import common
from watchdog.model import Level, Remark
from watchdog.rules.model import Ruleset


def report(ruleset: Ruleset, env: Environment, form: str) -> int:
    """Try everything and print what was found; return 1 if anything failed."""
    found = [(trial, remark) for trial in try_all(ruleset, env) for remark in trial.remarks]
    if form == "json":
        common.print_json([_object(trial, remark) for trial, remark in found])
    else:
        for trial, remark in found:
            print(_line(trial, remark))
    return int(any(remark.level is Level.FAILED for _, remark in found))


def _line(trial: Trial, remark: Remark) -> str:
    remedy = f"; {remark.remedy}" if remark.remedy else ""
    return f"{remark.level:<6}  {trial.kind} {trial.name}: {remark.text}{remedy}"


def _object(trial: Trial, remark: Remark) -> dict[str, str]:
    return {
        "level": remark.level.value,
        "kind": trial.kind,
        "name": trial.name,
        "text": remark.text,
        "remedy": remark.remedy,
    }
