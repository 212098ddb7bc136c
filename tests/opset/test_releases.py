"""Opsets of releases of onnx: rows of onnx's table, written out from its release notes."""

from pathlib import Path

import pytest

from opcheck.errors import UsageError
from opcheck.opset.releases import cases_of_release, opsets_of_release
from tests.asking import cases_in
from tests.wording import Wording


@pytest.mark.parametrize(
    ("release", "onnx", "ml"),
    [("1.0", 1, 1), ("1.8", 13, 2), ("1.8.1", 13, 2), ("1.19", 24, 5), ("1.20.1", 25, 5)],
)
def test_a_release_has_an_opset_of_each_domain(release: str, onnx: int, ml: int) -> None:
    opsets = opsets_of_release(release)
    assert (opsets[""], opsets["ai.onnx.ml"]) == (onnx, ml)


@pytest.mark.parametrize("release", ["1.199", "0.1", "", "onnx"])
def test_an_unknown_release_is_refused(release: str, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        opsets_of_release(release)
    # The last release that is listed is a matter of the installed onnx.
    assert str(raised.value.message) == wording


SOFTMAX = """
    op: Softmax
    dtype: float32
    inputs: {input: [[0, 0]]}
    cases:
    - {name: at_11, opset: 11}
    - {name: at_13, opset: 13}
"""
HARDMAX_OF_DIRECT_ML = """
    op: DML_ACTIVATION_HARDMAX1
    domain: com.microsoft.dml
    dtype: float32
    cases:
    - {name: one, opset: 1, attrs: {Axes: [0]}, inputs: {InputTensor: [1, 2]}}
"""


@pytest.mark.parametrize(("release", "names"), [("1.7", ["at_11"]), ("1.8", ["at_11", "at_13"])])
def test_cases_of_later_opsets_are_left_out(tmp_path: Path, release: str, names: list[str]) -> None:
    cases = cases_of_release(cases_in(tmp_path, SOFTMAX), release)
    assert [case.id for case in cases] == [f"Softmax/{name}" for name in names]


def test_no_release_of_onnx_has_operators_of_direct_ml(tmp_path: Path) -> None:
    assert cases_of_release(cases_in(tmp_path, HARDMAX_OF_DIRECT_ML), "1.20.0") == ()
