"""The import directions of docs/architecture.md and the budgets of the code, read from the source with `ast`."""

from __future__ import annotations

import ast
import re
import statistics
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "watchdog"

WORDS = {"errors", "labels", "model", "ports", "vocabulary", "waiting"}
"""The words of the core, which everybody may import beside what the table below names."""

MAY_IMPORT: dict[str, set[str]] = {
    **{word: set() for word in WORDS},
    "config": set(),
    "templates": set(),
    "settings": {"config"},
    "promql": set(),
    "history": {"promql"},
    "files": {"history", "promql", "sources"},
    "client": set(),
    "rules": {"config", "promql", "templates"},
    "export": {"promql", "rules", "templates"},
    "jobs": set(),
    "alerts": {"history", "jobs", "promql", "rules", "templates"},
    "muting": {"rules"},
    "incidents": {"jobs", "muting", "rules"},
    "engine": {"alerts", "history", "incidents", "jobs", "muting", "promql", "rules"},
    "replay": {"alerts", "engine", "files", "jobs", "promql", "rules"},
    "sources": {"config"},
    "receivers": {"config"},
    "heartbeat": set(),
    "store": set(),
    "delivery": set(),
    "service": {"alerts", "delivery", "engine", "history", "incidents", "jobs", "muting", "promql", "rules"},
    "simulated": set(),
}
"""What each folder or module of the package may import of the others; the three below are not restricted."""
OUTER = {"bootstrap", "cli", "__main__"}

THIRD_PARTY: dict[str, set[str]] = {
    "httpx": {
        "client",
        "heartbeat",
        "sources",
        "receivers.webhook",
    },  # the client asks from outside, as a browser would
    "jinja2": {"export.texts", "templates"},
    "prometheus_client": {"service"},
    "promql_parser": {"promql"},
    "pydantic": {"config", "receivers", "rules", "sources", "store"},
    "pydantic_settings": {"settings"},
    "schedule": {"service"},
    "slack_sdk": {"receivers.slack"},
    "sqlalchemy": {"store"},
    "starlette": {"service", "simulated"},
    "uvicorn": {"service", "simulated"},
}
"""Where a library may be imported, for those that belong to one place."""

CLOCK_READERS = {"bootstrap", "cli", "service", "simulated"}
SHARED_BY_ADAPTERS = {"sources.base", "sources.http", "receivers.base", "receivers.text"}
"""Modules and folders among the adapters that are no adapters."""


@dataclass(frozen=True)
class Import:
    """One imported module, absolute, with the place of the statement."""

    module: str
    place: str

    @property
    def top(self) -> str:
        return self.module.split(".", maxsplit=1)[0]

    @property
    def part(self) -> str:
        """The folder or module of our own package: ``watchdog.rules.model`` is in ``rules``."""
        return ".".join(self.module.split(".")[1:2])


@dataclass(frozen=True)
class Module:
    """One source file of the package; its name leaves out ``watchdog.``, as in ``rules.model``."""

    path: Path

    @property
    def name(self) -> str:
        parts = self.path.relative_to(PACKAGE).with_suffix("").parts
        return ".".join(part for part in parts if part != "__init__")

    @property
    def part(self) -> str:
        return self.name.split(".", maxsplit=1)[0]

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))

    def place(self, node: ast.stmt | ast.expr | ast.excepthandler) -> str:
        return f"{self.path.relative_to(ROOT)}:{node.lineno}"

    @cached_property
    def imports(self) -> list[Import]:
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [Import(alias.name, self.place(node)) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.place(node)}: a relative import"
                assert node.module is not None
                found += [Import(member, self.place(node)) for member in members(node.module, node.names)]
        return found

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def members(module: str, names: list[ast.alias]) -> list[str]:
    """Return the modules that ``from module import names`` loads: submodules where the names are some."""
    if not module.startswith("watchdog"):
        return [module]
    folder = ROOT.joinpath(*module.split("."))
    loaded = [
        f"{module}.{alias.name}"
        for alias in names
        if (folder / f"{alias.name}.py").exists() or (folder / alias.name / "__init__.py").exists()
    ]
    return loaded if len(loaded) == len(names) else [module, *loaded]


