"""What the text of a node only suggests: which elements, and which nodes as a whole."""

from typing import Any

import numpy as np
import pytest

from opcheck import opset
from opcheck.engine import Node
from opcheck.engine.suggestions import Suggested, suggested

NAN, INF = np.nan, np.inf
SUBNORMAL = 1e-40


def f(*numbers: float, dtype: Any = np.float32) -> np.ndarray:
    return np.array(numbers, dtype)


def i(*numbers: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(numbers, dtype)


def of_node(op: str, since: int, *inputs: Any, domain: str = "", **attrs: Any) -> Suggested | None:
    return suggested(Node(opset.versions(domain, op)[since].op, inputs, attrs))


#: The elements that are only suggested, of each node and the id of the suggestion.
ELEMENTS = [
    ("powers", "Pow", 15, (i(2, 3, 0, 1), i(-1, 2, 0, -5)), {}, [1, 0, 1, 0]),
    ("powers", "Pow", 15, (f(-8, 1, 0, 3), f(0.5, INF, -1, 2)), {}, [1, 1, 1, 0]),
    ("subnormals", "Abs", 13, (f(-SUBNORMAL, -2),), {}, [1, 0]),
    ("subnormals", "Equal", 19, (f(SUBNORMAL, 1, 2), f(0, 1, SUBNORMAL)), {}, [1, 0, 0]),
    ("overflow", "Add", 14, (f(3e38, 1), f(3e38, 2)), {}, [1, 0]),
    ("no-value", "Log", 13, (f(-1, 0, 1, INF),), {}, [1, 1, 0, 0]),
    ("division", "Div", 14, (f(1, 0, 6), f(0, 0, 2)), {}, [1, 1, 0]),
    ("no-shares", "Softmax", 13, (f(-INF, -INF),), {}, [1, 1]),
    ("nan-otherwise", "ThresholdedRelu", 10, (f(NAN, 2),), {}, [1, 0]),
    ("slope-of-no-number", "PRelu", 16, (f(3, -2, 5), f(INF, INF, 1)), {}, [1, 0, 0]),
    ("rounded-special-numbers", "Floor", 6, (f(NAN, INF, 1.5),), {}, [1, 1, 0]),
    ("cast-is-rounded", "Cast", 13, (f(1.5, 2, -0.5),), {"to": 7}, [1, 0, 1]),
    ("cast-is-rounded", "Cast", 13, (f(1 + 2**-20, 2, 70000),), {"to": 10}, [1, 0, 0]),
    ("cast-to-bool", "Cast", 9, (i(2, 1, 0),), {"to": 9}, [1, 0, 0]),
    (
        "bits-shifted-out",
        "BitShift",
        11,
        (i(255, 3, dtype=np.uint8), i(7, 1, dtype=np.uint8)),
        {"direction": "LEFT"},
        [1, 0],
    ),
]


@pytest.mark.parametrize(("id_", "op", "since", "inputs", "attrs", "covered"), ELEMENTS)
def test_elements_are_only_suggested(id_, op, since, inputs, attrs, covered):
    found = of_node(op, since, *inputs, **attrs)
    assert found is not None
    assert [suggestion.id for suggestion in found.suggestions] == [id_]
    assert found.masks[0].tolist() == [*map(bool, covered)]
    assert not found.whole
    assert found.covers_everything == all(covered)


#: The first step of a range is stated, and so are those that the type holds.
STEPS = [0, 0, 0, 1, 0, 1]
#: Of covered elements, values of a backend, and the elements that a suggestion admits.
ADMITTED = [
    ("Cast", 13, (f(3.7, 3.7, 3.7, -2.5, -2.5),), {"to": 6}, [4, 3, 5, -2, -4], [1, 1, 0, 1, 0]),
    ("Cast", 13, (f(3.7, 300.5),), {"to": 3}, [100, 44], [0, 1]),
    ("Cast", 13, (f(0.1, 0.1, 0.1),), {"to": 10}, [0.09998, 0.1, 0.11], [1, 1, 0]),
    ("Cast", 13, (f(65530, 65530, 65530),), {"to": 10}, [INF, -INF, 65504], [1, 0, 1]),
    ("Mul", 14, (f(1e-30, 1e-30, 1e-30), f(1e-10)), {}, [0, 2e-41, 1], [1, 1, 0]),
    ("Identity", 13, (f(*[SUBNORMAL] * 3),), {}, [0, NAN, 1], [1, 0, 0]),
    ("Mul", 14, (f(SUBNORMAL), f(1e38)), {}, [0], [1]),
    ("Range", 27, (*np.float16([0, 0.55, 0.1]),), {}, [0, 0.1, 0.25, 0.3, 0.4, 0.5], STEPS),
]


@pytest.mark.parametrize(("op", "since", "inputs", "attrs", "values", "admitted"), ADMITTED)
def test_covered_elements_have_a_value_that_is_admitted(op, since, inputs, attrs, values, admitted):
    found = of_node(op, since, *inputs, **attrs)
    assert found is not None
    output = np.array(values).astype(found.subject.outputs[0].dtype)
    assert found.excused(0, output).tolist() == [*map(bool, admitted)]


@pytest.mark.parametrize(
    ("given", "to", "texts", "admitted"),
    [
        (i(5, 5, 5), 8, ["5", "5.0", "6"], [1, 1, 0]),
        (np.array(["0.1", "0.1", "nan"], object), 1, [0.1, 0.2, 3], [1, 0, 0]),
        (np.array(["1e400", "1e400", "5"], object), 1, [NAN, 2, 5], [1, 0, 0]),
    ],
)
def test_casts_of_texts_admit_the_same_number(given, to, texts, admitted):
    found = of_node("Cast", 13, given, to=to)
    assert found is not None
    output = np.array(texts, found.subject.outputs[0].dtype)
    assert found.excused(0, output).tolist() == [*map(bool, admitted)]


def test_subnormals_may_decide_a_shape():
    found = of_node("NonZero", 13, f(SUBNORMAL, 1))
    assert found is not None
    assert found.whole
    found = of_node("Identity", 13, f(SUBNORMAL, 1))
    assert found is not None
    assert not found.whole


@pytest.mark.parametrize(
    ("op", "since", "inputs", "attrs"),
    [
        ("TopK", 11, (np.zeros((0, 3), np.float32), i(1)), {"sorted": 0}),
        ("Pow", 1, (np.float32(2), np.float32(2)), {"axis": 0, "broadcast": 1}),
    ],
)
def test_rules_take_tensors_without_elements_and_scalars(op, since, inputs, attrs):
    assert of_node(op, since, *inputs, **attrs) is None


def test_a_huge_shift_is_not_computed():
    x, y = np.uint32([1, 0]), np.uint32([2**32 - 1, 2**32 - 1])
    found = of_node("BitShift", 11, x, y, direction="LEFT")
    assert found is not None
    assert found.masks[0].tolist() == [True, False]


X = np.arange(1.0, 13, dtype=np.float32).reshape(3, 4)
ROW = X.reshape(1, 1, 12)
IMAGE = X.reshape(1, 1, 3, 4)
#: Nodes of which everything is only suggested, and the like of which the text states.
WHOLE = [
    ("matrix-alone", "LpNormalization", 22, (ROW,), (X,), {}, {}),
    ("no-axes", "Squeeze", 13, (X, i()), (ROW, i(0)), {}, {}),
    (
        "pads-as-large-as-windows",
        "LpPool",
        18,
        (ROW,),
        (ROW,),
        {"kernel_shape": [2], "pads": [2, 0]},
        {"kernel_shape": [2], "pads": [1, 0]},
    ),
    (
        "order-of-blocks",
        "SpaceToDepth",
        1,
        (X.reshape(1, 1, 2, 6),),
        (X.reshape(1, 1, 2, 6),),
        {"blocksize": 2},
        {"blocksize": 1},
    ),
    ("range-of-a-slice", "Slice", 11, (X, i(-9), i(2)), (X, i(0), i(2)), {}, {}),
    (
        "reflection",
        "Pad",
        13,
        (X, i(0, 4, 0, 0)),
        (X, i(0, 3, 0, 0)),
        {"mode": "reflect"},
        {"mode": "reflect"},
    ),
    ("one-class-or-none", "OneHot", 11, (i(0), i(0), f(0, 1)), (i(0), i(2), f(0, 1)), {}, {}),
    (
        "order-of-slices",
        "Unique",
        11,
        (f(1, 5, 2, 0).reshape(2, 2),),
        (f(1, 2, 2, 5).reshape(2, 2),),
        {"axis": 0},
        {"axis": 0},
    ),
    (
        "ties-in-any-order",
        "TopK",
        11,
        (f(1, 1, 2), i(2)),
        (f(1, 3, 2), i(2)),
        {"sorted": 0},
        {"sorted": 0},
    ),
    (
        "odd-padding",
        "ConvTranspose",
        1,
        (ROW, ROW[..., :3]),
        (ROW, ROW[..., :3]),
        {"output_shape": [13]},
        {"output_shape": [12]},
    ),
    ("vectors-alone", "Tanh", 1, (X,), (X[0],), {}, {}),
    (
        "ends-far-apart",
        "Range",
        11,
        (i(0)[0], i(2**62)[0], i(2**61)[0]),
        (i(0)[0], i(5)[0], i(2)[0]),
        {},
        {},
    ),
]


@pytest.mark.parametrize(("id_", "op", "since", "vague", "stated", "attrs", "others"), WHOLE)
def test_nodes_are_only_suggested(id_, op, since, vague, stated, attrs, others):
    found = of_node(op, since, *vague, **attrs)
    assert found is not None
    assert id_ in [suggestion.id for suggestion in found.suggestions]
    assert found.covers_everything
    assert of_node(op, since, *stated, **others) is None


def test_a_node_that_is_illegal_or_stated_suggests_nothing():
    assert of_node("Add", 14, X, X) is None
    assert of_node("Add", 14, X, np.float32([1, 2, 3])) is None


def test_what_a_subnormal_input_decides_is_found_by_evaluation():
    x = f(1, SUBNORMAL, 3, 4).reshape(2, 2)
    found = of_node("Transpose", 13, x)
    assert found is not None
    assert found.masks[0].tolist() == [[False, False], [True, False]]
    found = of_node("ArgMax", 13, x - x + f(0, SUBNORMAL, 3, 4).reshape(2, 2), axis=1, keepdims=0)
    assert found is not None
    assert found.masks[0].tolist() == [True, False]
