"""Twenty alerting rules over many series: our engine, the real Prometheus and VictoriaMetrics, in one run.

One hour of 60-second samples of four metrics. Each engine runs in a process of its own on the same samples and
the same 20 rules, whose windows and shapes differ. Ours takes them in by the way that polls take, and judges by
the code of the service. Printed: time of one evaluation of the group, CPU seconds where they are known, and peak
resident memory, with the ratios to ours.

    .venv/bin/python benchmarks/rules.py                      # 10,000 series
    .venv/bin/python benchmarks/rules.py --series 100000
    .venv/bin/python benchmarks/rules.py --only ours --profile
"""

from __future__ import annotations

import argparse
import cProfile
import json
import multiprocessing
import pstats
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from watchdog.alerts.evaluation import Context
from watchdog.alerts.judge import Judge
from watchdog.alerts.program import compile_rule
from watchdog.history import History, SeriesPoints
from watchdog.jobs.registry import Registry
from watchdog.jobs.sources import SourceInfo, Sources
from watchdog.model import Job, JobRecord, JobStatus, Points, Poll
from watchdog.rules.model import Rule

SAMPLES = 60
STEP = 60.0
METRICS = ("gpu_utilization", "gpu_memory_utilization", "gpu_memory_usage_bytes", "gpu_power_watts")
GPUS = 8
RULES = {
    "avg 15m": "avg_over_time(gpu_utilization[15m]) < 0.05",
    "max 20m": "max_over_time(gpu_utilization[20m]) < 0.05",
    "min 5m": "min_over_time(gpu_memory_utilization[5m]) > 0.999",
    "quantile 15m": "quantile_over_time(0.95, gpu_utilization[15m]) < 0.05",
    "stddev 30m": "stddev_over_time(gpu_power_watts[30m]) > 900",
    "avg 1h": "avg_over_time(gpu_power_watts[1h]) > 900",
    "delta 30m": "delta(gpu_memory_usage_bytes[30m]) > 1e12",
    "deriv 1h": "deriv(gpu_memory_usage_bytes[1h]) > 1e9",
    "predict 1h": "predict_linear(gpu_memory_usage_bytes[1h], 14400) > 1e14",
    "rate 10m": "rate(gpu_power_watts[10m]) > 1e3",
    "changes 10m": "changes(gpu_utilization[10m]) > 100",
    "ratio": "gpu_memory_usage_bytes / gpu_power_watts > 1e14",
    "sum by job": "sum by (source, job) (gpu_utilization) < 0.05",
    "count by job": "count by (source, job) (gpu_utilization < 0.001) > 7",
    "topk": "topk(5, gpu_power_watts) > 1e4",
    "and": "max_over_time(gpu_utilization[15m]) < 0.1 and min_over_time(gpu_memory_utilization[15m]) > 0.5",
    "unless": "gpu_utilization < 0.0001 unless gpu_power_watts > 0.2",
    "lagging": (
        "avg_over_time(gpu_utilization[10m]) / on (source, job) group_left () "
        "avg by (source, job) (avg_over_time(gpu_utilization[10m])) < 0.05"
    ),
    "offset": "gpu_utilization - gpu_utilization offset 30m > 1",
    "threshold": "gpu_memory_utilization > 2",
}
"""Alerts fire for hardly any series: what is measured is evaluating, not telling."""


@dataclass(frozen=True)
class Result:
    """What one engine needed."""

    seconds: float
    """One evaluation of the group."""
    cpu: float | None
    peak_mb: float


def labels_of(job: int, gpu: int) -> dict[str, str]:
    """Return the labels that a job's GPU has."""
    return {
        "source": "baseten",
        "provider": "baseten",
        "project": f"p{job // 100}",
        "project_name": f"project {job // 100}",
        "job": f"job{job}",
        "job_name": f"run-{job}",
        "owner": f"user{job % 50}@example.com",
        "gpu_type": "H100",
        "node": "node-0",
        "gpu": str(gpu),
    }


def values_of(metric: int, job: int, gpu: int) -> list[float]:
    """Return an hour of made-up samples, the same in every process."""
    source = random.Random(metric * 1_000_003 + job * 31 + gpu)  # noqa: S311
    scale = (1.0, 1.0, 8e10, 700.0)[metric]
    return [round(source.uniform(0.1, 0.9) * scale, 3) for _ in range(SAMPLES)]


def jobs_of(series: int) -> int:
    """Return how many jobs give so many series."""
    return series // (GPUS * len(METRICS))


# --- ours -----------------------------------------------------------------------------------------


