"""OpenMetrics files: what we take is what promtool takes, and what we refuse names file, line and remedy."""

from __future__ import annotations

import gzip
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from watchdog.errors import UsageError
from watchdog.files import read_history
from watchdog.promql import instant, parse

T = 1_700_000_000
EOF = "# EOF\n"

GOOD = {
    "metadata": f"# TYPE a gauge\n# HELP a some \\n help: with \\\\ and ü\n# UNIT b_seconds seconds\na 1 {T}\n{EOF}",
    "all types": "".join(
        f"# TYPE a{kind} {kind}\n"
        for kind in ("counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset", "unknown")
    )
    + f"a 1 {T}\n{EOF}",
    "help without text": f"# HELP a \na 1 {T}\n{EOF}",
    "nothing": EOF,
    "no newline at the end": f"a 1 {T}\n# EOF",
    "labels": f'a{{x="1",y="2"}} 1 {T}\n{EOF}',
    "no labels in braces": f"a{{}} 1 {T}\n{EOF}",
    "escapes": f'a{{x="q\\"b\\\\c\\nd\\e"}} 1 {T}\n{EOF}',
    "braces and commas in a value": f'a{{x="}},{{",y="# EOF"}} 1 {T}\n{EOF}',
    "empty value of a label": f'a{{x=""}} 1 {T}\n{EOF}',
    "colons": f":a:b 1 {T}\n{EOF}",
    "unicode": f'a{{x="é 火"}} 1 {T}\n{EOF}',
    "floats": f"a 1. {T}\na .5 {T + 1}\na -1e-3 {T + 2}\na +2E+3 {T + 3}\na -0 {T + 4}\na 007 {T + 5}\n{EOF}",
    "special floats": f"a NaN {T}\na nan {T + 1}\na +Inf {T + 2}\na -inf {T + 3}\na Infinity {T + 4}\n{EOF}",
    "times": f"a 1 {T}.5\na 2 1.7000001e9\na 3 -5\na 4 0\n{EOF}",
    "disorder": f"a 1 {T + 60}\na 2 {T}\n{EOF}",
    "series mixed": f"a 1 {T}\nb 1 {T}\na 2 {T + 60}\n{EOF}",
    "same sample twice": f"a 1 {T}\na 1 {T}\n{EOF}",
    "exemplar": f'a_total 5 {T} # {{trace="x"}} 1\na_bucket{{le="1"}} 5 {T} # {{}} 1 {T}.5\n{EOF}',
}
BAD = {
    "cut off": (f"a 1 {T}\n", 1, "cut off"),
    "cut off in a line": (f"a 1 {T}\nb 2 17", 2, "cut off"),
    "no time": (f"a 1 {T}\na 1\n{EOF}", 2, "no timestamp"),
    "text after the end": (f"a 1 {T}\n{EOF}b 1 {T}\n", 3, "after # EOF"),
    "empty line": (f"a 1 {T}\n\n{EOF}", 2, "empty"),
    "space before the end of the line": (f"a 1 {T} \n{EOF}", 1, "is not a sample"),
    "two spaces": (f"a  1 {T}\n{EOF}", 1, "is not a sample"),
    "tab": (f"a\t1 {T}\n{EOF}", 1, "is not a sample"),
    "space in front": (f" a 1 {T}\n{EOF}", 1, "is not a sample"),
    "space before braces": (f'a {{x="1"}} 1 {T}\n{EOF}', 1, "is not a sample"),
    "no space before the value": (f'a{{x="1"}}1 {T}\n{EOF}', 1, "is not a sample"),
    "comma at the end of labels": (f'a{{x="1",}} 1 {T}\n{EOF}', 1, "is not a sample"),
    "spaces in labels": (f'a{{ x = "1" }} 1 {T}\n{EOF}', 1, "is not a sample"),
    "no comma between labels": (f'a{{x="1"y="2"}} 1 {T}\n{EOF}', 1, "is not a sample"),
    "no quotes": (f"a{{x=1}} 1 {T}\n{EOF}", 1, "is not a sample"),
    "colon in a label": (f'a{{x:y="1"}} 1 {T}\n{EOF}', 1, "is not a sample"),
    "line end in a label": (f'a{{x="1\n2"}} 1 {T}\n{EOF}', 1, "is not a sample"),
    "name twice": (f'a{{__name__="b"}} 1 {T}\n{EOF}', 1, "there twice"),
    "label twice": (f'a{{x="1",x="2"}} 1 {T}\n{EOF}', 1, "there twice"),
    "name in quotes": (f'{{"a.b"}} 1 {T}\n{EOF}', 1, "is not a sample"),
    "digit in front": (f"1a 1 {T}\n{EOF}", 1, "is not a sample"),
    "only a name": (f"a\n{EOF}", 1, "is not a sample"),
    "four fields": (f"a 1 {T} 3\n{EOF}", 1, "is not a sample"),
    "hexadecimal": (f"a 0x10 {T}\n{EOF}", 1, "is not a sample"),
    "underscores": (f"a 1_000 {T}\n{EOF}", 1, "is not a sample"),
    "sign of NaN": (f"a +NaN {T}\n{EOF}", 1, "is not a sample"),
    "word as value": (f"a x {T}\n{EOF}", 1, "is not a sample"),
    "broken value": (f"a 1e {T}\n{EOF}", 1, "is not a value and a time"),
    "broken time": (f"a 1 1.7.1\n{EOF}", 1, "is not a value and a time"),
    "too large": (f"a 1e999 {T}\n{EOF}", 1, "64-bit"),
    "NaN as time": (f"a 1 NaN\n{EOF}", 1, "is not a sample"),
    "carriage return": (f"a 1 {T}\r\n# EOF\r\n", 1, "carriage return"),
    "comment": (f"# a comment\na 1 {T}\n{EOF}", 1, "no line of OpenMetrics"),
    "type unknown": (f"# TYPE a untyped\na 1 {T}\n{EOF}", 1, "no line of OpenMetrics"),
    "unit that is no suffix": (f"# UNIT a seconds\na 1 {T}\n{EOF}", 1, "no line of OpenMetrics"),
    "space behind the end": (f"a 1 {T}\n# EOF \n", 2, "no line of OpenMetrics"),
    "exemplar without value": (f'a_total 5 {T} # {{trace="x"}}\n{EOF}', 1, "is not a sample"),
    "empty file": ("", 1, "empty"),
}
STRICTER = {
    "two values at one time": (f"a 1 {T}\nb 1 {T}\na 2 {T}\n{EOF}", 3, "has another value"),
    "milliseconds": (f"a 1 {T}000\n{EOF}", 1, "divide milliseconds by 1000"),
}
LAXER = {"exemplar of a gauge": f'a 5 {T} # {{trace="x"}} 1\n{EOF}'}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def go(text: str, name: str = "samples.om") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return go


