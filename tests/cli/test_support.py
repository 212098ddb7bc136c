"""`opcheck support`: backends are really asked, in processes of their own."""

import json
import re
import shlex

import pytest

from tests.cli.test_backends import install
from tests.wording import lines_with

HARDMAX = ("-b", "npu", "--op", "Hardmax")


@pytest.fixture
def support(run, tmp_path, monkeypatch):
    """`opcheck support` where a package offers the backend `npu`, which has Hardmax-13 alone."""
    install(tmp_path / "site", "Npu")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return lambda *words, code, **environment: run("support", *words, code=code, **environment)


def test_what_a_backend_does_stands_beside_what_it_declares(support, wording):
    found = support("-b", "npu", "--op", "Hardmax", "--op", "Softmax", code=0, COLUMNS="80")
    lines = found.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    # It raises for float64, and is right in 16 bits.
    assert found.stdout == wording
    assert "Hardmax-13 only" in found.stdout
    assert "right in every" not in found.stdout


def test_of_several_backends_a_table_says_first_how_much_of_each_operator_is_right(
    support, wording
):
    found = support(*HARDMAX, "-b", "numpy", code=0)
    lines = [line.split() for line in found.stdout.splitlines()]
    assert lines[0] == ["right,", "of", "all", "cells"]
    assert lines[1] == ["operator", "npu", "numpy"]
    assert lines[3] == ["Hardmax", "3/10", "10/10"]
    assert lines[4] == ["all", "operators", "3/10", "10/10"]
    assert lines_with(found.stdout, "right in every") == wording


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize(
    "floor",
    [
        "Hardmax@12:float32",
        # It is right in the few models that are asked where nothing is required.
        "hardmax@13:float32",
        "*:float64",
    ],
)
def test_what_is_required_and_not_right_in_a_core_case_is_named_and_fails(
    run, support, floor, wording
):
    # Operators that floors do not name are asked of none, unless one is of all.
    words = HARDMAX if "*" in floor else HARDMAX[:2]
    found = support(*words, "--require", floor, code=1)
    assert "models in 10 cells" in found.stdout
    said, first, repeat, last = found.stderr.splitlines()
    assert said == wording
    assert last == wording
    command = shlex.split(repeat.removeprefix("opcheck: repeat: opcheck "))
    assert first.startswith(f"opcheck: first: {command[command.index('--case') + 1]}: ")
    run(*command, code=1)


def test_the_last_line_counts_the_cases_that_were_run(support, wording):
    words = "--op", "Hardmax", "--require", "Hardmax@13:float32, *@13+:bfloat16"
    assert support("-b", "numpy", *words, code=0).stderr == wording


WARNED = """\
op: Softmax
opset: 13
dtype: float16
cases:
- {name: poor, attrs: {axis: -1}, inputs: {input: {shape: [8, 32], normal: [0, 1]}}RULE}
- {name: plain, inputs: {input: [[0, 0]]}, expect: {output: [[0.5, 0.5]]}}
"""


@pytest.mark.parametrize(
    ("backend", "rule", "words", "code"),
    [
        ("reference", "", [], 1),
        ("reference", "", ["--lenient"], 0),
        ("reference?accumulate=float16", "", [], 0),
        ("reference", ", rule: should", [], 0),
    ],
)
def test_a_warning_passes_if_its_arithmetic_is_declared_or_the_case_is_should(
    run, tmp_path, backend, rule, words, code, wording
):
    (tmp_path / "cases.yaml").write_text(WARNED.replace("RULE", rule))
    found = run("support", "cases.yaml", "-b", backend, "--require", "Softmax", *words, code=code)
    assert found.stderr.splitlines()[-1] == wording
    if code:
        assert lines_with(found.stderr, "repeat: ") == wording


def test_lenience_is_about_what_is_required(support):
    assert "--lenient goes with --require" in support(*HARDMAX, "--lenient", code=2).stderr


def test_what_is_required_of_a_device_that_is_off_is_not_run_and_no_failure(run, tmp_path, wording):
    raised = "from opcheck import BackendUnavailable\n\nclass Off:\n    def prepare(self, task):\n"
    (tmp_path / "off.py").write_text(f"{raised}        raise BackendUnavailable('no power')\n")
    words = ("support", "-b", "py:off:Off", "--op", "Hardmax", "--require", "Hardmax@13:float32")
    found = run(*words, code=4)
    assert found.stderr == wording


@pytest.mark.parametrize(
    "floor",
    [
        "",
        "*@99",
        "Hardmx",
        "Hardmax:flaot32",
        "Hardmax@1:bfloat16",
        "Hardmax@0",
        "Hardmax,",
        "Hardmx, Hardmax:int3",
    ],
)
def test_a_floor_that_names_no_cell_is_refused_before_anything_is_asked(support, floor, wording):
    found = support(*HARDMAX, "--require", floor, code=2)
    # The newest opset grows with releases of onnx.
    assert re.sub(r"known is \d+", "known is 28", found.stderr) == wording
    assert not found.stdout


def test_that_floors_name_nothing_is_said_before_cases_are_read(support, tmp_path):
    (tmp_path / "broken.yaml").write_text("{")
    found = support(str(tmp_path / "broken.yaml"), "-b", "npu", "--require", ", @1", code=2)
    assert found.stderr.count("names no cells") == 2
    assert "broken.yaml" not in found.stderr


def test_a_backend_that_cannot_be_used_ends_the_command(support):
    found = support(
        "-b", "npu", "-b", "onnxruntime:CUDAExecutionProvider", "--op", "Hardmax", code=4
    )
    assert "Cannot be used" in found.stderr
    assert "npu" not in found.stdout


def test_the_page_shows_every_cell(support, wording):
    page = support(*HARDMAX, "--format", "html", code=0).stdout
    assert page.count('<th scope="row">Hardmax') == 3
    assert page.count(' title="Hardmax-') == 10
    assert lines_with(page, 'title="Hardmax-13 float64: refuses: raised on') == wording


def test_json_has_what_the_registry_of_onnxruntime_does_not_say(support):
    words = "--op", "Hardmax", "--op", "Softmax", "--format", "json"
    found = support("-b", "onnxruntime", *words, code=0)
    cells = [json.loads(line) for line in found.stdout.splitlines()]
    assert {one["backend"] for one in cells} == {"onnxruntime"}
    of = {(one["op"], one["since"], one["dtype"]): one for one in cells}
    double = of["Hardmax", 13, "float64"]
    assert (double["declared"], double["verdict"]) == (False, "unsupported")
    # It puts conversions around its kernel of float32.
    half = of["Hardmax", 13, "float16"]
    assert (half["declared"], half["verdict"]) == (False, "pass")
    assert half["undeclared_but_working"]
    single = of["Softmax", 13, "float32"]
    assert (single["declared"], single["verdict"]) == (True, "pass")
    assert single["declared_but_failing"] is False
