"""From a node to its outputs: in which arithmetics, and what a defect is."""

from importlib import import_module
from typing import Any

import mpmath
import numpy as np
import pytest

from opcheck.compare import compare
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine import Expected, Node
from opcheck.engine.evaluate import evaluate as plainly, exactly as exactly_node, precisely
from opcheck.engine.rounding import Unrounded, correctly_rounded
from opcheck.errors import InvalidNode, WrongOperator
from opcheck.model import Array, OpVersion
from opcheck.numbers import precise
from opcheck.numbers.bounded.array import value_dtypes
from tests.computed import evaluate, exactly
from tests.expecting import of_type
from tests.precise.by_the_text import by_rows, softmax
from tests.wording import Wording

SOFTMAX, HARDMAX, POOL = (
    OpVersion("", n, v) for n, v in (("Softmax", 13), ("Hardmax", 13), ("LpPool", 22))
)
FLOATS = ("float16", "bfloat16", "float32", "float64")


def node_of(x: Any, op: OpVersion = SOFTMAX, **attrs: Any) -> Node:
    return Node(op, (np.asarray(x),), attrs)


def expected(x: Any, op: OpVersion = SOFTMAX, **attrs: Any) -> Expected:
    (out,) = exactly_node(node_of(x, op, **attrs))
    return of_type(Expected, out)


def test_a_defect_in_a_formula_says_so_and_what_is_forbidden_is_named_once(
    wording: Wording,
) -> None:
    node = node_of(np.ones((2, 2), np.float32))

    def failing(error: BaseException) -> Any:
        def formula(input: Any, *, axis: int) -> Any:
            raise error

        return formula

    with pytest.raises(WrongOperator) as raised:
        plainly(node, failing(KeyError("a")))
    assert raised.value == wording
    for text in ("no such axis", "Softmax-13: no such axis"):
        with pytest.raises(InvalidNode, match=r"^Softmax-13: no such axis$"):
            plainly(node, failing(InvalidNode(text)))
    with pytest.raises(MemoryError):
        plainly(node, failing(MemoryError()))
    with pytest.raises(WrongOperator) as raised:
        plainly(node, lambda input, *, axis: np.zeros((2, 2), np.int64))
    assert raised.value == wording


def test_an_interrupt_that_numpy_turned_into_an_error_is_one(monkeypatch) -> None:
    monkeypatch.setattr("opcheck.interrupt._asked", True)
    with pytest.raises(KeyboardInterrupt):
        plainly(node_of(np.ones((2, 2), np.float32)), lambda input, *, axis: {}["a"])


def test_outputs_are_new_arrays_of_their_type() -> None:
    for name in FLOATS:
        x = np.array([[1.5, -2.5]], DTYPES[name].numpy)
        for formula in (lambda input, *, axis: input, lambda input, *, axis: input[:, ::-1]):
            (out,) = plainly(node_of(x), formula)
            assert out.dtype == x.dtype
            assert not np.shares_memory(out, x)
    # Sixteen bits are computed with in float32, and rounded once.
    x = np.array([[1.0, 2.0**-11]], np.float16)
    (out,) = plainly(
        node_of(x), lambda input, *, axis: np.sum(input, axis=1, keepdims=True) + 2.0**-22
    )
    assert out.tolist() == [[1 + 2.0**-10]]


def test_faults_replace_functions_and_a_trace_names_them() -> None:
    x, seen = np.array([[0.0, 0.0]], np.float32), set[str]()
    (out,) = plainly(node_of(x), None, {"exp": lambda function, x: function(x) * 2}, seen)
    assert out.tolist() == [[0.5, 0.5]]
    assert {one for one in seen if " " not in one} == {
        *("exp", "max", "sum", "subtract", "divide", "from_either_end", "isinf", "isnan")
    }
    assert {"subtract of tensors", "divide by tensors"} <= seen
    (out,) = plainly(node_of(x), None, {"sum": lambda function, x, **how: function(x, **how) * 2})
    assert out.tolist() == [[0.25, 0.25]]
    (out,) = plainly(node_of(x.reshape(2, 1)), None, {"from_either_end": lambda *_: 0})
    assert out.tolist() == [[0.5], [0.5]]


def test_outputs_that_are_exact_are_arrays_and_others_are_expected() -> None:
    for name in FLOATS:
        x = np.ones((1, 2, 3)).astype(DTYPES[name].numpy)
        assert isinstance(exactly(HARDMAX, [x], {})[0], np.ndarray)
        for out in (expected(x), expected(x, POOL, kernel_shape=(2,))):
            assert out.dtype is DTYPES[name]
            assert (out.rest is None) is (name != "float64")
    assert evaluate(SOFTMAX, [np.zeros((1, 4), np.float32)], {})[0].tolist() == [[0.25] * 4]


