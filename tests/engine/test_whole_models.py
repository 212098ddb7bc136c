"""Every operator in a model, on numbers that rounding has touched."""

from typing import Any

import numpy as np
import pytest

from opcheck import opset
from opcheck.engine import Node, Subgraph, rounded
from opcheck.engine.evaluate import exactly
from opcheck.engine.operators import every
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import node_of, question
from opcheck.model import GRAPH, Computed, Values
from opcheck.opset import Body, BodyNode, onnx_defs
from tests.asking import shipped_cases

MUL = opset.versions("", "Mul")[14].op
#: What these do is a matter of bits, of counts or of indices, not of numbers within a bound.
OF_BITS = {
    "ArgMax", "ArgMin", "BitCast", "Hardmax", "MaxPool", "MaxRoiPool", "MaxUnpool",
    "NonMaxSuppression", "OneHot", "Unique",
}  # fmt: skip
#: Next to a step, the middle of what is admitted stands for it.
STEPS = {"Cast", "CastLike", "Ceil", "Floor", "Round"}


def of_one_node(case: Any, node: Node) -> Node:
    """A model of a node whose floating inputs were multiplied by 1, which may round."""
    nodes, names = [], []
    for n, array in enumerate(node.inputs):
        names.append("" if array is None else f"input_{n}")
        if array is not None and array.dtype in (np.half, np.single, np.double) and array.size > 1:
            one = f"one_{array.dtype.itemsize}"
            nodes.append(BodyNode(MUL, {}, (names[n], one), (f"product_{n}",)))
            names[n] = f"product_{n}"
    asked = node.outputs or (0,)
    outputs = tuple(f"output_{n}" for n in range(max(asked) + 1))
    plain: Any = dict(node.attrs)
    nodes.append(BodyNode(case.op, plain, tuple(names), outputs))
    fed = [n for n, array in enumerate(node.inputs) if array is not None]
    ones = {f"one_{size}": np.ones((), f"f{size}") for size in (2, 4, 8)}
    body = Body(
        tuple(f"input_{n}" for n in fed), tuple(outputs[n] for n in asked), tuple(nodes), ones
    )
    attrs: Any = {"graph": Subgraph(body)}
    return Node(GRAPH, node.given, attrs)


OPERATORS = sorted(one.name for one in every() if not (one.domain or one.random))


@pytest.mark.gate
@pytest.mark.parametrize("name", OPERATORS)
def test_a_model_of_one_node_gives_what_the_node_gives(name):
    for case in shipped_cases(name):
        schema = opset.versions("", name)[case.op.since]
        parameters = (*schema.inputs, *schema.outputs)
        if case.level != "smoke" or not isinstance(case.expect, Computed | Values):
            continue
        if schema.graphs or any(one.listed for one in parameters):
            continue
        asked = question(case)
        node = node_of(asked.task, asked.inputs)
        try:
            right = node.right
        except (InvalidNode, NotSupported):
            continue
        try:
            found = [*map(rounded, exactly(of_one_node(case, node)))]
        except NotSupported:
            assert name in OF_BITS, case.id
            continue
        for one, other in zip(found, right, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), case.id
            if one.dtype in (np.half, np.single, np.double) and name not in STEPS:
                np.testing.assert_allclose(
                    one.astype(float),
                    other.astype(float),
                    1e-2 if one.itemsize == 2 else 1e-5,
                    1e-6,
                )


def test_a_tensor_is_dropped_once_nobody_reads_it():
    text = "(x) => (z) { a = Relu(x) b = Neg(a) c = Add(a, b) z = Mul(c, x) }"
    body = onnx_defs.subgraph(text, 17)
    assert [*map(set, body.done)] == [set(), set(), {"a", "b"}, {"c", "x"}]


def test_an_operator_that_is_missing_is_named():
    text = "(x) => (y) { a = Relu(x) y = ImageDecoder(a) }"
    graph: Any = {"graph": Subgraph(onnx_defs.subgraph(text, 20))}
    with pytest.raises(NotSupported, match="no formula for ImageDecoder-20"):
        exactly(Node(GRAPH, (np.ones(3, np.float32),), graph))
