"""How much of a graph is computed: sizes are known before memory is taken."""

from typing import Any

import numpy as np
import pytest
from onnx.parser import parse_model

from opcheck import budget, opset
from opcheck.engine import Node, Subgraph
from opcheck.engine.evaluate import evaluate, exactly
from opcheck.errors import BeyondBudget, NotSupported
from opcheck.model import GRAPH
from opcheck.opset import onnx_defs

HUGE = 3_000_000


def net(text: str, opset: int = 17) -> Node:
    """A model on the inputs that its text names: float ones, or small integers."""
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    proto = parse_model(f"{head} g {text}")
    inputs = []
    for info in proto.graph.input:
        tensor = info.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        inputs.append(np.ones(shape, np.int64 if tensor.elem_type == 7 else np.float32))
    attrs: Any = {"graph": Subgraph(onnx_defs.model_body(proto.SerializeToString()))}
    return Node(GRAPH, tuple(inputs), attrs)


#: The nodes that give y of x, float[2, 3], and the elements that they make by the text.
NODES = {
    "y = Concat <axis = 0> (x, x, x)": 18,
    "n = Constant <value_ints = [2, 4]> () y = Tile (x, n)": 48,
    "n = Constant <value_ints = [5, 1, 3]> () y = Expand (x, n)": 30,
    "n = Constant <value_ints = [4, 5]> () y = ConstantOfShape (n)": 20,
    "a = Constant <value_int = 2> () b = Constant <value_int = 20> ()"
    " c = Constant <value_int = 4> () y = Range (a, b, c)": 5,
    "s = Constant <value_floats = [2.0, 3.5]> () y = Resize (x, , s)": 40,
    "n = Constant <value_ints = [7, 3]> () y = Resize (x, , , n)": 21,
    "n = Constant <value_ints = [1, 0, 0, 2]> () y = Pad (x, n)": 15,
    "n = Constant <value_ints = [0, 1, 1, 0, 0]> () y = Gather (x, n)": 15,
    "t = Transpose <perm = [1, 0]> (x) p = Neg (t) y = MatMul (p, x)": 9,
    "y = Gemm <transA = 1> (x, x)": 9,
    'y = Einsum <equation = "ij,kl->ijkl"> (x, x)': 36,
    "n = Constant <value_ints = [3, 1, 1]> () t = Reshape (x, m) y = Add (t, x)": 36,
    "s = Unsqueeze (x, z) t = Unsqueeze (s, z) w = Constant <value = float[1,1,1,2] {1.0, 1.0}> ()"
    " y = Conv <pads = [0, 3, 0, 3]> (t, w)": 18,
}


@pytest.mark.parametrize("nodes", NODES)
def test_a_tensor_has_as_many_elements_as_its_operator_s_text_gives(nodes):
    constants = "<int64[3] m = {6, 1, 1}, int64[1] z = {0}>"
    node = net(f"(float[2, 3] x) => (float[a] y) {constants} {{ {nodes} }}")
    elements = NODES[nodes]
    with budget.limited(elements=elements):
        evaluate(node)
    with budget.limited(elements=elements - 1), pytest.raises(BeyondBudget, match=f" {elements} "):
        evaluate(node)


#: Nodes that would take terabytes, of x, float[4], n, int64[2] {3,000,000, 2,000,000}.
BOMBS = {
    "concats": "".join(
        f"t{k + 1} = Concat <axis = 0> ({', '.join([f't{k}'] * 8)}) " for k in range(20)
    ).replace("t0", "x")
    + "y = Neg (t20)",
    "expand": "u = Constant <value_ints = [1]> () v = Slice (x, z, u) y = Expand (v, n)",
    "shape": "y = ConstantOfShape (n)",
    "tile": "r = Reshape (x, q) y = Tile (r, n)",
    "pad": "r = Reshape (x, q) p = Concat <axis = 0> (n, n) y = Pad (r, p)",
    "range": "a = Constant <value_int = 0> () b = Constant <value_int = 4000000000000> ()"
    " c = Constant <value_int = 1> () r = Range (a, b, c) y = Cast <to = 1> (r)",
    "resize": "r = Reshape (x, q) y = Resize (r, , , n)",
    "texts": "i = Cast <to = 8> (q) "
    + "".join(f"s{k + 1} = Concat <axis = 0> (s{k}, s{k}, s{k}, s{k}) " for k in range(30)).replace(
        "s0", "i"
    )
    + "y = Cast <to = 1> (s30)",
    "empty": "e = ConstantOfShape (o) y = ReduceSum <keepdims = 0> (e, z)",
    "one_hot": "d = Constant <value_int = 4000000000000> ()"
    " v = Constant <value_floats = [0.0, 1.0]> () i = Cast <to = 7> (x) y = OneHot (i, d, v)",
    "loop": "m = Constant <value_int = 60> () c = Constant <value = bool {1}> ()"
    " y = Loop (m, c, x) <body = b (int64 i, bool d, float[k] v) => (bool e, float[l] w) {"
    " e = Identity (d) w = Concat <axis = 0> (v, v) }>",
}


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_model_takes_no_memory_of_terabytes(bomb, rounded):
    constants = (
        f"<int64[2] n = {{{HUGE}, 2000000}}, int64[2] q = {{2, 2}}, int64[1] z = {{0}},"
        " int64[2] o = {0, 4000000000000}>"
    )
    # What rounding has touched has more than one number for each element.
    first = "x = Tanh (x0)" if rounded else "x = Neg (x0)"
    node = net(f"(float[4] x0) => (float[a] y) {constants} {{ {first} {BOMBS[bomb]} }}")
    with budget.limited(elements=100_000), pytest.raises(BeyondBudget, match="--graph-elements"):
        exactly(node)


