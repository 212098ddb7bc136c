"""A case in growing sizes."""

from dataclasses import replace

import pytest

from opcheck.model.timing import Sample, Timing
from opcheck.report import timings
from tests.report.made import Page
from tests.report.timed import bench, row

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
def test_sizes_shapes_and_times(snapshot, width):
    page = Page(width)
    timings.show_sweep(page.console, BENCH, ROWS)
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"sweep_{width}", page.text)


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
