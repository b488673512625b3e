"""No secret is ever written or answered: real processes whose every peer fails, and echoes what it was sent.

Everything that is written (output, log, database) or answered (HTTP) is searched for every secret: as it is, escaped,
URL-encoded, in base64 at any offset, and by its halves.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest

from watchdog.simulated.server import FakeServer, Request, Response

pytestmark = pytest.mark.xdist_group("secrets")  # one store, which the later commands read

MARKS = {
    "baseten": "Bq7-geheim/baseten+Kx91Zt",
    "alaya": "Aw3-geheim/alaya+Jm27Rv",
    "access": "AKgeheim5Qy8Lw2T",
    "secret": "SKgeheim/9Uf4+Dn6Pb",
    "token": "xoxb-geheim-7Hs3-Vc8Xa",
    "hook": "T0GEHEIM/B0GEHEIM/Wz6geheimEk5Gd",
    "path": "geheimPfad-Yt4Mj9",
    "query": "geheimFrage_Lp8Cz3",
    "user": "geheimUser2Rk",
    "password": "geheim%2FWort6Nb",
    "signing": "whsec_Z2VoZWltLXNpZ25pbmctOFF4N1Z0",
    "api": "geheimApi-3Df8Sw",
    "beat": "geheimPuls-5Gh2Oe",
    "database": "geheimDB7-Xc4",
}
KINDS = ("401", "403", "404", "429", "500", "page", "junk", "drop", "redirect", "slow", "refused", "tls")


def forms(secret: str) -> Iterator[bytes]:
    """Yield what would give a secret away."""
    for text in (secret, secret[: len(secret) // 2 + 1], secret[len(secret) // 2 - 1 :]):
        yield text.encode()
        yield quote(text, safe="").encode()
        yield quote_plus(text).encode()
        yield json.dumps(text)[1:-1].encode()
        yield json.dumps(text).replace("/", "\\/")[1:-1].encode()
    for before in (b"", b"x", b"xx"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(before + secret.encode())
            yield whole[4:-4]  # what does not depend on what stands around it


def leaks(data: bytes) -> set[str]:
    """Return the names of the secrets that are in there."""
    return {name for name, secret in MARKS.items() for form in forms(secret) if form in data}


def misbehave(request: Request) -> Response:
    """Fail as the first part of the path says, and send back everything that came, credentials too."""
    kind = request.path.split("/")[1]
    echo = json.dumps(
        {
            "ok": False,
            "error": f"no {dict(request.headers)}",
            "message": f"{request.raw_path} {dict(request.headers)}",
            "body": request.body.decode(errors="replace"),
        }
    ).encode()
    if kind in ("401", "403", "404", "500"):
        return Response(int(kind), echo)
    if kind == "429":
        return Response(429, echo, headers={"Retry-After": "1"})
    if kind == "page":
        return Response(200, b"<html>" + echo, "text/html")
    if kind == "junk":
        return Response(200, echo[:-1])
    if kind == "redirect":
        place = f"http://127.0.0.1:9/{request.headers.get('authorization', '')}{request.raw_path}"
        return Response(302, echo, headers={"Location": quote(place, safe=":/?=&")})
    if kind == "slow":
        time.sleep(1.0)
    return Response(200, drop=True)


def base(kind: str, url: str) -> str:
    if kind == "refused":
        return "http://127.0.0.1:9"
    return url.replace("http:", "https:") if kind == "tls" else f"{url}/{kind}"


SECTIONS = """
[[sources]]
name = "b-{kind}"
type = "baseten"
base_url = "{at}"
timeout = "500ms"
[[sources]]
name = "a-{kind}"
type = "alayanew"
base_url = "{at}"
jobs = ["1"]
timeout = "500ms"
[[sources]]
name = "k-{kind}"
type = "alayanew"
base_url = "{at}"
jobs = ["1"]
timeout = "500ms"
access_key = {{ env = "AK" }}
secret_key = {{ env = "SK" }}
[[receivers]]
name = "s-{kind}"
type = "slack"
channel = "x"
base_url = "{at}/api/"
timeout = "500ms"
[[receivers]]
name = "i-{kind}"
type = "slack"
bot_token = {{ env = "NONE" }}
webhook_url = {{ env = "HOOK_{variable}" }}
timeout = "500ms"
[[receivers]]
name = "w-{kind}"
type = "webhook"
url = {{ env = "WEB_{variable}" }}
signing_secret = {{ env = "SIGNING" }}
timeout = "500ms"
"""


def rules(url: str, kinds: Sequence[str] = KINDS) -> str:
    """Return a rules file with a source and a receiver of every type for every kind of failure."""
    parts, names = ['[poll]\ninterval = "1s"\n'], []
    for kind in kinds:
        parts.append(SECTIONS.format(kind=kind, at=base(kind, url), variable=kind.upper()))
        names += [f'"{letter}-{kind}"' for letter in "siw"]
    parts.append(f"[[routes]]\nreceivers = [{', '.join(names)}]\n")
    parts.append('[[rules]]\nalert = "Down"\nexpr = "source_up == 0"\nlabels = { severity = "critical" }\n')
    return "".join(parts)


def environment(url: str, folder: Path) -> dict[str, str]:
    """Return the variables of a process; two secrets come from files."""
    for name, mark in (("alaya", "alaya"), ("heartbeat", "beat")):
        text = MARKS[mark] if name == "alaya" else f"{url}/500/{MARKS[mark]}"
        (folder / name).write_text(text + "\n", encoding="utf-8")
    found = {
        "BASETEN_API_KEY": MARKS["baseten"],
        "ALAYANEW_API_KEY_FILE": str(folder / "alaya"),
        "AK": MARKS["access"],
        "SK": MARKS["secret"],
        "SLACK_BOT_TOKEN": MARKS["token"],
        "SIGNING": MARKS["signing"],
        "WATCHDOG_API_TOKEN": MARKS["api"],
        "WATCHDOG_API_READ": "token",
        "WATCHDOG_HEARTBEAT_URL_FILE": str(folder / "heartbeat"),
        "WATCHDOG_LOG_LEVEL": "debug",
        "WATCHDOG_STORE": f"sqlite:///{folder}/watchdog.db",
    }
    for kind in KINDS:
        at = base(kind, url)
        found[f"HOOK_{kind.upper()}"] = f"{at}/services/{MARKS['hook']}"
        scheme, _, rest = at.partition("://")
        web = f"{scheme}://{MARKS['user']}:{MARKS['password']}@{rest}/{MARKS['path']}?token={MARKS['query']}"
        found[f"WEB_{kind.upper()}"] = web
    return {**os.environ, **found}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("secrets")
    with FakeServer(misbehave) as server:
        file = folder / "rules.toml"
        file.write_text(rules(server.url), encoding="utf-8")
        few = folder / "few.toml"
        few.write_text(rules(server.url, ("401", "refused")), encoding="utf-8")
        found = SimpleNamespace(folder=folder, rules=file, few=few, server=server)
        run(found, "once", "-c", str(few))  # it makes the store, whichever test comes first
        yield found


def run(town: Any, *arguments: str, more: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """Run a command to its end; return its status and everything that it wrote."""
    command = [sys.executable, "-m", "watchdog", *arguments]
    variables = {**environment(town.server.url, town.folder), "WATCHDOG_LISTEN": "127.0.0.1:9", **(more or {})}
    done = subprocess.run(command, env=variables, capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 150
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.parametrize("name", MARKS)
def test_the_search_finds_a_planted_secret(name: str) -> None:
    secret = MARKS[name]
    basic = base64.b64encode(f"someone:{secret}!".encode())
    pieces = (
        secret,
        quote(secret, safe=""),
        json.dumps(secret),
        secret[: len(secret) // 2 + 1],
        secret[len(secret) // 2 - 1 :],
    )
    for planted in (*(piece.encode() for piece in pieces), basic):
        assert name in leaks(b"before " + planted + b" after"), planted
    assert leaks(b"nothing to see, but geheim alone is no secret") == set()


ADDRESSES = (
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/v1/rules",
    "/api/v1/alerts",
    "/api/v1/query?query=up%20%2B",
    "/api/v1/labels",
    "/api/v2/alerts",
    "/api/v2/silences",
    "/api/v2/status",
    "/nowhere",
)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_service_gives_nothing_away(town: Any, log_format: str, tmp_path: Path) -> None:
    log, listen = tmp_path / "log.txt", ""
    command = [sys.executable, "-m", "watchdog", "run", "-c", str(town.rules)]
    variables = {**environment(town.server.url, tmp_path), "WATCHDOG_LOG_FORMAT": log_format}
    variables["WATCHDOG_LISTEN"] = listen = f"127.0.0.1:{_free_port()}"
    answers = []
    with log.open("w") as out, subprocess.Popen(command, env=variables, stdout=out, stderr=out) as process:
        try:
            failed = ("delivery stopped", "delivery retry", "heartbeat URL cannot be called")
            wait_for(lambda: all(words in log.read_text() for words in failed))
            wait_for(lambda: all(f"{letter}-{kind}" in _told(log) for kind in KINDS for letter in "siw"))
            for path in ADDRESSES:
                for token in (MARKS["api"], f"wrong{MARKS['api']}", ""):
                    headers = {"Authorization": f"Bearer {token}"} if token else {}
                    for method in ("GET", "POST"):
                        answer = httpx.request(method, f"http://{listen}{path}", headers=headers, content=b"{")
                        answers.append(answer.content + repr(answer.headers).encode())
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert leaks(log.read_bytes()) == set()
    assert leaks(b"\n".join(answers)) == set()
    files = sorted(tmp_path.glob("watchdog.db*"))
    assert files
    for file in files:
        assert leaks(file.read_bytes()) == set(), file


def _told(log: Path) -> str:
    return "\n".join(line for line in log.read_text().splitlines() if "deliver" in line)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


COMMANDS = {
    "check": ["check", "RULES"],
    "check --online": ["check", "RULES", "--online"],
    "check --online json": ["check", "RULES", "--online", "--format", "json"],
    "once --dry-run": ["once", "-c", "RULES", "--dry-run"],
    "once": ["once", "-c", "RULES"],
    "explain": ["explain", "-c", "RULES"],
    "alerts": ["alerts"],
    "incidents": ["incidents", "--format", "json"],
    "jobs": ["jobs"],
    "silence": ["silence", "add", 'alertname="Down"', "--for", "1h", "--comment", "x"],
    "query": ["query", "source_up"],
    **{f"send-test {letter}": ["send-test", "-c", "RULES", f"{letter}-401"] for letter in "siw"},
    **{f"send-test {letter} refused": ["send-test", "-c", "RULES", f"{letter}-refused"] for letter in "siw"},
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_gives_nothing_away(town: Any, name: str) -> None:
    file = town.rules if name.startswith("check") else town.few
    arguments = [str(file) if word == "RULES" else word for word in COMMANDS[name]]
    status, written = run(town, *arguments)
    assert status in (0, 1), written.decode()
    assert b"Traceback" not in written
    assert leaks(written) == set()
    for part in town.folder.glob("watchdog.db*"):
        assert leaks(part.read_bytes()) == set(), part


@pytest.mark.parametrize("command", ["alerts", "run", "once", "silence"])
def test_the_password_of_a_store_is_not_shown(town: Any, command: str) -> None:
    store = f"postgresql+psycopg://watchdog:{MARKS['database']}@127.0.0.1:9/watchdog?connect_timeout=2"
    arguments = {"silence": ["silence", "list"], "alerts": ["alerts"]}.get(command, [command, "-c", str(town.few)])
    status, written = run(town, *arguments, more={"WATCHDOG_STORE": store})
    assert status == 1, written.decode()
    assert leaks(written) == set()
    assert b"127.0.0.1" in written, "it says which store"


@pytest.mark.parametrize("variable", ["BASETEN_API_KEY", "SLACK_BOT_TOKEN", "AK", "WEB_401", "WATCHDOG_HEARTBEAT_URL"])
def test_a_malformed_secret_is_named_and_not_shown(town: Any, variable: str) -> None:
    value = f"{MARKS['path']}\nheißt {MARKS['query']}"
    more = {variable: value}
    if variable == "WATCHDOG_HEARTBEAT_URL":
        more["WATCHDOG_HEARTBEAT_URL_FILE"] = ""
    status, written = run(town, "once", "-c", str(town.few), more=more)
    assert status in (0, 1, 2)
    assert b"Traceback" not in written
    assert leaks(written) == set()
