"""The table of a benchmark."""

from dataclasses import replace

import pytest

from opcheck.model.timing import Sample, Timing
from opcheck.report import timings
from tests.report.made import Page, page_of
from tests.report.timed import MACHINE, bench, row, timing
from tests.wording import lines_with

NUMPY, ORT, MINE, TORCH = "numpy", "onnxruntime", "py:my.module:Backend?threads=2", "torch"
BENCH = bench(NUMPY, ORT, MINE, TORCH)
WRONG = "fail: 3 of 3,216,448 elements are wrong: the first at [0, 17], it is 0.25 for 0.5 ± 1 ULP"


def steady(backend, seconds, *, rounds=30, workers=3, prepared=(0.012, 0.02, 0.011)):
    """Samples that are all alike."""
    found = (Sample(number, number % workers, 8, seconds) for number in range(rounds))
    return Timing(backend, tuple(found), prepared)


ROWS = (
    row(
        "Softmax/vocabulary_rows@opset=13,dtype=float32",
        (
            timing(NUMPY, 2.4e-3, noise=0.03, prepared=3e-4),
            timing(ORT, 886e-6, seed=3),
            timing(MINE, 2.41e-3, noise=0.02, seed=4),
            Timing(TORCH, why_not=WRONG),
        ),
    ),
    row(
        "LpPool/volume@opset=22,dtype=float32#ceil",
        (
            timing(NUMPY, 240e-3, noise=0.9),
            steady(ORT, 86e-3),
            timing(MINE, 85e-3, seed=4),
            timing(TORCH, 92.4e-3, rounds=9),
        ),
        op="LpPool-22",
        shapes="[1, 32, 64, 64, 64]",
    ),
)


def printed(*rows, width=160, base=BENCH, **settings):
    """The lines of the cases, without what stands above them."""
    page = Page(width, **settings)
    for one in rows:
        timings.show_case(page.console, base, one)
    return page.lines


def cells(line):
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


@pytest.mark.parametrize("width", [80, 160])
def test_a_benchmark_from_its_conditions_to_its_means(snapshot, width):
    page = page_of(timings.show, BENCH, ROWS, width=width, complete=False)
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"timings_{width}", page.text)


def test_colours_are_beside_words_and_never_in_their_place():
    page = Page(100, color_system="standard", force_terminal=True)
    timings.show_case(page.console, BENCH, ROWS[0])
    assert "\x1b[32mfaster" in page.text
    assert "\x1b[33mtorch was not timed" in page.text


def test_a_line_holds_the_median_and_what_follows_from_it(wording):
    # 1 MB in 1 ms are 1 GB/s; a copy needs a fifth of the time.
    both = steady(NUMPY, 1e-3), steady(ORT, 2e-3)
    one = row("x", both, moved=1_000_000, copy=steady("", 200e-6).samples)
    lines = printed(one, base=bench(NUMPY, ORT))
    assert lines[1] == wording
    numpy, ort = map(cells, lines[4:6])
    assert numpy == [NUMPY, "1.00 ms", "±0.0 %", "1", "–", "baseline", "1.00", "20 %", "12.0 ms"]
    assert ort == [
        ORT,
        "2.00 ms",
        "±0.0 %",
        "2.00",
        "2.00–2.00",
        "slower",
        "0.500",
        "10 %",
        "12.0 ms",
    ]


@pytest.mark.parametrize(
    ("seconds", "word"), [(0.5e-3, "faster"), (1.005e-3, "same"), (1.1e-3, "slower")]
)
def test_the_verdict_is_a_word(seconds, word):
    lines = printed(row("x", (steady(NUMPY, 1e-3), steady(ORT, seconds))), base=bench(NUMPY, ORT))
    assert cells(lines[5])[5] == word


def test_what_is_not_known_is_left_open():
    few = row("x", (steady(NUMPY, 1e-3, rounds=1), steady(ORT, 2e-3, rounds=1, prepared=())))
    lines = printed(replace(few, copy=()), base=bench(NUMPY, ORT))
    assert lines[1] == "Softmax-13 float32 [64, 50257]: 25.7 MB must move"
    assert cells(lines[5])[3:9] == ["2.00", "–", "unclear", "12.9", "–", "–"]


def test_without_the_baseline_there_are_times_and_no_ratios(wording):
    lines = printed(row("x", (Timing(NUMPY, why_not="it crashed"), steady(ORT, 2e-3))))
    assert cells(lines[4])[:7] == [ORT, "2.00 ms", "±0.0 %", "–", "–", "–", "12.9"]
    assert lines[6] == wording


