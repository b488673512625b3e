"""The section of a Baseten source in the rules file."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from watchdog.config import EnvRef, SourceConfig
from watchdog.sources.base import BaseUrl, Ids, Seconds

ALL = "*"


def _whole(value: float) -> float:
    if value != int(value):
        raise ValueError("is not a whole number of seconds; the API takes no other")
    return value


class BasetenConfig(SourceConfig):
    """A Baseten organisation: all its projects, some of them, or some jobs."""

    type: Literal["baseten"]
    projects: Ids = (ALL,)
    """Project ids, or ``*`` for all that the key may see."""
    jobs: Ids = ()
    """Job ids to watch; without ``projects`` only these."""
    api_key: EnvRef = EnvRef(env="BASETEN_API_KEY")
    base_url: BaseUrl = "https://api.baseten.co"
    step: Annotated[Seconds, AfterValidator(_whole)] = 60.0
    """Seconds between two samples, as asked of the provider."""
    prices: bool = True
    """Whether to read list prices, for costs."""
    timeout: Seconds = 30.0
    """Seconds without a byte after which a read is given up."""

    @model_validator(mode="after")
    def _something_to_watch(self) -> Self:
        if ALL in self.projects and len(self.projects) > 1:
            raise ValueError('projects holds "*", which means all, and ids as well; keep one of the two')
        if not self.projects and not self.jobs:
            raise ValueError('nothing to watch; write projects = ["*"], or ids of projects or jobs')
        return self

    @property
    def watched_projects(self) -> tuple[str, ...]:
        """The projects to look for jobs in: none when only jobs are named."""
        return () if self.jobs and "projects" not in self.model_fields_set else self.projects
