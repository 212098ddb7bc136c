"""Every operator of the engine passes ONNX's own node tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
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


def node_tests() -> Iterator[Any]:
    for operator in every():
        if not operator.domain:
            for test in node_tests_of(operator.name).values():
                values = [value for data in test.data_sets for part in data for value in part]
                # Sequences and optional values are no tensors.
                if not any(value is None or isinstance(value, list) for value in values):
                    yield test


@pytest.mark.parametrize("test", list(node_tests()), ids=lambda test: test.name)
def test_the_engine_gives_the_outputs_of_the_node_test(test: Any) -> None:
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
            assert (one.dtype, one.shape) == (want.dtype, want.shape)
            floats = one.dtype.kind in "fV"
            one, want = (part.astype(np.float64) if floats else part for part in (one, want))
            np.testing.assert_allclose(one, want, rtol=test.rtol if floats else 0, atol=test.atol)
