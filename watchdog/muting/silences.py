"""The silences there are: which may be changed how, and which alerts they mute. Alertmanager's life cycle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from watchdog.model import JobKey, Silence, SilenceState
from watchdog.rules.matchers import matches, parse_matcher

KEEP_EXPIRED = 5 * 86400.0
"""Seconds for which an expired silence can still be looked at; Alertmanager's retention."""


def check_silence(silence: Silence) -> None:
    """Raise ValueError for a silence that means nothing, or everything."""
    if not silence.matchers:
        raise ValueError('a silence needs a matcher, such as job="a"')
    parsed = [parse_matcher(text) for text in silence.matchers]
    if all(matches([matcher], {}) for matcher in parsed):
        raise ValueError("every matcher also matches an empty label, so this would silence everything; name a value")
    if not silence.starts_at > 0 or not silence.ends_at > 0:
        raise ValueError("a silence needs a start and an end")
    if silence.ends_at < silence.starts_at:
        raise ValueError("a silence must not end before it starts")


class Silences:
    """All silences, expired ones for a while. Changes return the records that a store must write."""

    def __init__(self, silences: Iterable[Silence], new_id: Callable[[], str]) -> None:
        self._all = {silence.id: silence for silence in silences}
        self._new_id = new_id

    def copy(self) -> Silences:
        """Return ones that go their own way from here."""
        return Silences(self._all.values(), self._new_id)

    def all(self) -> Sequence[Silence]:
        """Return every silence, the one that ends last first."""
        return sorted(self._all.values(), key=lambda silence: (-silence.ends_at, silence.id))

    def get(self, id_: str) -> Silence | None:
        """Return one silence."""
        return self._all.get(id_)

    def put(self, wanted: Silence, now: float) -> Sequence[Silence]:
        """Create a silence, or change the one of this id; return what changed, the one in force last.

        A change that would rewrite what has been (or other matchers) ends the old one and makes a new one.
        Raises ValueError for a silence that means nothing, KeyError for an id that there is not.
        """
        check_silence(wanted)
        if wanted.ends_at <= now and not wanted.id:
            raise ValueError("a silence must end in the future")
        old = self._all[wanted.id] if wanted.id else None
        if old is not None and updatable(old, wanted, now):
            return [self._keep(replace(wanted, updated_at=now))]
        changed = self.expire(old.id, now) if old is not None else ()
        starts_at = max(wanted.starts_at, now)
        if wanted.ends_at < starts_at:
            raise ValueError("a silence must end in the future")
        return [*changed, self._keep(replace(wanted, id=self._new_id(), starts_at=starts_at, updated_at=now))]

    def expire(self, id_: str, now: float) -> Sequence[Silence]:
        """End a silence now; one that is over stays as it is. Raises KeyError for an id that there is not."""
        silence = self._all[id_]
        state = silence.state(now)
        if state is SilenceState.EXPIRED:
            return ()
        starts_at = now if state is SilenceState.PENDING else silence.starts_at
        return [self._keep(replace(silence, starts_at=starts_at, ends_at=now, updated_at=now))]

    def end_with(self, jobs: Collection[JobKey], now: float) -> Sequence[Silence]:
        """End the silences that last as long as these jobs, which have ended."""
        bound = [silence.id for silence in self._all.values() if silence.until_job_ends in jobs]
        return [changed for id_ in bound for changed in self.expire(id_, now)]

    def forget(self, now: float) -> None:
        """Drop what has been over for long."""
        for id_ in [s.id for s in self._all.values() if s.ends_at <= now - KEEP_EXPIRED]:
            del self._all[id_]

    @contextmanager
    def undoable(self) -> Iterator[None]:
        """Take back every change of the body if it raises."""
        before, done = dict(self._all), False
        try:
            yield
            done = True
        finally:
            if not done:
                self._all = before

    def muting(self, labels: Mapping[str, str], now: float) -> Sequence[Silence]:
        """Return the silences that mute an alert with these labels now, the one that ends last first."""
        active = [silence for silence in self.all() if silence.state(now) is SilenceState.ACTIVE]
        return [silence for silence in active if matches(map(parse_matcher, silence.matchers), labels)]

    def _keep(self, silence: Silence) -> Silence:
        self._all[silence.id] = silence
        return silence


def updatable(old: Silence, new: Silence, now: float) -> bool:
    """Whether a change leaves the past alone; else it is an end and a new silence."""
    if set(old.matchers) != set(new.matchers) or old.state(now) is SilenceState.EXPIRED:
        return False
    if new.ends_at < new.starts_at:
        return False
    if old.state(now) is SilenceState.ACTIVE:
        return int(new.starts_at) == int(old.starts_at) and new.ends_at >= now
    return new.starts_at >= now
