"""The life of silences: Alertmanager's tables, and what watchdog adds (the end of a job)."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from watchdog.model import JobKey, Silence, SilenceState
from watchdog.muting.silences import KEEP_EXPIRED, Silences, check_silence, updatable

NOW = 1_700_000_000.0
HOUR = 3600.0


def silence(starts: float, ends: float, *matchers: str, id_: str = "s", job: JobKey | None = None) -> Silence:
    """Times are relative to NOW."""
    return Silence(id_, matchers or ('job="a"',), NOW + starts, NOW + ends, "me", "why", NOW, job)


def silences(*there: Silence) -> Silences:
    numbers = count(1)
    return Silences(there, lambda: f"new-{next(numbers)}")


@pytest.mark.parametrize(
    ("current", "wanted", "allowed"),
    [
        ((-HOUR, 2 * HOUR), (0, -1), False),  # ends before it starts
        ((HOUR, 2 * HOUR), (0, -1), False),
        ((-HOUR, -1), (0, 0), False),  # expired
        ((HOUR, 2 * HOUR), (-60, HOUR), False),  # pending: a start in the past
        ((HOUR, 2 * HOUR), (60, 60), True),
        ((HOUR, 2 * HOUR), (0, 2 * HOUR), True),
        ((-HOUR, 2 * HOUR), (-60, 2 * HOUR), False),  # active: the start moves
        ((-HOUR, 2 * HOUR), (-HOUR, -1), False),
        ((-HOUR, 2 * HOUR), (-HOUR, 0), True),
        ((-HOUR, 2 * HOUR), (-HOUR, 3 * HOUR), True),
    ],
)
def test_what_may_be_changed_in_place(current: tuple[float, float], wanted: tuple[float, float], allowed: bool) -> None:
    assert updatable(silence(*current), silence(*wanted), NOW) is allowed


def test_other_matchers_are_another_silence() -> None:
    old = silence(-HOUR, HOUR, 'job="a"', 'gpu="1"')
    assert updatable(old, silence(-HOUR, HOUR, 'gpu="1"', 'job="a"'), NOW)
    assert not updatable(old, silence(-HOUR, HOUR, 'job="a"'), NOW)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (replace(silence(0, HOUR), matchers=()), "needs a matcher"),
        (silence(0, HOUR, 'job=~".*"'), "also matches an empty label"),
        (silence(0, HOUR, 'job!="a"', 'gpu=""'), "also matches an empty label"),
        (silence(1, 0), "must not end before it starts"),
        (replace(silence(0, HOUR), starts_at=0.0), "needs a start and an end"),
        (replace(silence(0, HOUR), ends_at=0.0), "needs a start and an end"),
        (silence(0, HOUR, 'job=~"("'), "regular expression"),
        (silence(0, HOUR, 'a-b="c"'), "is not a matcher"),
    ],
)
def test_a_silence_that_means_nothing_or_everything_is_refused(wrong: Silence, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_silence(wrong)


@pytest.mark.parametrize(
    ("matchers", "muted"),
    [
        (('job="test"',), True),
        (('job!="test"', 'method="GET"'), False),
        (('job="test"', 'method="POST"'), False),
        (('job="test"', 'method!="POST"'), True),
        (('path=~"/user/.+"',), True),
        (('path!~"/user/.+"', 'job="test"'), False),
        (('path=~"/user/.+"', 'path!~"/nothing/.+"'), True),
        (('path=~"/user/.+"', 'path=~"/nothing/.+"'), False),
    ],
)
def test_matching(matchers: tuple[str, ...], muted: bool) -> None:
    labels = {"job": "test", "method": "GET", "path": "/user/profile"}
    assert bool(silences(silence(-1, 1, *matchers)).muting(labels, NOW)) is muted


@pytest.mark.parametrize(
    ("times", "state"),
    [
        ((1, 2), SilenceState.PENDING),
        ((0, 2), SilenceState.ACTIVE),
        ((-1, 1), SilenceState.ACTIVE),
        ((-1, 0), SilenceState.EXPIRED),
        ((0, 0), SilenceState.EXPIRED),
    ],
)
def test_states_are_half_open(times: tuple[float, float], state: SilenceState) -> None:
    found = silence(*times)
    assert found.state(NOW) is state
    assert bool(silences(found).muting({"job": "a"}, NOW)) is (state is SilenceState.ACTIVE)


def test_over_time() -> None:
    """None, one that does not match, one that does, expired, replaced by a future one, which becomes active."""
    book = silences()
    assert not book.muting({"job": "a"}, NOW)
    book.put(silence(0, HOUR, 'job="b"', id_=""), NOW)
    assert not book.muting({"job": "a"}, NOW)
    (mine,) = book.put(silence(0, HOUR, id_=""), NOW)
    assert mine.id == "new-2"
    assert [found.id for found in book.muting({"job": "a"}, NOW)] == ["new-2"]
    assert not book.muting({"job": "a"}, NOW + HOUR)
    later = replace(mine, starts_at=NOW + 2 * HOUR, ends_at=NOW + 3 * HOUR)
    (moved,) = book.put(later, NOW + HOUR)
    assert moved.id == "new-3", "one that is over is not woken up"
    assert not book.muting({"job": "a"}, NOW + HOUR)
    assert book.muting({"job": "a"}, NOW + 2 * HOUR)


def test_two_that_overlap_carry_on_after_one_another() -> None:
    book = silences(silence(-1, 10, id_="short"), silence(-1, 20, 'job=~"a|b"', id_="long"))
    assert [found.id for found in book.muting({"job": "a"}, NOW)] == ["long", "short"]
    assert [found.id for found in book.muting({"job": "a"}, NOW + 10)] == ["long"]


def test_a_change_that_would_rewrite_the_past_ends_the_old_and_makes_a_new() -> None:
    book = silences(silence(-HOUR, HOUR))
    old, new = book.put(silence(-HOUR, HOUR, 'job="b"'), NOW)
    assert (old.id, old.ends_at, old.matchers) == ("s", NOW, ('job="a"',))
    assert (new.id, new.starts_at, new.ends_at, new.matchers) == ("new-1", NOW, NOW + HOUR, ('job="b"',))
    (longer,) = book.put(replace(new, ends_at=NOW + 2 * HOUR), NOW + 1)
    assert (longer.id, longer.ends_at, longer.updated_at) == ("new-1", NOW + 2 * HOUR, NOW + 1)


@pytest.mark.parametrize(("ends", "fine"), [(-1, False), (0, False), (1, True)])
def test_a_new_silence_ends_in_the_future(ends: float, fine: bool) -> None:
    wanted = silence(-HOUR, ends, id_="")
    if fine:
        (made,) = silences().put(wanted, NOW)
        assert made.starts_at == NOW, "nothing is silenced after the fact"
    else:
        with pytest.raises(ValueError, match="must end in the future"):
            silences().put(wanted, NOW)


def test_changes_that_cannot_be_kept_are_taken_back() -> None:
    book = silences(silence(-HOUR, HOUR))
    before = list(book.all())

    def change() -> None:
        with book.undoable():
            book.put(silence(-HOUR, HOUR, 'job="b"'), NOW)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        change()
    assert book.all() == before
    with book.undoable():
        book.expire("s", NOW)
    assert [found.ends_at for found in book.all()] == [NOW]


def test_an_id_that_there_is_not() -> None:
    with pytest.raises(KeyError):
        silences().put(silence(0, HOUR, id_="nobody"), NOW)
    with pytest.raises(KeyError):
        silences().expire("nobody", NOW)


@pytest.mark.parametrize(
    ("times", "after"),
    [((HOUR, 2 * HOUR), (NOW, NOW)), ((-HOUR, HOUR), (NOW - HOUR, NOW)), ((-2 * HOUR, -HOUR), None)],
)
def test_expiring(times: tuple[float, float], after: tuple[float, float] | None) -> None:
    book = silences(silence(*times))
    changed = book.expire("s", NOW)
    assert [(found.starts_at, found.ends_at) for found in changed] == ([after] if after else [])
    assert not book.muting({"job": "a"}, NOW)


def test_a_silence_ends_with_its_job() -> None:
    mine, other = JobKey("b", "1"), JobKey("b", "2")
    book = silences(silence(-1, HOUR, job=mine), silence(-1, HOUR, id_="kept"))
    assert not book.end_with([other], NOW)
    assert [(found.id, found.ends_at) for found in book.end_with([mine], NOW)] == [("s", NOW)]
    assert not book.end_with([mine], NOW), "once"
    assert [found.id for found in book.muting({"job": "a"}, NOW)] == ["kept"]


def test_what_is_long_over_is_forgotten() -> None:
    book = silences(silence(-HOUR, 0), silence(-HOUR, 1, id_="later"))
    book.forget(NOW + KEEP_EXPIRED)
    assert [found.id for found in book.all()] == ["later"]
    assert book.get("s") is None
