import re
from dataclasses import replace

import pytest

from opcheck.model import Comparison, Diagnosis, Known, OpVersion, Verdict
from opcheck.report import summary, totals
from tests.report.made import Page, header, record
from tests.wording import lines_with

LANES = Known("The maximum of a vector's lanes forgets → its NaN.", None, "acme.yaml")
CAST = Known(
    "A float16 model is refused: the Cast around it is malformed.",
    "https://example.org/acme/acme-runtime/issues/16449-the-cast-around-float16-kernels",
    "acme.yaml",
)
GONE = Known("Ties went to the last maximum.", None, "bolt.yaml")
DML = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)
OLD = OpVersion("", "Hardmax", 1)
LAST = Diagnosis("last_of_ties", "the last of equal maxima won")
ZEROS = Diagnosis("zeros", "nothing was computed, and all left zero")
DIES = Diagnosis(None, "dies in the dark", (2, 2, 0, 40))


def every_section():
    """Results of three backends that fill every section and every column."""
    yield from (record(backend=b) for b in ("numpy", "acme", "bolt") for _ in range(1200))
    yield from (record(backend="numpy", self_check=True) for _ in range(7))
    yield from (record(Verdict.KNOWN, known=LANES, op=OLD) for _ in range(12))
    yield record(Verdict.KNOWN, known=CAST, op=OLD)
    yield record(Verdict.PASS, known=LANES)  # the cause still explains others: no remark
    yield from (record(backend="bolt", known=GONE) for _ in range(2))
    yield from (record(Verdict.FAIL, "bolt", op=DML) for _ in range(3))
    yield record(Verdict.ERROR, op=DML)
    yield record(Verdict.UNSTABLE, op=DML)
    yield record(Verdict.CRASH, "bolt", op=DML, reason="killed by SIGSEGV")
    yield from (record(Verdict.TIMEOUT, "bolt", reason="no answer within 30 s") for _ in range(2))
    yield record(Verdict.OOM, "bolt", reason="took more than 100 MiB of memory")
    yield record(Verdict.NOT_RUN, op=DML, reason="asked for the NPU, got the CPU")
    yield record(Verdict.BAD_CASE, op=DML)
    for axis in range(4):
        reason = f"no kernel for float64 along axis {axis} of [2, 3]"
        yield record(Verdict.UNSUPPORTED, reason=reason)
    for kind in ("größe", "uint8", "int8", "bool", "string", "complex64", "complex128"):
        yield record(Verdict.UNSUPPORTED, "bolt", reason=f"no kernel for {'-' + kind}")
    yield record(Verdict.WARN, "bolt", reason="accepts an invalid model: the type is no float")
    for answer, count in (("first_nan", 3), ("skips_nan", 2)):
        yield from (record(alternative=answer, name="nan") for _ in range(count))
    yield record(backend="numpy", alternative="first_nan", name="nan")


def test_all_failures_with_one_cause(wording):
    page = shown([record(Verdict.FAIL, diagnoses=(LAST,)) for _ in range(37)], "acme")
    assert lines_with(page.text, "What is wrong") == wording
    assert lines_with(page.text, "37  the") == wording
    assert "Hardmax-13, float32" in page.text


def test_several_causes_and_what_none_explains(wording):
    failures = [record(Verdict.FAIL, diagnoses=(ZEROS, LAST)) for _ in range(3)]
    failures += [record(Verdict.ERROR, op=OLD, diagnoses=(ZEROS,)), record(Verdict.FAIL)]
    failures += [record(Verdict.CRASH, failure="crash", diagnoses=(DIES,)) for _ in range(2)]
    failures += [record(Verdict.TIMEOUT, failure="timeout"), record(Verdict.UNSTABLE)]
    page = shown(failures, "acme", width=100)
    assert lines_with(page.text, "What is wrong") == wording
    assert lines_with(page.text, "all left zero") == wording
    assert lines_with(page.text, "2  dies in the") == wording
    assert "    1  not explained: hangs" in page.text