def ours(series: int, end: float, answer: object, *, profile: bool = False) -> None:
    """Take everything in, evaluate a few times; put a Result into the queue."""
    times = [end - STEP * (SAMPLES - 1 - number) for number in range(SAMPLES)]
    history, records = History(retention=3600.0 + STEP), []
    for job in range(jobs_of(series)):
        whole = labels_of(job, 0)
        own = {name: whole[name] for name in whole if name not in ("node", "gpu")}
        found = Job("baseten", "baseten", own["job"], JobStatus.RUNNING, project=own["project"], gpus=GPUS, nodes=1)
        records.append(JobRecord(found, first_seen=times[0], running_since=times[0]))
        base = tuple(sorted(own.items()))
        points = [
            SeriesPoints(
                base, Points(name, (("gpu", str(gpu)), ("node", "node-0")), times, values_of(metric, job, gpu))
            )
            for metric, name in enumerate(METRICS)
            for gpu in range(GPUS)
        ]
        history.ingest(points, STEP, end)
    info = SourceInfo("baseten", 60.0, STEP, 300.0)
    sources = Sources([info], end)
    sources.apply([Poll("baseten", end, end)], end)
    rules = [compile_rule(Rule(f"R{n}", expr, "", for_seconds=600.0)) for n, expr in enumerate(RULES.values())]
    judge = Judge(rules)
    context = Context(history, Registry(records), sources, end + 1.0, 60.0, 300.0, 3660.0)
    judgement = judge.judge(context)
    assert not judgement.failures, judgement.failures
    if profile:
        profiler = cProfile.Profile()
        profiler.runcall(judge.judge, context)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(15)
    best = (float("inf"), 0.0)
    for _ in range(5):
        wall, cpu = time.perf_counter(), time.process_time()
        judge.judge(context)
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu))
    answer.put(Result(*best, peak("self")))  # type: ignore[attr-defined]


def run_ours(series: int, end: float, *, profile: bool) -> Result:
    """Run ours in a process of its own."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=ours, args=(series, end, answer), kwargs={"profile": profile})
    process.start()
    found: Result = answer.get()
    process.join()
    return found


# --- the peers ------------------------------------------------------------------------------------


def exposition(series: int, end: float) -> Iterator[str]:
    """Yield the samples as text with times in milliseconds."""
    times = [int((end - STEP * (SAMPLES - 1 - number)) * 1000) for number in range(SAMPLES)]
    for metric, name in enumerate(METRICS):
        yield f"# TYPE {name} gauge\n"
        for job in range(jobs_of(series)):
            for gpu in range(GPUS):
                inner = ",".join(f'{key}="{value}"' for key, value in labels_of(job, gpu).items())
                head = f"{name}{{{inner}}} "
                rows = zip(values_of(metric, job, gpu), times, strict=True)
                yield "".join(f"{head}{value} {at}\n" for value, at in rows)


def written(series: int, end: float, per_request: int = 500) -> Iterator[bytes]:
    """Yield bodies of Prometheus's remote write protocol, version 0.1: protobuf in snappy's block format."""
    times = [int((end - STEP * (SAMPLES - 1 - number)) * 1000) for number in range(SAMPLES)]
    body, count = bytearray(), 0
    for metric, name in enumerate(METRICS):
        for job in range(jobs_of(series)):
            for gpu in range(GPUS):
                labels = sorted({"__name__": name, **labels_of(job, gpu)}.items())
                one = b"".join(_field(0x0A, _field(0x0A, k.encode()) + _field(0x12, v.encode())) for k, v in labels)
                rows = zip(values_of(metric, job, gpu), times, strict=True)
                one += b"".join(
                    _field(0x12, b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(at)) for value, at in rows
                )
                body += _field(0x0A, one)
                count += 1
                if count == per_request:
                    yield _snappy(bytes(body))
                    body, count = bytearray(), 0
    yield _snappy(bytes(body))


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _field(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + _varint(len(content)) + content


def _snappy(content: bytes) -> bytes:
    """Return snappy's block format without compressing: its length, then literals of at most 64 KiB."""
    parts = [content[start : start + 65536] for start in range(0, len(content), 65536)]
    return _varint(len(content)) + b"".join(b"\xf4" + struct.pack("<H", len(p) - 1) + p for p in parts)


def rule_file(folder: Path, interval: str) -> Path:
    """Write the rules as Prometheus reads them."""
    rules = [{"alert": f"R{n}", "expr": expr, "for": "10m"} for n, expr in enumerate(RULES.values())]
    path = folder / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "bench", "interval": interval, "rules": rules}]}))
    return path


def peak(pid: int | str) -> float:
    """Return a process's peak resident memory in MB (Linux)."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", text)
    assert found is not None
    return int(found[1]) / 1024


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the end of the block."""
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield process
        finally:
            process.terminate()


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def metric_of(url: str, pattern: str) -> float:
    """Return a number from a page of metrics; 0 while there is none."""
    try:
        text = httpx.get(url, timeout=10, trust_env=False).text
    except httpx.TransportError:
        return 0.0
    found = re.search(pattern + r"[^\n]* ([0-9.e+-]+)\n", text)
    return float(found[1]) if found else 0.0


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until a condition holds. Raises SystemExit when it does not."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise SystemExit(f"{what} did not come within {seconds:.0f} s")
        time.sleep(0.2)


