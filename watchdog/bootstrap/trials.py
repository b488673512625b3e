"""Tries every source, every receiver and the store of a rules file really, side by side, before it is started."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from watchdog.bootstrap.build import Environment, build_receiver, build_source
from watchdog.errors import StoreError, UsageError
from watchdog.model import Level, Remark
from watchdog.ports import Receiver, Source, Triable
from watchdog.receivers import Pacer
from watchdog.rules.model import Ruleset
from watchdog.sources.base import run_all
from watchdog.store import store_place, try_store

TRIAL_SECONDS = 30.0
"""Real seconds for all tries together."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried, and what was found; ``kind`` is source, receiver or store."""

    kind: str
    name: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class _Task:
    kind: str
    name: str
    run: Callable[[], Sequence[Remark]]


def try_all(ruleset: Ruleset, env: Environment, seconds: float = TRIAL_SECONDS) -> list[Trial]:
    """Return what was found, in the order of the rules file; what has not answered after ``seconds`` has failed."""
    tasks = _tasks(ruleset, env)
    late = threading.Event()
    timer = threading.Timer(seconds, late.set)
    timer.daemon = True
    timer.start()
    try:
        found = run_all(lambda task: task.run(), tasks, len(tasks), late)
    finally:
        timer.cancel()
    silence = Remark(Level.FAILED, f"no answer within {seconds:g} s", "check the address, the network and proxies")
    return [
        Trial(task.kind, task.name, (silence,) if remarks is None else tuple(remarks))
        for task, remarks in zip(tasks, found, strict=True)
    ]


def _tasks(ruleset: Ruleset, env: Environment) -> list[_Task]:
    pacer = Pacer(env.clock, env.sleep)
    tasks = []
    for source in ruleset.sources:
        build = partial(build_source, source, ruleset, env)
        tasks.append(_Task("source", source.name, partial(_try_adapter, build, f'source "{source.name}": ')))
    for receiver in ruleset.receivers:
        make = partial(build_receiver, receiver, env, pacer)
        tasks.append(_Task("receiver", receiver.name, partial(_try_adapter, make, f'receiver "{receiver.name}": ')))
    url = env.settings.store
    place = _place(url)
    return [*tasks, _Task("store", place, partial(_try_store, url, f"store {place} "))]


def _try_adapter(build: Callable[[], Source | Receiver], said: str) -> Sequence[Remark]:
    """Build and try; ``said`` is what the text of a missing secret begins with, and whoever prints it says too."""
    try:
        adapter = build()
    except UsageError as error:
        return [Remark(Level.FAILED, str(error).removeprefix(said))]
    try:
        if isinstance(adapter, Triable):
            return adapter.try_out()
        return [Remark(Level.NOTE, "cannot be tried without posting", "use send-test")]
    finally:
        adapter.close()


def _try_store(url: str, said: str) -> Sequence[Remark]:
    return [replace(remark, text=remark.text.removeprefix(said)) for remark in try_store(url)]


def _place(url: str) -> str:
    try:
        return store_place(url)
    except StoreError:
        return "WATCHDOG_STORE"
