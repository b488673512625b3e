"""The composition root: the only place that names concrete adapters, the store and the real clock."""

from watchdog.bootstrap.build import (
    Environment,
    GivenSecrets,
    build_engine,
    build_program,
    build_receiver,
    build_receivers,
    build_sources,
    held_store,
    load_rules,
    open_store,
    point_at,
    rules_path,
    rules_schema,
    starter_rules,
    stored,
)
from watchdog.bootstrap.service import Service, announce, stop_on_signals

__all__ = [
    "Environment",
    "GivenSecrets",
    "Service",
    "announce",
    "build_engine",
    "build_program",
    "build_receiver",
    "build_receivers",
    "build_sources",
    "held_store",
    "load_rules",
    "open_store",
    "point_at",
    "rules_path",
    "rules_schema",
    "starter_rules",
    "stop_on_signals",
    "stored",
]