def test_backends_without_a_round_in_common_have_no_ratio():
    late = Timing(ORT, tuple(Sample(round, 0, 8, 2e-3) for round in range(30, 40)))
    lines = printed(row("x", (steady(NUMPY, 1e-3), late)), base=bench(NUMPY, ORT))
    assert cells(lines[5])[3:6] == ["–", "–", "–"]


def test_where_nobody_was_timed_only_reasons_are_told(wording):
    lines = printed(row("x", (Timing(NUMPY, why_not="it crashed"),)))
    assert lines[2:] == wording


def test_of_bytes_that_nobody_knows_nothing_is_told():
    nobody = replace(row("x", (Timing(NUMPY, why_not="differ: so"),)), moved=0, copy=())
    assert printed(nobody)[1] == "Softmax-13 float32 [64, 50257]"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_long_address_is_shown_in_full(width):
    address = "py:a.very.long.name.of.a.module:AndOfAClass?threads=2&more=1"
    lines = printed(row("x", (steady(address, 1e-3),)), width=width, base=bench(address))
    table = lines[lines.index(next(line for line in lines if line.startswith("─"))) + 1 :]
    assert "baseline" in table[0]
    assert "".join(line.split()[0] for line in table if line) == address


def test_a_machine_that_was_too_noisy_is_told(wording):
    samples = [replace(one, seconds=1.5e-3) for one in steady(NUMPY, 1e-3).samples[:6]]
    noisy = Timing(NUMPY, (*samples, *steady(NUMPY, 1e-3).samples[6:]))
    assert lines_with(printed(row("x", (noisy,))), "numpy is noisy") == wording
    assert not [line for line in printed(row("x", (steady(NUMPY, 1e-3),))) if "noisy" in line]


def test_that_other_processes_had_the_processor_is_told(wording):
    waited = tuple(replace(one, waited=1e-3) for one in steady(NUMPY, 1e-3).samples)
    lines = printed(row("x", (Timing(NUMPY, waited), steady(ORT, 1e-3))))
    assert lines_with(lines, "waited") == wording


def test_what_a_backend_prints_while_it_is_timed_is_told(wording):
    chatty = replace(steady(NUMPY, 1e-3), printed="so\nmuch \x1b[2Jto say")
    out = printed(row("x", (chatty,)))
    assert lines_with(out, "numpy prints while") == wording


def test_nothing_from_outside_steers_the_terminal():
    sly = "\x1b[2J\nx"
    machine = replace(MACHINE, processor=sly, governor=sly, platform=sly)
    base = bench(sly, NUMPY, machine=machine, python=sly, backends={sly: sly, NUMPY: sly})
    one = row(sly, (steady(sly, 1e-3), Timing(NUMPY, why_not=sly)), op=sly, dtype=sly, shapes=sly)
    assert "\x1b" not in page_of(timings.show, base, (one, replace(one, case="y"))).text


def test_conditions_are_told_unless_nobody_knows_them(wording):
    machine = replace(MACHINE, processor="", governor="")
    threads = {NUMPY: 4, ORT: 1, "cmd:x": None}
    about = bench(*threads, machine=machine, threads=4, threads_of=threads, cold=True)
    about = replace(about, included={"cmd:x": "the way to it"})
    assert page_of(timings.show_head, about, width=400).lines == wording


def mean_lines(*rows, base=None):
    return page_of(timings.show_means, base or bench(NUMPY, ORT), rows, width=100).lines


def test_the_mean_is_geometric(wording):
    cases = [
        row(name, (steady(NUMPY, 1e-3), steady(ORT, factor * 1e-3)))
        for name, factor in (("x", 2), ("y", 8), ("z", 4))
    ]
    title, _, _, _, line, _ = mean_lines(*cases)
    assert title == wording
    assert cells(line)[:2] == [ORT, "4.00"]


def test_cases_that_somebody_was_not_timed_for_are_counted_out(wording):
    both = row("x", (steady(NUMPY, 1e-3), steady(ORT, 2e-3)))
    one = row("y", (steady(NUMPY, 1e-3), Timing(ORT, why_not="no")))
    title, why, *_ = mean_lines(both, one, both, both)
    assert title == wording
    assert why == wording


def test_of_two_cases_or_one_backend_there_is_no_mean():
    assert mean_lines(*[row("x", (steady(NUMPY, 1e-3), steady(ORT, 2e-3)))] * 2) == []
    alone = [row(name, (steady(NUMPY, 1e-3),)) for name in "xyz"]
    assert mean_lines(*alone, base=bench(NUMPY)) == []
    assert mean_lines() == []