def test_integers_of_floats_are_either_neighbor_where_rounding_decides() -> None:
    """The middle of 1 may be rounded to less and cut off; nothing else is open, nor is 2 right."""
    op, attrs = OpVersion("", "HannWindow", 17), {"output_datatype": 2}
    (want,) = exactly(op, [np.array(4)], attrs)
    wanted = computed_want(op, "output", want)
    for middle, problem in ((0, None), (1, None), (2, "values")):
        assert compare(wanted, np.array([0, 0, middle, 0], np.uint8)).problem == problem
    assert compare(wanted, np.array([0, 1, 1, 0], np.uint8)).problem == "values"
    (sure,) = exactly(op, [np.array(5)], attrs)
    assert of_type(np.ndarray, sure).tolist() == [0] * 5


@pytest.mark.parametrize("name", FLOATS)
def test_tiers_go_from_the_expected_to_the_tolerated(name: str, wording: Wording) -> None:
    bound = expected(np.zeros((1, 2), DTYPES[name].numpy))
    inside = "float64" if name == "float64" else "float32"
    found = [(tier.name, tier.remark) for tier in bound.tiers()]
    # As the text says, by a logarithm, in blocks; then the raw log-sum-exp is subtracted.
    names = [inside] * 3 + ["range"] * 3 + [inside]
    if "16" in name:
        names += [f"{name} stored"] * 3 + [f"{name} arithmetic"] * 3
    assert [tier for tier, _ in found] == names
    assert [remark for _, remark in found[:3]] == [""] * 3
    assert [remark for _, remark in found[3:]] == wording
    declared = [(tier.name, tier.remark) for tier in bound.tiers((name,))]
    # Whatever needs no remark is tried first.
    assert declared == found[:3] + [(n, "") for n, _ in found[7:]] + found[3:7]
    assert [tier.remark for tier in bound.tiers(("float8",))] == [remark for _, remark in found]
    assert [tier.ranged for tier in bound.tiers()].index(True) == 3


@pytest.mark.parametrize("name", FLOATS)
def test_what_is_accepted_at_once_is_within_the_bound(name: str) -> None:
    x = (5 * np.random.default_rng(1).standard_normal((40, 30))).astype(DTYPES[name].numpy)
    for out in (
        expected(x),
        expected(x[None], POOL, kernel_shape=(3,)),
        expected(x[None], POOL, kernel_shape=(2,), p=5),
    ):
        for tier in out.tiers():
            certain, room = out.certain(tier), out.room(tier)
            size = np.abs(out.values)
            shared = 0.0 if room.shared is None else room.shared.down / (1 + room.shared.down)
            assert (size * certain <= (room.own + size * shared) * (1 + 1e-9)).all()
        assert 1 <= out.certain(out.tiers()[0]) / out.tiers()[0].arithmetic.u < 20


def test_of_large_outputs_mpmath_computes_none(monkeypatch):
    """What only it could tell is unknown; what is infinite or NaN by itself is not."""
    monkeypatch.setattr(import_module("opcheck.engine.evaluate"), "_LARGE", 3)

    def unknown(op: str, x: Array, **attrs: Any) -> Any:
        out = expected(x, OpVersion("", op, 22 if op == "LpPool" else 13), **attrs)
        return np.broadcast_to(out.room(out.tiers()[0]).unknown, out.values.shape).tolist()

    powers = np.array([[[1.0, 3e38, 0.0, 1e-30]]], np.float32)
    assert unknown("LpPool", powers, kernel_shape=(1,), p=1000) == [[[False, True, False, True]]]
    assert unknown("Log", np.float32([0, -1, np.inf, 1])) == [False] * 4
    assert unknown("Sqrt", np.float32([0, -1, np.inf, np.nan])) == [False] * 4
    out = expected([np.float32([-700, 0, -800, -1e9])], OpVersion("", "LogSoftmax", 13), axis=-1)
    assert out.values.tolist() == [[-700.0, 0.0, -800.0, -1e9]]


def test_values_are_as_wide_as_it_takes() -> None:
    def kind(x: Any, p: int) -> Any:
        return expected(np.array([[x]]), POOL, kernel_shape=(2,), p=p).output.v.dtype

    narrow, wide = np.array([1.0, 2.0], np.float32), np.array([1e38, 0], np.float32)
    assert kind(narrow, 2) == np.float64
    assert kind(narrow.astype(np.float64), 2) == value_dtypes()[1]
    assert kind(wide, 10) == value_dtypes()[1]
    assert kind(wide, 1000) == np.object_
    # A NaN, or an infinity, is none the wider for it.
    assert kind(np.array([np.nan, 1.0], np.float32), 2) == np.float64
    assert kind(np.array([np.inf, 1e38], np.float32), 10) != np.float64
    # Nor are values wider in a poorer arithmetic, whatever it leaves open of them.
    masked = expected(np.array([[0, -6e4, 1]], np.float16))
    kinds = {masked.evaluation.outputs(tier)[0].v.dtype for tier in masked.tiers()}
    assert kinds == {np.dtype(np.float64)}
    # One formula may need wider ones than another.
    sums = expected(np.array([[12000.0, 1], [1, 2]]), OpVersion("", "ReduceLogSumExp", 18))
    assert all(sums.room(tier).own.dtype == np.float64 for tier in sums.tiers())
    with np.errstate(all="raise"):
        out = expected(np.array([[[1e38, 1e38]]], np.float32), POOL, kernel_shape=(2,), p=10)
        assert out.rounded().item() == pytest.approx(1e38 * 2**0.1, rel=1e-7)


