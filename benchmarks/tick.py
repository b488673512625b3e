"""One whole tick against the floor: the bare GET and JSON decode of the same replies, in the same run.

Baseten allows 100 requests a second, so 500 jobs take 5 s of waiting; here the waiting turns the clock instead, so that
what is left is work. A tick fetches, decodes, normalizes, evaluates the starter rules and commits. The simulated
Baseten runs in a process of its own. Figures are CPU seconds of the whole process and wall seconds; the ratio is taken
pair by pair.

    .venv/bin/python benchmarks/tick.py                    # 500 jobs × 8 GPUs, 7 pairs
    .venv/bin/python benchmarks/tick.py --memory 1000      # resident memory over 1,000 ticks of 20 jobs
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

from watchdog.bootstrap import (
    Environment,
    GivenSecrets,
    build_program,
    build_sources,
    load_rules,
    point_at,
    starter_rules,
)
from watchdog.engine.engine import Engine
from watchdog.model import Snapshot
from watchdog.rules.model import Ruleset
from watchdog.service.memory import collect_sometimes, tune_collector
from watchdog.settings import Settings
from watchdog.simulated.baseten import KEY
from watchdog.store import SqlStore

THREADS = 8


@contextmanager
def simulated(jobs: int, gpus: int, hours: float = 2.0) -> Iterator[str]:
    """Run a simulated Baseten in a process of its own, with jobs that have run for so long; yield its URL."""
    command = [
        sys.executable,
        "-m",
        "watchdog.simulated",
        "--jobs",
        str(jobs),
        "--gpus",
        str(gpus),
        "--age",
        str(hours),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Turned(Environment):
    """The real environment, but its sleep turns the clock instead of waiting."""

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        OFFSET[0] += seconds


OFFSET = [0.0]


class Tick:
    """The real source, engine and store; one instance lives over all rounds."""

    def __init__(self, url: str, folder: Path, clock: Callable[[], float] | None = None) -> None:
        now = clock or (lambda: time.time() + OFFSET[0])
        settings = Settings(store=f"sqlite:///{folder}/watchdog.db")
        self.env = Turned(settings, GivenSecrets({"BASETEN_API_KEY": KEY}), clock=now)
        ruleset: Ruleset = point_at(load_rules(starter_rules()), {"baseten": url})
        self.sources = build_sources(ruleset, self.env)
        self.engine = Engine(build_program(ruleset, self.sources), Snapshot(), now())
        self.store = SqlStore(self.env.settings.store)
        tune_collector()  # as the service does

    def __call__(self) -> None:
        polls = [source.poll(self.engine.request(name, self.env.clock())) for name, source in self.sources.items()]
        assert all(poll.up for poll in polls), [poll.error for poll in polls]
        self.store.commit(self.engine.tick(self.env.clock(), polls).changes)


class Floor:
    """The bare GET and JSON decode of every job's newest metrics; a client per thread, which is the cheapest way."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}, timeout=30)
        self.own = threading.local()
        headers = {"Authorization": f"Bearer {KEY}"}

        def begin() -> None:
            self.own.client = httpx.Client(base_url=url, headers=headers, timeout=30)

        self.pool = ThreadPoolExecutor(THREADS, initializer=begin)
        listed = self.client.post("/v1/training_jobs/search", json={"statuses": ["TRAINING_JOB_RUNNING"]}).json()
        self.paths = [
            f"/v1/training_projects/{job['training_project_id']}/jobs/{job['id']}/metrics"
            for job in listed["training_jobs"]
        ]

    def __call__(self) -> None:
        now = int(time.time() * 1000)
        query = {"start_epoch_millis": now - 660_000, "end_epoch_millis": now, "step_seconds": 60}
        list(self.pool.map(lambda path: self.own.client.get(path, params=query).json(), self.paths))


def measure(run: Callable[[], None]) -> tuple[float, float]:
    """Return CPU and wall seconds of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def pairs(jobs: int, gpus: int, rounds: int) -> None:
    """Print both, in turn, and the ratios."""
    with simulated(jobs, gpus) as url, tempfile.TemporaryDirectory() as folder:
        floor, tick = Floor(url), Tick(url, Path(folder))
        print(f"{jobs} jobs × {gpus} GPUs, first tick (backfill): {measure(tick)[1]:.2f} s wall")
        floor()
        rows = []
        for number in range(rounds):
            a, b = measure(tick), measure(floor)
            rows.append((a[0] / b[0], a[1] / b[1]))
            print(f"{number}: tick {a[0]:.3f} cpu {a[1]:.3f} wall, floor {b[0]:.3f} cpu {b[1]:.3f} wall", flush=True)
        print(
            f"median ratio tick/floor: {statistics.median(r[0] for r in rows):.2f} cpu, "
            f"{statistics.median(r[1] for r in rows):.2f} wall"
        )


def memory(ticks: int) -> None:
    """Print resident memory over many ticks, time sped up: a minute passes between two of them."""
    with simulated(20, 8, ticks / 60 + 24) as url, tempfile.TemporaryDirectory() as folder:
        start, passed = time.time() - ticks * 60.0, [0.0]
        tick = Tick(url, Path(folder), clock=lambda: start + passed[0])
        for number in range(ticks + 1):
            tick()
            collect_sometimes(number)  # as the service does
            passed[0] += 60.0
            if number % max(1, ticks // 10) == 0:
                print(f"tick {number}: {resident():.1f} MB", flush=True)


def resident() -> float:
    """Return resident memory in MB (Linux), else the peak."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Run as told by the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--memory", type=int, metavar="TICKS")
    arguments = parser.parse_args()
    if arguments.memory:
        memory(arguments.memory)
    else:
        pairs(arguments.jobs, arguments.gpus, arguments.rounds)
    print(f"threads left: {threading.active_count()}")


if __name__ == "__main__":
    main()
