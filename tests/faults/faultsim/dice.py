"""What goes wrong and when, from one seed."""

from __future__ import annotations

import random
from collections import Counter

CLASSES: dict[str, float] = {
    # the wire to Slack and to the webhook
    "refused": 0.05,
    "lost before": 0.04,
    "lost after": 0.06,
    "timeout before": 0.03,
    "timeout after": 0.05,
    "limited": 0.05,
    "server error": 0.05,
    "server error after": 0.04,
    "page": 0.03,
    "slow": 0.06,
    "transient word": 0.04,
    "transient word after": 0.03,
    "content word": 0.02,
    "unknown word": 0.02,
    "crash before send": 0.01,
    "crash after send": 0.02,
    # the disk
    "locked": 0.02,
    "full": 0.01,
    "commit unsure": 0.02,
    "crash before commit": 0.008,
    "crash after commit": 0.008,
    # the clouds
    "cloud": 0.02,
    "outage": 0.004,
    # people and administrators, per simulated minute
    "parent deleted": 0.03,
    "channel archived": 0.01,
    "token revoked": 0.01,
    "edit window": 0.02,
}
"""Chance of each class at each occasion, when the seed lets it happen at all."""


class Dice:
    """Draws faults; each seed has its own mix of classes, so that some happen often and others never."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.calm = False
        """Nothing goes wrong any more."""
        self.drawn: Counter[str] = Counter()
        self._chance = {name: chance * self.random.choice((0.0, 1.0, 3.0)) for name, chance in CLASSES.items()}

    def happens(self, name: str) -> bool:
        """Draw one class."""
        if self.calm or self.random.random() >= self._chance[name]:
            return False
        self.drawn[name] += 1
        return True

    def first(self, *names: str) -> str:
        """Draw classes in turn; return the first that happens, or an empty string."""
        return next((name for name in names if self.happens(name)), "")
