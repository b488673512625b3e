"""Recorded history through the live engine: samples arrive tick by tick on a virtual clock."""

from watchdog.replay.arrivals import Arrival, Arrivals
from watchdog.replay.figures import Extent, Figures, RuleFigures, figures_of
from watchdog.replay.gather import Names, gather
from watchdog.replay.infos import infos_of, names_of
from watchdog.replay.ledger import Firing, Ledger
from watchdog.replay.onset import Onsets
from watchdog.replay.recording import RecordedJob, RecordedSeries, Recording
from watchdog.replay.run import replay

__all__ = [
    "Arrival",
    "Arrivals",
    "Extent",
    "Figures",
    "Firing",
    "Ledger",
    "Names",
    "Onsets",
    "RecordedJob",
    "RecordedSeries",
    "Recording",
    "RuleFigures",
    "figures_of",
    "gather",
    "infos_of",
    "names_of",
    "replay",
]
