"""``python -m watchdog.simulated``: a fake cloud in a process of its own; prints its URL and serves until killed."""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path

from watchdog.simulated import alayanew, baseten
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.recordings import job_of, read_run
from watchdog.simulated.server import FakeServer
from watchdog.simulated.world import World, fleet_world


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(
        prog="python -m watchdog.simulated",
        description="A fake cloud in a process of its own; prints its URL and serves until killed.",
        epilog=f"Keys: {baseten.KEY} for baseten, {alayanew.KEY} for alayanew.",
    )
    parser.add_argument("--cloud", choices=("baseten", "alayanew"), default="baseten", help="default: baseten")
    parser.add_argument("--jobs", type=int, default=10, help="busy jobs (default: 10)")
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of each (default: 8)")
    parser.add_argument("--age", type=float, default=2.0, metavar="HOURS", help="how long they have run (default: 2)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="serve a recorded run instead")
    parser.add_argument("--since", type=float, help="unix time at which the recorded run began (default: now)")
    parser.add_argument(
        "--rate",
        type=int,
        default=1000,
        help="requests a second and endpoint, of baseten only (default: 1000; the real one allows 100)",
    )
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    given = parser.parse_args()
    world = fleet_world(given.jobs, given.gpus, time.time, given.age * 3600.0)
    if given.replay:
        start = given.since if given.since is not None else time.time()
        world = World([job_of(read_run(given.replay), start)], time.time)
    fake = FakeBaseten(world, rate=given.rate) if given.cloud == "baseten" else FakeAlaya(world)
    with FakeServer(fake.handle, port=given.port) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
