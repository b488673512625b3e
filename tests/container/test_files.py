"""Dockerfile, .dockerignore and compose.yaml, read as text; `.ci/container` builds and runs the image itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
FINAL = DOCKERFILE.rsplit("\nFROM ", maxsplit=1)[1]
"""The stage that becomes the image."""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def service(compose: dict[str, Any]) -> dict[str, Any]:
    (service,) = compose["services"].values()
    assert isinstance(service, dict)
    return service


def instruction(name: str) -> str:
    (found,) = re.findall(rf"^{name}\s+(.*)", FINAL, re.MULTILINE)
    return str(found).strip()


def test_image_runs_as_a_numeric_plain_user() -> None:
    """Kubernetes' runAsNonRoot can check a number only."""
    user, group = map(int, instruction("USER").split(":"))
    assert min(user, group) >= 10000
    assert f"install -d -o {user} -g {group} -m 0700 {instruction('VOLUME')}" in FINAL


def test_image_starts_the_service_and_ends_it_with_sigterm() -> None:
    """Both in the exec form: a shell in between would swallow the signal."""
    assert json.loads(instruction("ENTRYPOINT")) == ["watchdog"]
    assert json.loads(instruction("CMD")) == ["run"]
    assert instruction("STOPSIGNAL") == "SIGTERM"


def test_health_check_asks_the_port_that_is_exposed() -> None:
    check = json.loads(instruction("HEALTHCHECK").split("CMD", maxsplit=1)[1])
    assert check[:2] == ["python", "-c"]
    assert "/healthz" in check[2]
    assert f"WATCHDOG_LISTEN=0.0.0.0:{instruction('EXPOSE')}" in instruction("ENV")


def test_libraries_are_installed_by_hash_and_only_in_the_build_stage() -> None:
    installs = re.findall(r"pip (?:--python \S+ )?install (.*?)(?:&&|$)", DOCKERFILE, re.MULTILINE)
    assert len(installs) == 3
    assert all("--require-hashes" in text or "--no-index" in text for text in installs)
    assert " install --" not in FINAL


def test_image_is_given_no_secret_and_no_host() -> None:
    assert re.findall(r"_KEY|_TOKEN|PASSWORD|https?://(?!127)|\$\{?HOME|--index", DOCKERFILE) == []


def test_only_named_files_reach_the_build() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert lines[0] == "*"
    copied = {
        name
        for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
        for name in sources.split()
    }
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    assert all((ROOT / name).exists() for name in copied)


def test_compose_confines_the_service(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"] == ["/tmp"]  # noqa: S108
    assert {"privileged", "cap_add", "network_mode", "pid", "user"} & set(service) == set()


def test_compose_listens_on_this_machine_only(service: dict[str, Any]) -> None:
    assert service["ports"] == [f"127.0.0.1:{instruction('EXPOSE')}:{instruction('EXPOSE')}"]


def test_compose_mounts_rules_read_only_and_keeps_the_state(service: dict[str, Any], compose: dict[str, Any]) -> None:
    assert service["volumes"] == ["./rules:/etc/watchdog:ro", f"state:{instruction('VOLUME')}"]
    assert set(compose["volumes"]) == {"state"}
    assert "WATCHDOG_RULES=/etc/watchdog" in instruction("ENV")


def test_compose_passes_secrets_on_and_holds_none(service: dict[str, Any], compose: dict[str, Any]) -> None:
    """Compose refuses `secrets` taken from the environment for a service with a read-only root."""
    names = service["environment"]
    assert {"BASETEN_API_KEY", "ALAYANEW_API_KEY", "SLACK_BOT_TOKEN"} <= set(names)
    assert all(re.fullmatch(r"[A-Z_]+", name) for name in names)
    assert "secrets" not in service
    assert "secrets" not in compose


def test_compose_gives_the_service_time_to_drain(service: dict[str, Any]) -> None:
    assert int(service["stop_grace_period"].removesuffix("s")) >= 15
