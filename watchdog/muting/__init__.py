"""When not to ping: silences, inhibition, mute times. What is muted is still judged, shown and closed."""

from watchdog.muting.mutes import Mutes
from watchdog.muting.silences import Silences, check_silence

__all__ = ["Mutes", "Silences", "check_silence"]
