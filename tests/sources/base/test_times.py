from datetime import UTC, timedelta, timezone

import pytest

from watchdog.sources.base.times import Stamps, any_seconds, epoch_seconds, iso_seconds

SHANGHAI = timezone(timedelta(hours=8))
NINE = 1_772_442_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-03-02T09:00:00Z", NINE),
        ("2026-03-02t09:00:00z", NINE),
        ("2026-03-02 09:00:00Z", NINE),
        (" 2026-03-02T09:00:00Z ", NINE),
        ("2026-03-02T09:00:00+00:00", NINE),
        ("2026-03-02T09:00:00+0000", NINE),
        ("2026-03-02 17:00:00 +0800", NINE),
        ("2026-03-02T01:30:00-07:30", NINE),
        ("2026-03-02T09:00:00.5Z", NINE + 0.5),
        ("2026-03-02T09:00:00.123456789Z", NINE + 0.123456789),
        ("2026-03-02T09:00:00.123456789012Z", NINE + 0.123456789),
        ("2023-11-07T05:31:56Z", 1699335116.0),
    ],
)
def test_times_with_a_zone_are_read_in_every_form(text: str, seconds: float) -> None:
    assert iso_seconds(text) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    "raw",
    [
        "2026-03-02T09:00:00",
        "2026-03-02 09:00:00",
        "2026-03-02",
        "2026-02-30T09:00:00Z",
        "2026-03-02T25:00:00Z",
        "2026-03-02T09:00Z",
        "2026-W10-1T09:00:00Z",
        "2026-03-02T09:00:00 UTC",
        "",
        "yesterday",
        None,
        1772442000,
        True,
    ],
)
def test_a_time_without_a_zone_or_sense_is_none(raw: object) -> None:
    assert iso_seconds(raw) is None


def test_a_time_without_a_zone_is_in_the_zone_given() -> None:
    assert iso_seconds("2026-03-02 17:00:00", SHANGHAI) == NINE
    assert iso_seconds("2026-03-02 09:00:00", UTC) == NINE
    assert iso_seconds("2026-03-02T09:00:00Z", SHANGHAI) == NINE


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [
        (1772442000, NINE),
        ("1772442000", NINE),
        (1772442000.25, NINE + 0.25),
        (1772442000000, NINE),
        ("1772442000000", NINE),
        (1e11, 1e11),
        (1e11 + 1000, 1e8 + 1),
    ],
)
def test_epoch_numbers_are_seconds_or_milliseconds(raw: object, seconds: float) -> None:
    assert epoch_seconds(raw) == seconds


@pytest.mark.parametrize("raw", [None, "", "soon", True, float("nan"), []])
def test_an_epoch_number_that_is_none(raw: object) -> None:
    assert epoch_seconds(raw) is None


def test_either_form_is_taken_where_both_are_possible() -> None:
    assert any_seconds("2026-03-02 17:00:00", SHANGHAI) == NINE
    assert any_seconds(1772442000000, SHANGHAI) == NINE
    assert any_seconds("", SHANGHAI) is None


def test_each_time_of_a_reply_is_parsed_once() -> None:
    parsed = []

    def parse(raw: object) -> float | None:
        parsed.append(raw)
        return iso_seconds(raw)

    stamps = Stamps(parse)
    texts = ["2026-03-02T09:00:00Z", "never"] * 3
    assert [stamps[text] for text in texts] == [NINE, None] * 3
    assert parsed == texts[:2]
