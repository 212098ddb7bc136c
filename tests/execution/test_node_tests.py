import platform
from importlib import metadata

import numpy as np
import onnxruntime
import pytest

import opcheck
from benchmarks.node_tests import cases_of_node_tests, yardsticks
from opcheck.dtypes import DTYPES
from opcheck.execution.mutate import MutationSettings, mutations
from opcheck.execution.workers import environment
from opcheck.model import Fate, MutantId, Mutation, OpVersion, Score, Tolerance, Values, Verdict
from tests.execution.one import ENGINE
from tests.inline import judged

OURS = (OpVersion("", "Hardmax", 13), OpVersion("", "Softmax", 13), OpVersion("", "LpPool", 22))


def test_there_are_twenty_two_for_the_newest_versions_in_float32():
    cases = cases_of_node_tests(OURS)
    assert len(cases) == 22
    assert {case.op for case in cases} == set(OURS)
    assert {case.dtype for case in cases} == {DTYPES["float32"]}
    assert {case.tolerance for case in cases} == {Tolerance(rtol=1e-3, atol=1e-7)}
    assert all(isinstance(case.expect, Values) and case.rule == "must" for case in cases)


def test_the_engine_passes_them_all():
    found = judged(cases_of_node_tests(OURS), [ENGINE])
    assert {result.verdict for result in found} == {Verdict.PASS}


def test_there_are_none_of_older_versions_nor_of_what_the_engine_does_not_know():
    others = [OpVersion("", "Hardmax", 11), OpVersion("", "GRU", 22), OpVersion("x", "Hardmax", 13)]
    assert cases_of_node_tests(others) == ()


def test_their_tolerance_lets_pass_what_opcheck_does_not():
    names = ("too_large_by_0.0001", "too_large_by_0.01")
    cases = [case for case in cases_of_node_tests(OURS) if case.op.name == "LpPool"]
    found = {
        one.mutant.name: one.fate for one in mutations(cases, MutationSettings(names, once=True))
    }
    assert found == {names[0]: Fate.SURVIVED, names[1]: Fate.KILLED}


def mutation(op, dtype, name, *killers):
    return Mutation(MutantId(op, dtype, name, "it was wrong"), None, killers)


def test_a_yardstick_is_about_the_same_version_type_and_mistakes():
    hardmax, softmax, pool = OURS
    ours = [
        mutation(hardmax, "float32", "last_of_ties", "a case"),
        mutation(hardmax, "float16", "last_of_ties"),
        mutation(softmax, "float64", "last_of_ties"),
    ]
    [found] = yardsticks(("last_of_ties",), ours)
    assert (found.op, found.dtype, found.tests) == (hardmax, "float32", 7)
    assert found.ours == Score([ours[0].fate])
    assert found.theirs.total() == 1
    assert pool not in {found.op}


def test_it_names_opcheck_python_and_the_packages_that_matter() -> None:
    found = environment()
    assert (found.opcheck, found.python) == (opcheck.__version__, platform.python_version())
    assert found.packages["numpy"] == np.__version__
    assert found.packages["onnxruntime"] == onnxruntime.__version__
    assert set(found.packages) == {"numpy", "ml_dtypes", "onnx", "onnxruntime"}
    assert found.platform


def test_a_package_that_is_missing_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    find = metadata.version

    def version(package: str) -> str:
        if package == "onnxruntime":
            raise metadata.PackageNotFoundError(package)
        return find(package)

    monkeypatch.setattr(metadata, "version", version)
    assert environment().packages["onnxruntime"] == "not installed"
    assert environment().packages["numpy"] == np.__version__
