from typing import Any

import pytest
from pydantic import ValidationError

from watchdog.config import SourceConfig
from watchdog.model import Job, JobReading, JobStatus, Poll, PollRequest
from watchdog.sources import WithPages


class Cloud:
    """A source with one job."""

    name, provider, step = "alaya", "alayanew", 60.0
    closed = False

    def poll(self, request: PollRequest) -> Poll:
        job = Job("alaya", "alayanew", "a/b c", JobStatus.RUNNING, project="p 1", url="https://old.example")
        return Poll("alaya", request.now, request.now, readings=(JobReading(job, error="half"),))

    def close(self) -> None:
        self.closed = True


def test_each_job_gets_the_page_of_the_template() -> None:
    cloud = Cloud()
    source = WithPages(cloud, "https://console.example/{project}/jobs/{job}?tab=logs")
    poll = source.poll(PollRequest(1.0, {}, 60.0))
    assert poll.readings[0].job.url == "https://console.example/p%201/jobs/a%2Fb%20c?tab=logs"
    assert poll.readings[0].error == "half"
    assert (source.name, source.provider, source.step) == ("alaya", "alayanew", 60.0)
    source.close()
    assert cloud.closed


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("console.example/{job}", "is not an address"),
        ("https://console.example/", "is not an address"),
        ("https://console.example/ {job}", "is not an address"),
        ("https://console.example/{job}/{owner}", r"names \{owner\}; only \{job\} and \{project\}"),
    ],
)
def test_a_template_without_sense_is_refused(url: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        SourceConfig(name="a", type="x", job_url=url)


def test_a_template_is_kept_as_it_is() -> None:
    assert SourceConfig(name="a", type="x", job_url="http://c.example/{job}").job_url == "http://c.example/{job}"
    any_: Any = SourceConfig(name="a", type="x")
    assert any_.job_url is None
