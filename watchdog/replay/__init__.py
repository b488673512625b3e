"""Recorded history through the live engine: samples arrive tick by tick on a virtual clock."""

from watchdog.replay.arrivals import Arrival, Arrivals
from watchdog.replay.compare import Difference, difference_of
from watchdog.replay.figures import Extent, Figures, RuleFigures, extent_of, figures_of
from watchdog.replay.gather import Names, gather
from watchdog.replay.infos import infos_of, names_of
from watchdog.replay.ledger import Firing, Ledger
from watchdog.replay.onset import Onsets
from watchdog.replay.past import Past, read_past
from watchdog.replay.plain import difference_as_json, figures_as_json
from watchdog.replay.recording import RecordedJob, RecordedSeries, Recording
from watchdog.replay.run import replay

__all__ = [
    "Arrival",
    "Arrivals",
    "Difference",
    "Extent",
    "Figures",
    "Firing",
    "Ledger",
    "Names",
    "Onsets",
    "Past",
    "RecordedJob",
    "RecordedSeries",
    "Recording",
    "RuleFigures",
    "difference_as_json",
    "difference_of",
    "extent_of",
    "figures_as_json",
    "figures_of",
    "gather",
    "infos_of",
    "names_of",
    "read_past",
    "replay",
]
