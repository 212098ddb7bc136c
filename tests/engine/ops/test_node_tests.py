"""Every operator of the engine passes ONNX's own node tests."""

import re
from typing import Any

import numpy as np
import pytest

from opcheck import opset
from opcheck.engine import evaluate
from opcheck.engine.operators import every
from opcheck.errors import NotSupported
from tests.node_tests import asked_by, node_tests_of

#: Of casts of types that case files cannot state.
UNSTATED = r"unsupported by opcheck: casts of (string|u?int[24]|float[48]\w*)"


def node_tests(op: str) -> list[Any]:
    """Those of tensors alone: sequences and optional values are none."""
    return [
        test
        for test in node_tests_of(op).values()
        if not any(
            value is None or isinstance(value, list)
            for data in test.data_sets
            for part in data
            for value in part
        )
    ]


# ONNX makes its tests when they are asked for, which takes seconds.
@pytest.mark.parametrize("op", [one.name for one in every() if not one.domain])
def test_the_engine_gives_the_outputs_of_the_node_tests(op: str) -> None:
    for test in node_tests(op):
        answers(test)


def test_most_operators_have_node_tests() -> None:
    assert sum(len(node_tests(one.name)) for one in every() if not one.domain) > 500


def answers(test: Any) -> None:
    (opsets,) = (one.version for one in test.model.opset_import if not one.domain)
    (node,) = test.model.graph.node
    schema = opset.describe("", node.op_type, opsets)
    assert schema
    for inputs, attrs, wanted in asked_by(test):
        try:
            got = evaluate(schema.op, inputs, attrs, len(wanted))
        except NotSupported as error:
            if not re.fullmatch(UNSTATED, str(error)):
                raise
            return
        for one, want in zip(got, wanted, strict=True):
            assert (one.dtype, one.shape) == (want.dtype, want.shape), test.name
            floats = one.dtype.kind in "fV"
            one, want = (part.astype(np.float64) if floats else part for part in (one, want))
            rtol = test.rtol if floats else 0
            np.testing.assert_allclose(one, want, rtol, test.atol, err_msg=test.name)
