"""The samples of the longest window, in columns."""

from watchdog.history.history import History, HistoryStats, IngestReport, OwnRow, SeriesPoints

__all__ = ["History", "HistoryStats", "IngestReport", "OwnRow", "SeriesPoints"]
