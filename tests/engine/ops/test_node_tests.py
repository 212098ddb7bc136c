"""Every operator of the engine passes ONNX's own node tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from opcheck import opset
from opcheck.engine import evaluate
from opcheck.engine.operators import every
from opcheck.errors import NotSupported
from tests.node_tests import node_tests_of

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


def value(attribute: onnx.AttributeProto) -> Any:
    found = helper.get_attribute_value(attribute)
    if isinstance(found, bytes):
        return found.decode()
    if isinstance(found, list):
        return tuple(found)
    return numpy_helper.to_array(found) if isinstance(found, onnx.TensorProto) else found


@pytest.mark.parametrize("test", list(node_tests()), ids=lambda test: test.name)
def test_the_engine_gives_the_outputs_of_the_node_test(test: Any) -> None:
    graph = test.model.graph
    (node,) = graph.node
    attrs = {attribute.name: value(attribute) for attribute in node.attribute}
    (opsets,) = (one.version for one in test.model.opset_import if not one.domain)
    schema = opset.describe("", node.op_type, opsets)
    assert schema
    for given, wanted in ([*map(arrays, one)] for one in test.data_sets):
        fed = dict(zip((one.name for one in graph.input), given, strict=True))
        inputs = [fed.get(name) for name in node.input]
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


def arrays(values: Any) -> list[Any]:
    return [
        numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
        for value in values
    ]
