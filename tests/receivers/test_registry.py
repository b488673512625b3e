import pkgutil

from watchdog import receivers
from watchdog.config import ReceiverConfig
from watchdog.receivers import RECEIVER_TYPES

SHARED = {"base", "text"}
"""Modules of the folder that are no receivers."""


def test_every_module_is_registered_under_its_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(receivers.__path__)}
    assert set(RECEIVER_TYPES) == modules - SHARED


def test_every_section_model_is_a_receiver_config() -> None:
    assert all(issubclass(kind.config, ReceiverConfig) for kind in RECEIVER_TYPES.values())
