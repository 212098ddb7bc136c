import json
import re
from dataclasses import replace

import pytest

from opcheck.backends.adapters import About
from opcheck.backends.address import Address, Profile
from opcheck.backends.offers import Offer
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import BackendInfo, OpVersion, Verdict
from opcheck.model.result import Cell, Support
from opcheck.report import backends
from tests.report.made import Page

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
    page = Page(width)
    backends.show_support(page.console, "acme 1.5", ACME, "its manual")
    backends.legend(page.console)
    assert max(map(len, page.lines)) <= width
    assert not any(line.endswith(" ") for line in page.lines)
    snapshot(f"support_{width}", page.text)


def test_who_declares_nothing_is_accused_of_nothing():
    page = Page(80)
    silent = [cell(HARDMAX_13, "float32", None, Verdict.FAIL, 1, 2, "wrong", True)]
    backends.show_support(page.console, "acme 1.5", silent, "its manual")
    assert page.lines[0] == "acme 1.5 (declares nothing)"
    assert re.search(r"Hardmax-13 +wrong: float32.1/2$", page.text, re.MULTILINE)
    assert "declared but" not in page.text


@pytest.mark.parametrize(
    ("declared", "verdict", "works", "too_much", "too_little"),
    [
        (True, Verdict.PASS, True, False, False), (True, Verdict.WARN, True, False, False),
        (True, Verdict.FAIL, True, True, False), (True, Verdict.UNSUPPORTED, False, True, False),
        (True, Verdict.TIMEOUT, False, True, False), (True, Verdict.NOT_RUN, False, False, False),
        (True, None, False, False, False), (False, Verdict.PASS, True, False, True),
        (False, Verdict.FAIL, True, False, True), (False, Verdict.ERROR, False, False, False),
        (None, Verdict.FAIL, False, False, False), (None, Verdict.PASS, True, False, False),
    ],
)  # fmt: skip
def test_a_declaration_is_too_much_or_too_little(declared, verdict, works, too_much, too_little):
    found = cell(HARDMAX_13, "float32", declared, verdict, works=works)
    assert found.is_declared_but_failing is too_much
    assert found.is_undeclared_but_working is too_little


def test_why_is_told_once_a_kind_and_for_wrong_answers_once_a_case():
    def reasons(verdict, *cases):
        page = Page(100)
        found = [
            replace(cell(HARDMAX_13, dtype, None, verdict, reason=f"{n} wrong"), case=case)
            for n, (dtype, case) in enumerate(zip(("float16", "float32"), cases, strict=True))
        ]
        backends.show_support(page.console, "acme", found, "")
        return [line.split()[1:3] for line in page.lines if "Hardmax/" in line]

    assert reasons(Verdict.FAIL, "Hardmax/ties@a", "Hardmax/ties@b") == [["2", "Hardmax/ties@a"]]
    both = reasons(Verdict.FAIL, "Hardmax/ties@a", "Hardmax/nan#b")
    assert both == [["1", "Hardmax/ties@a"], ["1", "Hardmax/nan#b"]]
    refused = reasons(Verdict.ERROR, "Hardmax/ties@a", "Hardmax/nan#b")
    assert refused == [["2", "Hardmax/ties@a"]]


def test_nothing_from_outside_steers_the_terminal():
    page = Page(80)
    hostile = cell(HARDMAX_13, "float32", None, Verdict.ERROR, reason="\x1b[2J\u202e")
    backends.show_support(page.console, "\x1b[2Jacme", [hostile], "")
    assert not {"\x1b", "\u202e"} & set(page.text)


def test_a_record_is_json():
    found = json.loads(json.dumps(backends.support_record("acme", ACME[5])))
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
        "declared": True,
        "declared_but_failing": True,
        "undeclared_but_working": False,
        "case": ACME[5].case,
        "reason": "output: 3 of 9 elements wrong",
    }


def offer(name, summary, distribution=None, version="", **more):
    about = About(summary, distribution)
    return Offer(Profile(name, Address(name)), "built in", about, version, **more)


READY = offer(
    "onnxruntime",
    "ONNX Runtime",
    "onnxruntime",
    "1.31.1",
    info=BackendInfo(
        "onnxruntime",
        "onnxruntime",
        "1.31.1",
        devices=("CPUExecutionProvider", "AzureExecutionProvider"),
        threads=1,
    ),
)
UNKNOWN_THREADS = offer("acme", "offered by acme-npu 2", info=BackendInfo("acme", "acme", "2"))
ABSENT = offer(
    "openvino",
    "OpenVINO",
    "openvino",
    error=BackendUnavailable("backend 'openvino' is not installed: No module named 'openvino'"),
)
BROKEN = offer(
    "torch",
    "PyTorch's own functions",
    "torch",
    "2.13.0",
    error=BackendUnavailable(
        "backend 'torch' died at start: killed by SIGSEGV; the last it printed:\nlibc10.so\nhelp!",
        "reinstall it",
    ),
)
TEMPLATE = offer("py", "a class in a module of yours, py:pkg.mod:Class", is_template=True)
ALL = [READY, UNKNOWN_THREADS, ABSENT, BROKEN, TEMPLATE]


@pytest.mark.parametrize(
    ("one", "state"),
    [(READY, "ready"), (ABSENT, "not installed"), (BROKEN, "unusable"), (TEMPLATE, "template")],
)
def test_an_offer_is_in_one_of_four_states(one, state):
    assert one.state == state


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_for_each_state_and_what_is_broken_in_its_own_words(snapshot, width):
    page = Page(width)
    problem = UsageError("two distributions both offer a backend 'npu'", "uninstall one of them")
    backends.show(page.console, ALL, [problem])
    assert max(map(len, page.text.split("Cannot be used")[0].splitlines())) <= width
    snapshot(f"offers_{width}", page.text)


def test_only_what_there_is_has_a_table():
    page = Page(80)
    backends.show(page.console, [READY])
    assert page.lines[0].startswith("backend ")
    assert "not installed" not in page.text
    assert "Cannot be used" not in page.text


def test_nothing_of_an_offer_steers_the_terminal():
    page = Page(80)
    name = "\x1b[2J"
    dead = offer(name, name, error=BackendUnavailable(name, name))
    alive = offer(name, name, info=BackendInfo(name, name, name, devices=(name,)))
    backends.show(page.console, [dead, alive])
    assert "\x1b" not in page.text


def test_the_record_of_an_offer_is_json():
    ready, dead = (json.loads(json.dumps(backends.record(one))) for one in (READY, BROKEN))
    assert ready["name"] == ready["address"] == "onnxruntime"
    assert (ready["state"], ready["error"]) == ("ready", None)
    assert ready["backend"]["devices"] == ["CPUExecutionProvider", "AzureExecutionProvider"]
    assert dead["backend"] is None
    assert dead["state"] == "unusable"
    assert dead["install"] == "pip install torch"
    assert dead["distribution_version"] == "2.13.0"
    assert dead["error"].endswith("libc10.so\nhelp!\n  reinstall it")
