"""Runs histories by hand: ``python -m faultsim --first 0 --seeds 10000``; prints what must not be, by seed."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from faultsim.explore import Tally, explore

CHUNK = 25


def main() -> int:
    """Run the seeds over all cores; return 1 if any invariant was broken."""
    parser = argparse.ArgumentParser(prog="python -m faultsim", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=2000, help="how many")
    given = parser.parse_args()
    chunks = [
        range(first, min(first + CHUNK, given.first + given.seeds))
        for first in range(given.first, given.first + given.seeds, CHUNK)
    ]
    total = Tally()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for tally in pool.map(explore, chunks):
            for text in tally.broken:
                sys.stdout.write(f"{text}\n")
            total = total + tally
    sys.stdout.write(f"{total}\n")
    return int(bool(total.broken))


if __name__ == "__main__":
    raise SystemExit(main())
