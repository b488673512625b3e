"""Prometheus's HTTP API: the same requests to the real Prometheus and to our service; the real ``promtool query``."""

from __future__ import annotations

import math
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from watchdog.cli import main
from watchdog.engine.engine import TickResult
from watchdog.promql.parse import MOST_TOKENS
from watchdog.promql.prometheus_json import format_value
from watchdog.promql.query import MOST_STEPS
from watchdog.service import api
from watchdog.service.api import forms, slices
from watchdog.service.desk import MOST_WAITING, Desk
from watchdog.service.guard import Guard

T0 = 1_700_000_400
END = T0 + 3600
ROWS: list[tuple[dict[str, str], list[float], list[float]]] = [
    (
        {"__name__": "gpu_utilization", "job": job, "gpu": str(gpu)},
        [T0 + 60.0 * minute for minute in range(61) if (minute + gpu) % 7],
        [((minute * 7 + gpu * 3) % 11) / 8 for minute in range(61) if (minute + gpu) % 7],
    )
    for job in ("a", 'b "quoted" \\ ü')
    for gpu in range(3)
]
ROWS += [
    ({"__name__": "odd", "job": name}, [T0 + 0.123, T0 + 60.0, T0 + 3599.5], [value, value, value])
    for name, value in [("nan", math.nan), ("inf", -math.inf), ("tiny", 2.5e-9), ("huge", 1e21), ("third", 1 / 3)]
]
ROWS += [({"__name__": "early", "job": "a"}, [float(T0)], [1.0])]


