"""What a suggestion admits in place of the right answer, and what it does not: both directions.

Those that admit the answers of other nodes are in `tests/execution/test_severity.py`.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

from opcheck import dtypes, opset
from opcheck.engine import Node
from opcheck.engine.suggestions import Suggested, suggested
from opcheck.engine.suggestions.table import SUGGESTIONS

NAN, INF = np.nan, np.inf
LARGEST = float(np.finfo(np.float32).max)
SUBNORMAL = 1e-40
DML = "com.microsoft.dml"
E8M0 = dtypes.DTYPES["float8e8m0"].numpy


def f(*numbers: float, dtype: Any = np.float32) -> np.ndarray:
    return np.array(numbers, dtype)


def i(*numbers: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(numbers, dtype)


def texts(*words: str) -> np.ndarray:
    return np.array(words, object)


def suggested_of(op: str, since: int, inputs: Any, attrs: Any, domain: str = "") -> Suggested:
    found = suggested(Node(opset.versions(domain, op)[since].op, inputs, attrs))
    assert found is not None
    return found


class OfElement(NamedTuple):
    """A node with one covered element, the first, and the numbers that it may and may not be."""

    id: str
    op: str
    since: int
    inputs: tuple[np.ndarray, ...]
    attrs: dict[str, Any]
    honest: list[Any]
    garbage: list[Any]
    domain: str = ""


TO_ENDS = [INF, LARGEST]
OTHER_SIGN = [-INF, -LARGEST]
ELEMENTS = [
    OfElement("overflow", "Mul", 14, (f(3e38), f(10)), {}, TO_ENDS, [7, NAN, 1e38, *OTHER_SIGN]),
    OfElement(
        "overflow",
        "MatMul",
        13,
        (f(3e38, 3e38)[None], f(1, 1)[:, None]),
        {},
        [*TO_ENDS, NAN],
        [7, 0, 1e38, *OTHER_SIGN],
    ),
    OfElement(
        "overflow",
        "MatMul",
        13,
        (f(3e38, 3e38, -1)[None], f(1, 1, 1)[:, None]),
        {},
        [*TO_ENDS, *OTHER_SIGN, NAN],
        [7, 0, 1e38],
    ),
    OfElement(
        "overflow",
        "ReduceSum",
        13,
        (f(-3e38, -3e38, 0),),
        {},
        [*OTHER_SIGN, NAN],
        [7, 0, 1e38, *TO_ENDS],
    ),
    OfElement(
        "overflow",
        "ReduceSum",
        13,
        (f(3e38, 3e38, -1),),
        {},
        [*TO_ENDS, *OTHER_SIGN, NAN],
        [7, 0, 1e38],
    ),
    OfElement(
        "overflow",
        "ReduceSumSquare",
        18,
        (f(-3e38, 2, SUBNORMAL),),
        {},
        [*TO_ENDS, NAN],
        [7, 0, *OTHER_SIGN],
    ),
    OfElement(
        "overflow",
        "ReduceProd",
        18,
        (f(-3e38, 2),),
        {},
        [*OTHER_SIGN, NAN],
        [7, 0, *TO_ENDS],
    ),
    OfElement("subnormals", "Identity", 16, (f(SUBNORMAL),), {}, [0, -SUBNORMAL], [1, NAN]),
    OfElement("subnormals", "Mul", 14, (f(SUBNORMAL), f(1e38)), {}, [0, 1e-39], [1, NAN, 1e-5]),
    OfElement("subnormals", "Log", 13, (f(SUBNORMAL),), {}, [-INF], [0, INF, NAN, -7]),
    OfElement("subnormals", "Equal", 19, (f(SUBNORMAL), f(0)), {}, [True], []),
    OfElement("no-value", "Acos", 22, (f(2),), {}, [NAN, 0], [np.pi, 1, INF]),
    OfElement("no-value", "Acosh", 22, (f(-3),), {}, [NAN, 0], [1, INF]),
    OfElement("no-value", "Asin", 22, (f(-2),), {}, [NAN, -np.pi / 2], [np.pi / 2, 0]),
    OfElement("no-value", "Atanh", 22, (f(1),), {}, [NAN, *TO_ENDS], [7, 0, *OTHER_SIGN]),
    OfElement("no-value", "Log", 13, (f(0),), {}, [NAN, *OTHER_SIGN, -87.33655], [0, 7, INF]),
    OfElement("no-value", "Reciprocal", 13, (f(0),), {}, [NAN, *TO_ENDS, *OTHER_SIGN], [0, 7]),
    OfElement("no-value", "Reciprocal", 13, (f(-1e-39),), {}, OTHER_SIGN, [0, 7, *TO_ENDS]),
    OfElement("no-value", "Sin", 22, (f(INF),), {}, [NAN, -1, 0.3], [1.1, INF]),
    OfElement("division", "Div", 14, (f(2), f(0)), {}, [NAN, *TO_ENDS, *OTHER_SIGN], [0, 7]),
    OfElement("division", "Div", 14, (f(0), f(0)), {}, [NAN, 0], [INF, 7]),
    OfElement("division", "Div", 14, (f(-1e30), f(1e-30)), {}, OTHER_SIGN, [NAN, 0, 7, INF]),
    OfElement("division", "Mod", 13, (f(3), f(0)), {"fmod": 1}, [NAN, 0, 3], [2, INF]),
    OfElement("no-shares", "Softmax", 13, (f(-INF, -INF),), {}, [NAN, 0, 0.5], [1, 0.3, INF]),
    OfElement(
        "no-shares",
        "DML_ACTIVATION_LOG_SOFTMAX",
        1,
        (f(-INF, -INF)[None, None, None],),
        {},
        [NAN, -INF, -np.log(2)],
        [0, 7, INF],
        DML,
    ),
    OfElement("nan-in-extremes", "ReduceMax", 20, (f(1, NAN, 5),), {}, [NAN, 1, 5], [4, INF]),
    OfElement(
        "nan-in-extremes",
        "ReduceMax",
        20,
        (f(NAN, 5),),
        {"noop_with_empty_axes": 1},
        [NAN],
        [5, 0, INF],
    ),
    OfElement("nan-in-extremes", "ReduceMin", 20, (f(NAN, NAN),), {}, [NAN, INF], [0, -INF]),
    OfElement("infinite-means", "ReduceMean", 18, (f(INF, 5),), {}, [NAN, *TO_ENDS], [5, -INF]),
    OfElement("nan-otherwise", "ThresholdedRelu", 22, (f(NAN),), {}, [NAN, 0], [1, INF]),
    OfElement("rounded-special-numbers", "Floor", 6, (f(INF),), {}, [NAN, 2**31], [0, 7]),
    OfElement("rounded-special-numbers", "Ceil", 6, (f(NAN),), {}, [0, -(2**31)], [7, INF]),
    OfElement(
        "infinite-scale",
        "InstanceNormalization",
        22,
        (f(1, 2)[None, None], f(-INF), f(0)),
        {},
        [NAN, *TO_ENDS],
        [7, -INF],
    ),
    OfElement("slope-of-no-number", "PRelu", 16, (f(3), f(INF)), {}, [NAN], [INF, 0]),
    OfElement("slope-of-no-number", "PRelu", 16, (f(3, -2)[None], f(INF, 1)), {}, [NAN], [INF, 0]),
    OfElement("slope-of-no-number", "PRelu", 6, (f(3, 2)[None], f(NAN, 1)), {}, [NAN], [INF, 0]),
    OfElement("powers", "Pow", 15, (f(0), f(0)), {}, [1, NAN], [0, 7, INF]),
    OfElement("powers", "Pow", 15, (f(0), f(-1)), {}, [INF, LARGEST, -INF, NAN], [0, 7]),
    OfElement("powers", "Pow", 15, (f(-8), f(0.5)), {}, [NAN, 8**0.5, -(8**0.5), 0], [7, INF]),
    OfElement("powers", "Pow", 15, (i(2), i(-1)), {}, [0, 1], [2, -1, 7]),
    OfElement("powers", "Pow", 15, (i(0), i(-1)), {}, [0, -1, 2**63 - 1, -(2**63)], [1, 7]),
    OfElement("powers", "Pow", 15, (i(3), i(35)), {}, [3**35 + 1, 3**35 - 4000], [0, 7, -(3**35)]),
    OfElement("cast-is-rounded", "Cast", 13, (f(3.7),), {"to": 6}, [4, 3], [5, 2]),
    OfElement("cast-is-rounded", "Cast", 13, (f(300.5),), {"to": 3}, [44, 45, 127, 0], [7, 100]),
    OfElement("cast-is-rounded", "Cast", 13, (f(65530),), {"to": 10}, [INF, 65504], [7, -INF]),
    OfElement("cast-of-texts", "Cast", 13, (i(5),), {"to": 8}, ["5", "5.0"], ["6", ""]),
    OfElement(
        "cast-of-texts", "Cast", 13, (texts("0.1"),), {"to": 1}, [0.1, 0.099999994], [0.2, NAN]
    ),
    OfElement("cast-to-bool", "Cast", 9, (i(2),), {"to": 9}, [False, True], []),
    OfElement(
        "zero-is-no-power", "CastLike", 24, (f(0), np.ones(1, E8M0)), {}, [NAN, 2.0**-127], [1, 2]
    ),
    OfElement(
        "bits-shifted-out",
        "BitShift",
        11,
        (i(3, dtype=np.uint8), i(9, dtype=np.uint8)),
        {"direction": "LEFT"},
        [255, 6, 0],
        [7, 3, 1],
    ),
]


@pytest.mark.parametrize("node", ELEMENTS, ids=lambda node: f"{node.id}-{node.op}")
def test_a_covered_element_is_admitted_only_with_an_honest_value(node: OfElement) -> None:
    found = suggested_of(node.op, node.since, node.inputs, node.attrs, node.domain)
    assert node.id in [suggestion.id for suggestion in found.suggestions]
    right = found.subject.outputs[0]
    first = (0,) * right.ndim
    assert found.masks[0][first]

    def is_admitted(value: Any) -> bool:
        output = right.copy()
        with np.errstate(all="ignore"):
            output[first] = np.asarray(value).astype(right.dtype)
        return bool(found.excused(0, output)[first])

    assert [value for value in node.honest if not is_admitted(value)] == []
    assert [value for value in node.garbage if is_admitted(value)] == []


class OfNode(NamedTuple):
    """A node that is covered as a whole, with outputs that are honest, and that are garbage."""

    id: str
    op: str
    since: int
    inputs: tuple[np.ndarray, ...]
    attrs: dict[str, Any]
    honest: list[tuple[Any, ...]]
    garbage: list[tuple[Any, ...]]


BLOCK = np.arange(8.0, dtype=np.float32).reshape(1, 2, 2, 2)
COLUMN = np.arange(4.0, dtype=np.float32)
ROWS = f(1, 5, 2, 0).reshape(2, 2)
WORDS = texts("", "0", "a")
TIES = f(3, 1, 3, 2, 3)
NODES = [
    OfNode(
        "subnormals-decide-shapes",
        "NonZero",
        13,
        (f(SUBNORMAL, 1),),
        {},
        [([[1]],)],
        [([[0]],), ([[]],), ([[0, 1, 1]],)],
    ),
    OfNode(
        "powers-beyond-the-range",
        "LpPool",
        22,
        (f(1e30, 1, 1e-30, 1e-30)[None, None],),
        {"kernel_shape": [2], "strides": [2], "p": 2},
        [
            ([[[INF, 0]]],),
            ([[[LARGEST, 1.4142135e-30]]],),
            ([[[LARGEST**0.5, 0]]],),
            ([[[1e30, 1e-30]]],),
        ],
        [([[[7, 0]]],), ([[[INF, 7]]],), ([[[NAN, 0]]],), ([[INF, 0]],)],
    ),
    OfNode(
        "order-of-blocks",
        "SpaceToDepth",
        13,
        (BLOCK,),
        {"blocksize": 2},
        [(np.reshape([0, 4, 1, 5, 2, 6, 3, 7], (1, 8, 1, 1)),), (BLOCK.reshape(1, 8, 1, 1),)],
        [(np.zeros((1, 8, 1, 1)),), (BLOCK.reshape(1, 8, 1, 1)[:, ::-1],), (BLOCK,)],
    ),
    OfNode(
        "order-of-blocks",
        "DepthToSpace",
        1,
        (COLUMN.reshape(1, 4, 1, 1),),
        {"blocksize": 2},
        [([[[[0, 1], [2, 3]]]],), ([[[[0, 2], [1, 3]]]],)],
        [([[[[0, 1], [3, 2]]]],), ([[[[0, 0], [0, 0]]]],)],
    ),
    OfNode("no-axes", "Squeeze", 13, (ROWS[None], i()), {}, [(ROWS,), (ROWS[None],)], [(-ROWS,)]),
    OfNode("no-axes", "Unsqueeze", 1, (ROWS,), {"axes": []}, [(ROWS,)], [(ROWS[None],), (-ROWS,)]),
    OfNode(
        "texts-that-are-zero",
        "NonZero",
        13,
        (WORDS,),
        {},
        [([[1, 2]],), ([[0, 2]],), ([[2]],), ([[0, 1, 2]],)],
        [([[]],), ([[0]],), ([[0, 1]],)],
    ),
    OfNode(
        "one-class-or-none",
        "OneHot",
        11,
        (f(1.5), f(3), f(0, 1)),
        {},
        [([[0, 1, 0]],), ([[0, 0, 1]],), ([[0, 0, 0]],)],
        [([[1, 0, 0]],), ([[0, 1, 1]],), ([0, 1, 0],)],
    ),
    OfNode(
        "one-class-or-none",
        "OneHot",
        11,
        (np.array(1), i(2), f(0, 1)),
        {},
        [([0, 1],), ([[0, 1]],)],
        [([1, 0],), ([[1, 1]],), ([],)],
    ),
    OfNode(
        "order-of-slices",
        "Unique",
        11,
        (ROWS,),
        {"axis": 0},
        [(ROWS, [0, 1], [0, 1], [1, 1]), (ROWS[::-1], [1, 0], [1, 0], [1, 1])],
        [
            (ROWS, [1, 0], [0, 1], [1, 1]),
            (ROWS[::-1], [1, 0], [0, 1], [1, 1]),
            (ROWS[[0, 0]], [0, 0], [0, 0], [1, 1]),
            (ROWS, [0, 1], [0, 1], [1, 2]),
        ],
    ),
    OfNode(
        "negative-positions",
        "TensorScatter",
        24,
        (np.zeros((1, 3, 1), np.float32), np.ones((1, 1, 1), np.float32), i(-2)),
        {"axis": 1, "mode": "circular"},
        [([[[1], [0], [0]]],), ([[[0], [0], [0]]],)],
        [([[[0], [0], [1]]],), ([[[1], [1], [1]]],)],
    ),
    OfNode(
        "range-of-a-slice",
        "Slice",
        11,
        (COLUMN, i(9), i(-9), i(0), i(-1)),
        {},
        [(f(3, 2, 1, 0),), (f(3, 2, 1),), (f(),)],
        [(f(3, 1),), (COLUMN,), (f(0, 0),)],
    ),
    OfNode(
        "reflection",
        "Pad",
        13,
        (COLUMN, i(0, 4)),
        {"mode": "reflect"},
        [
            (f(0, 1, 2, 3, 2, 1, 0, 1),),
            (f(0, 1, 2, 3, 3, 2, 1, 0),),
            (f(0, 1, 2, 3, 2, 1, 0, 0),),
            (f(0, 1, 2, 3, 3, 3, 3, 3),),
            (f(0, 1, 2, 3, 0, 1, 2, 3),),
        ],
        [(f(0, 1, 2, 3, 2, 1, 0, 7),), (f(1, 1, 2, 3, 2, 1, 0, 1),), (COLUMN,)],
    ),
    OfNode(
        "reflection",
        "Pad",
        18,
        (f(1, 2)[:, None], i(2, 0), None, i(-2)),
        {"mode": "reflect"},
        [(f(1, 2, 1, 2)[:, None],), (f(1, 1, 1, 2)[:, None],)],
        [(f(7, 1, 1, 2)[:, None],), (f(1, 2)[:, None],)],
    ),
    OfNode(
        "reflection",
        "Pad",
        18,
        (f(1, 2, 3, 4, 5, 6).reshape(2, 3), i(0, 2, 0, 0), None, i(1, 0)),
        {"mode": "reflect"},
        [(f(1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6).reshape(4, 3),)],
        [(f(7, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6).reshape(4, 3),)],
    ),
    OfNode(
        "ties-in-any-order",
        "TopK",
        11,
        (TIES, i(2)),
        {"sorted": 0},
        [(f(3, 3), [0, 2]), (f(3, 3), [4, 2])],
        [(f(3, 3), [0, 0]), (f(3, 3), [0, 1]), (f(3, 2), [0, 3]), (f(3, 3), [0, 9])],
    ),
    OfNode(
        "ends-far-apart",
        "Range",
        11,
        (i(0)[0], i(2**62)[0], i(2**61)[0]),
        {},
        [([0, 2**61],), ([0],), ([0, 2**61, 2**62],)],
        [([0, 7],), ([7],), ([0, 2**61, 2**62, -(2**63)],)],
    ),
    OfNode(
        "texts-to-split",
        "StringSplit",
        20,
        (texts("", "a-b"),),
        {"delimiter": "-"},
        [([["", ""], ["a", "b"]], [0, 2]), ([["", ""], ["a", "b"]], [1, 2])],
        [([["", ""], ["a", "b"]], [2, 2]), ([["", ""], ["b", "a"]], [1, 2])],
    ),
    OfNode(
        "texts-to-split",
        "StringSplit",
        20,
        (texts("a\vb c"),),
        {},
        [([["a", "b", "c"]], [3]), ([["a\vb", "c"]], [2])],
        [([["a\vb c"]], [1]), ([["a", "b c"]], [2])],
    ),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: f"{node.id}-{node.op}")
def test_a_node_as_a_whole_is_admitted_only_with_an_honest_answer(node: OfNode) -> None:
    found = suggested_of(node.op, node.since, node.inputs, node.attrs)
    assert node.id in [suggestion.id for suggestion in found.suggestions]
    own = found.subject.outputs

    def is_admitted(answer: tuple[Any, ...]) -> bool:
        pairs = zip(answer, own, strict=True)
        return found.accepts([np.array(y).astype(right.dtype) for y, right in pairs])

    assert [answer for answer in node.honest if not is_admitted(answer)] == []
    assert [answer for answer in node.garbage if is_admitted(answer)] == []


@pytest.mark.parametrize("node", NODES, ids=lambda node: f"{node.id}-{node.op}")
@pytest.mark.parametrize("shape", [(), (0, 0), (1,), (3, 0), (2, 1, 1, 2, 3)])
def test_outputs_of_other_shapes_are_judged_too(node: OfNode, shape: tuple[int, ...]) -> None:
    found = suggested_of(node.op, node.since, node.inputs, node.attrs)
    own = found.subject.outputs
    outputs = [np.full(shape, "" if y.dtype.hasobject else 7).astype(y.dtype) for y in own]
    assert not found.accepts(outputs)


def test_other_types_and_numbers_of_outputs_are_not_admitted() -> None:
    found = suggested_of("TopK", 11, (TIES, i(2)), {"sorted": 0})
    values, indices = f(3, 3), i(0, 2)
    assert found.accepts([values, indices])
    assert not found.accepts([values.astype(np.float64), indices])
    assert not found.accepts([values])


def test_each_suggestion_states_what_it_admits() -> None:
    for suggestion in SUGGESTIONS:
        of_elements = suggestion.admits is not None
        of_nodes = suggestion.accepts is not None or suggestion.other_nodes is not None
        assert of_elements == (suggestion.scope == "elements"), suggestion.id
        assert of_nodes == (suggestion.scope == "node"), suggestion.id
        assert bool(suggestion.admitted) == (suggestion.scope != "refusal"), suggestion.id


def test_each_suggestion_is_tested_here_or_where_other_nodes_are() -> None:
    elsewhere = {s.id for s in SUGGESTIONS if s.accepts is None and s.other_nodes is not None}
    of_casts_and_steps = {"rounded-steps", "quantized-halves"}
    here = {node.id for node in (*ELEMENTS, *NODES)}
    stated = {s.id for s in SUGGESTIONS if s.scope != "refusal"}
    assert stated - elsewhere - of_casts_and_steps == here
