"""Every operator in a model, on numbers that rounding has touched."""

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper
from onnx.parser import parse_model

from opcheck import opset
from opcheck.engine import Expected, Node, Subgraph, rounded
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
    "ArgMax",
    "ArgMin",
    "BitCast",
    "Hardmax",
    "MaxPool",
    "MaxRoiPool",
    "MaxUnpool",
    "NonMaxSuppression",
    "OneHot",
    "Unique",
}
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
    outputs = tuple(f"output_{n}" * (n in asked) for n in range(max(asked) + 1))
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
        if node.draws:
            continue
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
    assert [*map(set, onnx_defs.subgraph(text, 17).done)] == [set(), set(), {"a", "b"}, {"c", "x"}]


def test_an_operator_that_is_missing_is_named():
    text = "(x) => (y) { a = Relu(x) y = ai.onnx.ml.ZipMap(a) }"
    graph: Any = {"graph": Subgraph(onnx_defs.subgraph(text, 20))}
    with pytest.raises(NotSupported, match="no formula for ZipMap-1"):
        exactly(Node(GRAPH, (np.ones(3, np.float32),), graph))


SEQUENCES = {
    "taken apart": """net (float[4, 6] x) => (float[8, 6] y, int64 n) {
seq = SplitToSequence <axis = 0> (x, ones)
zero = Constant <value_int = 0> ()
first = SequenceAt (seq, zero)
e = Exp (first)
longer = SequenceInsert (seq, e)
n = SequenceLength (longer)
shorter = SequenceErase (longer, zero)
k = ConcatFromSequence <axis = 0> (shorter)
twice = SequenceConstruct (k, k)
y = ConcatFromSequence <axis = 0> (twice)
}""",
    "in a loop": """net (float[4, 6] x) => (float[4, 6] y, int64 n) {
seq = SequenceEmpty <dtype = 1> ()
n = Constant <value_int = 4> ()
all = Loop (n, , seq) <body = b (int64 i, bool c, seq(float[]) s) => (bool d, seq(float[]) t) {
  d = Identity (c)
  row = Gather (x, i)
  f = Exp (row)
  t = SequenceInsert (s, f)
}>
y = ConcatFromSequence <axis = 0, new_axis = 1> (all)
}""",
    "of one": """net (float[4, 6] x) => (float[4, 6] y, int64 n) {
opt = Optional (x)
has = OptionalHasElement (opt)
n = Cast <to = 7> (has)
got = OptionalGetElement (opt)
y = If (has) <
  then_branch = a () => (float[4, 6] p) { p = Exp (got) },
  else_branch = b () => (float[4, 6] p) { p = Neg (got) }>
}""",
    "of a sequence": """net (float[4, 6] x) => (float[4, 6] y, int64 n) {
f = Exp (x)
seq = SequenceConstruct (x, f)
opt = Optional (seq)
has = OptionalHasElement (opt)
got = OptionalGetElement (opt)
turned = SequenceConstruct (f, x)
same = OptionalGetElement (turned)
both, left = SequenceMap (got, same, x) <body = b (float[4, 6] p, float[4, 6] q, float[4, 6] r)
  => (float[4, 6] v, float[4, 6] w) { d = Sub (p, q) v = Add (d, r) w = Neg (p) }>
one = Constant <value_int = 1> ()
y = SequenceAt (both, one)
long = SequenceLength (left)
none = SequenceEmpty ()
is = OptionalHasElement (none)
all = And (has, is)
m = Cast <to = 7> (all)
n = Mul (m, long)
}""",
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_and_optionals_are_lists_within_a_graph(name):
    proto = parse_model(f'<ir_version: 8, opset_import: ["": 18]> {SEQUENCES[name]}')
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.int64), "ones"))
    x = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
    rows = [*x[1:], np.exp(x[0])]
    want = {"taken apart": (np.stack([*rows, *rows]), 5)}
    want |= {"in a loop": (np.exp(x), 4), "of one": (np.exp(x), 1), "of a sequence": (np.exp(x), 2)}
    attrs: Any = {"graph": Subgraph(onnx_defs.model_body(proto.SerializeToString()))}
    y, n = exactly(Node(GRAPH, (x,), attrs))
    np.testing.assert_allclose(rounded(y), want[name][0], rtol=1e-6)
    assert rounded(n) == want[name][1]
    # What Exp rounded is no exact number, whatever it went through.
    assert isinstance(y, Expected)


