"""What the commands build: sources, receivers, program, engine and store of a rules file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import watchdog
from watchdog.config import ReceiverConfig, SourceConfig
from watchdog.engine.engine import Engine
from watchdog.engine.program import Program, program_of, source_info
from watchdog.errors import UsageError
from watchdog.model import Snapshot
from watchdog.ports import Clock, Receiver, RotatingSecrets, Source
from watchdog.receivers import RECEIVER_TYPES, Pacer, ReceiverContext
from watchdog.rules import load, schema
from watchdog.rules.model import Ruleset
from watchdog.settings import Settings
from watchdog.sources import SOURCE_TYPES, BuildContext, WithPages
from watchdog.store import Lease, SqlStore, lease_for, store_exists, store_place


@dataclass(frozen=True, slots=True)
class Environment:
    """What the outside world gives: a clock, its speed, secrets, and a place to print."""

    settings: Settings
    secrets: RotatingSecrets
    clock: Clock = time.time
    speed: float = 1.0
    """Seconds of ``clock`` per real second; 1 but in the demo."""
    write: Callable[[str], None] = print

    def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds of ``clock``."""
        time.sleep(seconds / self.speed)


def load_rules(path: Path) -> Ruleset:
    """Read and check a rules file or folder. Raises RulesError with all problems."""
    return load(
        path,
        {name: kind.config for name, kind in SOURCE_TYPES.items()},
        {name: kind.config for name, kind in RECEIVER_TYPES.items()},
    )


def rules_path(given: str | None, settings: Settings) -> Path:
    """Return the rules file of the command line or of WATCHDOG_RULES. Raises UsageError."""
    path = given or settings.rules
    if path is None:
        raise UsageError("no rules file: give one with -c FILE, or set WATCHDOG_RULES")
    return Path(path)


def build_sources(ruleset: Ruleset, env: Environment) -> dict[str, Source]:
    """Build every source of a rules file. Raises UsageError for the first secret that is not set."""
    return {config.name: build_source(config, ruleset, env) for config in ruleset.sources}


def build_source(config: SourceConfig, ruleset: Ruleset, env: Environment) -> Source:
    """Build one source. Raises UsageError for a secret that is not set."""
    context = BuildContext(
        interval=config.interval or ruleset.interval, secrets=env.secrets, clock=env.clock, sleep=env.sleep
    )
    source = SOURCE_TYPES[config.type].build(config, context)
    return WithPages(source, config.job_url) if config.job_url else source


def build_receivers(
    ruleset: Ruleset, env: Environment, permit: Callable[[], None] = lambda: None
) -> dict[str, Receiver]:
    """Build every receiver of a rules file. Raises UsageError for the first secret that is not set.

    ``permit`` raises when this process may not speak any more; see ``Pacer``.
    """
    pacer = Pacer(env.clock, env.sleep, permit)
    return {config.name: build_receiver(config, env, pacer) for config in ruleset.receivers}


def missing(ruleset: Ruleset, env: Environment) -> list[str]:
    """Return what sources and receivers lack to be built: all of it at once."""
    found = []
    builds: list[Callable[[], object]] = [partial(build_source, config, ruleset, env) for config in ruleset.sources]
    builds += [partial(build_receiver, config, env) for config in ruleset.receivers]
    for build in builds:
        try:
            build()
        except UsageError as error:
            found.append(str(error))
    return found


def require(ruleset: Ruleset, env: Environment) -> None:
    """Raise UsageError that names everything that is missing."""
    found = missing(ruleset, env)
    if found:
        raise UsageError("\n".join([found[0], *(f"error: {text}" for text in found[1:])]))


def build_receiver(config: ReceiverConfig, env: Environment, pacer: Pacer | None = None) -> Receiver:
    """Build one receiver, paced together with others of ``pacer``. Raises UsageError for a secret that is not set."""
    shared = pacer or Pacer(env.clock, env.sleep)
    context = ReceiverContext(secrets=env.secrets, clock=env.clock, sleep=env.sleep, write=env.write, pacer=shared)
    return RECEIVER_TYPES[config.type].build(config, context)


def stored(settings: Settings) -> Snapshot:
    """Return what the store holds, without making one where there is none."""
    if not store_exists(settings.store):
        return Snapshot()
    with open_store(settings) as store:
        return store.load()


def open_store(settings: Settings, lease: Lease | None = None) -> SqlStore:
    """Return the store that WATCHDOG_STORE names; it is opened at its first use, and written under this lease."""
    return SqlStore(settings.store, lease=lease)


def existing_store(settings: Settings) -> SqlStore:
    """Return the store, which must be there: to look into a new one would read as an all-clear. Raises UsageError."""
    if not store_exists(settings.store):
        raise UsageError(
            f"there is no store at {store_place(settings.store)}; set WATCHDOG_STORE to the one that the service uses"
        )
    return open_store(settings)


def rules_schema() -> dict[str, object]:
    """Return the JSON Schema of a rules file."""
    return schema(
        {name: kind.config for name, kind in SOURCE_TYPES.items()},
        {name: kind.config for name, kind in RECEIVER_TYPES.items()},
    )


def build_program(ruleset: Ruleset, sources: Mapping[str, Source]) -> Program:
    """Compile the rules and take down the constants of the sources."""
    infos = [
        source_info(sources[config.name], config.interval or ruleset.interval, config.stale_after)
        for config in ruleset.sources
    ]
    return program_of(ruleset, infos)


def build_engine(program: Program, snapshot: Snapshot, env: Environment) -> Engine:
    """Return an engine that goes on where ``snapshot`` ended."""
    return Engine(program, snapshot, env.clock())


@contextmanager
def held_store(settings: Settings) -> Iterator[SqlStore]:
    """Open the store as its one writer. Raises UsageError while another instance holds it."""
    lease = lease_for(settings.store, time.sleep)
    try:
        if not lease.try_acquire():
            raise UsageError("a running watchdog holds the store; stop it, or name another store in WATCHDOG_STORE")
        with open_store(settings, lease) as store:
            yield store
    finally:
        lease.release()


def point_at(ruleset: Ruleset, base_urls: Mapping[str, str]) -> Ruleset:
    """Return the rules with only the sources at these addresses, by name (the demo, benchmarks, tests).

    ``baseten`` and ``alaya`` need not be in the rules: each then watches everything that its cloud has.
    """
    found = {config.name: config for config in ruleset.sources}
    sources = []
    for name, url in base_urls.items():
        kind, options = _WHOLE_CLOUDS.get(name, ("", {}))
        config = found.get(name) or SOURCE_TYPES[kind].config(name=name, type=kind, **options)
        sources.append(config.model_copy(update={"base_url": url}))
    return replace(ruleset, sources=tuple(sources))


_WHOLE_CLOUDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "baseten": ("baseten", {"projects": ("*",)}),
    "alaya": ("alayanew", {"discover": True}),
}


def starter_rules() -> Path:
    """Return the starter pack, ``rules.example.toml``: in an installed package, or beside a checkout's package."""
    package = Path(watchdog.__file__).parent
    inside = package / "rules.example.toml"
    return inside if inside.exists() else package.parent / "rules.example.toml"


@dataclass(frozen=True, slots=True)
class GivenSecrets:
    """Secrets by value: for simulated services, which have nothing to hide."""

    values: Mapping[str, str]

    def find(self, name: str) -> str | None:
        """Return the secret."""
        return self.values.get(name)

    def version(self) -> int:
        """Return always the same: they do not change."""
        return 0