def test_warnings_are_failures_where_they_are_red_and_known_ones_nowhere(wording):
    results = [record(v, diagnoses=(LAST,)) for v in (Verdict.WARN, Verdict.KNOWN, Verdict.PASS)]
    strict = replace(header("acme"), strict=True)
    assert [*totals.wrong(header("acme"), results)] == []
    ((_, count, _),) = totals.wrong(strict, results)
    assert count == wording


def test_answers_that_differ_between_runs_are_counted_by_backend():
    results = [record(irreproducible=True, name=name) for name in ("a", "a", "b", "c", "d")]
    results += [record(), record(backend="numpy")]
    page = shown(results, "acme", "numpy", width=140)
    told = "acme 1.5: 5 results not reproducible to the bit (red with --require-reproducible)"
    assert f"{told}, in Hardmax/a, Hardmax/b, Hardmax/c and 1 more" in page.text
    assert "numpy 1.5: " not in page.text


def test_failures_without_any_cause(wording):
    page = shown([record(Verdict.FAIL), record(Verdict.FAIL)], "acme")
    assert lines_with(page.text, "What is wrong") == wording


def shown(results, *backends, width=80, complete=True, cases=1, verbose=True, **terminal):
    page = Page(width, **terminal)
    head = header(*backends, cases=cases)
    summary.Pretty(page.console, head, verbose=verbose).summarize(list(results), complete=complete)
    return page


@pytest.mark.parametrize("width", [50, 80, 120])
def test_every_section(snapshot, width):
    snapshot(f"summary_{width}", shown(every_section(), "numpy", "acme", "bolt", width=width).text)


def test_a_run_without_remarks_is_one_table(snapshot):
    snapshot("summary_plain", shown([record(), record()], "acme").text)


def test_an_incomplete_run_says_so_first(snapshot):
    page = shown([record(), record(Verdict.FAIL)], "acme", cases=1500, complete=False)
    snapshot("summary_incomplete", page.text)
    page = shown([], "acme", "bolt", cases=4, complete=False)
    assert page.lines[0] == "INCOMPLETE: 0 of 8 results"


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize("width", [1, 30, 80, 200])
def test_counts_are_never_cut(width):
    results = [record() for _ in range(1234)]
    results += [record(Verdict.UNSUPPORTED, reason="no") for _ in range(1001)]
    page = shown(results, "acme", width=width)
    assert any("1,234" in line and "1,001" in line for line in page.lines)


def test_passes_of_the_engine_against_itself_are_counted_apart():
    page = shown([record(), *(record(self_check=True) for _ in range(4))], "acme")
    assert page.lines[0].split() == ["operator", "backend", "pass", "self"]
    assert page.lines[2].split()[-2:] == ["1", "4"]


def test_the_engine_failing_against_itself_is_a_failure():
    page = shown([record(Verdict.FAIL, self_check=True)], "acme")
    assert page.lines[0].split() == ["operator", "backend", "pass", "fail"]
    assert page.lines[2].split()[-2:] == ["·", "1"]


def test_backends_stand_in_the_order_asked_for_and_versions_in_theirs():
    ops = [OpVersion("", "Hardmax", since) for since in (13, 2, 11)]
    results = [record(backend=b, op=op) for op in ops for b in ("zeta", "acme")]
    rows = [line.split() for line in shown(results, "zeta", "acme").lines[2:] if line]
    assert [row[0] for row in rows[::2]] == ["Hardmax-2", "Hardmax-11", "Hardmax-13"]
    assert [row[1] for row in rows[::2]] == ["zeta"] * 3
    assert [row[0] for row in rows[1::2]] == ["acme"] * 3


def test_causes_are_counted_by_backend():
    known = [record(Verdict.KNOWN, backend=b, known=LANES) for b in ("acme", "acme", "bolt")]
    lines = shown(known, "acme", "bolt", width=120).lines
    listed = [line for line in lines if line.endswith(LANES.cause)]
    assert [line.split()[:3] for line in listed] == [["acme", "1.5", "2"], ["bolt", "1.5", "1"]]


