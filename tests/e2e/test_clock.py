"""The real process stands still for a while, as on a machine that is suspended."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.test_run import Service, recorded, served, wait_for
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import FakeSlack


def test_a_process_that_stood_still_says_so_and_goes_on(tmp_path: Path, rules_file: Callable[..., Path]) -> None:
    """A busy job: nothing fires for that. The gap must pass on the real clock, which a process cannot be handed."""
    fake = FakeSlack(time.time)
    world = recorded("r008", "baseten", time.time() // 60 * 60 - 7200.0)
    with served(world, "baseten") as cloud, FakeServer(fake.handle) as chat:
        service = Service(rules_file(cloud, chat.url, "baseten"), tmp_path)
        wait_for(lambda: service.ticked(2), 90.0)
        service.process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        wait_for(lambda: time.monotonic() - stopped > 7.0)
        service.process.send_signal(signal.SIGCONT)
        seen = service.log.read_text().count(" INFO polled ")
        wait_for(lambda: service.ticked(seen + 3), 90.0)
        assert service.stop() == 0
    log = service.log.read_text()
    assert log.count("nothing was judged for") == 1
    assert "watchdog stood still" in log
    assert log.count("ticks were missed") <= 1
    assert "the clock was set" not in log
    assert "Traceback" not in log
    assert fake.workspace.parents() == []
