"""A digest tells cases apart by what they ask and expect, and by nothing else."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opcheck.model import Case, Given
from opcheck.suite import case_digest, suite_digest
from tests.asking import cases_in

CASE = """\
op: Hardmax
cases:
- name: ties
  clause: the first maximum
  opset: 13
  dtype: float32
  attrs: {axis: 1}
  inputs: {input: [[3, 3, .nan, -0.0]]}
  expect: {output: [[1, 0, 0, 0]]}
"""
FILL = "inputs: {input: {shape: [2, 4], uniform: [0, 1], seed: 3, put: [{at: [0, 0], value: 2}]}}"
REJECTED = "expect: {rejected: no such axis, legal: {attrs.axis: 0}}"
ANY = "expect: {any_of: [{as: a, output: [[1, 0, 0, 0]]}, {as: b, rejected: x, legal: {}}]}"


@pytest.fixture
def digest(tmp_path):
    def of(text: str) -> str:
        (case,) = cases_in(tmp_path, text)
        return case_digest(case)

    return of


def edited(old: str, new: str, text: str = CASE) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: ties", "name: others"),
        ("opset: 13", "opset: 14"),
        ("opset: 13", "opset: 11"),
        ("float32", "float64"),
        ("axis: 1", "axis: 0"),
        ("axis: 1", "axis: null"),
        ("[3, 3,", "[3, 2,"),
        (".nan", ".inf"),
        ("-0.0", "0.0"),
        ("[[3, 3, .nan, -0.0]]", "{value: [[3, 3, .nan, -0.0]], initializer: true}"),
        ("{output: [[1, 0, 0, 0]]}", "{output: [[0, 1, 0, 0]]}"),
        ("  expect: {output: [[1, 0, 0, 0]]}\n", ""),
        ("opset: 13", "opset: 13\n  rule: should"),
        ("opset: 13", "opset: 13\n  tolerance: {ulp: 1}"),
    ],
)
def test_what_is_asked_or_expected_is_told_apart(digest, old, new):
    assert digest(edited(old, new)) != digest(CASE)


def test_each_part_of_a_tolerance_is_told_apart(digest):
    stated = ["ulp: 1", "rtol: 0.1", "atol: 0.1", "strict: true", "signed_zeros: true", "ulp: 0"]
    new = (f"opset: 13\n  tolerance: {{{one}}}" for one in stated)
    assert len({digest(edited("opset: 13", one)) for one in new}) == len(stated)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("op: Hardmax", "# a remark\n\nop: Hardmax"),
        ("the first maximum", "the first maximum value"),
        ("opset: 13", "opset: 13\n  level: deep"),
        ("opset: 13", "opset: 13\n  timeout: 7"),
        ("opset: 13\n  dtype: float32", "dtype: float32\n  opset: 13"),
        ("[[3, 3,", "[[3.0, 3e0,"),
    ],
)
def test_where_and_how_it_is_written_is_not(digest, old, new):
    assert digest(edited(old, new)) == digest(CASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("uniform: [0, 1]", "uniform: [0, 2]"),
        ("uniform", "normal"),
        ("seed: 3", "seed: 4"),
        ("[2, 4]", "[4, 2]"),
        ("value: 2", "value: 3"),
        ("at: [0, 0]", "at: [0, 1]"),
    ],
)
def test_filled_data_is_told_apart_by_how_it_is_made(digest, old, new):
    computed = edited("  expect: {output: [[1, 0, 0, 0]]}\n", "")
    filled = edited("inputs: {input: [[3, 3, .nan, -0.0]]}", FILL, computed)
    assert digest(edited(old, new, filled)) != digest(filled)
    assert len({digest(filled), digest(computed)}) == 2


def test_a_rejection_is_told_apart_by_its_legal_twin_but_not_by_its_reason(digest):
    refused = edited("expect: {output: [[1, 0, 0, 0]]}", REJECTED).replace("axis: 1}", "axis: 7}")
    assert digest(edited("no such axis", "out of range", refused)) == digest(refused)
    assert digest(edited("legal: {attrs.axis: 0}", "legal: {attrs.axis: 1}", refused)) != (
        digest(refused)
    )


def test_several_answers_are_told_apart_by_names_and_values(digest):
    text = edited("expect: {output: [[1, 0, 0, 0]]}", ANY).replace(
        "legal: {}", "legal: {opset: 14}"
    )
    text = text.replace("opset: 13", "opset: 13\n  rule: open")
    for old, new in [("as: a", "as: c"), ("[[1, 0, 0, 0]]", "[[0, 1, 0, 0]]"), ("14", "15")]:
        assert digest(edited(old, new, text)) != digest(text)


def test_a_file_is_told_apart_by_what_it_holds(digest, tmp_path):
    text = edited("input: [[3, 3, .nan, -0.0]]", "input: {file: x.npy}")
    text = edited("  expect: {output: [[1, 0, 0, 0]]}\n", "", text)
    np.save(tmp_path / "x.npy", np.array([[1, 2, 3, 4]], np.float32))
    first = digest(text)
    np.save(tmp_path / "x.npy", np.array([[1, 2, 3, 5]], np.float32))
    assert digest(text) != first
    np.save(tmp_path / "x.npy", np.array([[1, 2, 3, 4]], np.float32))
    assert digest(text) == first


def test_golden_outputs_are_told_apart_by_what_they_hold(digest, tmp_path):
    folder = tmp_path / "golden"
    folder.mkdir()
    (folder / "output_0.pb").write_bytes(b"one")
    text = edited("expect: {output: [[1, 0, 0, 0]]}", "expect: {golden: golden}")
    first = digest(text)
    (folder / "output_0.pb").write_bytes(b"other")
    (case,) = cases_in(tmp_path, text)
    assert case_digest(case) != first
    (folder / "output_0.pb").unlink()
    assert case_digest(case) != first


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_among_golden_outputs_is_not_waited_for(digest, tmp_path):
    (tmp_path / "golden").mkdir()
    os.mkfifo(tmp_path / "golden" / "output_0.pb")
    assert digest(edited("expect: {output: [[1, 0, 0, 0]]}", "expect: {golden: golden}"))


def test_nan_is_nan_whatever_its_bits(tmp_path):
    (case,) = cases_in(tmp_path, CASE)
    (spec,) = case.inputs

    def with_bits(bits: int) -> Case:
        values = np.array([[bits]], np.uint64).view(np.float64)
        return replace(case, inputs=(replace(spec, content=Given(values)),))

    assert case_digest(with_bits(0x7FF8 << 48)) == case_digest(with_bits(0xFFF8 << 48 | 1))


def test_a_digest_is_the_same_on_every_machine_and_day(digest, tmp_path):
    assert digest(CASE) == "6c9fb6701f6a7a9e"
    (tmp_path / "cases.yaml").write_text(CASE)
    program = (
        "import sys; from pathlib import Path; from opcheck.suite import *; "
        "print(*map(case_digest, load([Path(sys.argv[1])])))"
    )
    for seed in ("1", "2"):
        found = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "cases.yaml")],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path.cwd())},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == "6c9fb6701f6a7a9e"


def test_a_suite_is_told_apart_by_its_cases_and_their_order():
    one, other = ("Hardmax/a", "1234"), ("Hardmax/b", "5678")
    suites = [], [one], [one, other], [other, one], [one, ("Hardmax/b", "5679")]
    assert len({suite_digest(cases) for cases in suites}) == 5
