"""What a try of a source says, whatever the provider: its errors with remedies, its clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from watchdog.config import EnvRef
from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import TLS_REMEDY, Level, Remark

TRIAL_SECONDS = 20.0
"""How long the calls of one try may take together: less than whoever asked for it waits."""
CLOCK_SLACK = 60.0
"""Seconds by which our clock may differ from the provider's: samples are matched by time."""


def failed(error: SourceError, secrets: Sequence[EnvRef]) -> Remark:
    """Return the remark for a source that cannot be read; ``secrets`` are those that it uses."""
    return Remark(Level.FAILED, str(error), _remedy(error, [ref.env for ref in secrets]))


def _remedy(error: SourceError, variables: Sequence[str]) -> str:
    said = str(error)
    if error.kind is SourceErrorKind.CREDENTIALS:
        return "" if any(name in said for name in variables) else f"set a valid key in {' and '.join(variables)}"
    if error.kind is SourceErrorKind.RATE_LIMITED:
        wait = "a minute" if error.retry_after is None else f"{error.retry_after:.0f} s"
        return f"wait {wait} and try again"
    if error.kind is SourceErrorKind.UNAVAILABLE and "SSL" in said:
        return TLS_REMEDY
    if error.kind is SourceErrorKind.UNAVAILABLE:
        return "check base_url and the network; if both are right, try again later"
    return "" if "base_url" in said else "check base_url and the other keys of this source"


def clock(difference: float | None) -> list[Remark]:
    """Return a note if our clock is that many seconds off (positive: ahead) and it matters."""
    if difference is None or abs(difference) <= CLOCK_SLACK:
        return []
    way = "ahead of" if difference > 0 else "behind"
    text = f"this machine's clock is {abs(difference):.0f} s {way} the provider's"
    return [Remark(Level.NOTE, text, "set it, for example by NTP: samples would look old or come from the future")]


def not_found(kind: str, given: Iterable[str], names: Mapping[str, str] = MappingProxyType({})) -> list[Remark]:
    """Return a remark for each id of the rules file that the provider does not know; ``kind``: project or job.

    ``names`` has the ids by name of those that it does know: a name in the place of an id is a likely slip.
    """
    usual = f"correct {kind}s of this source, or use a key that may see it"
    return [
        Remark(
            Level.FAILED,
            f'there is no {kind} "{id_}", or not for this key',
            f'"{id_}" is a name: write the id, "{names[id_]}"' if id_ in names else usual,
        )
        for id_ in given
    ]


def accepted(named: Sequence[str], active: int | None) -> Remark:
    """Return the good news; ``named`` are such as ``2 of 3 named jobs found``, ``active`` jobs None if not known."""
    jobs = [] if active is None else [f"{active} active job{'' if active == 1 else 's'}"]
    return Remark(Level.OK, ", ".join(("the key is accepted", *named, *jobs)))


def counted(kind: str, ids: Sequence[str], missing: Sequence[str]) -> list[str]:
    """Return how many of the named things were found; empty if none are named."""
    return [f"{len(ids) - len(missing)} of {len(ids)} named {kind}{'s' * (len(ids) > 1)} found"] if ids else []
