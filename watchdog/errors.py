"""Every error that watchdog raises on purpose.

WatchdogError
├── UsageError              wrong command line or environment (exit status 2)
├── RulesError              a rules file that cannot be used; carries every Problem found (exit 2)
├── PromQLError             an expression that cannot be parsed or is not supported; carries its place
├── EvaluationError         an expression that failed on this data (this rule only, this tick only)
├── SourceError             a provider could not be read; carries a SourceErrorKind
├── DeliveryError           a receiver did not take a message; carries a DeliveryErrorKind
├── QueryError              a query has no answer; carries the kind of Prometheus's HTTP API
├── Unavailable             the service cannot answer a question now
│   └── TooLate             it did not come to an answer in time
└── StoreError              the store cannot be opened, read or written
    ├── SchemaTooNew        the store was written by a newer watchdog
    └── LeaseLost           another process writes the store now
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class WatchdogError(Exception):
    """Base of all errors that watchdog raises on purpose; its text is meant for users."""


class UsageError(WatchdogError):
    """The command line or the environment is wrong; the text names the remedy."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a rules file: where it is, what is wrong, and what to do about it."""

    file: str
    line: int
    """1-based; 0 when the mistake has no line of its own (a missing file, a missing table)."""
    key: str
    """Dotted path of the key, such as ``rules[2].window``; empty for the file as a whole."""
    reason: str
    remedy: str
    excerpt: str = ""
    """The line of an expression that is wrong, and carets below the place; empty for what is no expression."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        key = f"{self.key}: " if self.key else ""
        return f"{place}: {key}{self.reason}; {self.remedy}"


class RulesError(WatchdogError):
    """A rules file cannot be used; ``problems`` holds every mistake found, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class PromQLError(WatchdogError):
    """An expression is wrong or uses what the engine does not support.

    ``start`` and ``end`` are character offsets into ``text`` (half open) of the offending part.
    """

    def __init__(self, text: str, start: int, end: int, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.text = text
        self.start = start
        self.end = end
        self.reason = reason
        self.remedy = remedy


class EvaluationError(WatchdogError):
    """An expression failed on the data at hand (for example a many-to-many match).

    ``start`` and ``end`` are the character offsets of the part that failed, once they are known.
    """

    def __init__(self, message: str, start: int | None = None, end: int | None = None) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


class SourceErrorKind(StrEnum):
    """Why a provider could not be read; decides the retry policy."""

    CREDENTIALS = "credentials"
    """401, 403, or a body code that says so: stop polling this account, retry slowly."""
    CONFIGURATION = "configuration"
    """A wrong base URL, prefix or option: no retry before somebody acts, retry slowly."""
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    """5xx, timeouts, refused connections, proxy pages: retry with backoff."""
    MALFORMED = "malformed"
    """An answer that is not what the provider's contract says: retry with backoff."""
    NOT_FOUND = "not_found"


class SourceError(WatchdogError):
    """A provider could not be read. The text never holds a credential."""

    def __init__(self, kind: SourceErrorKind, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds that the provider asked to wait, when it did."""


class DeliveryErrorKind(StrEnum):
    """What a failed delivery means for the sender (reference: Slack error classes)."""

    PERMANENT = "permanent"
    """Configuration or authorization: stop this receiver, keep its outbox rows, say so elsewhere."""
    CONTENT = "content"
    """The message itself was refused: try once more as plain text."""
    TRANSIENT = "transient"
    """Wait (``retry_after``, else backoff) and try again, in order."""
    QUOTA = "quota"
    """A workspace limit: long backoff and a word to the operators."""


class DeliveryError(WatchdogError):
    """A receiver did not take a message. The text names the channel or host, never a URL or token."""

    def __init__(
        self,
        kind: DeliveryErrorKind,
        message: str,
        *,
        reason: str,
        retry_after: float | None = None,
        ambiguous: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.reason = reason
        """Short machine word for logs and metrics: Slack's code, or Alertmanager's failure reason."""
        self.retry_after = retry_after
        self.ambiguous = ambiguous
        """True when the receiver may have taken the message all the same (a timeout after sending)."""
        self.blind = False
        """True when it is ambiguous and the next try has no way to find out: it may say the message again."""
        self.unsure = False
        """True when nobody knows what the answer means: transient for some tries, then permanent."""


class QueryError(WatchdogError):
    """A query has no answer."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        """``bad_data``, ``execution``, ``timeout``, ``unavailable``, … as in Prometheus's HTTP API."""


class Unavailable(WatchdogError):
    """The service cannot answer a question now: it stops, or too many wait."""


class TooLate(Unavailable):
    """The service did not come to an answer in time."""


class StoreError(WatchdogError):
    """The store cannot be opened, read or written."""


class SchemaTooNew(StoreError):
    """The store was written by a newer watchdog than this one."""


class LeaseLost(StoreError):
    """Another process has taken over the store; this one must write and send nothing any more."""
