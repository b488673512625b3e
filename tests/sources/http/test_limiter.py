import threading

from watchdog.sources.http.limiter import RateLimiter


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_passes_at_once_and_the_next_waits_for_its_place() -> None:
    limiter = RateLimiter(10, 3, Clock())
    waits = [limiter.reserve(2000) for _ in range(5)]
    assert [round(wait or 0, 6) for wait in waits] == [0, 0, 0, 0.1, 0.2]


def test_the_bucket_fills_again_but_not_beyond_the_burst() -> None:
    clock = Clock()
    limiter = RateLimiter(10, 2, clock)
    for _ in range(2):
        limiter.reserve(2000)
    clock.now += 100
    assert [round(limiter.reserve(2000) or 0, 6) for _ in range(3)] == [0, 0, 0.1]


def test_in_any_second_no_more_than_rate_and_burst_pass() -> None:
    clock = Clock()
    limiter = RateLimiter(90, 10, clock)
    passed = [clock.now + (limiter.reserve(2000) or 0) for _ in range(300)]
    most = max(sum(start <= other < start + 1 for other in passed) for start in passed)
    assert 95 <= most <= 100


def test_a_place_after_the_deadline_is_not_taken() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 1, clock)
    assert limiter.reserve(1000) == 0
    assert limiter.reserve(1000.9) is None
    assert limiter.reserve(1001) == 1


def test_a_hold_stops_everybody_for_its_time() -> None:
    clock = Clock()
    limiter = RateLimiter(10, 5, clock)
    limiter.hold(7)
    assert limiter.reserve(1006.9) is None
    assert round(limiter.reserve(2000) or 0, 6) == 7
    limiter.hold(1)
    assert round(limiter.reserve(2000) or 0, 6) == 7.1


def test_a_clock_that_is_set_back_stops_nobody() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 1, clock)
    limiter.reserve(2000)
    clock.now -= 3600
    assert limiter.reserve(2000) == 1


def test_threads_get_different_places() -> None:
    limiter = RateLimiter(100, 1, Clock())
    waits: list[float] = []

    def take() -> None:
        waits.extend(round(limiter.reserve(2000) or 0, 6) for _ in range(50))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [round(place / 100, 6) for place in range(200)]
