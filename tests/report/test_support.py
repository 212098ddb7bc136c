import json
from dataclasses import replace

import pytest

from opcheck.model import OpVersion, Verdict
from opcheck.model.result import Cell, Floor, Support
from opcheck.report import support
from opcheck.report.support import Matrix
from tests.report.made import Page

HARDMAX_11, HARDMAX_13 = (OpVersion("", "Hardmax", since) for since in (11, 13))
LONG = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)


def cell(op, dtype, verdict=Verdict.PASS, share=2, count=2, reason=""):
    case = f"{op.name}/{'x' * 40}@dtype={dtype}"
    return Support(Cell(op, dtype), verdict, count, share, case, reason)


NO_KERNEL = "NOT_IMPLEMENTED : Could not find an implementation for {}({}) node"
ACME = [
    cell(
        HARDMAX_11,
        "float16",
        Verdict.ERROR,
        reason=f"takes the same model at opset 12; at opset 11: raised: {'no cast ' * 60}",
    ),
    cell(HARDMAX_11, "float32"),
    cell(HARDMAX_11, "float64", Verdict.UNSUPPORTED, reason=NO_KERNEL.format("Hardmax", 11)),
    cell(HARDMAX_13, "float16"),
    cell(HARDMAX_13, "bfloat16", None, 0, 0),
    cell(HARDMAX_13, "float32", Verdict.FAIL, 1, 2, "output: 3 of 9 elements wrong"),
    cell(HARDMAX_13, "float64", Verdict.UNSUPPORTED, reason=NO_KERNEL.format("Hardmax", 13)),
    cell(LONG, "float16", Verdict.CRASH, 2, 7, "killed by SIGABRT"),
    cell(LONG, "float32", Verdict.WARN, 6, 7, "exp kept in float16"),
]


@pytest.mark.parametrize("width", [80, 120])
def test_a_backend_is_a_matrix(snapshot, width):
    page = Page(width)
    support.show(page.console, [Matrix("acme", "acme 1.5", ACME)])
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"support_{width}", page.text)


def test_why_is_told_once_a_kind_and_for_wrong_answers_once_a_case():
    def reasons(verdict, *cases):
        page = Page(100)
        found = [
            replace(cell(HARDMAX_13, dtype, verdict, reason=f"{n} wrong"), case=case)
            for n, (dtype, case) in enumerate(zip(("float16", "float32"), cases, strict=True))
        ]
        support.show(page.console, [Matrix("acme", "acme", found)])
        return [line.split()[1:3] for line in page.lines if "Hardmax/" in line]

    assert reasons(Verdict.FAIL, "Hardmax/ties@a", "Hardmax/ties@b") == [["2", "Hardmax/ties@a"]]
    both = reasons(Verdict.FAIL, "Hardmax/ties@a", "Hardmax/nan#b")
    assert both == [["1", "Hardmax/ties@a"], ["1", "Hardmax/nan#b"]]
    refused = reasons(Verdict.ERROR, "Hardmax/ties@a", "Hardmax/nan#b")
    assert refused == [["2", "Hardmax/ties@a"]]


def test_nothing_from_outside_steers_the_terminal():
    page = Page(80)
    hostile = cell(HARDMAX_13, "float32", Verdict.ERROR, reason="\x1b[2J\u202e")
    name = "\x1b[2Jacme"
    found = [Matrix(name, name, [hostile])]
    support.show(page.console, found * 2)
    lines = [page.text, *support.html_lines(found)]
    lines.append(support.missed(Floor(name, frozenset({hostile.cell})), *found))
    assert not {"\x1b", "\u202e"} & {*"".join(lines)}


def test_the_page_has_cells_that_no_model_asks_about():
    page = "\n".join(support.html_lines([Matrix("acme", "acme 1.5", ACME)]))
    assert 'title="Hardmax-13 bfloat16: not asked"' in page


def test_a_record_is_json():
    found = json.loads(json.dumps(support.record("acme", ACME[5])))
    assert found == {
        "type": "support",
        "backend": "acme",
        "op": "Hardmax",
        "domain": "",
        "since": 13,
        "dtype": "float32",
        "verdict": "fail",
        "models": 2,
        "with_this_verdict": 1,
        "case": ACME[5].case,
        "reason": "output: 3 of 9 elements wrong",
    }
