import json
import re
from dataclasses import replace

import pytest

from opcheck.model import OpVersion, Verdict
from opcheck.model.result import Cell, Floor, Support
from opcheck.report import support
from opcheck.report.support import Matrix
from tests.report.made import page_of

HARDMAX_11, HARDMAX_13 = (OpVersion("", "Hardmax", since) for since in (11, 13))
LONG = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)


def cell(op, dtype, declared=None, verdict=Verdict.PASS, share=2, count=2, reason="", works=None):
    works = verdict is Verdict.PASS if works is None else works
    case = f"{op.name}/{'x' * 40}@dtype={dtype}"
    return Support(Cell(op, dtype), declared, verdict, count, share, case, reason, works)


NO_KERNEL = "NOT_IMPLEMENTED : Could not find an implementation for {}({}) node"
ACME = [
    cell(
        HARDMAX_11,
        "float16",
        False,
        Verdict.ERROR,
        reason=f"takes the same model at opset 12; at opset 11: raised: {'no cast ' * 60}",
    ),
    cell(HARDMAX_11, "float32", True),
    cell(HARDMAX_11, "float64", False, Verdict.UNSUPPORTED, reason=NO_KERNEL.format("Hardmax", 11)),
    cell(HARDMAX_13, "float16", False),
    cell(HARDMAX_13, "bfloat16", True, None, 0, 0, works=False),
    cell(HARDMAX_13, "float32", True, Verdict.FAIL, 1, 2, "output: 3 of 9 elements wrong", True),
    cell(HARDMAX_13, "float64", False, Verdict.UNSUPPORTED, reason=NO_KERNEL.format("Hardmax", 13)),
    cell(LONG, "float16", True, Verdict.CRASH, 2, 7, "killed by SIGABRT"),
    cell(LONG, "float32", False, Verdict.WARN, 6, 7, "exp kept in float16", True),
]


@pytest.mark.parametrize("width", [80, 120])
def test_a_backend_is_a_matrix_beside_what_it_declares(snapshot, width):
    page = page_of(support.show, [Matrix("acme", "acme 1.5", "its manual", ACME)], width=width)
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"support_{width}", page.text)


def test_who_declares_nothing_is_accused_of_nothing(wording):
    silent = [cell(HARDMAX_13, "float32", None, Verdict.FAIL, 1, 2, "wrong", True)]
    page = page_of(support.show, [Matrix("acme", "acme 1.5", "its manual", silent)])
    assert page.lines[0] == wording
    assert "Hardmax     0/1  wrong: float32" in page.lines
    assert "declared but" not in page.text


@pytest.mark.parametrize(
    ("declared", "verdict", "works", "too_much", "too_little"),
    [
        (True, Verdict.PASS, True, False, False),
        (True, Verdict.WARN, True, False, False),
        (True, Verdict.FAIL, True, True, False),
        (True, Verdict.UNSUPPORTED, False, True, False),
        (True, Verdict.TIMEOUT, False, True, False),
        (True, Verdict.NOT_RUN, False, False, False),
        (True, None, False, False, False),
        (False, Verdict.PASS, True, False, True),
        (False, Verdict.FAIL, True, False, True),
        (False, Verdict.ERROR, False, False, False),
        (None, Verdict.FAIL, False, False, False),
        (None, Verdict.PASS, True, False, False),
    ],
)
def test_a_declaration_is_too_much_or_too_little(declared, verdict, works, too_much, too_little):
    found = cell(HARDMAX_13, "float32", declared, verdict, works=works)
    assert found.is_declared_but_failing is too_much
    assert found.is_undeclared_but_working is too_little