def test_a_cause_that_explains_nothing_any_more_is_a_remark(wording):
    passing = [record(known=GONE)] * 2
    assert lines_with(shown(passing, "acme").text, "listed in bolt.yaml, but 2") == wording
    assert lines_with(shown(passing[:1], "acme").text, "but 1 such case") == wording


def test_a_cause_that_still_explains_a_failure_is_none():
    results = [record(known=GONE), record(Verdict.KNOWN, known=GONE)]
    assert "listed in" not in shown(results, "acme").text


def test_answers_of_failures_are_not_counted():
    passed = record(alternative="first_nan", name="nan")
    results = [passed, record(Verdict.FAIL, alternative="first_nan", name="nan")]
    assert re.search(r"acme 1\.5 +1  first_nan$", shown(results, "acme").text, re.MULTILINE)


def test_reasons_that_differ_in_numbers_are_one(wording):
    reasons = [f"axis {n} of [{n}, 3] is out of range" for n in range(9)]
    results = [record(Verdict.UNSUPPORTED, reason=reason) for reason in [*reasons, reasons[0]]]
    [row] = [line for line in shown(results, "acme", width=120).lines if "out of range" in line]
    assert row.split(maxsplit=3)[2:] == ["10", wording]


def test_many_reasons_are_summed_up():
    kinds = [f"no {letter}" for letter in "abcdefgh"]
    results = [record(Verdict.UNSUPPORTED, reason=kind) for kind in [*kinds, "no a"]]
    lines = [line for line in shown(results, "acme").lines if " no " in line]
    rows = [line.removeprefix("acme 1.5").split(maxsplit=1) for line in lines]
    assert rows == [["2", "no a"], ["1", "no b"], ["1", "no c"]]
    assert "5  5 other reasons" in shown(results, "acme").text


def test_what_was_not_run_is_listed_with_its_reason(wording):
    results = [
        *(record(Verdict.NOT_RUN, reason="no such folder: out/1") for _ in range(2)),
        record(Verdict.NOT_RUN, reason="no such folder: out/2"),
        record(Verdict.NOT_RUN, "bolt", reason="the backend could not be started again"),
        record(Verdict.UNSUPPORTED, reason="no kernel"),
    ]
    lines = shown(results, "acme", "bolt").lines
    begin, end = lines.index("Not run"), lines.index("Not supported")
    told = [line.split(maxsplit=3)[::3] for line in lines[begin + 3 : end - 1]]
    assert told == [
        ["acme", wording],
        ["bolt", wording],
    ]
    assert "Not run" not in shown(results[-1:], "acme").text


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.WARN])
def test_a_hostile_reason_is_harmless_and_short(verdict):
    reason = "\x1b[2J\x07[red]x[/] [/nope]\n" * 100_000 + "\nexit 0: conforms"
    page = shown([record(verdict, reason=reason)], "acme")
    assert "\x1b" not in page.text
    assert "\x07" not in page.text
    assert "[red]x[/] [/nope]" in page.text
    assert len(page.text) < 1500
    assert not any(line.startswith("exit") for line in page.lines)


def test_no_line_ends_in_blanks():
    page = shown(every_section(), "numpy", "acme", "bolt")
    assert page.lines == [line.rstrip() for line in page.lines]


def test_verdicts_have_their_colours_on_a_terminal():
    colours = {"color_system": "standard", "force_terminal": True}
    page = shown([record(), record(Verdict.FAIL)], "acme", **colours)
    assert re.search(r"\x1b\[32m *1\x1b\[0m +\x1b\[31m *1\x1b\[0m", page.text)


def bounded(used: float, unjudged: int = 0) -> Comparison:
    return Comparison("y", None, tier="float32", total=100, unjudged=unjudged, used=used)


