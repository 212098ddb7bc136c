"""A case in growing sizes: tables, and a picture."""

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from opcheck.errors import Unwritable, UsageError
from opcheck.model.timing import Sample, Timing
from opcheck.report import timings
from tests.report.made import Page
from tests.report.timed import bench, row

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="not installed: matplotlib"
)

#: A fixed cost of a call in seconds, and GB/s.
COSTS = {"numpy": (2e-6, 9), "onnxruntime": (5e-6, 30), "openvino": (2e-5, 25), "torch": (1e-5, 20)}
BENCH = bench(*COSTS)
LONG = "no answer came within 30 s, which is more than its profile allows for such a case"


def steady(backend, seconds):
    return Timing(backend, tuple(Sample(n, n % 3, 8, seconds) for n in range(9)))


def sized(moved, *, without=()):
    timings = [
        Timing(name, why_not=LONG) if name in without else steady(name, cost + moved / rate / 1e9)
        for name, (cost, rate) in COSTS.items()
    ]
    copy = steady("", 1e-7 + moved / 60e9).samples
    shapes = f"[{moved // 512}, 64]"
    return row(f"Softmax/rows@{moved}", timings, moved=moved, shapes=shapes, copy=copy)


ROWS = tuple(
    sized(1 << power, without=("torch",) if power > 24 else ()) for power in range(28, 9, -2)
)


def lines(rows, base=BENCH, width=120):
    page = Page(width)
    timings.show_sweep(page.console, base, rows)
    return page.lines


@pytest.mark.parametrize("width", [80, 160])
def test_sizes_times_bandwidths_and_exponents(snapshot, width):
    page = Page(width)
    timings.show_sweep(page.console, BENCH, ROWS)
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"scaling_{width}", page.text)


def test_the_title_names_what_all_sizes_have_in_common():
    assert timings.title(ROWS) == "Softmax-13 float32"
    swept = [replace(one, sweep="Softmax/rows") for one in ROWS]
    assert timings.title(swept) == "Softmax/rows: Softmax-13 float32"


def test_sizes_grow_whatever_the_order_of_the_rows():
    assert lines(ROWS) == lines(ROWS[::-1])
    sizes = [line.split()[:2] for line in lines(ROWS)[3:13]]
    assert (sizes[0], sizes[-1]) == (["1.02", "kB"], ["268", "MB"])


def test_times_stand_beside_the_size():
    [line] = [line for line in lines(ROWS[-1:]) if "kB" in line]
    # 2 µs and 1,024 bytes at 9 GB/s; a copy takes 117 ns.
    assert line.split()[:6] == ["1.02", "kB", "[2,", "64]", "2.11", "µs"]
    assert line.split()[-2:] == ["117", "ns"]


def test_the_exponent_is_that_of_the_work_without_the_cost_of_a_call():
    found = [line.split() for line in lines(ROWS) if "µs" in line]
    [numpy] = [cells for cells in found if cells[0] == "numpy"]
    assert numpy[1:] == ["1.00", "1.00", "to", "1.00", "2.00", "µs", "16.4", "kB"]


def test_one_size_has_no_exponent():
    assert "exponent" not in "".join(lines(ROWS[:1]))


def test_a_size_that_was_not_timed_has_a_dash():
    [line] = [line for line in lines(ROWS) if "268 MB" in line]
    assert line.split()[-3:] == ["–", "4.47", "ms"]


def test_nothing_from_outside_steers_the_terminal():
    sly = "\x1b[2J"
    rows = [
        row(sly, (steady(sly, 1e-3), Timing("x", why_not=sly)), shapes=sly, op=sly, moved=number)
        for number in (1, 2)
    ]
    assert "\x1b" not in "".join(lines(rows, bench(sly, "x", backends={sly: sly, "x": sly})))


@pytest.mark.parametrize("name", ["plot.pdf", "plot", "svg", "plot.svg.gz"])
def test_the_ending_says_what_is_drawn(name):
    with pytest.raises(UsageError, match=r"a plot ends in \.svg or \.png"):
        timings.check_plot(Path(name), ["x"])


def test_without_matplotlib_it_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as caught:
        timings.check_plot(Path("plot.svg"), ["x"])
    assert caught.value.lines() == ["plots need matplotlib", "  pip install 'opcheck[plot]'"]


@pytest.mark.gate
@needs_matplotlib
def test_the_same_data_make_the_same_file(tmp_path):
    for ending in ("svg", "PNG"):
        first, second = tmp_path / f"1.{ending}", tmp_path / f"2.{ending}"
        timings.draw(first, BENCH, ROWS)
        timings.draw(second, BENCH, ROWS)
        assert first.read_bytes() == second.read_bytes()
    assert b"dc:date" not in (tmp_path / "1.svg").read_bytes()
    # The endings tell the kind.
    assert (tmp_path / "1.PNG").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "1.svg").getroot().tag.endswith("svg")


def words_in(path):
    """The texts of an SVG, which matplotlib repeats in comments beside their outlines."""
    text = path.read_text(encoding="utf-8")
    return {part.split("-->")[0].strip() for part in text.split("<!--")[1:]}


@needs_matplotlib
def test_axes_have_units_and_every_backend_its_name_and_exponent(tmp_path):
    timings.draw(tmp_path / "plot.svg", BENCH, ROWS)
    found = words_in(tmp_path / "plot.svg")
    assert {
        "Softmax-13 float32",
        "time of a call: median, quartiles",
        "size: bytes that must move",
        "numpy 1.5, exponent 1.00",
        "torch 1.5, exponent 1.00",
        "copy",
        "1 MB",
        "100 µs",
    } <= found


@needs_matplotlib
def test_what_is_flat_looks_flat_and_has_marks(tmp_path):
    flat = [
        row(f"{moved}", (steady("$\\x$", moved / 9e9),), moved=moved, copy=())
        for moved in (1_000_000, 1_100_000)
    ]
    timings.draw(tmp_path / "plot.svg", bench("$\\x$"), flat)
    found = words_in(tmp_path / "plot.svg")
    assert {"1 MB", "100 µs", "$\\x$ 1.5, exponent 1.00"} <= found


@needs_matplotlib
def test_one_size_is_a_point(tmp_path):
    timings.draw(tmp_path / "plot.svg", BENCH, ROWS[:1])
    assert "numpy 1.5" in words_in(tmp_path / "plot.svg")


@needs_matplotlib
def test_a_picture_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(Unwritable, match="cannot be written: No such file"):
        timings.draw(tmp_path / "nowhere" / "plot.svg", BENCH, ROWS)


def test_no_table_needs_matplotlib():
    code = "import sys, opcheck.report.timings; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
