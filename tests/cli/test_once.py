"""``watchdog once`` polls and tells side by side: what is slow or dead delays nothing else."""

from __future__ import annotations

import threading
from typing import Any

from watchdog.simulated.server import FakeServer, Handle, Request, Response

MANY = 9
"""More than the service has threads for polls."""


class Together:
    """Answers 200 once ``MANY`` requests wait at the same time; 500 to those that wait in vain."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(MANY, timeout=10.0)

    def __call__(self, request: Request, handle: Handle) -> Response:
        try:
            self._barrier.wait()
        except threading.BrokenBarrierError:
            return Response(500)
        return handle(request)


def refuse(request: Request) -> Response:
    return Response(403)


def with_more(desk: Any, tables: str) -> None:
    text = desk.rules.read_text()
    desk.rules.write_text(text.replace("[[routes]]", f"{tables}\n[[routes]]"))


def test_sources_are_polled_side_by_side_and_told_of_in_order(desk: Any) -> None:
    together = Together()
    with FakeServer(refuse, together) as cloud:
        text = desk.rules.read_text()
        before, _, after = text.partition("[[sources]]")
        sources = [
            f'[[sources]]\nname = "s{9 - number}"\ntype = "baseten"\nbase_url = "{cloud.url}"\n'
            for number in range(MANY)
        ]
        desk.rules.write_text(before + "".join(sources) + "[[receivers]]" + after.partition("[[receivers]]")[2])
        status, _, err = desk.type("once", "-c", str(desk.rules), "--dry-run")
    assert status == 1
    failed = [line for line in err.splitlines() if "source cannot be read" in line]
    assert len(failed) == MANY
    for number, line in enumerate(failed):
        assert f"s{9 - number}" in line
        assert "403" in line, "all of them were asked at the same time"


def test_receivers_are_told_side_by_side(desk: Any) -> None:
    with FakeServer(lambda _: Response(200), Together()) as hooks:
        names = [f"hook{number}" for number in range(MANY)]
        tables = [f'[[receivers]]\nname = "{name}"\ntype = "webhook"\nurl = "{hooks.url}/"\n' for name in names]
        with_more(desk, "".join(tables))
        desk.rules.write_text(desk.rules.read_text().replace('["slack"]', str(["slack", *names]).replace("'", '"')))
        status, _, err = desk.type("once", "-c", str(desk.rules))
    assert status == 0, err
    assert [entry.status for entry in hooks.log] == [200] * MANY
    assert len(desk.slack.workspace.parents()) == 1


def test_receivers_that_print_do_so_one_after_the_other(desk: Any) -> None:
    names = ["zeta", "alpha", "midi"]
    with_more(desk, "".join(f'[[receivers]]\nname = "{name}"\ntype = "console"\n' for name in names))
    desk.rules.write_text(desk.rules.read_text().replace('["slack"]', str(["slack", *names]).replace("'", '"')))
    status, out, err = desk.type("once", "-c", str(desk.rules))
    assert status == 0, err
    assert [line.split("]")[0] for line in out.splitlines() if line.startswith("[")] == ["[zeta", "[alpha", "[midi"]
