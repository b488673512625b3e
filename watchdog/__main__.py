"""``python -m watchdog``."""

from __future__ import annotations

import sys

from watchdog.cli import main

if __name__ == "__main__":
    sys.exit(main())