def inside(name: str, places: set[str]) -> bool:
    """Whether a dotted name is one of the places or lies within one."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


def source_modules() -> list[Module]:
    return [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]


MODULES = source_modules()


def own_imports() -> Iterator[tuple[Module, Import]]:
    for module in MODULES:
        for imported in module.imports:
            if imported.top == "watchdog":
                yield module, imported


def test_every_part_of_the_package_has_its_place() -> None:
    parts = {module.part for module in MODULES if module.part}
    assert parts == set(MAY_IMPORT) | OUTER


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_a_part_imports_only_what_it_may(part: str) -> None:
    allowed = MAY_IMPORT[part] | WORDS | {part, ""}
    wrong = [
        f"{imported.place}: {part} imports {imported.module}"
        for module, imported in own_imports()
        if module.part == part and imported.part not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("outer", "importers"), [("bootstrap", {"bootstrap", "cli"}), ("cli", {"cli", "__main__"}), ("__main__", set())]
)
def test_the_outermost_parts_are_imported_by_nobody_else(outer: str, importers: set[str]) -> None:
    assert [
        f"{imported.place}: {imported.module}"
        for module, imported in own_imports()
        if imported.part == outer and module.part not in importers
    ] == []


def test_no_adapter_imports_another_adapter() -> None:
    wrong = []
    for module, imported in own_imports():
        name = imported.module.removeprefix("watchdog.")
        if module.part in {"sources", "receivers"} and imported.part == module.part and module.name != module.part:
            adapter = ".".join(module.name.split(".")[:2])
            if not inside(name, SHARED_BY_ADAPTERS | {adapter}):
                wrong.append(f"{imported.place}: {module.name} imports {name}")
    assert wrong == []


def test_what_adapters_share_knows_no_adapter() -> None:
    assert [
        f"{imported.place}: {imported.module}"
        for module, imported in own_imports()
        if inside(module.name, SHARED_BY_ADAPTERS)
        and imported.part == module.part
        and not inside(imported.module.removeprefix("watchdog."), SHARED_BY_ADAPTERS)
    ] == []


@pytest.mark.parametrize("library", sorted(THIRD_PARTY))
def test_a_library_is_imported_only_where_it_belongs(library: str) -> None:
    assert [
        imported.place
        for module in MODULES
        for imported in module.imports
        if imported.top == library and not inside(module.name, THIRD_PARTY[library])
    ] == []


def test_every_imported_library_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]
    declared = {re.split(r"[^\w-]", text)[0].replace("-", "_") for text in [*project["dependencies"], *extras]}
    imported = {(entry.top, entry.place) for module in MODULES for entry in module.imports}
    outside = {pair for pair in imported if pair[0] not in {*sys.stdlib_module_names, "watchdog", "_typeshed"}}
    assert {f"{place}: {name}" for name, place in outside if name not in declared} == set()


CLOCKS = re.compile(
    r"\btime\.(time|time_ns|monotonic|monotonic_ns|perf_counter|perf_counter_ns|sleep)\b"
    r"|\bdatetime\.(now|utcnow|today)\b|\bdate\.today\b"
)
CLOCK_NAMES = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"}
ENVIRONMENT = re.compile(r"\bos\.(environ|environb|getenv|putenv)\b")


def uses(module: Module, pattern: re.Pattern[str], origin: str, names: set[str]) -> list[str]:
    """Return where a module mentions ``pattern`` as an attribute or imports one of ``names`` from ``origin``."""
    found = []
    for node in ast.walk(module.tree):
        attribute = isinstance(node, ast.Attribute) and pattern.search(ast.unparse(node))
        imported = (
            isinstance(node, ast.ImportFrom)
            and node.module == origin
            and any(alias.name in names for alias in node.names)
        )
        if attribute or imported:
            assert isinstance(node, ast.stmt | ast.expr)
            found.append(module.place(node))
    return found


def test_only_the_outer_parts_read_a_clock() -> None:
    inner = [module for module in MODULES if module.part not in CLOCK_READERS]
    assert [place for module in inner for place in uses(module, CLOCKS, "time", CLOCK_NAMES)] == []


def test_only_the_settings_read_the_environment() -> None:
    others = [module for module in MODULES if module.part != "settings"]
    assert [place for module in others for place in uses(module, ENVIRONMENT, "os", {"environ", "getenv"})] == []


def test_the_broad_excepts_are_at_the_boundaries_of_a_rule_and_of_a_job() -> None:
    broad = [
        (module, node)
        for module in MODULES
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or re.search(r"\b(Base)?Exception\b", ast.unparse(node.type)))
    ]
    assert [module.part for module, _ in broad] == ["alerts", "service"], [module.place(node) for module, node in broad]


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its decorators and docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None and first.end_lineno is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def test_functions_are_short() -> None:
    lengths = {
        f"{module.place(function)}: {function.name}": code_lines(function)
        for module in MODULES
        for function in module.functions
    }
    assert {name: lines for name, lines in lengths.items() if lines > 50} == {}
    assert statistics.median(lengths.values()) <= 10


def test_modules_are_short() -> None:
    lengths = {
        str(module.path.relative_to(ROOT)): len(module.path.read_text(encoding="utf-8").splitlines())
        for module in MODULES
    }
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}


def test_the_page_on_the_architecture_names_every_part() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    named = {name.strip("/").removesuffix(".py") for name in re.findall(r"`([^`]+)`", table)}
    assert set(MAY_IMPORT) | OUTER - {"__main__"} <= named
