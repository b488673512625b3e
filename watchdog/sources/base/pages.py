"""A source whose jobs have pages of their own, where the rules file says so (``job_url``)."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from watchdog.model import Job, Poll, PollRequest
from watchdog.ports import Source


class WithPages:
    """Any source, with ``job_url`` in place of what the provider says or does not say of a job's page."""

    def __init__(self, source: Source, job_url: str) -> None:
        self._source = source
        self._job_url = job_url

    @property
    def name(self) -> str:
        """See ``ports.Source``."""
        return self._source.name

    @property
    def provider(self) -> str:
        """See ``ports.Source``."""
        return self._source.provider

    @property
    def step(self) -> float:
        """See ``ports.Source``."""
        return self._source.step

    def poll(self, request: PollRequest) -> Poll:
        """Poll, and give each job its page; see ``ports.Source``."""
        poll = self._source.poll(request)
        readings = (replace(reading, job=self._with_page(reading.job)) for reading in poll.readings)
        return replace(poll, readings=tuple(readings))

    def close(self) -> None:
        """See ``ports.Source``."""
        self._source.close()

    def _with_page(self, job: Job) -> Job:
        url = self._job_url.replace("{project}", quote(job.project, safe="")).replace("{job}", quote(job.job, safe=""))
        return replace(job, url=url)
