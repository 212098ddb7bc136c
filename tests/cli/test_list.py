from __future__ import annotations

import json

import pytest

CASES = """\
op: Hardmax
dtype: float32
attrs: {axis: 1}
cases:
- name: ties
  matrix: {opset: [11, 13], dtype: [float16, float32]}
  inputs: {input: [[3, 3]]}
  expect: {output: [[1, 0]]}
- name: large
  level: deep
  opset: 13
  inputs: {input: {shape: [10, 10], normal: [0, 1]}}
"""


@pytest.fixture(autouse=True)
def cases(run, tmp_path):
    (tmp_path / "cases.yaml").write_text(CASES)


def test_each_case_is_a_line_under_its_file(run, snapshot):
    found = run("list", "cases.yaml", "--level", "deep")
    assert found.exit_code == 0
    snapshot("list", found.stdout)


def test_json_is_a_record_a_line(run):
    found = run("list", "cases.yaml", "--opset", "13", "--dtype", "float16", "--format", "json")
    [record] = map(json.loads, found.stdout.splitlines())
    assert record["case"] == "Hardmax/ties@opset=13,dtype=float16"
    assert record["expect"] == "literal"
    assert record["source"] == "cases.yaml:5:3"


def test_a_selection_without_cases_is_no_success(run):
    found = run("list", "cases.yaml", "-k", "nothing_matches")
    assert found.exit_code == 5
    assert "0 cases" in found.stdout
    assert found.stderr == "opcheck: no case matches (keywords nothing_matches, level core)\n"


def test_neither_levels_nor_operators_mind_capitals(run):
    plain = run("list", "cases.yaml", "--op", "Hardmax", "--level", "deep")
    assert run("list", "cases.yaml", "--op", "hardmax", "--level", "Deep").stdout == plain.stdout


def test_no_backend_is_needed(run, monkeypatch):
    monkeypatch.setattr("opcheck.backends.connect", None)
    assert run("list").exit_code == 0
