"""A real Prometheus that scrapes as docs/export.md says: labels arrive as the exported rules need them."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import yaml

from watchdog.export import export
from watchdog.rules.model import Rule

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
JOB = 'source="baseten",project="p",job="j1",job_name="llm"'
METRICS = f"""\
gpu_utilization{{{JOB},node="n0",gpu="0"}} 0.01
job_running_seconds{{{JOB}}} 3600
job_status{{{JOB},status="running"}} 1
cache_utilization{{source="baseten",project="p"}} 0.95
source_up{{source="baseten"}} 1
"""
RULES = [
    Rule("Idle", "gpu_utilization < 0.05", "r.toml:1", grace=60.0, summary="{{ labels.job_name }}"),
    Rule("Cache", "cache_utilization > 0.9", "r.toml:2", clear_expr="cache_utilization <= 0.8", summary="x"),
]


class Metrics(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(METRICS.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def target() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def prometheus(tmp_path: Path, target: str, make_ruleset: Any) -> Iterator[str]:
    """The address of a Prometheus that scrapes ``target`` every second and judges the exported rules."""
    (found,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    config = yaml.safe_load(found)
    config["scrape_configs"][0] |= {"scrape_interval": "1s", "static_configs": [{"targets": [target]}]}
    (tmp_path / "rules.yml").write_text(export(make_ruleset(*RULES), 1.0).text, encoding="utf-8")
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump({**config, "rule_files": ["rules.yml"]}), encoding="utf-8")
    for program in ("promtool", "prometheus"):
        assert shutil.which(program), f"{program} is missing; install Debian's package prometheus"
    subprocess.run(["promtool", "check", "config", str(file)], check=True, capture_output=True)
    port = free_port()
    words = [f"--config.file={file}", f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"]
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(["prometheus", *words], stdout=log, stderr=log)
        yield f"http://127.0.0.1:{port}"
        running.terminate()
        running.wait(20)


def free_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), Metrics) as server:
        return server.server_port


def asked(url: str, query: str) -> list[dict[str, str]]:
    """Return the labels that a query finds; none while the server does not answer yet."""
    try:
        answer = httpx.get(f"{url}/api/v1/query", params={"query": query}, timeout=5.0)
    except httpx.TransportError:
        return []
    return [item["metric"] for item in answer.json()["data"]["result"]] if answer.is_success else []


def wait_for(url: str, query: str, count: int) -> list[dict[str, str]]:
    deadline = time.monotonic() + 30
    while len(found := asked(url, query)) < count:
        assert time.monotonic() < deadline, f"{query} finds {found}"
        time.sleep(0.05)
    return found


def test_labels_arrive_as_the_rules_know_them_and_the_rules_fire(prometheus: str) -> None:
    project = {"source": "baseten", "project": "p"}
    job = {**project, "job": "j1", "job_name": "llm"}
    alerts = wait_for(prometheus, "ALERTS", 2)
    assert sorted(alerts, key=lambda labels: labels["alertname"]) == [
        {"__name__": "ALERTS", "alertname": "Cache", "alertstate": "firing", **project},
        {"__name__": "ALERTS", "alertname": "Idle", "alertstate": "firing", **job, "node": "n0", "gpu": "0"},
    ]
    assert asked(prometheus, "cache_utilization") == [{"__name__": "cache_utilization", **project}]
    assert asked(prometheus, "source_up") == [{"__name__": "source_up", "source": "baseten"}]
    assert [labels["job"] for labels in asked(prometheus, "up")] == ["watchdog"]
