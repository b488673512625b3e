"""What users install: the metadata, the lock files, the licence, the wheel, and the two commands of the README."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import watchdog

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = ["requirements.txt", ".ci/requirements-build.txt", ".ci/requirements-dev.txt"]
PLATFORMS = [("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64")]


@dataclass(frozen=True)
class Pin:
    """One entry of a lock file."""

    name: str
    version: str
    marker: Marker | None
    hashes: list[str] = field(default_factory=list)

    def applies(self, environment: dict[str, str]) -> bool:
        return self.marker is None or self.marker.evaluate(environment)


def pins_of(lock: str) -> list[Pin]:
    """Read a lock file strictly: a line is a comment, a pin, or a hash of the pin above it."""
    pins: list[Pin] = []
    for line in (ROOT / lock).read_text(encoding="utf-8").splitlines():
        text = line.strip().removesuffix("\\").strip()
        if text.startswith("--hash=sha256:"):
            pins[-1].hashes.append(text.removeprefix("--hash=sha256:"))
        elif text and not text.startswith("#"):
            requirement = Requirement(text)
            operator, version = re.fullmatch(r"(==)(\S+)", str(requirement.specifier)).groups()  # type: ignore[union-attr]
            assert operator == "=="
            pins.append(Pin(canonicalize_name(requirement.name), version, requirement.marker))
    return pins


def environments() -> list[dict[str, str]]:
    """Every Python and platform that we say we run on, as markers see them."""
    classifiers = PYPROJECT["project"]["classifiers"]
    versions = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text) for text in classifiers]
    return [
        {
            "python_version": version[1],
            "python_full_version": f"{version[1]}.1",
            "sys_platform": system,
            "platform_machine": machine,
            "platform_system": system.capitalize(),
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
            "os_name": "posix",
            "extra": "",
        }
        for version in versions
        if version
        for system, machine in PLATFORMS
    ]


def declared(lock: str) -> list[Requirement]:
    groups = PYPROJECT["dependency-groups"]
    texts = {
        "requirements.txt": PYPROJECT["project"]["dependencies"],
        ".ci/requirements-build.txt": [*groups["build"], *PYPROJECT["build-system"]["requires"]],
        ".ci/requirements-dev.txt": [*groups["dev"], *PYPROJECT["project"]["dependencies"]],
    }
    return [Requirement(text) for text in texts[lock]]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes(lock: str) -> None:
    pins = pins_of(lock)
    assert pins
    assert [pin.name for pin in pins if not pin.hashes] == []
    assert {len(text) for pin in pins for text in pin.hashes} == {64}


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_satisfy_what_is_declared_everywhere(lock: str) -> None:
    """On every Python and platform each declared requirement has exactly one pin, and it fits."""
    pins, requirements = pins_of(lock), declared(lock)
    for environment in environments():
        active = [pin for pin in pins if pin.applies(environment)]
        names = [pin.name for pin in active]
        assert len(set(names)) == len(names), environment
        versions = dict(zip(names, (pin.version for pin in active), strict=True))
        for requirement in requirements:
            if requirement.marker is None or requirement.marker.evaluate(environment):
                assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_locks_agree_with_each_other() -> None:
    """One environment can hold all three: no package is pinned differently in two of them."""
    versions: dict[tuple[str, str], set[str]] = {}
    for pin in [pin for lock in LOCKS for pin in pins_of(lock)]:
        versions.setdefault((pin.name, str(pin.marker)), set()).add(pin.version)
    assert {key: pinned for key, pinned in versions.items() if len(pinned) > 1} == {}


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_name_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert re.findall(r"://|file:|--index|--find-links|--trusted| /\w+", text) == []


def test_the_file_system_library_named_watchdog_is_nowhere() -> None:
    """It has our import name, so it must be in no lock and not in this environment."""
    assert [lock for lock in LOCKS if "watchdog" in {pin.name for pin in pins_of(lock)}] == []
    assert "watchdog" not in {canonicalize_name(found.name) for found in metadata.distributions()}
    assert Path(watchdog.__file__) == ROOT / "watchdog" / "__init__.py"


def test_metadata_is_that_of_the_package() -> None:
    assert metadata.version("gpu-job-watchdog") == watchdog.__version__
    scripts = metadata.entry_points(group="console_scripts", name="watchdog")
    assert [script.value for script in scripts] == ["watchdog.cli:main"]


def test_licence_is_the_apache_licence_unchanged() -> None:
    digest = hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest()
    assert digest == "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
    assert PYPROJECT["project"]["license"] == "Apache-2.0"


def test_module_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "watchdog", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == f"watchdog {watchdog.__version__}\n"


def test_changelog_has_the_version() -> None:
    headings = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert watchdog.__version__ in headings


def test_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    info = f"gpu_job_watchdog-{watchdog.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"watchdog", info}
    assert {"watchdog/py.typed", "watchdog/cli/__init__.py", f"{info}/licenses/LICENSE"} <= set(names)


def commands_under(heading: str) -> list[str]:
    """Return the lines of the `sh` blocks of a section of the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", readme.split(f"## {heading}\n")[1], flags=re.MULTILINE)[0]
    return [line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize(
    ("heading", "command"),
    [("Try it", ".ci/setup && .venv/bin/watchdog demo"), ("Run the tests", ".ci/test")],
)
def test_readme_has_one_command_for_it(heading: str, command: str) -> None:
    assert commands_under(heading) == [command]


def test_scripts_can_be_run() -> None:
    scripts = [path for path in (ROOT / ".ci").iterdir() if path.is_file() and path.read_bytes()[:2] == b"#!"]
    assert {"run", "setup", "test"} <= {path.name for path in scripts}
    assert [path.name for path in scripts if not os.access(path, os.X_OK)] == []