def run_prometheus(series: int, end: float) -> Result:
    """Write the samples into the head of the real Prometheus, as if it had scraped them, and let it evaluate."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        rules = rule_file(folder, "5s")
        config = folder / "prometheus.yml"
        config.write_text("{}")
        url = f"http://127.0.0.1:{port}"
        flags = [
            f"--config.file={config}",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        features = ["--web.enable-remote-write-receiver", "--web.enable-lifecycle"]
        with running("prometheus", *flags, *features) as process:
            wait_for(lambda: metric_of(f"{url}/metrics", "prometheus_ready") > 0, 30, "Prometheus")
            headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
            for body in written(series, end):
                answer = httpx.post(f"{url}/api/v1/write", content=body, headers=headers, timeout=60, trust_env=False)
                assert answer.status_code == 204, answer.text
            config.write_text(json.dumps({"rule_files": [str(rules)]}))
            httpx.post(f"{url}/-/reload", timeout=60, trust_env=False)
            iterations = "prometheus_rule_group_iterations_total{"
            wait_for(lambda: metric_of(f"{url}/metrics", iterations) >= 1, 240, "Prometheus's first evaluation")
            before, done = cpu_of(process.pid), metric_of(f"{url}/metrics", iterations)
            wait_for(lambda: metric_of(f"{url}/metrics", iterations) > done, 240, "Prometheus's second evaluation")
            last = metric_of(f"{url}/metrics", "prometheus_rule_group_last_duration_seconds{")
            return Result(last, cpu_of(process.pid) - before, peak(process.pid))


def run_victoria(series: int, end: float) -> Result:
    """Give VictoriaMetrics the samples over HTTP, and let vmalert evaluate twice. Memory is that of both."""
    with tempfile.TemporaryDirectory() as name:
        folder, port, alerts = Path(name), free_port(), free_port()
        store = ("victoria-metrics", f"-storageDataPath={folder}/data", f"-httpListenAddr=127.0.0.1:{port}")
        url, own = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{alerts}/metrics"
        with running(*store, "-search.maxUniqueTimeseries=1000000") as database:
            wait_for(lambda: metric_of(f"{url}/metrics", "vm_app_uptime_seconds") > 0, 30, "VictoriaMetrics")
            batch: list[str] = []
            for text in exposition(series, end):
                batch.append(text)
                if len(batch) >= 500:
                    httpx.post(f"{url}/api/v1/import/prometheus", content="".join(batch), timeout=60, trust_env=False)
                    batch.clear()
            httpx.post(f"{url}/api/v1/import/prometheus", content="".join(batch), timeout=60, trust_env=False)
            time.sleep(2)  # what was imported becomes visible
            rules = rule_file(folder, "5s")
            command = ("vmalert", f"-rule={rules}", f"-datasource.url={url}", "-notifier.url=http://127.0.0.1:9")
            with running(*command, f"-httpListenAddr=127.0.0.1:{alerts}") as process:
                total, count = "vmalert_iteration_duration_seconds_sum{", "vmalert_iteration_duration_seconds_count{"
                wait_for(lambda: metric_of(own, count) >= 1, 240, "vmalert's first evaluation")
                first, before = metric_of(own, total), cpu_of(database.pid) + cpu_of(process.pid)
                wait_for(lambda: metric_of(own, count) >= 2, 240, "vmalert's second evaluation")
                cpu = cpu_of(database.pid) + cpu_of(process.pid) - before
                return Result(metric_of(own, total) - first, cpu, peak(database.pid) + peak(process.pid))


def main() -> None:
    """Run as told by the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--only", choices=("ours", "prometheus", "victoria"))
    parser.add_argument("--profile", action="store_true", help="show where ours spends its time")
    arguments = parser.parse_args()
    peers = {"prometheus": (run_prometheus, "prometheus"), "victoria": (run_victoria, "vmalert")}
    end = float(int(time.time() // STEP) * STEP)
    base = None
    if arguments.only in (None, "ours"):
        base = run_ours(arguments.series, end, profile=arguments.profile)
        show("ours", base, base)
    for name, (run, program) in peers.items():
        if arguments.only not in (None, name):
            continue
        if shutil.which(program) is None:
            print(f"{name:12} left out: {program} is missing (Debian: prometheus, victoria-metrics)", file=sys.stderr)
            continue
        show(name, run(arguments.series, float(int(time.time() // STEP) * STEP)), base)


def show(name: str, found: Result, base: Result | None) -> None:
    """Print one row."""
    ratios = ""
    if base is not None and base is not found:
        ratios = f"   × {found.seconds / base.seconds:.0f} time, × {found.peak_mb / base.peak_mb:.1f} memory"
    cpu = "" if found.cpu is None else f", {found.cpu:.3f} s CPU"
    print(f"{name:12} {found.seconds:8.3f} s{cpu}, {found.peak_mb:6.0f} MB{ratios}", flush=True)


if __name__ == "__main__":
    main()