def test_used_is_the_largest_part_of_its_bounds_that_a_pass_needed():
    found = [
        record(comparisons=(bounded(0.25), bounded(0.5))),
        record(comparisons=(bounded(0.126),)),
        record(Verdict.FAIL, comparisons=(bounded(7.0),)),
        record(op=OLD, comparisons=(Comparison("y", None, used=0.0),)),
    ]
    lines = shown(found, "acme").lines
    assert lines[0].split() == ["operator", "backend", "pass", "fail", "used"]
    assert [line.split()[-1] for line in lines if " acme 1.5  " in line] == ["·", "0.50"]


def test_unjudged_elements_of_passes_are_told_of_each_backend(wording):
    found = [
        record(comparisons=(bounded(0.1, unjudged=3), bounded(0.1, unjudged=4))),
        record(name="nan", comparisons=(bounded(0.1, unjudged=2),)),
        record(backend="bolt", comparisons=(bounded(0.1),)),
        record(Verdict.FAIL, "bolt", comparisons=(bounded(0.1, unjudged=9),)),
    ]
    lines = shown(found, "acme", "bolt").lines
    assert lines[-1] == wording


def overview(results, *backends, **options):
    """The lines of the overview, from its table on."""
    lines = shown(results, *backends, verbose=False, **options).lines
    head = max(n for n, line in enumerate(lines) if set(line) == {"─"})
    return [line.split() for line in lines[head + 1 : lines.index("", head)]]


def test_results_are_wrong_or_right_by_operator_and_backend():
    results = [*(record(op=OLD) for _ in range(3)), record(Verdict.FAIL), record(Verdict.ERROR)]
    results += [record(Verdict.KNOWN, "bolt", known=LANES, found=Verdict.ERROR, op=DML)]
    results += [record(backend="bolt", self_check=True, op=DML)]
    assert overview(results, "acme", "bolt") == [
        ["Hardmax", *["2", "of", "5"], "·"],
        ["DML_ACTIVATION_HARDMAX1", "·", *["1", "of", "2"]],
        ["all", *["2", "of", "5"], *["1", "of", "2"]],
        ["known", "·", "1"],
        ["fail", "1", "·"],
        ["error", "1", "·"],
        ["self", "·", "1"],
    ]


@pytest.mark.parametrize(
    ("verdict", "found", "share", "kind"),
    [
        (Verdict.KNOWN, Verdict.CRASH, "1 of 1", "known"),
        (Verdict.KNOWN, None, "1 of 1", "known"),
        (Verdict.KNOWN, Verdict.WARN, "0 of 1", "warn"),
        (Verdict.KNOWN, Verdict.UNSUPPORTED, "·", "unsupported"),
        (Verdict.CRASH, None, "1 of 1", "crash"),
        (Verdict.DIFFER, None, "0 of 1", "differ"),
        (Verdict.UNEXPECTED_PASS, Verdict.PASS, "0 of 1", "unexpected pass"),
        (Verdict.NOT_RUN, None, "·", "not run"),
    ],
)
def test_what_a_ledger_excuses_counts_as_what_it_is(verdict, found, share, kind):
    rows = overview([record(verdict, found=found, known=LANES)], "acme")
    assert rows[0] == ["Hardmax", *share.split()]
    assert rows[1] == [*kind.split(), "1"]


@pytest.mark.parametrize("verbose", [0, 1])
def test_known_defects_are_wrong_results_and_add_up_everywhere(verbose, wording):
    ways = [Verdict.FAIL, Verdict.ERROR, Verdict.WARN, Verdict.UNSUPPORTED, Verdict.DIFFER]
    results = [record(Verdict.KNOWN, found=way, known=LANES) for way in ways]
    text = shown([*results, record()], "acme", verbose=verbose).text
    if verbose:
        assert "\nHardmax-13  acme 1.5     1      2     1       1            1\n" in text
        assert re.findall(r"^acme 1.5 +2  (\S+)", text, re.MULTILINE) == ["The"]
        assert re.findall(r"1  as a ledger lists it: (\S+)", text) == ["The", "The"]
    else:
        assert lines_with(text, "acme 1.5: 1 known defect") == wording
        assert re.findall(r"acme 1.5 +(\d+  as a .*)", text) == [wording]


