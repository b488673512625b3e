"""A try of an Alaya NeW source: is the key accepted, are the named jobs there?

The job list is not in the provider's API document, so a source without it is fine as long as its named jobs answer.
"""

from __future__ import annotations

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import Level, Remark
from watchdog.sources.alayanew.api import AlayaNewApi, JobList
from watchdog.sources.alayanew.config import AlayaNewConfig, zone_of
from watchdog.sources.alayanew.reply import job_of
from watchdog.sources.base import run_all, trials

_THREADS = 4
_UNKNOWN = frozenset({SourceErrorKind.NOT_FOUND, SourceErrorKind.CREDENTIALS})
"""How the provider may answer for a job that it does not know, or that is another account's: 404, 403."""


def try_out(config: AlayaNewConfig, api: AlayaNewApi, deadline: float) -> list[Remark]:
    """Return what was found; see ``ports.Triable``."""
    try:
        remarks = _look(config, api, deadline)
    except SourceError as error:
        remarks = [trials.failed(error, config.secrets)]
    return [*remarks, *trials.clock(api.http.clock_difference())]


def _look(config: AlayaNewConfig, api: AlayaNewApi, deadline: float) -> list[Remark]:
    listing = _list(api, deadline)
    if isinstance(listing, SourceError) and config.discover:
        raise listing
    unlisted = [job for job in config.jobs if not (isinstance(listing, JobList) and job in listing.rows)]

    def read(job: str) -> SourceError | None:
        try:
            api.metrics(job, "gpu", "15m", deadline)
        except SourceError as error:
            return error
        return None

    answers = dict(zip(unlisted, run_all(read, unlisted, _THREADS, api.http.stopped), strict=True))
    errors = {job: error for job, error in answers.items() if error is not None}
    if isinstance(listing, SourceError) and errors and len(errors) == len(answers):
        raise next(iter(errors.values()))  # nothing has shown that the key is accepted
    missing = [job for job, error in errors.items() if error.kind in _UNKNOWN]
    broken = [error for error in errors.values() if error.kind not in _UNKNOWN]
    counted = trials.counted("job", config.jobs, list(errors))
    return [
        trials.accepted(counted, _active(config, listing)),
        *trials.not_found("job", missing),
        *(trials.failed(error, config.secrets) for error in broken),
        *_note(listing),
    ]


def _list(api: AlayaNewApi, deadline: float) -> JobList | SourceError:
    try:
        return api.jobs(deadline)
    except SourceError as error:
        return error


def _active(config: AlayaNewConfig, listing: JobList | SourceError) -> int | None:
    """Return how many of the watched jobs are not over; None without the list, which alone tells."""
    if not isinstance(listing, JobList):
        return None
    watched = (
        listing.rows if config.discover else {job: listing.rows[job] for job in config.jobs if job in listing.rows}
    )
    jobs = [job_of(row, config.name, zone_of(config.timezone)) for row in watched.values()]
    return sum(not job.status.terminal for job in jobs)


def _note(listing: JobList | SourceError) -> list[Remark]:
    if isinstance(listing, JobList):
        return []
    text = f"the job list cannot be read ({listing}): whether a job failed or completed cannot be told"
    return [Remark(Level.NOTE, text)]
