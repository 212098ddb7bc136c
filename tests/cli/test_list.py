import json
import re
import sys

import pytest

from opcheck import opset
from opcheck.clauses import load_pages, pages_of
from tests.wording import lines_with

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
pytestmark = pytest.mark.usefixtures("cases")


def test_each_case_is_a_line_under_its_file(run, snapshot):
    snapshot("list", run("list", "cases.yaml", "--level", "deep", code=0).stdout)


def test_json_is_a_record_a_line(run):
    found = run("list", "cases.yaml", "--opset", "13", "--dtype", "float16", "--format", "json")
    [record] = map(json.loads, found.stdout.splitlines())
    assert record["case"] == "Hardmax/ties@opset=13,dtype=float16"
    assert record["expect"] == "literal"
    assert record["source"] == "cases.yaml:5:3"


@pytest.mark.parametrize(
    "words",
    [(), ("--clauses",)],
)
def test_a_selection_without_cases_is_no_success(run, words, wording):
    found = run("list", *words, "cases.yaml", "-k", "nothing_matches", code=5)
    assert found.stdout == wording
    assert found.stderr == wording


def test_operators_are_listed_with_commas_and_matched_by_patterns(run):
    of_both = run("list", "--op", "Selu", "--op", "Elu", code=0).stdout
    assert run("list", "--op", "Selu, Elu", code=0).stdout == of_both
    run("list", "--op", "Selu,,Elu", code=2)


def test_neither_levels_nor_operators_mind_capitals(run):
    plain = run("list", "cases.yaml", "--op", "Hardmax", "--level", "deep")
    assert run("list", "cases.yaml", "--op", "hardmax", "--level", "Deep").stdout == plain.stdout


QUOTING = """\
op: Hardmax
dtype: float32
attrs: {axis: 1}
inputs: {input: [[3, 3]]}
expect: {output: [[1, 0]]}
cases:
- name: first_of_ties
  clause: 1 if the element is the first maximum value … 0 otherwise
  matrix: {opset: [13, 21], dtype: [float16, float32]}
- name: of_another_version
  clause: Default value is 1.
  opset: 13
"""


@pytest.fixture
def quoting(tmp_path):
    (tmp_path / "quoting.yaml").write_text(QUOTING, encoding="utf-8")


def test_clauses_are_the_sentences_of_the_pages_of_the_operators_at_hand(run, wording):
    found = run("list", "--clauses", "--op", "DML_ACTIVATION_HARDMAX1", code=0)
    assert found.stdout.startswith("DML_ACTIVATION_HARDMAX1-1  https://")
    assert "every_set_of_axes ×" in found.stdout
    assert lines_with(found.stdout, "which devices have") == wording
    assert "not tested" not in found.stdout
    assert "Hardmax-13" not in found.stdout


def test_cases_of_ones_own_count_for_what_they_quote(run, quoting, wording):
    found = run("list", "--clauses", "quoting.yaml", code=0)
    assert " 4  first_of_ties ×4" in found.stdout
    assert lines_with(found.stdout, "not on this") == wording


def test_clauses_as_json_are_a_record_a_sentence(run, quoting):
    found = run("list", "--clauses", "quoting.yaml", "--dtype", "float32", "--format", "json")
    records = [json.loads(line) for line in found.stdout.splitlines()]
    assert {(record["op"], record["since"]) for record in records} == {("Hardmax", 13)}
    [tested] = [r for r in records if r.get("sentence", "").startswith("Hardmax(element")]
    assert tested["cases"] == {"first_of_ties": 2}
    assert tested["source"].startswith("cases/onnx/softmax.hardmax.clauses.yaml:")
    assert records[-1]["stray"] == "Default value is 1."
    assert records[-1]["cases"] == ["Hardmax/of_another_version"]


def test_an_operator_without_a_file_has_the_sentences_of_its_text(run, tmp_path, wording):
    (tmp_path / "neg.yaml").write_text(
        "op: Neg\ncases:\n- name: minus\n  dtype: float32\n  opset: 13\n"
        "  inputs: {X: [1]}\n  expect: {Y: [-1]}\n  tolerance: {ulp: 0}\n"
    )
    found = run("list", "--clauses", "neg.yaml", code=0)
    assert lines_with(found.stdout, "9 sentences: 4 tested, 2 not") == wording
    assert re.search("\nNeg takes .* 0  none ", found.stdout)