@pytest.fixture(scope="module")
def crowded():
    """Results of eight backends, each wrong in thirty known ways on twenty operators."""
    ops = [OpVersion("", f"Op{n}", 1) for n in range(20)]
    causes = [Known(f"Defect {n} of those that need a few lines. " * 3, None, "a") for n in ops]
    results = [record(op=op) for op in ops]
    for n, cause in enumerate(causes):
        results += [record(Verdict.KNOWN, known=cause, op=ops[n])] * (n + 1)
    return [replace(one, backend=f"backend_{n}") for n in range(8) for one in results]


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("width", [80, 100, 160])
def test_an_overview_is_a_screen_whatever_there_is(crowded, width, count):
    names = [f"backend_{n}" for n in range(count)]
    results = [one for one in crowded if one.backend in names]
    page = shown(results, *names, width=width, verbose=False)
    # The exit code and the prompt come after it.
    assert len(page.lines) <= 40 - 3
    assert max(map(len, page.lines)) <= width
    assert all(name in page.text for name in names)
    assert "210 of 230" in page.text
    if count == 1:
        assert "backend_0 1.5: 20 known defects\n   20  Defect " in page.text
        assert re.search(r"^ +\d+  by \d+ other defects$", page.text, re.MULTILINE)


def test_the_operators_with_the_most_wrong_results_stay():
    ops = [OpVersion("", f"Op{n:02}", 1) for n in range(30)]
    results = [record(op=op) for op in ops] + [record(Verdict.FAIL, op=ops[7])] * 2
    rows = overview([*results, record(Verdict.FAIL, op=ops[29])], "acme")
    assert ["Op07", "2", "of", "3"] in rows
    assert ["Op29", "1", "of", "2"] in rows
    assert rows[12:14] == [["18", "others", "0", "of", "18"], ["all", "3", "of", "33"]]


def test_words_that_are_not_plain_are_explained_where_they_occur(wording):
    plain = shown([record(), record(Verdict.FAIL)], "acme", verbose=False).text
    assert "self:" not in plain
    assert "known:" not in plain
    assert "-v:" not in plain
    excused = record(Verdict.KNOWN, known=LANES)
    text = shown([record(self_check=True), excused], "acme", verbose=False, width=140).text
    assert lines_with(text, "self: the engine") == wording
    assert lines_with(text, "known: wrong as") == wording
    assert (
        lines_with(shown([record(comparisons=(bounded(0.5),))], "acme").text, "used: the largest")
        == wording
    )


def test_why_nothing_is_supported_is_never_hidden(wording):
    idle = record(Verdict.UNSUPPORTED, reason="no such kernel")
    assert lines_with(shown([idle], "acme", verbose=False).text, idle.reason) == wording
    assert idle.reason not in shown([idle, record()], "acme", verbose=False).text
    listed = record(Verdict.KNOWN, found=Verdict.UNSUPPORTED, known=GONE)
    assert GONE.cause in shown([listed], "acme", verbose=False).text


def test_rows_of_operators_are_in_the_order_of_what_is_wrong_and_missing() -> None:
    verdicts = {
        "Abs": [Verdict.PASS],
        "Add": [Verdict.UNSUPPORTED],
        "And": [Verdict.PASS, Verdict.UNSUPPORTED],
        "Cos": [Verdict.FAIL],
        "Exp": [Verdict.UNSUPPORTED],
        "Sin": [Verdict.FAIL, Verdict.FAIL],
    }
    records = [
        record(verdict, op=OpVersion("", name, 1))
        for name, of_operator in verdicts.items()
        for verdict in of_operator
    ]
    backends = header("acme").backends
    rows = totals.by_operator(backends, records, 10)
    assert [*rows] == ["Sin", "Cos", "And", "Abs", "2 with nothing judged", "all"]
    assert [*totals.by_operator(backends, records, 3)][:3] == ["Sin", "Cos", "2 others"]