def test_why_is_told_once_a_kind_and_for_wrong_answers_once_a_case():
    def reasons(verdict, *cases):
        found = [
            replace(cell(HARDMAX_13, dtype, None, verdict, reason=f"{n} wrong"), case=case)
            for n, (dtype, case) in enumerate(zip(("float16", "float32"), cases, strict=True))
        ]
        matrices = [Matrix("acme", "acme", "", found)]
        page = page_of(support.show, matrices, width=100)
        table = "\n".join(support.html_lines(matrices)).partition('class="why"')[2]
        told = [line.split()[1:3] for line in page.lines if "Hardmax/" in line]
        assert [
            *map(list, re.findall(r'"num">(.*)<td><code>(.*?)</code><br>. wrong', table))
        ] == told
        return told

    assert reasons(Verdict.FAIL, "Hardmax/ties@a", "Hardmax/ties@b") == [["2", "Hardmax/ties@a"]]
    both = reasons(Verdict.FAIL, "Hardmax/ties@a", "Hardmax/nan#b")
    assert both == [["1", "Hardmax/ties@a"], ["1", "Hardmax/nan#b"]]
    assert reasons(Verdict.ERROR, "Hardmax/ties@a", "Hardmax/nan#b") == [["2", "Hardmax/ties@a"]]


def test_nothing_from_outside_steers_the_terminal():
    hostile = cell(HARDMAX_13, "float32", None, Verdict.ERROR, reason="\x1b[2J\u202e")
    hostile = replace(hostile, failed=1)
    name = "\x1b[2Jacme"
    found = [Matrix(name, name, name, [hostile])]
    lines = [page_of(support.show, found * 2).text, *support.html_lines(found)]
    floor = Floor(name, frozenset({hostile.cell}))
    lines += [support.missed(floor, *found, lenient=False)]
    assert lines[-1].endswith("refuses: float32 (1 of 2 cases)")
    lines += [support.required_of([floor], found, lenient=False)]
    assert not {"\x1b", "\u202e"} & {*"".join(lines)}


def test_operators_that_are_wrong_come_first_and_those_that_are_missing_last():
    names = ("Right", "Lacking", "Wrong", "Warned")
    verdicts = (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.FAIL, Verdict.WARN)
    found = [
        cell(OpVersion("", name, 1), "float32", None, verdict)
        for name, verdict in zip(names, verdicts, strict=True)
    ]
    matrices = [Matrix("acme", "acme", "", found)]
    page = "\n".join(support.html_lines(matrices))
    order = ["Wrong", "Warned", "Right", "Lacking"]
    assert re.findall(r'scope="row">(\w+)-', page) == order
    shown = [line.split()[0] for line in page_of(support.show, matrices).lines if "0/1" in line]
    assert shown == ["Wrong", "Warned", "Lacking"]


@pytest.mark.parametrize("lacking", [10, 11])
def test_more_than_ten_operators_that_no_backend_has_are_one_line(lacking, wording):
    def acme(address):
        cells = [
            cell(OpVersion("", f"Op{number}", 1), "float32", None, Verdict.UNSUPPORTED)
            for number in range(lacking)
        ]
        in_part = cell(HARDMAX_13, "float32", None, Verdict.UNSUPPORTED, 1, 2)
        return Matrix(address, address, "", [*cells, in_part])

    lines = page_of(support.show, [acme("acme")]).lines
    assert sum(line.startswith("Op") for line in lines) == (lacking if lacking == 10 else 0)
    assert [line for line in lines if line.startswith(("Hardmax ", "in no "))] == wording
    lines = page_of(support.show, [acme("acme"), acme("bolt")]).lines
    assert (" ".join(lines[4].split()) == "11 others 0 0") is (lacking == 11)


def test_the_page_has_cells_that_no_model_asks_about():
    page = "\n".join(support.html_lines([Matrix("acme", "acme 1.5", "its manual", ACME)]))
    assert 'title="Hardmax-13 bfloat16: not tested"' in page


def test_a_record_is_json():
    assert json.loads(json.dumps(support.record("acme", ACME[5]))) == {
        "type": "support",
        "backend": "acme",
        "op": "Hardmax",
        "domain": "",
        "since": 13,
        "dtype": "float32",
        "verdict": "fail",
        "models": 2,
        "with_this_verdict": 1,
        "declared": True,
        "declared_but_failing": True,
        "undeclared_but_working": False,
        "case": ACME[5].case,
        "reason": ACME[5].reason,
    }
