"""The page on semantics names each deliberate difference as the tests do."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "semantics.md"


def test_every_difference_has_a_row_and_a_test() -> None:
    table = PAGE.read_text().split("## Deliberate differences")[1].split("##")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][1:]
    marked = {
        name for file in HERE.glob("test_*.py") for name in re.findall(r'mark\.differs\("([^"]+)"\)', file.read_text())
    }
    assert Counter(rows) == Counter(marked)


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[a-z_/]+\.py)`", PAGE.read_text())
    assert len(named) == 8
    assert [name for name in named if not (PAGE.parent.parent / name).exists()] == []
