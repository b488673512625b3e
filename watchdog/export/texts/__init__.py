"""Texts of rules: sandboxed Jinja2 to the templates of Prometheus, which are Go's."""

from watchdog.export.texts.statements import Translation, translate

__all__ = ["Translation", "translate"]
