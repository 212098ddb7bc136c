"""Golden files as cases: each kind is judged as the case that it was written of."""

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from benchmarks import golden_corruptions as corruptions
from opcheck.errors import CaseFileError
from opcheck.model import AnyOf, Rejected, Values
from opcheck.suite import case_digest, load_all
from opcheck.suite.golden_files import MANIFEST, SUMS, golden_above
from tests.execution.golden import made
from tests.execution.golden.made import RANDOM, rewrite
from tests.expecting import error_of
from tests.models import X


@pytest.fixture
def golden(tmp_path):
    made.golden(tmp_path)
    return tmp_path / "golden"


def by_kind(*paths):
    found = {}
    for case in load_all(paths):
        found.setdefault(case.id.split("/")[0], []).append(case)
    return found


def told(path):
    caught = error_of(CaseFileError, load_all, [path])
    return " ".join(problem.message for problem in caught.problems)


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
def test_a_part_of_them_is_not_taken_for_any_folder_of_tests(golden, kind, wording):
    """There, each of several right answers would be the only one."""
    whole = by_kind(golden)[kind][0]
    for folder in (golden / kind, next((golden / kind).iterdir())):
        for case in load_all([folder]):
            assert case.beyond or isinstance(case.expect, type(whole.expect))
    # A test has folders of its own, which are none of golden files.
    assert golden_above(golden / RANDOM, []) is not None
    assert golden_above(golden / RANDOM / "test_data_set_0", []) is None
    (alone,) = load_all([next((golden / kind).iterdir())])
    assert alone.beyond == wording


def test_should_is_kept_where_the_folder_alone_is_named(golden):
    (golden / "must").rename(golden / "should")
    rewrite(golden, _moved)
    assert {case.rule for case in load_all([golden / "should"])} == {"should"}


def _moved(data):
    for case in data["cases"]:
        case["rule"] = case["rule"].replace("must", "should")
        for test in case["tests"]:
            test["folder"] = test["folder"].replace("must/", "should/")


def test_answers_to_different_questions_are_not_joined(golden, wording):
    path = next((golden / "open").iterdir()) / "test_data_set_0" / "input_0.pb"
    array = numpy_helper.to_array(type(numpy_helper.from_array(X)).FromString(path.read_bytes()))
    path.write_bytes(numpy_helper.from_array(np.zeros_like(array)).SerializeToString())
    rewrite(golden, lambda data: None)
    (case,) = by_kind(golden)["open"]
    assert case.beyond == wording


OUTPUT = f"{RANDOM}/test_data_set_0/output_0.pb"


@pytest.mark.sampled(11, evenly=True)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / OUTPUT).unlink(), "is missing"),
        (lambda folder: flip(folder / OUTPUT), "was changed"),
        (lambda folder: flip(folder / RANDOM / "model.onnx"), "was changed"),
        (lambda folder: os.truncate(folder / MANIFEST, 0), "is damaged: "),
        (lambda folder: os.truncate(folder / MANIFEST, 900), "is damaged: "),
        (lambda folder: (folder / MANIFEST).unlink(), "no such file"),
        (lambda folder: (folder / SUMS).unlink(), "is missing"),
        (lambda folder: flip(folder / SUMS), "does not agree"),
        (lambda folder: (folder / "must").rename(folder / "elsewhere"), "is missing"),
        (lambda folder: (folder / RANDOM / "data.json").unlink(), "is missing"),
        (lambda folder: [(folder / name).unlink() for name in (MANIFEST, SUMS)], "opcheck wrote"),
    ],
)
@pytest.mark.parametrize("of", ["", "must", RANDOM])
def test_damage_is_told_by_whoever_reads_the_files(golden, change, said, of):
    whole = len(load_all([golden / of]))
    change(golden)
    if not (golden / of).exists():
        return
    # A part may be whole, and then it is taken for any test.
    if of and said == "opcheck wrote":
        assert len(load_all([golden / of])) == whole
    else:
        assert said in told(golden / of)


def test_a_file_that_cannot_be_read_hides_no_other(golden, monkeypatch):
    files = [path for path in (golden / RANDOM).rglob("*") if path.is_file()]
    real = Path.read_bytes

    def read(path):
        return real(golden / "gone" if path in files else path)

    monkeypatch.setattr(Path, "read_bytes", read)
    assert told(golden / RANDOM).count("it cannot be read: No such file") >= len(files) > 1


# A damaged name of an operator has all suites read.
@pytest.mark.gate
@pytest.mark.usefixtures("each_gate")
def test_no_damage_is_unsupported_and_none_is_held_against_a_backend(tmp_path):
    folder = tmp_path / "golden"
    corruptions.made(folder)
    healthy = {case.id: case_digest(case) for case in load_all([folder])}
    before, draw = corruptions.snapshot(folder), random.Random(3)
    refused = 0
    for damage in corruptions.DAMAGES * 4:
        touched = damage(draw, folder)
        try:
            found = load_all([folder])
        except CaseFileError as error:
            files = [problem.file.removeprefix(f"{folder}/") for problem in error.problems]
            named = {*map(str.casefold, touched)} & {*map(str.casefold, files)}
            assert named or MANIFEST in files, (damage.__name__, touched, files)
            refused += 1
        else:
            assert {case.id: case_digest(case) for case in found} == healthy, damage.__name__
            assert not any(case.beyond for case in found)
        corruptions.restore(folder, before)
    assert refused > 25


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def test_a_manifest_of_somebody_else_is_nobody_s_business(golden):
    for name in ("open", "rejected"):
        shutil.rmtree(golden / name)
    (golden / SUMS).unlink()
    for other in ("{}", "[", "[" * 100_000):
        (golden / MANIFEST).write_text(other)
        assert {case.rule for case in load_all([golden])} == {"must"}


def test_a_manifest_that_is_too_large_is_told(golden, monkeypatch, wording):
    monkeypatch.setattr("opcheck.suite.golden_files.LONGEST_MANIFEST", 100)
    assert told(golden) == wording
