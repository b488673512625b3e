import pytest

from watchdog.sources.base.numbers import Reason, number, within


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (0, 0.0),
        (0.0, 0.0),
        (1, 1.0),
        (-3, -3.0),
        (2.5e-3, 0.0025),
        ("0.95", 0.95),
        (" 0.95 ", 0.95),
        ("0.00", 0.0),
        ("1e-3", 0.001),
        ("1E2", 100.0),
        ("+.5", 0.5),
        ("7.", 7.0),
        ("95%", 0.95),
        ("95 %", 0.95),
        ("0,95", 0.95),
        ("0,950", 0.95),
        ("12,5", 12.5),
        ("1,2345", 1.2345),
        ("1,234.5", 1234.5),
        ("12,345,678.0", 12345678.0),
        ("99,5%", 0.995),
    ],
)
def test_numbers_are_read_however_they_are_written(raw: object, value: float) -> None:
    assert number(raw) == value
    assert type(number(raw)) is float


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, Reason.NULL),
        ("", Reason.NULL),
        ("  ", Reason.NULL),
        ("-", Reason.NULL),
        (float("nan"), Reason.NAN),
        (float("inf"), Reason.NAN),
        (-float("inf"), Reason.NAN),
        (10**400, Reason.NAN),
        ("NaN", Reason.NAN),
        ("nan", Reason.NAN),
        ("-Infinity", Reason.NAN),
        ("inf", Reason.NAN),
        ("1e999", Reason.NAN),
        (True, Reason.VALUE),
        (False, Reason.VALUE),
        ("true", Reason.VALUE),
        ("1_000", Reason.VALUE),
        ("0x10", Reason.VALUE),
        ("1,234", Reason.VALUE),
        ("1,234,567", Reason.VALUE),
        ("%", Reason.VALUE),
        ("٣", Reason.VALUE),
        ([], Reason.VALUE),
        ({}, Reason.VALUE),
    ],
)
def test_what_is_no_number_has_a_reason_and_is_never_zero(raw: object, reason: Reason) -> None:
    assert number(raw) is reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [(-1e-9, Reason.NEGATIVE), (0.0, None), (1.0, None), (1.5, None), (1.5000001, Reason.UNIT), (95.0, Reason.UNIT)],
)
def test_a_ratio_lies_between_zero_and_one_and_a_half(value: float, reason: Reason | None) -> None:
    assert within(value, 1.5) is reason
