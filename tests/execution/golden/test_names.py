"""Names of golden tests in the form of ONNX's node tests, read by ONNX's loader and by opcheck."""

import re
from pathlib import Path

import pytest
from onnx.backend.test.loader import load_model_tests

from opcheck.errors import UsageError
from opcheck.graph.folders import node_test_name
from opcheck.suite import load_all
from opcheck.suite.golden_files import read_manifest
from tests.asking import shipped_cases
from tests.execution.golden.made import golden
from tests.wording import Wording


@pytest.mark.parametrize(
    ("case", "name"),
    [
        (
            "Softmax/worked_example@opset=13,dtype=float32",
            "softmax_worked_example_opset13_float32",
        ),
        ("TopK/axes@opset=24,dtype=uint16#minus_1", "topk_axes_opset24_uint16_minus_1"),
        ("LpPool/p@attrs.p=-2", "lppool_p_p_minus_2"),
        ("Range/x@inputs.start.value=0.25", "range_x_start_value_0_25"),
        ("Conv/x@inputs.X.shape=2x3", "conv_x_x_shape_2x3"),
        ("Softmax/out_of_range~legal", "softmax_out_of_range_legal"),
        ("Relu/nan~nan, as an operand", "relu_nan_nan_as_an_operand"),
    ],
)
def test_an_id_becomes_an_identifier_as_onnx_writes_them(case: str, name: str) -> None:
    assert node_test_name(case) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pad/x@attrs.mode=EDGE", "Pad/x@attrs.mode=edge"),
        ("Einsum/x@attrs.equation=_ij", "Einsum/x@attrs.equation=ij"),
        ("Einsum/x@attrs.equation=i__j", "Einsum/x@attrs.equation=i_j"),
        ("Einsum/x@attrs.equation=i-j", "Einsum/x@attrs.equation=i_j"),
        ("Range/x@attrs.limit=1e+5", "Range/x@attrs.limit=1e5"),
        (f"Add/{'a' * 160}", f"Add/{'a' * 161}"),
    ],
)
def test_what_a_name_loses_is_in_a_digest_at_its_end(one: str, other: str) -> None:
    names = [node_test_name(one), node_test_name(other)]
    assert names[0] != names[1]
    assert re.search("_[0-9a-f]{8}$", names[0])
    assert max(map(len, names)) <= 150


def test_each_shipped_case_has_a_name_of_its_own() -> None:
    ids = [case.id for case in shipped_cases()]
    names = {node_test_name(id) for id in ids}
    assert len(names) == len(ids)
    assert all(re.fullmatch("[a-z0-9]+(_[a-z0-9]+)*", name) for name in names)


def test_onnx_s_loader_and_the_manifest_have_the_names(tmp_path: Path) -> None:
    golden(tmp_path, names="onnx")
    loaded = {case.name for case in load_model_tests(str(tmp_path / "golden"), "must")}
    assert loaded == {
        "test_softmax_written_out",
        "test_softmax_random",
        "test_softmax_out_of_range_legal",
    }
    manifest, _ = read_manifest(tmp_path / "golden")
    folders = {test.folder: case.id for case in manifest.cases for test in case.tests}
    assert folders["must/test_softmax_random"] == "Softmax/random"
    assert folders["open/test_softmax_undecided_by_the_body"] == "Softmax/undecided"
    assert folders["rejected/test_softmax_out_of_range"] == "Softmax/out_of_range"


def test_opcheck_reads_the_cases_back(tmp_path: Path) -> None:
    golden(tmp_path, names="onnx")
    cases = {case.id: case.rule for case in load_all([tmp_path / "golden"])}
    assert {id.rpartition("/")[2]: rule for id, rule in cases.items()} == {
        "test_softmax_written_out": "must",
        "test_softmax_random": "must",
        "test_softmax_out_of_range_legal": "must",
        "test_softmax_out_of_range": "must",
        "test_softmax_undecided": "open",
    }


def test_two_cases_of_one_name_are_refused(tmp_path: Path, wording: Wording) -> None:
    text = """
        op: Relu
        opset: 14
        inputs: {X: [1]}
        cases:
        - {name: at_float32, dtype: float16}
        - {name: at, matrix: {dtype: [float32, float64]}}
    """
    with pytest.raises(UsageError) as raised:
        golden(tmp_path, text, names="onnx")
    assert raised.value == wording
    assert not (tmp_path / "golden").exists()
