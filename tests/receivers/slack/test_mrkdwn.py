import pytest

from watchdog.receivers.slack.mrkdwn import cut, date, escape, link, weight


def test_exactly_three_characters_are_escaped() -> None:
    assert escape("<!channel> & \"x\" 'y' *b* `c`") == "&lt;!channel&gt; &amp; \"x\" 'y' *b* `c`"


@pytest.mark.parametrize(
    ("text", "limit", "result"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("", 3, ""),
        ("a<b", 6, "a&lt;b"),
        ("a<b", 5, "a…"),
        ("<<", 4, "…"),
        ("🚀🚀", 4, "🚀🚀"),
        ("🚀🚀", 3, "🚀…"),
        ("🚀🚀🚀", 4, "🚀…"),
    ],
)
def test_a_cut_never_splits_an_entity_and_never_weighs_more(text: str, limit: int, result: str) -> None:
    assert cut(text, limit) == result
    assert weight(cut(text, limit)) <= limit


@pytest.mark.parametrize(
    ("url", "result"),
    [
        ("https://a.example/x?a=1&b=2", "<https://a.example/x?a=1&amp;b=2|a &lt;b&gt;>"),
        ('https://a.example/a|b>c<d e"', "<https://a.example/a%7Cb%3Ec%3Cd%20e%22|a &lt;b&gt;>"),
        ("javascript:alert(1)", "a &lt;b&gt;"),
        ("!channel", "a &lt;b&gt;"),
        ("https://a.example/\n", "a &lt;b&gt;"),
        ("https://a.example/" + "x" * 1000, "a &lt;b&gt;"),
        ("", "a &lt;b&gt;"),
    ],
)
def test_a_link_cannot_be_broken_out_of(url: str, result: str) -> None:
    assert link(url, "a <b>", 50) == result


def test_a_date_has_a_fallback() -> None:
    assert date(1772452800.4, "12:00 UTC") == "<!date^1772452800^{date_short_pretty} {time}|12:00 UTC>"
