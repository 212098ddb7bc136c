"""Golden files as cases: each kind is judged as the case that it was written of."""

from __future__ import annotations

import json
from textwrap import dedent

import numpy as np
import pytest
from onnx import numpy_helper

from opcheck.errors import CaseFileError
from opcheck.model import AnyOf, Rejected, Values
from opcheck.run.golden.writing import Settings, write
from opcheck.suite import load, load_all
from tests.models import X, relu
from tests.models import write as write_test
from tests.run.golden.made import FOUR


@pytest.fixture
def golden(tmp_path):
    (tmp_path / "my.yaml").write_text(dedent(FOUR), encoding="utf-8")
    folder = tmp_path / "golden"
    write(folder, load([tmp_path / "my.yaml"]), "all", Settings())
    return folder


def by_kind(*paths):
    found = {}
    for case in load_all(paths):
        found.setdefault(case.id.split("/")[0], []).append(case)
    return found


def told(path):
    with pytest.raises(CaseFileError) as caught:
        load_all([path])
    return " ".join(problem.message for problem in caught.value.problems)


def test_every_kind_is_judged(golden):
    found = by_kind(golden)
    assert not [case.id for cases in found.values() for case in cases if case.beyond]
    (refused,) = found["rejected"]
    assert isinstance(refused.expect, Rejected)
    assert refused.expect.legal.id == f"{refused.id.replace('rejected/', 'must/')}~legal"
    assert refused.inputs
    (undecided,) = found["open"]
    assert undecided.rule == "open"
    assert "~" not in undecided.id
    assert isinstance(undecided.expect, AnyOf)
    assert len(undecided.expect.alternatives) == 2
    for answer in undecided.expect.alternatives:
        assert isinstance(answer.expect, Values)


@pytest.mark.parametrize("kind", ["open", "rejected"])
def test_a_part_of_them_is_not_taken_for_any_folder_of_tests(golden, kind):
    """There, each of several right answers would be the only one."""
    whole = by_kind(golden)[kind][0]
    for folder in (golden / kind, next((golden / kind).iterdir())):
        for case in load_all([folder]):
            assert case.beyond or isinstance(case.expect, type(whole.expect))
    (alone,) = load_all([next((golden / kind).iterdir())])
    assert alone.beyond.endswith("name the folder of manifest.json")


def test_should_is_kept_where_the_folder_alone_is_named(golden):
    manifest = json.loads((golden / "manifest.json").read_text())
    for case in manifest["cases"]:
        case["rule"] = "should"
    (golden / "manifest.json").write_text(json.dumps(manifest))
    assert {case.rule for case in load_all([golden / "must"])} == {"should"}


def test_answers_to_different_questions_are_not_joined(golden):
    folder = next((golden / "open").iterdir())
    path = folder / "test_data_set_0" / "input_0.pb"
    array = numpy_helper.to_array(type(numpy_helper.from_array(X)).FromString(path.read_bytes()))
    path.write_bytes(numpy_helper.from_array(np.zeros_like(array)).SerializeToString())
    (case,) = by_kind(golden)["open"]
    assert case.beyond == "its right answers are of different models or inputs"


def test_a_test_that_is_missing_or_too_much_is_told(golden):
    write_test(golden / "open" / "test_mine", relu(), [X], [np.maximum(X, 0)])
    (mine,) = (case for case in load_all([golden]) if case.id == "open/test_mine")
    assert mine.beyond == "a test that manifest.json does not name"
    (golden / "must").rename(golden.parent / "must")
    assert "tests that it names are not there: test_" in told(golden)


def test_a_damaged_manifest_is_told_and_somebody_elses_is_nobodys_business(golden):
    path = golden / "manifest.json"
    path.write_text('{"type": "opcheck golden files", "cases": [{}]}')
    assert "is damaged: cases.0.rule" in told(golden)
    for other in ("{}", "[", "[" * 100_000):
        path.write_text(other)
        assert {case.rule for case in load_all([golden / "must"])} == {"must"}


def test_a_manifest_that_is_too_large_is_told(golden, monkeypatch):
    monkeypatch.setattr("opcheck.suite.golden_tests.MAX_BYTES", 100)
    assert "is larger than" in told(golden)
