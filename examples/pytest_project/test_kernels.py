"""Tests of kernels by shipped cases: `pytest` needs no import of opcheck for the fixture."""

import pytest
from my_kernels import quick_softmax, softmax

import opcheck

#: float32, from version 13 on: what `softmax` is for.
CASES = opcheck.load(ops=["Softmax"], opsets=[13], dtypes=["float32"], level="smoke")


@pytest.mark.parametrize("case", [case.id for case in CASES])
def test_softmax(opcheck_case, case):
    opcheck_case(case, softmax)


def test_large_values(opcheck_case):
    opcheck_case("Softmax/node_test_large_number@opset=13,dtype=float32", quick_softmax)
