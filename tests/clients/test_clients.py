"""Baseten's own SDK and truss, which know nothing of this project, read the simulated Baseten without error."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watchdog.simulated.baseten import KEY, FakeBaseten
from watchdog.simulated.scenario import demo_world
from watchdog.simulated.server import FakeServer

HERE = Path(__file__).parent
PYTHON = HERE.parent.parent / ".venv-clients" / "bin" / "python"
PROJECT, JOB = "prvision", "jb3vlmpt"


@pytest.fixture
def url() -> Iterator[str]:
    start = time.time() // 60 * 60
    with FakeServer(FakeBaseten(demo_world(start, time.time).baseten).handle) as server:
        yield server.url


def read(script: str, url: str) -> dict[str, Any]:
    assert PYTHON.exists(), "the clients are not installed; run .ci/clients-venv"
    command = [str(PYTHON), str(HERE / script), url, KEY, PROJECT, JOB]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_sdk_reads_everything(url: str) -> None:
    found = read("read_with_sdk.py", url)
    assert found["projects"] == ["prllama", "prvision"]
    assert found["project"] == PROJECT
    assert set(found["jobs"]) == {"jb3vlmpt", "jb4dpo70", "jb5sweep", "jb6night"}
    assert len(found["searched"]) == 6
    assert found["status"] == "TRAINING_JOB_RUNNING"
    assert found["nodes"] == ["node-0", "node-1", "node-2", "node-3"]
    assert found["ranks"] == found["posted"] == ["0", "1", "2", "3"]
    assert 0.9 < found["first"] <= 1.0
    assert found["cache"] is False


def test_truss_reads_and_stops(url: str) -> None:
    found = read("read_with_truss.py", url)
    assert found["projects"] == ["prllama", "prvision"]
    assert set(found["jobs"]) == {"jb3vlmpt", "jb4dpo70", "jb5sweep", "jb6night"}
    assert len(found["searched"]) == 6
    assert found["nodes"] == ["node-0", "node-1", "node-2", "node-3"]
    assert found["ranks"] == ["0", "1", "2", "3"]
    assert found["stopped"] == "TRAINING_JOB_STOPPED"
