"""A real PostgreSQL for the tests that need one, and the figures that tests record, printed at the end."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

PASSWORD = "geheim-1234"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests gave to ``record_property`` as a figure: how much was tried, and what came of it."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "figure":
                terminalreporter.write_line(str(value))


def program(name: str) -> str:
    """Return the path of a program of the server; Debian keeps them off the search path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    path = str(found[-1]) if found else shutil.which(name)
    assert path, f"{name} is missing; on Debian, install with: sudo apt-get install postgresql"
    return path


def unprivileged() -> dict[str, Any]:
    """Return how to start a process as a user without rights, where the tests have them: PostgreSQL insists."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class PostgresServer:
    """A running server; ``process`` is its parent process."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres", user: str = "watchdog") -> str:
        return f"postgresql+psycopg://{user}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str, database: str = "postgres", **values: object) -> list[Any]:
        """Run one statement as the owner of everything, outside of a transaction; return its rows."""
        engine = create_engine(self.url(database), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                result = connection.execute(text(statement), values)
                return list(result.all()) if result.returns_rows else []
        finally:
            engine.dispose()

    def new_database(self) -> str:
        """Make an empty database; return its name."""
        name = f"t{secrets.token_hex(6)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def make(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        command = [program("initdb"), "--no-sync", "--encoding=UTF8", "--locale=C", "--username=watchdog"]
        command += ["--auth=scram-sha-256", f"--pwfile={password}", f"--pgdata={self.folder}/data"]
        if os.geteuid() == 0:
            for path in (self.folder, password):
                shutil.chown(path, "postgres", "postgres")
        subprocess.run(command, **unprivileged(), capture_output=True, check=True, cwd=self.folder)

    def start(self) -> None:
        settings = ["fsync=off", f"unix_socket_directories={self.folder}", "listen_addresses=127.0.0.1"]
        command = [program("postgres"), "-D", f"{self.folder}/data", "-p", str(self.port)]
        command += [part for setting in settings for part in ("-c", setting)]
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(command, **unprivileged(), stdout=log, stderr=log, cwd=self.folder)
        for _ in range(200):
            try:
                self.run("SELECT 1")
            except OperationalError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self.folder / "log.txt").read_text())

    def stop(self) -> None:
        """Stop at once: clients are cut off, as when a server goes down."""
        if self.process is not None:
            self.process.send_signal(2)
            self.process.wait(20)
            self.process = None


@pytest.fixture(scope="session")
def make_postgres() -> Iterator[Callable[[], PostgresServer]]:
    """Make servers of their own, for tests that stop one."""
    made: list[PostgresServer] = []

    def go() -> PostgresServer:
        server = PostgresServer(Path(tempfile.mkdtemp(prefix="watchdog-pg-")), free_port())
        made.append(server)
        server.make()
        server.start()
        return server

    yield go
    for server in made:
        server.stop()
        shutil.rmtree(server.folder)


@pytest.fixture(scope="session")
def postgres(make_postgres: Callable[[], PostgresServer]) -> PostgresServer:
    """One server for all tests; each makes a database of its own."""
    return make_postgres()