def open_metrics() -> str:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"')

    lines = []
    for labels, times, values in ROWS:
        inner = ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items() if name != "__name__")
        pairs = zip(times, values, strict=True)
        lines += [f"{labels['__name__']}{{{inner}}} {format_value(value)} {at!r}" for at, value in pairs]
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The real Prometheus with the same samples."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "samples.om").write_text(open_metrics(), encoding="utf-8")
    (folder / "prometheus.yml").write_text("global: {evaluation_interval: 1m}\n")
    made = [
        tool("promtool"),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        str(folder / "samples.om"),
        str(folder / "d"),
    ]
    subprocess.run(made, check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
    flags = [
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/d",
        f"--web.listen-address={listen}",
    ]
    with (folder / "log").open("wb") as log:
        command = [tool("prometheus"), *flags, "--storage.tsdb.retention.time=100y"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    client = httpx.Client(base_url=f"http://{listen}/api/v1/", timeout=30, trust_env=False)
    try:
        while not ready(client):
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.02)
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait(10)


def ready(client: httpx.Client) -> bool:
    try:
        return client.get(client.base_url.join("/-/ready")).status_code == 200
    except httpx.TransportError:
        return False


def tool(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is missing; install Debian's package prometheus"
    return found


@pytest.fixture(scope="module")
def service(live: Callable[..., Any]) -> Any:
    return live(ROWS, float(END), 3600.0)


ELSEWHERE = {"/api/v1/rules", "/api/v1/alerts"}
"""Addresses that another page describes."""
AT = {"time": str(END)}
RANGE = {"start": str(T0 + 7.5), "end": str(END), "step": "300"}
"""Off the samples: one exactly on a window's left edge is inside for Prometheus 2, outside for 3 and us."""
GPUS = "gpu_utilization"
SAME: list[tuple[str, dict[str, Any]]] = [
    ("query", {"query": GPUS, **AT}),
    ("query", {"query": "odd", **AT}),
    ("query", {"query": "odd[1h]", "time": str(END - 7.25)}),
    ("query", {"query": f"sort(sum by (job) (rate({GPUS}[10m])))", "time": "2023-11-14T23:20:00.5Z"}),
    ("query", {"query": "1 / 3", **AT}),
    ("query", {"query": "vector(1e21)", **AT}),
    ("query", {"query": '"text"', **AT}),
    ("query", {"query": "nothing", **AT}),
    ("query", {"query": GPUS, **AT, "timeout": "10s"}),
    ("query", {"query": ""}),
    ("query", {}),
    ("query", {"query": "sum(", **AT}),
    ("query", {"query": GPUS, "time": "yesterday"}),
    ("query", {"query": GPUS, **AT, "timeout": "x"}),
    ("query", {"query": f"{GPUS} * on (job) {GPUS}", **AT}),
    ("query_range", {"query": GPUS, **RANGE}),
    ("query_range", {"query": f"max({GPUS}) - min(odd)", **RANGE, "step": "1m"}),
    ("query_range", {"query": "time()", **RANGE, "step": "0.5", "end": str(T0 + 9)}),
    ("query_range", {"query": f"{GPUS} @ start() + {GPUS} @ end()", **RANGE, "step": "1m"}),
    ("query_range", {"query": f"max_over_time({GPUS}[90s:30s] offset 1m)", **RANGE, "step": "77"}),
    ("query_range", {"query": "nothing", **RANGE}),
    ("query_range", {"query": "vector(1)", **RANGE, "end": str(T0 + 7.5)}),
    ("query_range", {"query": f"{GPUS}[5m]", **RANGE}),
    ("query_range", {"query": '"text"', **RANGE}),
    ("query_range", {"query": GPUS, **RANGE, "step": "0"}),
    ("query_range", {"query": GPUS, **RANGE, "step": "-1"}),
    ("query_range", {"query": GPUS, **RANGE, "step": "x"}),
    ("query_range", {"query": GPUS, **RANGE, "step": "0.3"}),
    ("query_range", {"query": GPUS, **RANGE, "end": str(T0 - 1)}),
    ("query_range", {"query": GPUS}),
    ("query_range", {"query": f"{GPUS} + on (job) {GPUS}", **RANGE}),
    ("query_range", {"query": "sum(", **RANGE}),
    ("series", {"match[]": GPUS}),
    ("series", {"match[]": ["odd", '{job="a"}', '{job=~"nan|inf"}']}),
    ("series", {"match[]": '{job="a"}', "start": str(T0 + 1), "end": str(END)}),
    ("series", {"match[]": '{job="a"}', "start": str(T0 - 9), "end": str(T0)}),
    ("series", {"match[]": "nothing"}),
    ("series", {}),
    ("series", {"match[]": "sum(x)"}),
    ("series", {"match[]": f"{GPUS}[5m]"}),
    ("series", {"match[]": "{}"}),
    ("series", {"match[]": GPUS, "start": "x"}),
    ("labels", {"match[]": '{job!=""}'}),
    ("labels", {"match[]": "odd"}),
    ("labels", {"match[]": "nothing"}),
    ("labels", {"match[]": "sum("}),
    ("labels", {"end": str(T0 - 60)}),
    ("label/job/values", {}),
    ("label/job/values", {"match[]": GPUS}),
    ("label/gpu/values", {"match[]": ["odd", "early"]}),
    ("label/__name__/values", {"match[]": '{job!=""}'}),
    ("label/unknown/values", {}),
    ("label/a-b/values", {}),
    ("query_exemplars", {"query": GPUS, **RANGE}),
]


def told(response: httpx.Response) -> Any:
    body = response.json()
    if body["status"] == "error":
        return response.status_code, body["errorType"], bool(body["error"])
    data = body["data"]
    if isinstance(data, dict) and data["resultType"] in ("vector", "matrix"):
        data["result"].sort(key=lambda row: sorted(row["metric"].items()))
    return response.status_code, response.headers["content-type"], data


@pytest.mark.parametrize(("endpoint", "form"), SAME)
def test_answers_are_those_of_prometheus(endpoint: str, form: dict[str, Any], peer: httpx.Client, service: Any) -> None:
    ours = service.client.get(endpoint, params=form)
    assert told(ours) == told(peer.get(endpoint, params=form))


@pytest.mark.parametrize("endpoint", ["query", "query_range", "series", "labels"])
def test_forms_can_be_posted(endpoint: str, service: Any) -> None:
    form = {"query": GPUS, "match[]": GPUS, **AT, **RANGE}
    got = service.client.get(endpoint, params=form)
    assert got.status_code == 200
    assert service.client.post(endpoint, data=form).json() == got.json()
    assert service.client.post(endpoint, params=form, data={"query": GPUS}).json() == got.json()
    assert service.client.post(endpoint, params=form, json={"query": "sum("}).json() == got.json()


def test_a_giant_form_is_refused(service: Any) -> None:
    response = service.client.post("query", data={"query": "1" * (forms.LARGEST_FORM + 1)})
    assert (response.status_code, response.json()["errorType"]) == (400, "bad_data")


@pytest.mark.parametrize(
    ("left", "middle", "right"), [("(", "1", ")"), ("", "1", "+1"), ("abs(", "x", ")"), ("-", "x", "")]
)
@pytest.mark.parametrize("times", [600, 50_000])
def test_deep_expressions_hurt_nobody(service: Any, left: str, middle: str, right: str, times: int) -> None:
    """Such a text can make a parser overflow its stack and end the process, or keep it busy for minutes."""
    response = service.client.post("query", data={"query": left * times + middle + right * times})
    assert (response.status_code, response.json()["errorType"]) == (400, "bad_data")
    assert service.client.post("query", data={"query": "1 +" * 99 + "1"}).status_code == 200


# --- promtool -------------------------------------------------------------------------------------


def promtool(service: Any, kind: str, *words: str) -> str:
    done = subprocess.run(
        [tool("promtool"), "query", kind, *words[:-1], service.url, words[-1]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_promtool_asks_for_one_time(service: Any) -> None:
    out = promtool(service, "instant", f"--time={END}", f'{GPUS}{{job="a"}}')
    assert sorted(out.splitlines()) == [
        'gpu_utilization{gpu="0", job="a"} => 0.25 @[1700004000]',
        'gpu_utilization{gpu="1", job="a"} => 0.625 @[1700004000]',
        'gpu_utilization{gpu="2", job="a"} => 1 @[1700004000]',
    ]


def test_promtool_asks_for_a_range(service: Any) -> None:
    out = promtool(
        service, "range", f"--start={T0 + 60}", f"--end={T0 + 180}", "--step=1m", f'{GPUS}{{gpu="1",job="a"}}'
    )
    assert out.splitlines() == [
        'gpu_utilization{gpu="1", job="a"} =>',
        "1.25 @[1700000460]",
        "0.75 @[1700000520]",
        "0.25 @[1700000580]",
    ]


def test_promtool_asks_for_series(service: Any) -> None:
    out = promtool(service, "series", f"--match={GPUS}", f"--start={T0}", f"--end={END}")
    assert len(out.splitlines()) == 6
    assert '{__name__="gpu_utilization", gpu="0", job="a"}' in out


def test_promtool_asks_for_labels(service: Any) -> None:
    assert promtool(service, "labels", f"--start={T0}", f"--end={END}", "gpu").splitlines() == ["0", "1", "2"]


@pytest.mark.parametrize("text", ["odd", GPUS, "1/3", "sum by (job) (odd)"])
def test_our_own_command_prints_what_promtool_prints(
    service: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", text, "--url", service.url, "--at", str(END)]) == 0
    out = capsys.readouterr().out
    assert sorted(out.splitlines()) == sorted(promtool(service, "instant", f"--time={END}", text).splitlines())
    words = ["--start", str(T0), "--end", str(END), "--step", "600"]
    if text.startswith(("g", "s")):
        assert main(["query", text, "--url", service.url, *words]) == 0
        flags = [f"--start={T0}", f"--end={END}", "--step=10m"]
        assert capsys.readouterr().out == promtool(service, "range", *flags, text)


# --- what only we say -----------------------------------------------------------------------------


def test_without_a_time_it_is_now(service: Any) -> None:
    data = service.client.get("query", params={"query": "time()"}).json()["data"]
    assert data["result"] == [END, str(END)]


def test_the_services_own_series_are_there(service: Any) -> None:
    assert service.client.get("labels").json()["data"] == ["__name__", "gpu", "job"]


@pytest.mark.parametrize(("limit", "count", "warned"), [(5, 5, True), (6, 6, False), (7, 6, False), (0, 6, False)])
def test_lists_can_be_limited(service: Any, limit: int, count: int, warned: bool) -> None:
    body = service.client.get("series", params={"match[]": GPUS, "limit": limit}).json()
    assert (len(body["data"]), "warnings" in body) == (count, warned)
    body = service.client.get("label/job/values", params={"match[]": "odd", "limit": limit}).json()
    assert (len(body["data"]), "warnings" in body) == (min(limit or 5, 5), False)
    body = service.client.get("labels", params={"limit": 2}).json()
    assert (body["data"], body["warnings"]) == (["__name__", "gpu"], ["results truncated due to limit"])


def test_times_that_run_backwards_are_refused(service: Any) -> None:
    """Prometheus 2.42 takes them for lists, and answers with everything."""
    body = service.client.get("labels", params={"start": END, "end": T0}).json()
    assert body["error"] == 'invalid parameter "end": end timestamp must not be before start time'


def test_a_limit_is_a_number(service: Any) -> None:
    assert service.client.get("labels", params={"limit": "-1"}).json()["errorType"] == "bad_data"


def test_only_what_has_samples_in_a_time_counts(service: Any) -> None:
    """Prometheus 2.42 answers by blocks of two hours; 3 and we by samples."""
    form = {"match[]": '{job!=""}', "start": T0 + 1}
    assert service.client.get("label/__name__/values", params=form).json()["data"] == [GPUS, "odd"]


def test_how_far_to_look_back_can_be_told(service: Any) -> None:
    form = {"query": "early", "time": T0 + 200}
    assert len(service.client.get("query", params=form).json()["data"]["result"]) == 1
    assert service.client.get("query", params={**form, "lookback_delta": "199s"}).json()["data"]["result"] == []


def test_the_place_of_a_mistake_is_told(service: Any) -> None:
    body = service.client.get("query", params={"query": "sum(\n  rte(gpu_utilization[5m]))"}).json()
    assert body["error"].startswith('invalid parameter "query": 2:3: parse error: unknown function')
    assert "did you mean rate?" in body["error"]


def test_the_build_is_told_as_grafana_wants_it(service: Any) -> None:
    data = service.client.get("status/buildinfo").json()["data"]
    assert data["version"] == "3.0.0"
    assert data["revision"].startswith("watchdog ")
    assert set(data) == {"version", "revision", "branch", "buildUser", "buildDate", "goVersion"}


def test_metrics_are_explained(service: Any) -> None:
    data = service.client.get("metadata").json()["data"]
    (power,) = data["gpu_power_watts"]
    assert power == {"type": "gauge", "help": "Power drawn by the GPU.", "unit": "watts"}
    assert list(service.client.get("metadata", params={"metric": GPUS}).json()["data"]) == [GPUS]
    assert len(service.client.get("metadata", params={"limit": 3}).json()["data"]) == 3


def test_other_addresses_are_not_there(service: Any) -> None:
    assert service.client.get("admin/tsdb/snapshot").status_code == 404
    assert service.client.delete("series").status_code == 405


# --- limits and the ticks -------------------------------------------------------------------------


def test_pieces_of_a_range_give_what_the_whole_gives(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"query": f"topk(2, {GPUS}) or odd", **RANGE, "step": "13"}
    whole = service.client.get("query_range", params=form).json()
    monkeypatch.setattr(slices, "PIECE_SECONDS", 0.0)
    assert service.client.get("query_range", params=form).json() == whole
    assert len(whole["data"]["result"]) > 5


def test_an_evaluation_that_takes_too_long_is_given_up(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "LONGEST_SECONDS", -1.0)
    for endpoint, form in (("query", AT), ("query_range", RANGE)):
        for text in (GPUS, "vector(1)"):
            response = service.client.get(endpoint, params={"query": text, **form})
            assert (response.status_code, response.json()["errorType"]) == (503, "timeout")
    response = service.client.get("labels")
    assert (response.status_code, response.json()["errorType"]) == (503, "timeout")


def test_a_giant_answer_is_refused(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "MOST_POINTS", 50)
    response = service.client.get("query_range", params={"query": GPUS, **RANGE})
    assert (response.status_code, response.json()["errorType"]) == (422, "execution")
    assert "more than 50 values" in response.json()["error"]


def ask(one: Any, text: str = "1", **form: str) -> tuple[int, str]:
    response = one.client.get("query", params={"query": text, **form})
    return response.status_code, response.json().get("errorType", "")


class Gate:
    """Holds a tick until it is opened."""

    def __init__(self, one: Any) -> None:
        self.entered, self.open = threading.Event(), threading.Event()
        one.loop.on_tick = self

    def __call__(self, _: TickResult) -> None:
        self.entered.set()
        assert self.open.wait(20)


def waiting(one: Any) -> int:
    return int(one.loop.desk._waiting.qsize())


def test_a_query_waits_for_a_long_tick(live: Callable[..., Any]) -> None:
    one = live(ROWS, float(END), 0.05)
    gate = Gate(one)
    assert gate.entered.wait(10)
    try:
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(ask, one)
            while not waiting(one):
                time.sleep(0.005)
            assert not answer.done()
            assert ask(one, timeout="0.01") == (503, "timeout")
            gate.open.set()
            assert answer.result(10) == (200, "")
    finally:
        gate.open.set()


def test_a_service_that_stops_says_so(live: Callable[..., Any]) -> None:
    one = live(ROWS, float(END), 0.05)
    gate = Gate(one)
    assert gate.entered.wait(10)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(ask, one)
        while not waiting(one):
            time.sleep(0.005)
        one.loop.stop.set()
        gate.open.set()
        assert answer.result(10) == (503, "unavailable")
    one.thread.join(10)
    assert ask(one) == (503, "unavailable")


def test_fifty_clients_at_once_make_no_tick_late(live: Callable[..., Any]) -> None:
    one, times = live(ROWS, float(END), 0.5), list[float]()
    one.loop.on_tick = lambda _: times.append(time.monotonic())
    with ThreadPoolExecutor(50) as pool:
        form = {"query": f"avg_over_time({GPUS}[10m])", **RANGE, "step": "30"}
        answers = [pool.submit(one.client.get, "query_range", params=form) for _ in range(50)]
        assert {answer.result(60).status_code for answer in answers} == {200}
    assert one.loop.health.missed_ticks == 0
    assert all(later - earlier < 1.0 for earlier, later in pairwise(times))


def test_the_page_names_every_address_and_limit() -> None:
    page = (Path(__file__).parents[2] / "docs" / "query.md").read_text(encoding="utf-8")
    for route in api.routes(Desk(Guard()), time.time):
        assert isinstance(route, Route)
        if route.path not in ELSEWHERE:
            assert f"`{route.path}`" in page
    limits = (
        (forms.MOST_SECONDS, " s"),
        (slices.LONGEST_SECONDS, " s"),
        (MOST_WAITING, ""),
        (MOST_STEPS, ""),
        (slices.MOST_POINTS, ""),
        (MOST_TOKENS, ""),
        (forms.LARGEST_FORM, " bytes"),
    )
    for number, unit in limits:
        assert f"| {number:,.0f}{unit} |" in page
