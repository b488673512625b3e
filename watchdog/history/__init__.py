"""The samples of the longest window, in columns; memory is bounded by the retention."""

from watchdog.history.batch import HistoryStats, IngestReport, OwnRow, SeriesPoints
from watchdog.history.history import FUTURE_TOLERANCE, History

__all__ = ["FUTURE_TOLERANCE", "History", "HistoryStats", "IngestReport", "OwnRow", "SeriesPoints"]
