"""``python -m watchdog.simulated``: a fake cloud in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest

from watchdog.simulated import alayanew, baseten
from watchdog.simulated.recordings import bundled


@pytest.mark.parametrize(
    ("words", "path", "key"),
    [
        (["--jobs", "2"], "/v1/training_projects", baseten.KEY),
        (["--cloud", "alayanew", "--jobs", "2"], "/v1/training/instance/list", alayanew.KEY),
        (["--replay", str(bundled()[0])], "/v1/training_projects", baseten.KEY),
    ],
)
def test_it_prints_its_url_and_serves(words: list[str], path: str, key: str) -> None:
    command = [sys.executable, "-m", "watchdog.simulated", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            answer = httpx.get(url + path, headers={"Authorization": f"Bearer {key}"}, timeout=10)
        finally:
            process.kill()
    assert answer.status_code == 200