def promtool_takes(path: Path, folder: Path) -> bool:
    tool = shutil.which("promtool")
    assert tool, "promtool is missing; install Debian's package prometheus"
    command = [tool, "tsdb", "create-blocks-from", "openmetrics", str(path), str(folder / "blocks")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", GOOD)
def test_what_promtool_takes_is_taken(name: str, write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(GOOD[name])
    assert promtool_takes(path, tmp_path)
    read_history([path])


@pytest.mark.parametrize("name", BAD)
def test_what_promtool_refuses_is_refused_with_its_place(name: str, write: Callable[..., Path], tmp_path: Path) -> None:
    text, line, reason = BAD[name]
    path = write(text)
    assert not promtool_takes(path, tmp_path)
    with pytest.raises(UsageError) as caught:
        read_history([path])
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert reason in str(caught.value)
    assert "; " in str(caught.value), "the remedy"


@pytest.mark.parametrize("name", STRICTER)
def test_what_promtool_would_bend_is_refused(name: str, write: Callable[..., Path], tmp_path: Path) -> None:
    text, line, reason = STRICTER[name]
    path = write(text)
    assert promtool_takes(path, tmp_path)
    with pytest.raises(UsageError, match=reason) as caught:
        read_history([path])
    assert str(caught.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("name", LAXER)
def test_what_newer_versions_take_is_taken(name: str, write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(LAXER[name])
    assert not promtool_takes(path, tmp_path)
    read_history([path])


def test_values_times_and_labels_are_read_as_written(write: Callable[..., Path]) -> None:
    text = (
        f'a{{x="q\\"b\\\\c\\nd\\e",y=""}} -1e-3 {T}.0004\n'
        f'a{{x="q\\"b\\\\c\\nd\\e"}} NaN {T}.25\na_total{{le="+Inf"}} 007 {T} # {{trace="x"}} 9 {T}\na:b -inf -5\n{EOF}'
    )
    (selection,) = [s for s in read_history([write(text)]).select([]) if s.labels.row(0)["__name__"] == "a"]
    assert selection.labels.rows() == [{"__name__": "a", "x": 'q"b\\c\nd\\e'}]
    window = selection.window(0, T + 1)
    assert window.times[:, 0].tolist() == [T, T + 0.25]
    np.testing.assert_equal(window.values[:, 0], [-0.001, math.nan])
    history = read_history([write(text)])
    (series,) = instant(parse("a_total"), history, T).series
    assert (series.labels, series.points) == ({"__name__": "a_total", "le": "+Inf"}, ((T, 7.0),))
    assert instant(parse("a:b"), history, -5).series[0].points[0][1] == -math.inf


def test_series_have_the_step_that_their_samples_have(write: Callable[..., Path]) -> None:
    lines = [f"fast 1 {T + 15 * i}.{i}" for i in range(9)] + [f"slow 1 {T + 300 * i}" for i in (0, 1, 2, 7)]
    history = read_history([write("\n".join([*lines, f"once 1 {T}", f"quick 1 {T}.1\nquick 1 {T}.35", EOF]))])
    steps = {selection.labels.row(0)["__name__"]: selection.step for selection in history.select([])}
    assert steps == {"fast": 15.0, "slow": 300.0, "once": 60.0, "quick": 0.25}


def test_a_series_may_be_spread_over_files(write: Callable[..., Path]) -> None:
    first = write(f'a{{x="1",y="2"}} 1 {T}\na{{x="1",y="2"}} 2 {T + 60}\n{EOF}', "first.om")
    second = write(f'a{{y="2",x="1"}} 3 {T + 120}\na{{y="2",x="1"}} 2 {T + 60}\n{EOF}', "second.om")
    history = read_history([second, first])
    assert instant(parse("sum_over_time(a[5m])"), history, T + 120).series[0].points == ((T + 120, 6.0),)


def test_files_that_contradict_each_other_are_named(write: Callable[..., Path]) -> None:
    first = write(f"a 1 {T}\na 1 {T + 60}\n{EOF}", "first.om")
    second = write(f"b 1 {T}\na 3 {T + 60}\n{EOF}", "second.om")
    with pytest.raises(UsageError) as caught:
        read_history([first, second])
    assert str(caught.value).startswith(f"{second}:2: the series has another value at this time in {first}:2; ")


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "samples.om.gz"
    path.write_bytes(gzip.compress(f"a 4 {T}\n{EOF}".encode()))
    assert instant(parse("a"), read_history([path]), T).series[0].points == ((T, 4.0),)


def test_a_compressed_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "samples.om.gz"
    whole = gzip.compress("".join(f"a {i * 7919 % 1000} {T + i}\n" for i in range(9999)).encode())
    path.write_bytes(whole[:-100])
    with pytest.raises(UsageError, match=r"samples.om.gz: the compressed file is cut off"):
        read_history([path])
    path.write_bytes(whole[:30] + b"\xff" * 30)
    with pytest.raises(UsageError, match=r"samples.om.gz: the compressed file is cut off or damaged"):
        read_history([path])
    path.write_bytes(b"no gzip at all")
    with pytest.raises(UsageError, match=r"samples.om.gz: cannot be read"):
        read_history([path])


def test_files_without_a_known_suffix_are_known_by_their_content(write: Callable[..., Path]) -> None:
    assert read_history([write(f"# TYPE a gauge\na 1 {T}\n{EOF}", "samples")]).stats().samples == 1
    assert read_history([write(f"a 1 {T}\n{EOF}", "samples.log")]).stats().samples == 1
    with pytest.raises(UsageError, match="no timestamp"):
        read_history([write(f"a 1\n{EOF}", "samples.log")])
    with pytest.raises(UsageError, match=r"of no format that is known; these are: .*; OpenMetrics \(\.om"):
        read_history([write("time,value\n" + "1,2\n" * 2000, "samples.csv")])


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing.om: cannot be read \(No such file"):
        read_history([tmp_path / "missing.om"])
    path = tmp_path / "latin.om"
    path.write_bytes(f'a{{x="\xe9"}} 1 {T}\n{EOF}'.encode("latin-1"))
    with pytest.raises(UsageError, match=r"latin.om: is not text in UTF-8"):
        read_history([path])
