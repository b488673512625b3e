"""What a try of a source says, against the simulated clouds: one exact line for each thing that can be wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import pytest

from watchdog.model import JobStatus, Remark
from watchdog.ports import Triable
from watchdog.simulated import alayanew, baseten, faults
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.faults import Faults
from watchdog.simulated.server import FakeServer
from watchdog.simulated.world import SimJob, World, steady
from watchdog.sources import SOURCE_TYPES, BuildContext
from watchdog.sources.base import trials

BASETEN, ALAYA = "BASETEN_API_KEY", "ALAYANEW_API_KEY"
LATER = "check base_url and the network; if both are right, try again later"


@dataclass
class Clouds:
    """Both clouds with the same three jobs, one of which is over, in two projects; and a way to try sources."""

    secrets: dict[str, str]
    servers: dict[str, FakeServer]
    faults: Faults
    built: list[Any] = field(default_factory=list)

    def find(self, name: str) -> str | None:
        return self.secrets.get(name)

    def tried(self, kind: str, **options: Any) -> list[str]:
        found = SOURCE_TYPES[kind]
        table = {"name": "s", "type": kind, "base_url": self.servers[kind].url, **options}
        context = BuildContext(60.0, self, time.time, lambda seconds: None)
        source = found.build(found.config.model_validate(table), context)
        self.built.append(source)
        assert isinstance(source, Triable)
        return [line(remark) for remark in source.try_out()]

    def asked(self, kind: str) -> list[tuple[str, str]]:
        return [(entry.method, entry.path) for entry in self.servers[kind].log]


def line(remark: Remark) -> str:
    return "; ".join(part for part in (f"{remark.level}: {remark.text}", remark.remedy) if part)


def jobs() -> list[SimJob]:
    began = time.time() // 60 * 60 - 7200
    running, over = [(began, JobStatus.RUNNING)], [(began, JobStatus.RUNNING), (began + 600, JobStatus.COMPLETED)]
    return [
        SimJob("j1", "one", "p1", "llama", steady(), running),
        SimJob("j2", "two", "p2", "vision", steady(), running),
        SimJob("j3", "three", "p2", "vision", steady(), over),
    ]


@pytest.fixture
def clouds() -> Iterator[Clouds]:
    world, planned = World(jobs(), time.time), Faults()
    with (
        FakeServer(FakeBaseten(world).handle, planned) as first,
        FakeServer(FakeAlaya(world, pair=("ak-1", "sk-secret")).handle, planned) as second,
    ):
        keys = {BASETEN: baseten.KEY, ALAYA: alayanew.KEY, "AK": "ak-1", "SK": "sk-secret"}
        found = Clouds(keys, {"baseten": first, "alayanew": second}, planned)
        yield found
        for source in found.built:
            source.close()


def test_a_whole_organisation(clouds: Clouds) -> None:
    assert clouds.tried("baseten") == ["ok: the key is accepted, 2 active jobs"]
    assert clouds.asked("baseten") == [("POST", "/v1/training_jobs/search")]


def test_named_projects_and_jobs_are_counted(clouds: Clouds) -> None:
    assert clouds.tried("baseten", projects=["p1", "p2"], jobs=["j3"]) == [
        "ok: the key is accepted, 2 of 2 named projects found, 1 of 1 named job found, 2 active jobs"
    ]
    assert clouds.tried("baseten", jobs=["j1", "j3"]) == [
        "ok: the key is accepted, 2 of 2 named jobs found, 1 active job"
    ]


def test_each_that_is_not_found_is_named(clouds: Clouds) -> None:
    assert clouds.tried("baseten", projects=["p1", "px", "vision"], jobs=["jx"]) == [
        "ok: the key is accepted, 1 of 3 named projects found, 0 of 1 named job found, 1 active job",
        (
            'FAILED: there is no project "px", or not for this key; correct projects of this source, or use a key that '
            "may see it"
        ),
        'FAILED: there is no project "vision", or not for this key; "vision" is a name: write the id, "p2"',
        'FAILED: there is no job "jx", or not for this key; correct jobs of this source, or use a key that may see it',
    ]


def test_a_list_of_projects_that_may_not_be_read_is_only_a_note(clouds: Clouds) -> None:
    clouds.faults.plan(faults.status(403), "/v1/training_projects")
    assert clouds.tried("baseten", projects=["p1"]) == [
        "ok: the key is accepted, 1 active job",
        (
            "note: whether the named projects exist cannot be looked up: projects: HTTP 403; the key is wrong, "
            "expired, or may not do this; simulated"
        ),
    ]


def test_all_of_a_job_list(clouds: Clouds) -> None:
    assert clouds.tried("alayanew", discover=True) == ["ok: the key is accepted, 2 active jobs"]
    pair = {"access_key": {"env": "AK"}, "secret_key": {"env": "SK"}}
    assert clouds.tried("alayanew", discover=True, **pair) == ["ok: the key is accepted, 2 active jobs"]
    assert {path for _, path in clouds.asked("alayanew")} == {"/v1/training/instance/list"}


def test_named_jobs_of_a_job_list(clouds: Clouds) -> None:
    assert clouds.tried("alayanew", jobs=["j1", "j3", "jx"]) == [
        "ok: the key is accepted, 2 of 3 named jobs found, 1 active job",
        'FAILED: there is no job "jx", or not for this key; correct jobs of this source, or use a key that may see it',
    ]


def test_named_jobs_without_a_job_list(clouds: Clouds) -> None:
    clouds.faults.plan(faults.status(404), "/list")
    assert clouds.tried("alayanew", jobs=["j1"]) == [
        "ok: the key is accepted, 1 of 1 named job found",
        (
            "note: the job list cannot be read (job list: HTTP 404; simulated): whether a job failed or completed "
            "cannot be told"
        ),
    ]


def test_a_job_that_cannot_be_read_is_not_called_missing(clouds: Clouds) -> None:
    clouds.faults.plan(faults.status(502), "/jx/metrics")
    assert clouds.tried("alayanew", jobs=["j1", "jx"]) == [
        "ok: the key is accepted, 1 of 2 named jobs found, 1 active job",
        f"FAILED: metrics (gpu): HTTP 502; simulated; {LATER}",
    ]


@pytest.mark.parametrize(
    ("kind", "options", "variables", "said"),
    [
        (
            "baseten",
            {},
            BASETEN,
            "job search: HTTP 401; the key is wrong, expired, or may not do this; Invalid API key",
        ),
        (
            "alayanew",
            {"discover": True},
            ALAYA,
            "HTTP 401, job list: status 40006; the access key is not known; access key not found",
        ),
        (
            "alayanew",
            {"jobs": ["j1"]},
            ALAYA,
            "HTTP 401, metrics (gpu): status 40006; the access key is not known; access key not found",
        ),
        (
            "alayanew",
            {"discover": True, "access_key": {"env": "AK"}, "secret_key": {"env": "SK"}},
            "AK and SK",
            "HTTP 401, job list: status 40003; the signature is wrong: check the secret key; bad signature",
        ),
    ],
)
def test_a_wrong_key(clouds: Clouds, kind: str, options: Any, variables: str, said: str) -> None:
    clouds.secrets |= {BASETEN: "wrong-key", ALAYA: "wrong-key", "SK": "wrong-key"}
    assert clouds.tried(kind, **options) == [f"FAILED: {said}; set a valid key in {variables}"]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (faults.status(503), f"job search: HTTP 503; simulated; {LATER}"),
        (
            faults.html(),
            f"job search: a web page instead of JSON (a proxy, or a wrong base_url); {LATER}",
        ),
        (faults.limited(45), "job search: HTTP 429; too many requests; rate limited; wait 45 s and try again"),
        (faults.status(429), "job search: HTTP 429; too many requests; simulated; wait a minute and try again"),
        (faults.dropped(), f"job search: the connection broke (RemoteProtocolError); {LATER}"),
        (
            faults.body(b"{}"),
            "job search: an answer without training_jobs; check base_url and the other keys of this source",
        ),
        (faults.status(404), "job search: HTTP 404; simulated; check base_url and the other keys of this source"),
    ],
)
def test_an_answer_that_is_none(clouds: Clouds, fault: faults.Fault, said: str) -> None:
    clouds.faults.plan(fault)
    assert clouds.tried("baseten") == [f"FAILED: {said}"]


def test_a_console_in_place_of_the_api(clouds: Clouds) -> None:
    [said] = clouds.tried("alayanew", discover=True, path_prefix="/elsewhere")
    assert said == (
        "FAILED: job list: a web page or another form instead of JSON; set path_prefix of this source (such as "
        '"/api/osm"), or check base_url'
    )


def test_nobody_at_the_address(clouds: Clouds) -> None:
    url = "http://127.0.0.1:1"
    assert clouds.tried("baseten", base_url=url) == [
        f"FAILED: job search: no connection to 127.0.0.1 ([Errno 111] Connection refused); {LATER}"
    ]


def test_a_server_without_tls(clouds: Clouds) -> None:
    url = clouds.servers["baseten"].url.replace("http://", "https://")
    [said] = clouds.tried("baseten", base_url=url)
    assert said.startswith("FAILED: job search: no connection to 127.0.0.1 ([SSL")
    assert said.endswith("; name an address that speaks TLS with a valid certificate, or a file with its issuer's in "
                         "SSL_CERT_FILE")  # fmt: skip


def test_a_server_that_says_nothing(clouds: Clouds) -> None:
    clouds.faults.plan(faults.slow(0.5))
    assert clouds.tried("baseten", timeout="0.1s") == [
        f"FAILED: job search: no answer within 0.1 s (ReadTimeout); {LATER}"
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(50, ""), (-50, ""), (3600, "3600 s behind"), (-3600, "3600 s ahead of")],
)
def test_a_clock_that_differs(clouds: Clouds, seconds: float, said: str) -> None:
    clouds.faults.plan(faults.dated(formatdate(time.time() + seconds, usegmt=True)))
    notes = clouds.tried("baseten")[1:]
    assert bool(notes) is bool(said)
    for note in notes:
        number, way = said.partition(" s ")[::2]
        assert abs(int(note.split("clock is ")[1].split()[0]) - int(number)) <= 2
        assert f" s {way} the provider's; set it, for example by NTP" in note


@pytest.mark.parametrize("date", ["yesterday", ""])
def test_a_time_that_is_none_is_no_difference(clouds: Clouds, date: str) -> None:
    clouds.faults.plan(faults.dated(date))
    assert clouds.tried("baseten") == ["ok: the key is accepted, 2 active jobs"]


@pytest.mark.parametrize(("difference", "notes"), [(None, 0), (60.0, 0), (60.1, 1), (-60.0, 0), (-60.1, 1)])
def test_the_difference_that_matters(difference: float | None, notes: int) -> None:
    assert len(trials.clock(difference)) == notes


def test_no_key_is_in_any_text(clouds: Clouds) -> None:
    clouds.secrets[BASETEN] = "bt-very-secret"
    echo = faults.status(401, b'{"message":"unknown key bt-very-secret"}')
    clouds.faults.plan(echo)
    assert "bt-very-secret" not in "".join(clouds.tried("baseten"))


def test_a_key_that_disappears_is_named(clouds: Clouds) -> None:
    taken: Callable[[str], str | None] = clouds.find
    answers = iter([taken(BASETEN), None])
    clouds.find = lambda name: next(answers)  # type: ignore[method-assign]
    assert clouds.tried("baseten") == [f"FAILED: {BASETEN} is not set; set it, or {BASETEN}_FILE"]
