"""Bounded numbers: no arithmetic that is allowed leaves the bound, and some come close to it."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck import numbers as xp, opset
from opcheck.dtypes import DTYPES
from opcheck.engine.node import Node, attributes_for
from opcheck.engine.operators import find
from opcheck.model import OpVersion
from opcheck.numbers import precise
from opcheck.numbers.arithmetic import FLOAT32, FLOAT64, Arithmetic, narrow, stored
from opcheck.numbers.bounded import Bounded, Common, bounded, reductions, value_dtypes
from opcheck.numbers.bounded.array import ANYTHING, OVERFLOWED, UNORDERED
from opcheck.numbers.bounded.choice import Choices
from opcheck.numbers.faulty import Faulty
from tests.bounds import arithmetic as ar
from tests.examples import examples
from tests.expecting import of_type
from tests.numbers.machine import Machine, Sloppy


def of(name: str, *inputs: Any, **attrs: Any) -> Any:
    """The formula of the newest version of an operator, as the engine has it."""
    operator = find("", name)
    assert operator
    op = OpVersion("", name, max(operator.formulas))
    formula = operator.formulas[op.since]
    schema = opset.versions("", name)[op.since]
    found = formula(*inputs, **attributes_for(formula, schema, Node(op, (), attrs)))
    return found[0] if isinstance(found, tuple) else found


def softmax(x: Any) -> Any:
    return of("Softmax", x)


def log_sum_exp(x: Any) -> Any:
    return of("ReduceLogSumExp", x, np.array([-1]))


#: Formulas of operators, over a matrix x and another one of its shape, y.
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda x, y: of("Add", x, y),
    "a difference that cancels": lambda x, y: (x + y) - x,
    "Mul": lambda x, y: of("Mul", of("Mul", x, y), x),
    "Div": lambda x, y: of("Div", x, y) / 3,
    "a polynomial": lambda x, y: 2 - x * (0.1 + y * (x - 1.5)),
    "Exp": lambda x, y: of("Exp", x + y),
    "Expm1": lambda x, y: xp.expm1(x * y),
    "Log": lambda x, y: of("Log", of("Abs", x) + 1),
    "Log1p": lambda x, y: xp.log1p(x * x),
    "Sqrt": lambda x, y: of("Sqrt", x * x + y * y),
    "Pow": lambda x, y: xp.pow(abs(x), 2.5) + xp.pow(abs(y), 3),
    "a power of a power": lambda x, y: xp.pow(xp.pow(abs(x), y), 0.5),
    "Sigmoid": lambda x, y: of("Sigmoid", x),
    "Tanh": lambda x, y: of("Tanh", x) * of("Sinh", y),
    "Cosh": lambda x, y: of("Cosh", x - y),
    "Sin": lambda x, y: of("Sin", 3 * x) + of("Cos", y) - of("Atan", x),
    "Gelu": lambda x, y: of("Gelu", x),
    "Elu": lambda x, y: of("Elu", x, alpha=1.5),
    "Softplus": lambda x, y: of("Softplus", x),
    "Clip": lambda x, y: xp.clip(x * y, -0.5, 0.7) + xp.maximum(x, y * 2) - xp.minimum(x * 3, y),
    "Sum": lambda x, y: xp.sum(x * y, axis=1) + xp.sum(y, axis=None),
    "Mean": lambda x, y: xp.mean(x / y, axis=-1, keepdims=True) * x,
    "ReduceL2": lambda x, y: of("ReduceL2", x, np.array([0])),
    "Prod": lambda x, y: of("ReduceProd", 1 + x / 8, np.array([-1])),
    "CumSum": lambda x, y: xp.cumulative_sum(x, axis=1),
    "CumProd": lambda x, y: xp.cumulative_prod(1 + x / 8, axis=1),
    "MatMul": lambda x, y: xp.matmul(x, xp.permute_dims(y, (1, 0))) @ y,
    "Gemm": lambda x, y: xp.tensordot(x * 2, xp.permute_dims(y, (1, 0)), axes=1),
    "Softmax": lambda x, y: softmax(x * 3),
    "LogSoftmax": lambda x, y: x - log_sum_exp(x),
    "exp(x − lse)": lambda x, y: xp.exp(x / 2 - log_sum_exp(x / 2)),
    "LayerNormalization": lambda x, y: of("LayerNormalization", x, y[:1]),
    "Selu": lambda x, y: of("Selu", x),
    "Celu": lambda x, y: of("Celu", x, alpha=2.0),
    "Mish": lambda x, y: of("Mish", x),
    "HardSwish": lambda x, y: of("HardSwish", x),
    "Softsign": lambda x, y: of("Softsign", x),
    "Swish": lambda x, y: of("Swish", x, alpha=2.0),
    "LpPool": lambda x, y: of("LpPool", x[:, None], kernel_shape=(1,), p=3),
    "ReduceLogSum": lambda x, y: of("ReduceLogSum", abs(x) + 1, np.array([1])),
    "ReduceSumSquare": lambda x, y: of("ReduceSumSquare", x, np.array([1])),
    "MeanVarianceNormalization": lambda x, y: of("MeanVarianceNormalization", x, axes=(1,)),
    "Conv": lambda x, y: of("Conv", x[:, None], y[:1, None], pads=(y.shape[1] - 1, 0)),
    "a row scaled by its sum": lambda x, y: xp.sum(x, axis=1, keepdims=True) * (y - x) * 2,
    "Floor": lambda x, y: xp.floor(x * 7) + xp.round(y * 3) - xp.trunc(x + y) + xp.ceil(x / y),
    "Mod": lambda x, y: xp.remainder(x * 3, y) + xp.fmod(x, y * 2),
    "movement": lambda x, y: xp.reshape(
        xp.concat([xp.flip(softmax(x), axis=1), xp.pad(softmax(y)[:, 1:], ((0, 0), (0, 1)))], 1)
        + xp.concat([xp.take(x * y, np.arange(x.shape[1] - 1, -1, -1), axis=1), y], 1),
        (-1,),
    ),
    "the element that is largest": lambda x, y: xp.take_along_axis(
        y, xp.argmax(x * 3 + x, axis=1, keepdims=True), axis=1
    ),
    "TopK": lambda x, y: xp.top_k(x * y, 2, 1, True)[0],
}

#: An arithmetic, the dtype computed in, and how a machine computes so.
ARITHMETICS: dict[str, tuple[Arithmetic, Any, dict[str, Any]]] = {
    "float32": (FLOAT32, np.float32, {}),
    "float32, whose range ends": (replace(FLOAT32, flushes=True), np.float32, {}),
    "float64": (FLOAT64, np.float64, {}),
    "kept in float16": (stored(DTYPES["float16"]), np.float32, {"store": ar.through(np.float16)}),
    "in float16": (narrow(DTYPES["float16"]), np.float16, {"library": 2}),
}


def lifted(x: Any, arithmetic: Arithmetic, dtype: Any) -> Any:
    x = np.asarray(x)
    return replace(bounded(x, arithmetic), dtype=np.dtype(dtype)) if x.dtype.kind == "f" else x


#: The level of what is lost as NaN or as an infinity of its own sign.
SIGNED = OVERFLOWED | UNORDERED


def on_bounds(formula, inputs, arithmetic=FLOAT32, dtype=np.float32):
    lift = partial(lifted, arithmetic=arithmetic, dtype=dtype)
    with np.errstate(all="ignore"), xp.lifting(lift):
        return formula(*map(lift, inputs))


def used(formula, inputs, machine, arithmetic=FLOAT32, dtype=np.float32):
    """The largest error of a machine as a part of its bound."""
    with np.errstate(all="ignore"):
        right = on_bounds(formula, inputs, arithmetic, dtype).with_rounding()
        with xp.lifting(lambda x: Sloppy(np.asarray(x, dtype), machine)):
            got = formula(*(Sloppy(x, machine) for x in inputs)).v
        assert got.shape == right.shape
        error = np.abs(got - right.v).astype(np.float64)
        room = np.zeros(error.shape) if right.e is None else right.e.astype(np.float64)
        # float64 and longdouble round as well, 2^11 times finer or more.
        room = room + np.abs(right.v).astype(np.float64) * arithmetic.u * 2.0**-9
        # What is subnormal is the output's floor.
        room = room + arithmetic.floor
        counts = np.isfinite(got) & np.isfinite(right.v.astype(np.float64))
        counts &= True if right.lost is None else right.lost == 0
        share = np.where(error == 0, 0.0, error / room)
    return float(np.max(share[counts], initial=0.0))


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("name", FORMULAS)
@examples(8)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.01, 1.0, 1.0, 30.0]),
    st.sampled_from([(1, 1), (3, 5), (2, 33), (4, 4)]),
    st.booleans(),
)
def test_no_order_blocking_or_fusion_leaves_the_bound(
    name: str, arithmetic: str, seed: int, scale: float, shape: tuple[int, int], flushes: bool
) -> None:
    computed_in, dtype, how = ARITHMETICS[arithmetic]
    rng = np.random.default_rng(seed)
    scale = scale if computed_in.flushes and "16" not in arithmetic else min(scale, 3.0)
    x, y = (rng.standard_normal((2, *shape)) * scale).astype(dtype).clip(-60, 60)
    formula = FORMULAS[name]
    if shape[1] < 2 and name == "TopK":
        return
    if name == "LayerNormalization" and "16" in arithmetic:
        return  # its first stage is in float32, whatever its tensors are
    if computed_in.stored is not None:
        x, y = (one.astype(np.float16).astype(dtype) for one in (x, y))
    machine = Machine(rng, flushes=flushes and computed_in.flushes, **how)
    # Where a formula cancels, the reference's own digits show.
    assert used(formula, [x, y], machine, computed_in, dtype) <= 1.001


@pytest.mark.parametrize(
    ("name", "formula", "x", "least"),
    [
        ("a product", lambda x: x * x, 1 + 1.4e-7 * np.arange(1, 2000), 0.97),
        ("a quotient", lambda x: 1.7 / x, np.linspace(1, 2, 5000), 0.7),
        ("a root", xp.sqrt, np.linspace(1, 1.1, 5000), 0.95),
        ("a library function", xp.tanh, np.linspace(0.1, 2, 500), 0.95),
        ("an exponential", xp.exp, np.linspace(-0.1, 0.1, 200), 0.9),
        ("a power", lambda x: xp.pow(x, 2.0), np.linspace(0.99, 1.01, 200), 0.9),
        ("a function of a rounded one", lambda x: xp.log(xp.exp(x)), np.linspace(0.1, 9, 500), 0.5),
        ("terms lost one by one", xp.sum, [1.0, *[0.99 * 2.0**-24] * 500], 0.9),
        ("half a step each", xp.sum, [1.0, *[1.01 * 2.0**-24] * 500], 0.9),
        ("a mean", xp.mean, [1.0, *[0.99 * 2.0**-24] * 500], 0.85),
        (
            "a matrix product",
            lambda x: xp.matmul(x, xp.permute_dims(x, (1, 0))),
            [[1.0, *[2.0**-12 * 0.99] * 300]],
            0.3,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bound_is_nearly_reached(name, formula, x, least):
    x = np.asarray(x, np.float32)
    most = max(used(formula, [x], Machine(np.random.default_rng(seed))) for seed in range(40))
    assert least <= most <= 1


def test_movement_and_choice_among_exact_numbers_are_exact() -> None:
    x = np.array([[3.0, -1.0], [0.0, 2.0]])
    for formula in (
        lambda x: xp.concat([xp.flip(x, axis=0), -x, abs(x)], axis=1),
        lambda x: xp.maximum(x, 0.5),
        lambda x: xp.where(x > 0, x, xp.zeros_like(x)),
        lambda x: xp.clip(xp.max(x, axis=1), 0, 2),
        lambda x: xp.sum(x[:, :1], axis=1),
        lambda x: xp.tile(xp.pad(xp.squeeze(xp.expand_dims(x, 0), 0), 1), (2, 2)),
        lambda x: xp.stack([xp.floor(x), xp.sign(x)]),
        lambda x: xp.top_k(x, 1, 1, True)[0],
    ):
        out = on_bounds(formula, [x])
        assert out.exact
        assert out.v.tolist() == formula(x).tolist()


def test_constants_are_rounded_to_the_arithmetic_s_numbers() -> None:
    x = np.ones(1)
    assert on_bounds(lambda x: xp.where(x > 0, xp.zeros_like(x) + 0.5, x), [x]).v.item() == 0.5
    for constant, roundings in ((0.5, 1), (3, 1), (0.1, 2)):
        e = on_bounds(lambda x, c=constant: x * c, [x]).with_rounding().e.item()
        assert e == pytest.approx(roundings * 2.0**-24 * constant, rel=1e-6)
    # Python's own division does not take part: p is a number of the arithmetic.
    assert not of_type(Bounded, on_bounds(lambda x: xp.real(1) / 3, [x])).exact


def test_the_last_rounding_is_kept_apart_and_paid_once() -> None:
    x = np.array([1.0, 3.0])
    product = on_bounds(lambda x: x * x, [x])
    assert (product.k, product.e) == (1.0, None)
    assert product.with_rounding().e.tolist() == (2.0**-24 * np.array([1.0, 9.0])).tolist()
    narrow_one = on_bounds(lambda x: xp.astype(x * x, np.float16), [x])
    assert (narrow_one.grid.dtype.name, narrow_one.k) == ("float16", 1.0)
    assert on_bounds(lambda x: xp.astype(x, np.float64), [x]).exact


def rooms(formula: Callable[..., Any], x: Any) -> Any:
    out = on_bounds(formula, [np.asarray(x, np.float32)])
    return out, out.errors.common


def test_a_row_divided_by_its_sum_shares_the_sum_s_error() -> None:
    x = np.ones((2, 100))
    x[0, 3] = np.nan
    for formula in (
        lambda x: x / xp.sum(xp.exp(x), axis=1, keepdims=True),
        lambda x: (x * xp.sum(xp.exp(x), axis=1, keepdims=True))[:, ::-1],
        lambda x: xp.exp(x - xp.log(xp.sum(xp.exp(x), axis=1, keepdims=True))),
    ):
        out, common = rooms(formula, x)
        own = 0.0 if out.e is None else out.e[1].max() / out.v[1].max()
        down, up = (np.broadcast_to(end, out.shape)[1].max() for end in (common.down, common.up))
        assert 40 * 2.0**-24 < min(down, up) <= max(down, up) < 200 * 2.0**-24
        # Another row that is no number costs this one nothing.
        assert own < 30 * 2.0**-24
        index = common.rows(out.shape)(np.arange(200).reshape(2, 100))
        assert sorted(map(sorted, index.tolist())) == [[*range(100)], [*range(100, 200)]]
    # Magnitudes of elements of both signs are off in both directions.
    assert rooms(lambda x: xp.exp(xp.abs(x - xp.sum(x, axis=1, keepdims=True))), x)[1] is None
    # What is not spread over a row is nobody's in common.
    assert rooms(lambda x: x / (x + 1), x)[1] is None
    assert rooms(lambda x: xp.sum(x, axis=1) * 2, x)[1] is None


def test_a_quotient_by_what_may_be_nothing_is_never_nothing() -> None:
    # The sum of 300 ones may lose almost all of itself in bfloat16, and gain as much.
    arithmetic = narrow(DTYPES["bfloat16"])
    out = on_bounds(
        lambda x: x / xp.sum(x, axis=1, keepdims=True),
        [np.ones((1, 300))],
        arithmetic,
        DTYPES["bfloat16"].numpy,
    )
    common = out.errors.common
    assert common.up.item() > 100
    assert 0.9 < common.down.item() < 1.2


@pytest.mark.parametrize("values", range(len(value_dtypes())))
@pytest.mark.parametrize("name", ["bfloat16", "float8e5m2", "float16", "float64"])
def test_numbers_that_are_known_are_a_plain_array_of_their_type(name: str, values: int) -> None:
    array = np.array([1.0, -0.5, 3.0], DTYPES[name].numpy)
    known = xp.if_known(bounded(array, replace(narrow(DTYPES[name]), values=values)))
    assert isinstance(known, np.ndarray)
    assert (known.dtype, known.tolist()) == (array.dtype, array.tolist())


@pytest.mark.parametrize("function", [xp.log, xp.sqrt, lambda x: xp.pow(x, 0.5)])
def test_a_difference_may_leave_a_function_s_domain_and_a_sum_of_squares_may_not(function):
    x = np.array([[1.0, 1e-9, -1.0]])
    with np.errstate(all="ignore"):
        assert on_bounds(lambda x: function(xp.sum(x, axis=1)), [x]).with_rounding().lost.all()

        def of_squares(x: Any) -> Any:
            d = x - xp.mean(x, axis=1, keepdims=True)
            return function(xp.mean(d * d, axis=1) + 1e-30)

        assert on_bounds(of_squares, [np.full((1, 3), 1.1)]).with_rounding().lost is None


@pytest.mark.parametrize("function", [xp.asin, xp.acos, xp.acosh, xp.atanh])
def test_what_is_never_negative_may_leave_a_domain_that_ends_at_1(function: Any) -> None:
    with np.errstate(all="ignore"):
        third = on_bounds(lambda x: x / 3.0, [np.ones(1)])
        assert (third * 3.0).nonnegative
        assert function(third * 3.0).with_rounding().lost.all()
        assert function(third * 3.0 - 0.0).with_rounding().lost.all()


def test_the_tangent_of_what_may_be_a_pole_is_lost() -> None:
    near, between, far = np.pi / 2 - 1e-7, 0.75, np.pi / 2 - 1e-3
    tangents = on_bounds(lambda x: xp.tan(x * 1.0 * 1.0), [np.array([near, between, far])])
    assert (tangents.with_rounding().lost > 0).tolist() == [True, False, False]
    large = on_bounds(lambda x: xp.tan(x * x), [np.array([1e4])])
    assert (large.with_rounding().lost > 0).tolist() == [True]


@pytest.mark.parametrize("power", [-1.0, -2.0, -3.0])
def test_a_negative_power_of_what_may_be_0_is_lost(power: float) -> None:
    with np.errstate(all="ignore"):
        lost = (
            on_bounds(lambda x: xp.pow(x / 3.0 - [1 / 3 - 1e-9, 0.25], power), [np.ones(2)])
            .with_rounding()
            .lost
        )
    assert (lost > 0).tolist() == [True, False]


def test_a_power_that_vanishes_and_constants_around_an_array_have_no_error() -> None:
    with np.errstate(all="ignore"):
        assert on_bounds(lambda x: xp.pow(x, 1e18), [np.array([0.5])]).with_rounding().e < 1e-300
    padded = on_bounds(lambda x: xp.pad(xp.exp(x), 1, constant_values=1.0), [np.ones(1)])
    assert [*(padded.with_rounding().e > 0)] == [False, True, False]


def test_padding_keeps_the_error_that_elements_have_in_common() -> None:
    # A sum of 64 in float32 may be off by 63 roundings of its size, and each quotient with it.
    # NegativeLogLikelihoodLoss pads such quotients if Softmax comes before it in a model.
    def padded_quotients(x: Any) -> Any:
        return xp.pad(x / xp.sum(x, axis=1, keepdims=True), ((0, 0), (0, 1)))

    padded = on_bounds(padded_quotients, [np.ones((1, 64))]).with_rounding()
    roundings = padded.e[0] / (2.0**-24 / 64)
    assert (roundings[:64] > 62).all()
    assert roundings[64] == 0


def test_what_leaves_the_range_between_is_lost_and_stays_so() -> None:
    x = np.array([[1e30, 1.0], [1e-30, 1.0]])
    for formula in (
        lambda x: xp.sqrt(x * x),
        lambda x: xp.sum(x * x, axis=1, keepdims=True) + 0 * x,
        lambda x: xp.max(x * x, axis=1, keepdims=True) / x,
        lambda x: xp.matmul(x * x, np.ones((2, 2), np.float32)),
        lambda x: xp.concat([xp.cumulative_sum(x * x, axis=1)], axis=0),
        lambda x: xp.sums(x * x, lambda part: part.sum(1, keepdims=True) + 0 * part, 2),
    ):
        lost = on_bounds(formula, [x]).with_rounding().lost
        assert lost[0, 0]
        assert not lost[1].any()
    assert on_bounds(lambda x: x * 2, [x]).with_rounding().lost is None


@pytest.mark.parametrize(
    ("formula", "levels"),
    [
        # Terms of one sign, of both where one overflows, and of both where both may.
        (lambda x: xp.sum(x, axis=1), [SIGNED, SIGNED, SIGNED, ANYTHING]),
        (lambda x: xp.mean(x, axis=1), [SIGNED, SIGNED, SIGNED, ANYTHING]),
        (lambda x: -xp.sum(x, axis=1), [SIGNED, SIGNED, SIGNED, ANYTHING]),
        (lambda x: xp.sum(x * 2, axis=1), [SIGNED, SIGNED, ANYTHING, ANYTHING]),
        (lambda x: xp.matmul(x, np.ones(4, np.float32)), [SIGNED, SIGNED, SIGNED, ANYTHING]),
        # 0 in three of the products makes NaN of an infinity.
        (lambda x: xp.prod(x, axis=1), [UNORDERED, UNORDERED, UNORDERED, SIGNED]),
        (lambda x: xp.prod(xp.minimum(x, 0.0), axis=1), [0, UNORDERED, 0, UNORDERED]),
        (lambda x: xp.log(xp.sum(abs(x), axis=1)), [SIGNED] * 4),
        # A small number, of which an implementation has the logarithm of an infinity.
        (lambda x: xp.log(xp.sum(abs(x), axis=1) * 1e-45), [ANYTHING] * 4),
        (lambda x: xp.tanh(xp.sum(abs(x), axis=1)), [UNORDERED] * 4),
    ],
)
def test_the_sign_of_an_infinity_is_known_where_all_orders_agree(formula, levels) -> None:
    x = np.array(
        [[3e38, 3e38, 1e30], [-3e38, -3e38, -3e38], [3e38, 3e38, -2e38], [3e38, 3e38, -3e38]]
    )
    x = np.concatenate([x, [[0.0], [0.0], [0.0], [-3e38]]], axis=1)
    assert on_bounds(formula, [x]).with_rounding().lost.tolist() == levels


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x * x,
        lambda x: xp.sum(x * x, axis=1),
        lambda x: xp.prod(x, axis=1),
        lambda x: xp.matmul(x, xp.permute_dims(x, (1, 0))),
        lambda x: xp.log(xp.sum(x * x, axis=1)),
        lambda x: xp.where(xp.less(x * x, x * x), x * x, -x * x),
        lambda x: xp.max(x * x, axis=1),
    ],
)
def test_numbers_beyond_longdouble_are_lost_as_others_are(formula) -> None:
    x = np.array([[1e200, -2e200, 3e200]])
    of_floats = on_bounds(formula, [x], FLOAT64, np.float64).with_rounding()
    objects = Bounded(precise.objects(x), np.dtype(np.float64), FLOAT64)
    with (
        np.errstate(all="ignore"),
        xp.lifting(partial(lifted, arithmetic=FLOAT64, dtype=np.float64)),
    ):
        of_objects = formula(objects).with_rounding()
    assert of_objects.v.dtype == np.object_
    assert (of_floats.lost > 0).all()
    # Magnitudes of objects are cut off, and may leave a sign open that floats know.
    assert np.array_equal(of_objects.lost & of_floats.lost, of_floats.lost)


def test_a_product_has_no_sign_where_a_factor_may_have_either() -> None:
    x = np.array([[1e30, 1e30, 1.0], [1e30, 1e30, 3.0]])
    lost = on_bounds(lambda x: xp.prod(x - xp.exp(0 * x), axis=1), [x]).with_rounding().lost
    assert lost.tolist() == [ANYTHING, SIGNED]


def centered(x: Any) -> Any:
    d = x - xp.mean(x, axis=1, keepdims=True)
    return d * (1 / xp.sqrt(xp.mean(d * d, axis=1, keepdims=True) + 1e-5))


#: Formulas that leave the range in some order or other, over matrices x and y.
LEAVING: dict[str, Callable[[Any, Any], Any]] = {
    "a sum": lambda x, y: xp.sum(x, axis=1) * 1e-30,
    "running sums": lambda x, y: xp.cumulative_sum(x, axis=1) / 3,
    "sums of windows": lambda x, y: (
        xp.sums(x, lambda part: part[:, 1:] + part[:, :-1], 2)
        * xp.sums(y, lambda part: part, 1)[:, 1:]
    ),
    "a logarithm of a sum": lambda x, y: xp.log(xp.sum(abs(x), axis=1) * 1e-38),
    "a product": lambda x, y: xp.prod(x, axis=1),
    "products of matrices": lambda x, y: xp.matmul(x, xp.permute_dims(y, (1, 0))) * 1e-20,
    "with a term more": lambda x, y: xp.bilinear(x, y[:, :1], np.multiply, 1, y),
    "mean 0 and variance 1": lambda x, y: centered(x),
    "1 over the deviation": lambda x, y: 1 / xp.sqrt(xp.mean((x - xp.mean(x)) * x, axis=1)),
    "an extreme": lambda x, y: xp.maximum(x * y, 2.0) - xp.min(x * x, axis=1, keepdims=True),
    "a hyperbolic tangent": lambda x, y: xp.tanh(x * x * x + y) * y,
    "a quotient of differences": lambda x, y: xp.exp(x - y) / (x * y),
}


@pytest.mark.parametrize("name", LEAVING)
@examples(60)
@given(st.integers(0, 2**32), st.sampled_from([1e-19, 1e-10, 1e10, 1e19, 1e38]), st.booleans())
def test_no_finite_result_leaves_the_bound_and_no_other_comes_of_what_is_not_lost(
    name: str, seed: int, scale: float, flushes: bool
) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.uniform(-3, 3, (2, 3, 6)) * scale ** rng.integers(0, 2, (2, 3, 6))).astype("f")
    arithmetic = replace(FLOAT32, flushes=True, values=1)
    with np.errstate(all="ignore"):
        right = on_bounds(LEAVING[name], [x, y], arithmetic).with_rounding()
        machine = Machine(rng, flushes=flushes)
        got = LEAVING[name](Sloppy(x, machine), Sloppy(y, machine)).v
        v, e = right.v, right.e
        lost = np.zeros(v.shape, np.int8) if right.lost is None else right.lost
        assert np.isfinite(got[np.isfinite(v) & (lost == 0)]).all()
        infinite = np.isinf(got) & np.isfinite(v)
        # Of what came as an infinity, the level tells the sign, but for a value that is 0.
        assert (lost[infinite & (got * v < 0)] == ANYTHING).all()
        assert (lost[infinite] != UNORDERED).all()
        off = np.abs(got - v) - arithmetic.floor
        assert (off <= e * 1.001)[np.isfinite(got) & np.isfinite(v)].all()


def test_arithmetic_that_flushes_may_make_zeros_of_what_is_small() -> None:
    flushing, tiny = stored(DTYPES["float16"]), 2.0**-126
    x = np.array([tiny * 0.75, tiny, 1.0], np.float32)
    read = bounded(x, flushing)
    # What is subnormal may be read as 0.
    assert read.e is not None
    assert read.e.tolist() == [tiny * 0.75, 0, 0]
    product = on_bounds(lambda x: x * 1.5, [x[1:]], flushing).with_rounding().e
    assert product[0] >= 2 * tiny > product[1] * tiny
    assert bounded(x, FLOAT32).e is None


def test_a_product_that_float64_makes_0_is_not_exactly_0() -> None:
    out = on_bounds(lambda x: x * x, [np.array([1e-200, 0.0])], FLOAT32, np.float64)
    assert out.v.tolist() == [0, 0]
    assert (out.with_rounding().e > 0).tolist() == [True, False]


@pytest.mark.parametrize(
    "name", ["Mul", "Exp", "Sigmoid", "Mean", "ReduceL2", "MatMul", "Softmax", "CumSum", "Prod"]
)
def test_errors_scatter_about_as_far_as_independent_roundings_would(name: str) -> None:
    x, y = np.random.default_rng(5).uniform(0.5, 1.5, (2, 60, 64)).astype(np.float32)
    right = on_bounds(FORMULAS[name], [x, y], replace(FLOAT32, scatters=True))
    assert on_bounds(FORMULAS[name], [x, y]).variance() is None
    for cut, low, high in ((24, 0.01, 3), (11, 20, 1e6)):
        with xp.lifting(lambda a: a):
            got = FORMULAS[name](*(Faulty(ar.keep_bits(one, cut)) for one in (x, y))).v
        error, deviation = got - right.v, np.sqrt(right.variance())
        # The first of running sums has no rounding.
        share = np.where(deviation > 0, error / np.where(deviation > 0, deviation, 1), 0.0)
        assert low < np.sqrt(np.mean(share**2)) < high, cut


@pytest.mark.parametrize("name", ["sum", "cumulative_sum"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 0), 0), ((0, 3), 1), ((0, 3), 0), ((0, 0), 0), ((2, 0, 4), 2)]
)
def test_sums_of_tensors_without_elements_do_not_scatter(
    name: str, shape: tuple[int, ...], axis: int
) -> None:
    x = bounded(np.zeros(shape, np.float32), replace(FLOAT32, scatters=True))
    reduced = getattr(reductions, name)(x, axis)
    assert reduced.variance().shape == reduced.shape
    assert not reduced.variance().any()


@pytest.mark.parametrize("values", range(len(value_dtypes())))
def test_the_variance_of_a_share_of_a_sum_is_a_float_whatever_the_values_are(values: int) -> None:
    arithmetic = replace(FLOAT32, scatters=True, values=values)
    x = np.float32([[1.1, -2.3, 3.7]])

    def share(x: Any) -> Any:
        terms = x * np.float32(0.7)
        return terms / xp.sum(terms, axis=1, keepdims=True)

    variance = on_bounds(share, [x], arithmetic).variance()
    assert variance.dtype in (np.float64, np.longdouble)
    in_float64 = on_bounds(share, [x], replace(arithmetic, values=0)).variance()
    np.testing.assert_allclose(variance.astype(np.float64), in_float64, rtol=1e-6)


def test_indices_are_among_those_admitted() -> None:
    rng = np.random.default_rng(6)
    for _ in range(30):
        x = rng.standard_normal((4, 9)).astype(np.float32)
        x[:, 5] = x[:, 2] * np.float32(1 + 1e-7)
        machine = Machine(rng)
        for formula in (
            lambda x: xp.argmax(xp.tanh(x), axis=1),
            lambda x: xp.argmin(xp.tanh(x) * 3, axis=1),
            lambda x: xp.top_k(xp.tanh(x), 3, 1, True)[1],
        ):
            right = on_bounds(formula, [x])
            got = formula(Sloppy(x, machine))
            admitted = right.admitted if isinstance(right, Choices) else right[..., None]
            assert (got[..., None] == admitted).any(-1).all()


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean"])
@pytest.mark.parametrize("axis", [4, -2, 1, (0, 1), (0, 0), (), -1, 0, None])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_an_axis_means_what_it_means_to_plain_numbers(
    name: str, axis: Any, shape: tuple[int, ...]
) -> None:
    x = np.full(shape, 2.0, np.float32)
    function = getattr(xp, name)
    try:
        plain = function(x, axis=axis)
    except ValueError as error:
        with pytest.raises(type(error)):
            function(bounded(x, FLOAT32), axis=axis)
    else:
        np.testing.assert_array_equal(function(bounded(x, FLOAT32), axis=axis).v, plain)


@pytest.mark.parametrize("axis", [4, -2, (0, 0), 0])
def test_a_flip_along_an_axis_that_is_missing_or_twice_is_an_error(axis: Any) -> None:
    for x in (np.array(2.0), np.array([1.0, 2.0])):
        if x.ndim and axis == 0:
            continue
        for kind in (x, bounded(x, FLOAT32)):
            with pytest.raises(ValueError, match="axis"):
                xp.flip(kind, axis)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_an_extreme_of_a_row_is_numpy_s(name: str, keepdims: bool) -> None:
    x = np.array([[3, -1, 2], [-np.inf, 0, np.inf], [1, np.nan, 5]], np.float32)
    found = getattr(xp, name)(bounded(x, FLOAT32), axis=1, keepdims=keepdims)
    np.testing.assert_array_equal(found.v, getattr(x, name)(axis=1, keepdims=keepdims))


def test_errors_of_long_chains_are_settled_however_deep_the_stack() -> None:
    x = one = bounded(np.ones(1, np.float32), FLOAT32)
    for _ in range(2000):
        x = xp.multiply(x + one, 0.5)
    assert 1 < x.with_rounding().e.max() / FLOAT32.grid.u < 5


@pytest.mark.parametrize(
    ("group", "shape", "rows"),
    [
        (np.arange(3).reshape(3, 1), (3, 2), [[0, 1], [2, 3], [4, 5]]),
        (np.arange(2).reshape(1, 2), (3, 2), [[0, 2, 4], [1, 3, 5]]),
        (np.array([[1, 0], [0, 1]]), (2, 2), [[1, 2], [0, 3]]),
    ],
)
def test_rows_of_groups_are_in_the_order_of_their_numbers(group, shape, rows):
    function = Common(np.zeros(group.shape), np.zeros(group.shape), group).rows(shape)
    elements = np.arange(math.prod(shape)).reshape(shape)
    assert function(elements).tolist() == rows


@pytest.mark.parametrize("group", [np.zeros((0, 1), int), np.zeros((0, 5), int)])
def test_without_groups_there_are_no_rows(group):
    common = Common(np.zeros(group.shape), np.zeros(group.shape), group)
    assert common.rows((0, 5)) is None