@pytest.fixture
def uncached():
    """No page that another test has read, and none of this one for others."""

    def clear():
        pages_of.cache_clear()
        load_pages.cache_clear()

    clear()
    yield clear
    clear()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "asked", [["--op", "Hardmax", "-k", "rank_1"], ["quoting.yaml"], []], ids=" ".join
)
def test_what_a_file_of_clauses_names_has_to_exist(
    run, uncached, quoting, tmp_path, monkeypatch, asked, wording
):
    """The shipped cases decide, not those selected; what onnx words differently is told once."""
    folder = tmp_path / "onnx"
    folder.mkdir()
    text = "sentences:\n- {sentence: One in a row, cases: [nan#first, first_of_ties]}\n"
    (folder / "hardmax.clauses.yaml").write_text(f"op: Hardmax\n{text}")
    monkeypatch.setattr("opcheck.clauses.shipped_files", lambda *_: sorted(folder.iterdir()))
    assert run("list", "--clauses", *asked, code=0).stdout.count("there is no such sentence") == 1
    (folder / "hardmax.clauses.yaml").write_text(f"op: Hardmax\n{text.replace('ties', 'tie')}")
    (folder / "depth_to_space.clauses.yaml").write_text(f"op: DepthToSpac\n{text}")
    uncached()
    assert run("list", "--clauses", *asked, code=2).stderr.splitlines() == wording


def rows_of(stdout):
    rows = (line.split("  ") for line in stdout.splitlines())
    return {row[0]: [cell.strip() for cell in row[1:] if cell] for row in rows}


def test_all_operators_are_listed_with_what_is_not_judged_and_why(run, wording):
    found = run("list", "--operators", code=0)
    rows = rows_of(found.stdout)
    assert set(map(opset.plain, opset.operators(""))) <= rows.keys()
    assert rows["Abs"] == ["1, 6, 13", "26/26"]
    assert rows["Tile"][:2] == ["1, 6, 13", "31/34"]
    assert rows["Tile"][2] == wording
    assert lines_with(found.stdout, "com.microsoft.dml:") == wording
    assert lines_with(found.stdout, "ai.onnx.preview:") == wording
    assert rows["Gradient"][2] == wording


def test_operators_as_json_have_the_types_of_each_version(run):
    found = run("list", "--operators", "--op", "tile", "--format", "json", code=0)
    first, *_, last = map(json.loads, found.stdout.splitlines())
    assert (first["op"], first["since"], first["judged"]) == ("Tile", 1, [])
    assert first["not_judged"] == ["tensor(double)", "tensor(float)", "tensor(float16)"]
    assert first["why"].startswith("Version 1 says both")
    assert (last["since"], last["not_judged"], last["why"]) == (13, [], None)


def test_operators_answer_to_the_names_that_cases_have_for_them(run):
    found = run("list", "--operators", "--op", "identity_of_sequences", "--op", "Identity", code=0)
    assert rows_of(found.stdout)["Identity"][1] == "463/463"
    assert "1 operator in 9 versions" in found.stdout


def test_a_version_or_operator_that_the_suites_do_not_know_is_listed_without_them(
    run, tmp_path, wording
):
    """As a later release of onnx has some: its cells are not judged, and nothing is made up."""
    (tmp_path / "judged.json").write_text('{"": {"Abs": {"1": "float16"}}}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["opcheck.suite.load"], "shipped_suites", lambda: tmp_path)
        found = run("list", "--operators", "--op", "Abs", "--op", "Acos", code=0)
    rows = rows_of(found.stdout)
    assert rows["Abs"][:2] == ["1, 6, 13", "1/26"]
    assert rows["Acos"][1] == "0/7"
    assert [rows["Abs"][2], rows["Acos"][2]] == wording


@pytest.mark.parametrize(
    "line",
    [
        ["--op", "Tyle"],
        ["-k", "x"],
        ["cases.yaml"],
        ["--clauses"],
    ],
    ids=" ".join,
)
def test_operators_are_those_of_the_shipped_suites(run, line, wording):
    assert run("list", "--operators", *line, code=2).stderr == wording
