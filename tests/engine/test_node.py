"""A node that its schema forbids is refused in words that name what is allowed."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck.engine import Node, node as module, operator_of, operators
from opcheck.engine.axes import from_either_end, from_the_front, matrix_of
from opcheck.engine.evaluate import each_answer
from opcheck.engine.node import bind
from opcheck.engine.operators import Operator
from opcheck.engine.rulings import ONE_ELEMENT_AS_A_SCALAR
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate
from tests.expecting import error_of
from tests.wording import Wording

X = np.ones((1, 1, 3), np.float32)
HARDMAX1 = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)


def of(name: str, since: int) -> OpVersion:
    return OpVersion("", name, since)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have the engine know operators that a test makes, which answer with their arguments."""
    known: dict[str, Operator] = {}

    def make(name: str, *versions: int, function: Any) -> None:
        known[name] = Operator("", name, "made")
        known[name].formula(*versions)(function)

    monkeypatch.setattr(module, "find", lambda domain, name: known.get(name))
    return make


@pytest.mark.parametrize("since", [0, 2, 10, 12, 14, 100])
def test_a_version_without_a_formula_is_not_supported(since: int, wording: Wording) -> None:
    op = of("Hardmax", since)
    with pytest.raises(NotSupported) as raised:
        evaluate(op, [X], {})
    assert raised.value == wording
    assert operator_of(op) is None


@pytest.mark.parametrize("domain", ["ai.onnx.ml", "com.microsoft.dml"])
def test_an_operator_of_another_domain_is_not_supported(domain: str) -> None:
    with pytest.raises(NotSupported):
        evaluate(OpVersion(domain, "Hardmax", 13), [X], {})