NO_ANSWER = {
    "sequences of two lengths": """s = SequenceConstruct (x, x) t = SequenceConstruct (x)
        u = SequenceMap (s, t) <body = b (float[2] p, float[2] q) => (float[2] r) {
          r = Add (p, q) }>
        n = SequenceLength (u) y = Cast <to = 1> (n)""",
    "an unknown position": """s = SequenceConstruct (x, x) e = ReduceSum <keepdims = 0> (x)
        f = Exp (e) p = Cast <to = 7> (f) y = SequenceAt (s, p)""",
    "an unknown number of rounds": """e = ReduceSum <keepdims = 0> (x) f = Exp (e)
        n = Cast <to = 7> (f)
        y = Loop (n, , x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
          d = Identity (c) w = Neg (v) }>""",
    "a sum of sequences": "s = SequenceConstruct (x, x) y = Add (s, x)",
}


@pytest.mark.parametrize("name", NO_ANSWER)
def test_what_sequences_leave_open_has_no_answer(name):
    text = f"net (float[2] x) => (float[2] y) {{ {NO_ANSWER[name]} }}"
    proto = parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    attrs: Any = {"graph": Subgraph(onnx_defs.model_body(proto.SerializeToString()))}
    with pytest.raises(NotSupported):
        exactly(Node(GRAPH, (np.float32([0.3, -0.2]),), attrs))


def test_sequences_pass_through_what_only_hands_them_on():
    text = """net (float[2] x) => (float[2] y) {
        e = Exp (x) s = SequenceConstruct (x, e) t = Identity (s)
        one = Constant <value_int = 1> () c = Cast <to = 9> (one)
        u = If (c) <then_branch = a () => (seq(float[2]) p) { p = Identity (t) },
                    else_branch = b () => (seq(float[2]) p) { p = SequenceConstruct (x) }>
        y = SequenceAt (u, one)
    }"""
    proto = parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    attrs: Any = {"graph": Subgraph(onnx_defs.model_body(proto.SerializeToString()))}
    x = np.float32([0.3, -0.2])
    (y,) = exactly(Node(GRAPH, (x,), attrs))
    np.testing.assert_allclose(rounded(y), np.exp(x), rtol=1e-6)


def of_text(text: str, *inputs: Any) -> list[Any]:
    data = parse_model(text).SerializeToString()
    attrs: Any = {"graph": Subgraph(onnx_defs.model_body(data))}
    return [*map(rounded, exactly(Node(GRAPH, inputs, attrs)))]


def test_an_output_that_is_left_out_is_no_input_that_is():
    """Once it was the lower bound."""
    text = """<ir_version: 9, opset_import: ["": 20]>
        net (float[2, 1, 1] x, float[1, 1, 1] w, float[] high) => (float[1, 1, 1] y) {
        , unread = RNN <hidden_size = 1> (x, w, w) , h = RNN <hidden_size = 1> (x, w, w)
        y = Clip (h, , high) }"""
    zero = np.zeros((1, 1, 1), np.float32)
    (y,) = of_text(text, np.ones((2, 1, 1), np.float32), zero, np.float32(-1))
    assert y.item() == -1
    body = onnx_defs.model_body(parse_model(text).SerializeToString())
    assert body.nodes[0].outputs == ("", "unread")


FUNCTIONS = """<ir_version: 10, opset_import: ["": 20, "l": 1]>
net (float[3] x, bool c) => (float[3] y) {
  y = If (c) <then_branch = a () => (float[3] p) { p = l.G (x) },
              else_branch = b () => (float[3] p) { p = l.F <alpha = 4.0> (x) }>
}
<opset_import: ["": 13, "l": 1], domain: "l"> G (x) => (y) { t = l.F (x) y = Neg (t) }
<opset_import: ["": 16], domain: "l"> F <alpha: float = 0.5> (x) => (y) {
  y = LeakyRelu <alpha: float = @alpha> (x)
}"""


def test_functions_keep_their_defaults_and_may_import_an_older_opset():
    x = np.float32([-2, 0, 2])
    assert of_text(FUNCTIONS, x, np.array(True))[0].tolist() == [1, 0, -2]
    assert of_text(FUNCTIONS, x, np.array(False))[0].tolist() == [-8, 0, 2]