def test_a_node_alone_is_counted_like_one_of_a_graph():
    node = Node(onnx_op("ConstantOfShape", 9), (np.array([HUGE, HUGE]),), {})
    with pytest.raises(BeyondBudget, match="9,000,000,000,000 elements"):
        evaluate(node)


@pytest.mark.parametrize(("name", "since"), [("Add", 14), ("Neg", 13), ("Softmax", 13)])
def test_one_element_that_is_broadcast_counts_as_many(name, since):
    x = np.broadcast_to(np.float32(1), (HUGE, HUGE))
    inputs = (x, np.float32([1])) if name == "Add" else (x,)
    with pytest.raises(BeyondBudget, match="9,000,000,000,000 elements"):
        evaluate(Node(onnx_op(name, since), inputs, {}))


def test_the_shape_of_a_large_tensor_is_small():
    x = np.broadcast_to(np.float32(1), (HUGE, HUGE))
    (shape,) = evaluate(Node(onnx_op("Shape", 15), (x,), {}))
    assert shape.tolist() == [HUGE, HUGE]


def onnx_op(name: str, since: int) -> Any:
    return opset.versions("", name)[since].op


LOOPS = """(float[4] x) => (float[4] y) <int64 m = {30}, bool c = {1}> {
    y = Loop (m, c, x) <body = b (int64 i, bool d, float[4] v) => (bool e, float[4] w) {
      e = Identity (d)
      w = Loop (m, c, v) <body = f (int64 j, bool g, float[4] t) => (bool h, float[4] u) {
        h = Identity (g)
        u = Neg (t)
      }>
    }>
}"""


def test_runs_of_nodes_and_iterations_are_counted_in_all_graphs():
    inner = 30 * (1 + 2)
    runs = 1 + 1 + 30 * (1 + 2 + inner)  # the model is a graph too
    node = net(LOOPS)
    with budget.limited(nodes=runs):
        evaluate(node)
        evaluate(node)  # each evaluation has its own budget
    with budget.limited(nodes=runs - 1), pytest.raises(BeyondBudget, match="--graph-nodes"):
        evaluate(node)


#: Nodes that run graphs without a node, and the runs that they take: their own and the iterations.
EMPTY_GRAPHS = {
    "y = Loop (m, c, x) <body = b (int64 i, bool d, float[6] v) => (bool d, float[6] v) {}>": 41,
    "y = Loop (m, , x) <body = b (int64 i, bool d, float[6] v) => (bool d, float[6] v) {}>": 41,
    "y = Loop (m, c, x) <body = b (int64 i, bool d, float[6] v) => (bool d, float[6] w) {"
    " w = Loop (m, c, v) <body = f (int64 j, bool e, float[6] u) => (bool e, float[6] u) {}> }>": 1
    + 40 * (1 + 41),
    "y = Scan <num_scan_inputs = 1, body = b (float[6] v, float u) => (float[6] v) {}> (x, x)": 7,
    "y = If (c) <then_branch = t () => (float[6] x) {}, else_branch = f () => (float[6] x) {}>": 2,
    "s = SplitToSequence <axis = 0, keepdims = 0> (x) "
    "t = SequenceMap <body = b (float u) => (float u) {}> (s) "
    "y = ConcatFromSequence <axis = 0, new_axis = 1> (t)": 3 + 6,
}


@pytest.mark.parametrize("nodes", EMPTY_GRAPHS)
def test_an_iteration_counts_also_if_its_graph_has_no_nodes(nodes):
    node = net(f"(float[6] x) => (float[6] y) <int64 m = {{40}}, bool c = {{1}}> {{ {nodes} }}")
    runs = 1 + EMPTY_GRAPHS[nodes]  # the model is a graph too
    with budget.limited(nodes=runs):
        assert evaluate(node)[0].tolist() == [1] * 6
    with budget.limited(nodes=runs - 1), pytest.raises(BeyondBudget, match="--graph-nodes"):
        evaluate(node)