def test_a_long_list_of_floats_is_rounded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a thousand mutants reads it anew."""
    calls = 0

    def counted(value: Any, dtype: Any) -> Any:
        nonlocal calls
        calls += 1
        return np.asarray(value, dtype)

    monkeypatch.setattr(module.np, "array", counted)
    found = module._held((0.1, 1e300) * 9999, "floats")
    assert found[:2] == (float(np.float32(0.1)), np.inf)
    assert (calls, len(found)) == (1, 19998)


A_LIST, WHOLE = "a list of integers of 64 bits", "an integer of 64 bits"


@pytest.mark.parametrize(
    ("op", "attrs", "said"),
    [
        (of("Hardmax", 13), {"axes": 1}, "no attribute axes; allowed: axis"),
        (HARDMAX1, {}, "attribute Axes is mandatory"),
        (of("Softmax", 13), {"axis": 0.5}, f"axis 0.5; allowed: {WHOLE}"),
        (of("Softmax", 13), {"axis": "a"}, f"axis 'a'; allowed: {WHOLE}"),
        (of("Softmax", 13), {"axis": True}, f"axis True; allowed: {WHOLE}"),
        (of("Hardmax", 13), {"axis": 2**63}, f"axis {2**63}; allowed: {WHOLE}"),
        (of("LpPool", 22), {"kernel_shape": 2}, f"kernel_shape 2; allowed: {A_LIST}"),
        (of("LpPool", 22), {"kernel_shape": (2.5,)}, f"kernel_shape (2.5,); allowed: {A_LIST}"),
        (of("LpPool", 22), {"kernel_shape": "22"}, f"kernel_shape '22'; allowed: {A_LIST}"),
        (
            of("LpPool", 22),
            {"kernel_shape": (1,), "strides": None},
            f"strides None; allowed: {A_LIST}",
        ),
        (of("LpPool", 22), {"kernel_shape": (1,), "p": 2.5}, f"p 2.5; allowed: {WHOLE}"),
        (of("LpPool", 22), {"kernel_shape": (1,), "auto_pad": 1}, "auto_pad 1; allowed: a word"),
        (of("LpPool", 1), {"kernel_shape": (1,), "p": "a"}, "p 'a'; allowed: a number"),
    ],
)
def test_an_attribute_is_refused_with_what_is_allowed(op, attrs, said):
    assert str(error_of(InvalidNode, bind, Node(op, (X,), attrs))) == f"{op}: {said}"


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("Hardmax", [], "0 inputs; allowed: 1"),
        ("Hardmax", [X, X], "2 inputs; allowed: 1"),
        ("Hardmax", [None], "0 inputs; allowed: 1"),
        ("Clip", [], "0 inputs; allowed: 1 to 3"),
        ("Clip", [X, X, X, X], "4 inputs; allowed: 1 to 3"),
        ("Clip", [None, X], "input input is left out, which is not optional"),
        (
            "Clip",
            [X, X.astype(np.float64)],
            "min of type float64 beside input of type float32; both are T",
        ),
        ("Concat", [], "0 inputs; allowed: 1 or more"),
        ("Concat", [X, None, X], "input inputs is left out, which is not optional"),
        (
            "Concat",
            [X, X.astype(np.int8)],
            "inputs of type int8 beside inputs of type float32; both are T",
        ),
    ],
)
def test_inputs_are_refused_with_what_is_allowed(made, name, inputs, said):
    made("Hardmax", 13, function=lambda input, *, axis: input)
    made("Clip", 13, function=lambda input, min=None, max=None: input)
    made("Concat", 13, function=lambda *inputs, axis: inputs)
    attrs = {"axis": 0} if name == "Concat" else {}
    error = error_of(InvalidNode, bind, Node(of(name, 13), tuple(inputs), attrs))
    assert str(error) == f"{name}-13: {said}"


def test_optional_inputs_may_be_left_out_or_be_none(made: Any) -> None:
    made("Clip", 13, function=lambda input, min=None, max=None: [input * 2, min, max][0])
    for inputs in ((X,), (X, None), (X, None, None), (X, None, X), (X, X)):
        (out,) = evaluate(of("Clip", 13), inputs, {})
        assert out.tolist() == (2 * X).tolist()


@pytest.mark.parametrize(
    ("version", "dtype"),
    [
        (1, ml_dtypes.bfloat16),
        (11, ml_dtypes.bfloat16),
        (13, np.int32),
        (13, np.complex64),
        (13, np.bool_),
        (13, np.str_),
        (13, np.object_),
        (13, ml_dtypes.float8_e4m3fn),
    ],
)
def test_a_foreign_dtype_is_named_with_the_choice(version: int, dtype: Any) -> None:
    choice = "float16, bfloat16, float32, float64" if version == 13 else "float16, float32, float64"
    with pytest.raises(InvalidNode) as error:
        bind(Node(of("Hardmax", version), (np.zeros((2, 2), dtype),), {}))
    assert str(error.value).startswith(f"Hardmax-{version}: input of type ")
    assert str(error.value).endswith(f"; allowed: {choice}")


def test_a_formula_gets_what_is_stated_or_the_schema_s_default(made: Any) -> None:
    stated: list[dict[str, Any]] = []

    def formula(X: Any, *, kernel_shape, p, pads, strides, auto_pad, dilations=(), ceil_mode=0):
        stated.append({"p": p, "pads": pads, "auto_pad": auto_pad, "dilations": dilations})
        return X

    made("LpPool", 11, 18, function=formula)
    for since, attrs in ((11, {}), (18, {}), (18, {"p": 3, "dilations": (2,)})):
        evaluate(of("LpPool", since), [X], {"kernel_shape": (1,), **attrs})
    common = {"pads": None, "auto_pad": "NOTSET"}
    # What a version lacks is left to the formula's own default.
    assert stated == [
        {"p": 2, "dilations": (), **common},
        {"p": 2, "dilations": None, **common},
        {"p": 3, "dilations": (2,), **common},
    ]


def test_a_node_with_other_attributes_inputs_or_version_is_another_node() -> None:
    node = Node(of("Softmax", 13), (X,), {"axis": 1})
    assert node.with_attrs(axis=None).attrs == {}
    assert node.with_attrs(axis=0).attrs == {"axis": 0}
    assert node.at(11).op == of("Softmax", 11)
    assert node.with_input(0, X[0]).rank == 2
    assert (node.rank, node.dtype, node.attrs) == (3, "float32", {"axis": 1})
    assert {"exp", "max", "sum", "subtract", "divide"} <= node.primitives
    assert node.right[0].tolist() == [[[1, 1, 1]]]
    assert "exp" not in node.with_attrs(axis=9).primitives


def test_the_right_outputs_are_known_by_identity_where_they_are_not_drawn() -> None:
    node = Node(of("Softmax", 13), (X,), {"axis": 1})
    assert node.is_own_answer(node.right)
    assert not node.is_own_answer(tuple(out.copy() for out in node.right))
    forbidden = node.with_attrs(axis=9)
    assert not forbidden.is_own_answer(())
    draws = Node(of("RandomUniform", 22), (), {"shape": (2,)})
    assert not draws.is_own_answer(draws.right)


def test_to_know_a_right_answer_draws_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = Node(of("RandomUniform", 22), (), {"shape": (2,)})
    drawn = draws.right
    monkeypatch.setattr(np.random, "Generator", None)
    assert not draws.is_own_answer(drawn)


@given(st.integers(1, 9))
def test_axes_count_from_the_front_and_negative_ones_from_the_back(rank: int) -> None:
    dimensions = [*range(rank)]
    assert [from_either_end(axis, rank) for axis in range(-rank, rank)] == dimensions * 2
    assert [from_the_front(axis, rank) for axis in dimensions] == dimensions


@pytest.mark.parametrize("axis", [-(2**63), -4, -3, 2, 3, 2**32 + 1, 2**63 - 1])
def test_an_axis_outside_the_range_is_named_with_it(axis: int) -> None:
    with pytest.raises(InvalidNode, match=rf"^axis {axis} is outside \[-2, 1\]$"):
        from_either_end(axis, 2)
    with pytest.raises(InvalidNode, match=rf"^axis {axis} is outside \[0, 1\]$"):
        from_the_front(axis, 2)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_a_scalar_has_no_axis(axis: int) -> None:
    for resolve in (from_either_end, from_the_front):
        with pytest.raises(InvalidNode, match=rf"^axis {axis} .*rank-0"):
            resolve(axis, 0)
    with pytest.raises(InvalidNode, match=r"^axis -1 is outside \[0, 2\]$"):
        from_the_front(-1, 3)


@pytest.mark.parametrize(
    ("shape", "axis", "matrix"),
    [
        ((2, 3, 4), 0, (1, 24)),
        ((2, 3, 4), 1, (2, 12)),
        ((2, 3, 4), 2, (6, 4)),
        ((5,), 0, (1, 5)),
        ((2, 0, 3), 1, (2, 0)),
        ((2, 0, 3), 2, (0, 3)),
    ],
)
def test_a_tensor_seen_as_a_matrix(shape, axis, matrix):
    assert matrix_of(shape, axis) == matrix


ONE = np.ones(1, np.float32)
WAVE = np.ones((1, 8, 1), np.float32)


@pytest.mark.parametrize(
    ("name", "since", "inputs"),
    [
        ("Trilu", 14, (X[0], np.array([0]))),
        ("Dropout", 13, (X, ONE / 2)),
        ("DFT", 20, (WAVE, np.array([3]))),
        ("DFT", 20, (WAVE, None, np.array([1]))),
        ("STFT", 17, (WAVE, np.array([2]), None, np.array([4]))),
        ("HannWindow", 17, (np.array([5]),)),
        ("SequenceAt", 11, (np.array([0]), ONE)),
        ("Pad", 13, (ONE, np.array([1, 1]), ONE[None])),
        ("CumSum", 14, (ONE, np.array([0]))),
    ],
)
def test_a_list_of_one_is_a_scalar_or_is_refused(name: str, since: int, inputs: Any) -> None:
    node = Node(of(name, since), tuple(inputs), {})
    with operators.judging():
        answers = each_answer(node)
    by_reading = {answer.chosen[ONE_ELEMENT_AS_A_SCALAR.id]: answer.answer for answer in answers}
    assert by_reading.keys() == {"scalar", "refused"}
    assert isinstance(by_reading["refused"], InvalidNode)
    assert not isinstance(by_reading["scalar"], InvalidNode)