@pytest.mark.parametrize("name", FLOATS)
def test_values_are_correctly_rounded_and_say_how_they_came_about(name: str) -> None:
    x = np.random.default_rng(3).standard_normal((30, 5)).astype(DTYPES[name].numpy)
    x[3:7] = 0
    (out,), method = correctly_rounded(node_of(x))
    rows = [[5 * i + j for j in range(5)] for i in range(30)]
    want = by_rows(x, rows, name).astype(float).ravel().tolist()
    assert out.astype(float).ravel().tolist() == want
    assert method in ("bounded", "mpmath")
    (ones,), method = correctly_rounded(node_of(x, HARDMAX))
    assert (ones.dtype, method) == (x.dtype, "exact")


def test_special_values_are_those_of_the_formula_also_by_digits() -> None:
    # A tie that no bound decides, beside what mpmath knows nothing of.
    x = np.array([[[1, 2.0**-24, np.inf, np.nan, -0.0, 0.0, 3.0, 4.0]]], np.float32)
    (out,), method = correctly_rounded(node_of(x, POOL, kernel_shape=(2,), strides=(2,), p=1))
    assert method == "mpmath"
    np.testing.assert_array_equal(out, [[[1, np.nan, 0, 7]]])
    assert not np.signbit(out[0, 0, 2])


@pytest.mark.parametrize(
    ("op", "dtype", "x", "want"),
    [
        (("Reciprocal", 13), "f4", [[-0.0, 0, 2]], [-np.inf, np.inf, 0.5]),
        (("Mul", 14), "f8", [[-0.0, 1e200], [1, 1e200]], [-0.0, np.inf]),
        (("Erf", 13), "f8", [[-0.0, np.inf]], [-0.0, 1]),
        (("Celu", 12), "f4", [[np.nan, -1, 3]], [np.nan, np.expm1(-1), 3]),
        (("Pow", 15), "f8", [[-np.inf, 0, 2], [-0.5, np.inf, 3]], [0, 0, 8]),
    ],
)
def test_wider_values_keep_what_ieee_says_of_zeros_infinities_and_nan(op, dtype, x, want) -> None:
    node = Node(OpVersion("", *op), tuple(np.array(one, dtype) for one in x), {})
    for found in (correctly_rounded(node)[0][0], node.right[0]):
        np.testing.assert_array_equal(found, np.array(want, dtype))
        assert np.signbit(found).tolist() == np.signbit(want).tolist()


@pytest.mark.parametrize("x", [-3.0, -1.0, 0.5, 2.0])
def test_values_of_float64_have_the_digits_that_their_bound_claims(x: float) -> None:
    # Below 0 the first digits of 1 + erf(x / √2) cancel.
    with mpmath.workprec(200):
        right = float(x / mpmath.mpf(2) * mpmath.erfc(-x / mpmath.sqrt(2)))
    gelu = Node(OpVersion("", "Gelu", 20), (np.array(x),), {"approximate": "none"})
    (out,), _ = correctly_rounded(gelu)
    assert (out.item(), gelu.right[0].item()) == (right, right)


@pytest.mark.parametrize("op", ["Acosh-22", "Log-13", "Sqrt-13"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_scalar_outside_of_the_domain_gives_nan(op: str, dtype: type[np.floating]) -> None:
    name, since = op.split("-")
    assert np.isnan(Node(OpVersion("", name, int(since)), (np.array(-1, dtype),), {}).right[0])


def test_what_no_number_of_digits_decides_is_said(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr("opcheck.engine.rounding.DIGITS", (160,))
    x = np.array([[[1, 2.0**-24]]], np.float32)
    with pytest.raises(Unrounded) as raised:
        correctly_rounded(node_of(x, POOL, kernel_shape=(2,), p=1))
    assert raised.value == wording


def test_precise_outputs_have_the_digits_asked_for() -> None:
    (out,) = precisely(node_of(np.array([[0.0, 1.0, 2.0]])), 300)
    with precise.digits(300):
        for got, want in zip(out.v[0], softmax([0.0, 1.0, 2.0]), strict=True):
            assert abs(got - want) < 2.0**-260
