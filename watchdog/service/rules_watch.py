"""When are the rules to be loaded again? When the files have changed and hold still, or when somebody asks."""

from __future__ import annotations


class RulesWatch:
    """Is shown the checksum of the rules file now and then. One thread."""

    def __init__(self, checksum: str) -> None:
        """``checksum``: of the rules in force."""
        self._settled = checksum
        """Of what was loaded, or refused, last."""
        self._seen = checksum

    def look(self, checksum: str, *, asked: bool = False) -> bool:
        """Return whether to load the file now, which is then taken as done.

        A change counts when it is seen twice alike: at the first look an editor may have written half of it.
        """
        still = checksum == self._seen
        self._seen = checksum
        if not asked and (not still or checksum == self._settled):
            return False
        self._settled = checksum
        return True
