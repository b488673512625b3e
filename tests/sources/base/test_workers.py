import threading
import time

import pytest

from watchdog.sources.base import run_all


def test_results_come_in_the_order_of_the_items() -> None:
    def read(item: int) -> int:
        time.sleep(0.002 if item == 0 else 0)
        return item * item

    assert run_all(read, range(20), 4, threading.Event()) == [item * item for item in range(20)]


def test_no_items_need_no_threads() -> None:
    assert run_all(str, [], 4, threading.Event()) == []


def test_no_more_threads_than_allowed_read_at_a_time() -> None:
    lock = threading.Lock()
    reading: list[int] = []
    most: list[int] = []

    def read(item: int) -> int:
        with lock:
            reading.append(item)
            most.append(len(reading))
        time.sleep(0.001)
        with lock:
            reading.remove(item)
        return item

    run_all(read, range(20), 3, threading.Event())
    assert max(most) <= 3


def test_what_a_worker_raises_is_raised_to_the_caller_after_the_others_are_done() -> None:
    done = []

    def read(item: int) -> int:
        if item == 1:
            raise KeyError(item)
        done.append(item)
        return item

    with pytest.raises(KeyError):
        run_all(read, range(5), 1, threading.Event())
    assert done == [0, 2, 3, 4]


def test_a_caller_that_is_told_to_stop_does_not_wait_for_a_worker_that_hangs() -> None:
    stopped, release = threading.Event(), threading.Event()

    def read(item: int) -> int:
        if item == 1:
            stopped.set()
            release.wait(5)
        return item

    try:
        assert run_all(read, [0, 1, 2], 1, stopped) == [0, None, None]
    finally:
        release.set()


def test_nothing_is_begun_after_a_stop() -> None:
    stopped = threading.Event()
    stopped.set()
    assert run_all(str, [1, 2], 2, stopped) == [None, None]