GROWING = """(float[4] x) => (int64 y) <int64 m = {60}, bool c = {1}> {
    s = SequenceConstruct (x)
    t = Loop (m, c, s) <body = b (int64 i, bool d, seq(float[4]) v) => (bool e, seq(float[4]) w) {
      e = Identity (d)
      w = SequenceInsert (v, x)
    }>
    y = SequenceLength (t)
}"""


def test_a_long_sequence_counts_as_more_runs():
    """A run for each ten tensors of each sequence that a node gives."""
    node = net(GROWING)
    lengths = range(2, 62)
    runs = 1 + 3 + 60 * (1 + 2) + sum(length // 10 for length in lengths) + 61 // 10
    with budget.limited(nodes=runs):
        assert evaluate(node)[0].tolist() == 61
    with budget.limited(nodes=runs - 1), pytest.raises(BeyondBudget, match="--graph-nodes"):
        evaluate(node)


def test_overlaps_of_boxes_count():
    def selecting(boxes: int) -> Node:
        scores = np.ones((1, 1, boxes), np.float32)
        inputs = (np.ones((1, boxes, 4), np.float32), scores)
        return Node(onnx_op("NonMaxSuppression", 11), inputs, {})

    assert evaluate(selecting(20))[0].shape == (0, 3)
    with budget.limited(elements=100), pytest.raises(BeyondBudget, match="--graph-elements"):
        evaluate(selecting(21))


def test_a_determinant_of_too_many_rows_is_not_computed():
    matrix = np.random.default_rng(0).normal(size=(1000, 1000))
    with pytest.raises(NotSupported, match="1000 rows"):
        evaluate(Node(onnx_op("Det", 22), (matrix,), {}))


ENDLESS = """(float[4] x) => (float[4] y) <bool c = {1}> {
    y = Loop (, c, x) <body = b (int64 i, bool d, float[4] v) => (bool d, float[4] v) {}>
}"""
TURNS = """(float[4] x) => (float[4] y, float[n] z) <int64 m = {1500}, bool c = {1}> {
    y, z = Loop (m, c, x) <body = b (int64 i, bool d, float[4] v) => (bool d, float[4] w, float s) {
      w = Neg (v)
      s = ReduceSum <keepdims = 0> (w)
    }>
}"""


def test_only_the_budget_ends_a_loop(wording):
    y, z = evaluate(net(TURNS))
    assert y.tolist() == [1] * 4
    assert z.tolist() == [-4, 4] * 750
    with pytest.raises(BeyondBudget) as raised:
        evaluate(net(ENDLESS))
    assert raised.value == wording


@pytest.mark.parametrize(
    "text",
    [
        "y = Loop (m, , x) <body = b (int64 i, bool d, float v) => (bool d, float v) {}>",
        "w = Expand (x, m) y = Scan <num_scan_inputs = 1,"
        " body = b (float v, float u) => (float v) {}> (x, w)",
    ],
)
def test_iterations_of_which_the_number_is_known_are_refused_before_the_first(text):
    node = net(f"(float x) => (float y) <int64[1] m = {{10000000}}> {{ {text} }}")
    with budget.counting() as spent:
        with pytest.raises(BeyondBudget, match="--graph-nodes"):
            evaluate(node)
        assert spent.runs <= 1 + 2  # the model and its nodes


def test_a_loop_holds_its_last_values_and_all_scan_outputs():
    node = net(TURNS)
    # A tensor of its own takes as much memory as 100 elements.
    scan_output = 1500 * (100 + 1)
    with budget.limited(elements=scan_output // 4 + 200):
        evaluate(node)
    with budget.limited(elements=scan_output // 4), pytest.raises(BeyondBudget):
        evaluate(node)


def test_all_tensors_that_are_held_have_a_limit_together(wording):
    held = " ".join(f"t{k} = Neg (x)" for k in range(6))
    text = f"(float[10] x) => (float[60] y) {{ {held} y = Sum (t0, t1, t2, t3, t4, t5) }}"
    dropped = " ".join(f"t{k + 1} = Neg (t{k})" for k in range(6))
    dropped = f"(float[10] t0) => (float[10] t6) {{ {dropped} }}"
    with budget.limited(elements=10):
        evaluate(net(dropped))
        with pytest.raises(BeyondBudget) as raised:
            evaluate(net(text))
        assert raised.value == wording


def test_limits_change_for_a_while():
    before = budget.limits()
    with budget.limited(nodes=5):
        assert budget.limits() == budget.GraphLimits(before.elements, 5)
    assert budget.limits() == before
