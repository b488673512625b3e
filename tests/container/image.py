"""The image in a running container: `.ci/container` builds it and then runs this file with pytest.

The container has what `compose.yaml` gives it: a read-only root, no capability, no new privileges, a volume, and a
secret in /run/secrets. It has no network but its own loopback. WATCHDOG_PODMAN is the podman command to use.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

RULES = Path(__file__).with_name("rules.toml")
SECRET = "not-a-real-key"
PLAIN = shlex.split("--pull=never --network=none --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024")
CONFINED = [
    *PLAIN,
    *shlex.split("--read-only --read-only-tmpfs=false --tmpfs=/tmp --cap-drop=all --security-opt=no-new-privileges"),
]
ADDED_BYTES = 150e6
"""How much the image may add to its base."""


def podman(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run podman and, unless told otherwise, insist on its success."""
    command = [*shlex.split(os.environ["WATCHDOG_PODMAN"]), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert not check or result.returncode == 0, f"{shlex.join(arguments)}: {result.stdout}{result.stderr}"
    return result


@pytest.fixture(scope="session")
def image() -> dict[str, object]:
    """The image's configuration."""
    config = json.loads(podman("image", "inspect", "watchdog").stdout)[0]
    assert isinstance(config, dict)
    return config


@dataclass(frozen=True, slots=True)
class Life:
    """What was seen of one container from its start to its end."""

    healthy: bool
    status: str
    check: subprocess.CompletedProcess[str]
    write: subprocess.CompletedProcess[str]
    exit_code: int
    stop_seconds: float
    logs: str
    kept: list[str]


def becomes_healthy() -> bool:
    """Run the image's own health check until it passes, for half a minute."""
    for _ in range(60):
        if podman("healthcheck", "run", "service", check=False).returncode == 0:
            return True
        time.sleep(0.5)
    return False


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("container")
    (folder / "rules").mkdir()
    (folder / "rules" / "rules.toml").write_bytes(RULES.read_bytes())
    (folder / "key").write_text(SECRET)
    mounts = [f"{folder}/rules:/etc/watchdog:ro", f"{folder}/key:/run/secrets/BASETEN_API_KEY:ro"]
    state = "--volume=state:/var/lib/watchdog"
    podman(
        "run", "--detach", "--name=service", *CONFINED, *(f"--volume={mount}" for mount in mounts), state, "watchdog"
    )
    healthy = becomes_healthy()
    status = podman("exec", "service", "cat", "/proc/1/status", check=False).stdout
    check = podman("exec", "service", "watchdog", "check", "/etc/watchdog", check=False)
    write = podman("exec", "service", "python", "-c", "open('/opt/watchdog/x', 'w')", check=False)
    before = time.monotonic()
    podman("stop", "--time=20", "service")
    seconds = time.monotonic() - before
    code = int(podman("inspect", "--format={{.State.ExitCode}}", "service").stdout)
    logs = podman("logs", "service")
    kept = podman("run", "--rm", *CONFINED, state, "--entrypoint=ls", "watchdog", "/var/lib/watchdog").stdout.split()
    yield Life(healthy, status, check, write, code, seconds, logs.stdout + logs.stderr, kept)
    podman("rm", "--force", "--volumes", "service")


def test_service_is_healthy_on_a_read_only_root(life: Life) -> None:
    assert life.healthy, life.logs
    assert life.write.returncode != 0
    assert "Read-only file system" in life.write.stderr


def test_service_runs_as_a_plain_user_without_capabilities(life: Life) -> None:
    status = dict(line.split(":\t", 1) for line in life.status.splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["10001"] * 4
    assert status["Gid"].split() == ["10001"] * 4
    assert status["CapBnd"] == status["CapEff"] == "0" * 16
    assert status["NoNewPrivs"] == "1"


def test_rules_can_be_checked_in_the_container(life: Life) -> None:
    assert life.check.returncode == 0, life.check.stdout + life.check.stderr


def test_sigterm_ends_the_service_well(life: Life) -> None:
    assert life.exit_code == 0, life.logs
    assert life.stop_seconds < 15


def test_state_is_kept_in_the_volume(life: Life) -> None:
    assert "watchdog.db" in life.kept


def test_secrets_stay_out_of_the_log(life: Life) -> None:
    assert SECRET not in life.logs


def test_wrong_rules_end_the_service_with_status_2(tmp_path: Path) -> None:
    rules = tmp_path / "rules"  # the folder around it is closed to other users
    rules.mkdir()
    (rules / "rules.toml").write_text("rulez = 1\n")
    options = [*CONFINED, "--timeout=60", f"--volume={rules}:/etc/watchdog:ro"]
    result = podman("run", "--rm", *options, "watchdog", check=False)
    assert result.returncode == 2, result.stdout + result.stderr
    assert "rulez" in result.stdout + result.stderr


def test_image_is_configured_as_documented(image: dict[str, object]) -> None:
    config = image["Config"]
    assert isinstance(config, dict)
    assert config["User"] == "10001:10001"
    assert list(config["ExposedPorts"]) == ["9469/tcp"]
    assert list(config["Volumes"]) == ["/var/lib/watchdog"]
    assert (config["Entrypoint"], config["Cmd"]) == (["watchdog"], ["run"])
    assert {"WATCHDOG_LISTEN=0.0.0.0:9469", "WATCHDOG_RULES=/etc/watchdog"} <= set(config["Env"])


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """The image's files that are not empty."""
    find = "--entrypoint=" + json.dumps(["find", "/", "-xdev", "-type", "f", "-size", "+0"])
    listing = podman("run", "--rm", *PLAIN, "--user=0", "--workdir=/", find, "watchdog").stdout
    return [Path(name) for name in listing.splitlines()]


@pytest.mark.parametrize("word", [".git", "tests", "pip", "hatchling", "pip.conf", "requirements.txt"])
def test_image_holds_nothing_that_only_the_build_needs(files: list[Path], word: str) -> None:
    assert [path for path in files if word in path.parts] == []


def test_byte_code_is_compiled(files: list[Path]) -> None:
    """Every module of the package has its byte code, since a running container cannot write it."""
    package = [path for path in files if {"site-packages", "watchdog"} <= set(path.parts[5:])]
    compiled = {(path.parent.parent, path.name.split(".")[0]) for path in package if path.suffix == ".pyc"}
    sources = {(path.parent, path.stem) for path in package if path.suffix == ".py"}
    assert len(sources) > 30
    assert sources <= compiled


def test_image_is_small(image: dict[str, object]) -> None:
    base = podman("image", "list", "--format=json", "docker.io/library/python").stdout
    added = int(str(image["Size"])) - int(json.loads(base)[0]["Size"])
    assert 0 < added < ADDED_BYTES
