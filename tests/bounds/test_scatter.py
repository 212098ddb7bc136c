"""On random data errors scatter as roundings of the expected arithmetic do, or are warned of."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.compare.bounded import SCATTER, scatter, scatters_independently
from opcheck.engine import Expected, Tier
from opcheck.errors import NotSupported
from opcheck.model import Attrs, OpVersion
from tests.asking import scatter_message
from tests.bounds import arithmetic as ar
from tests.bounds.lp_pool import implementations as pools
from tests.bounds.softmax import honest
from tests.computed import exactly
from tests.wording import Wording, without_times

FLOATS = (np.float32, np.float64)
SOFTMAX, POOL, CONV = (OpVersion("", *op) for op in (("Softmax", 13), ("LpPool", 22), ("Conv", 22)))
RNG = np.random.default_rng(20)


def reference(op: OpVersion, attrs: Attrs, *inputs: Any) -> Want:
    (bound,) = exactly(op, inputs, attrs)
    assert isinstance(bound, Expected)
    return Want("Y", bound.dtype, bound.values, bound=bound, rest=bound.rest)


def times(of: Want, got: Any, monkeypatch: pytest.MonkeyPatch) -> float:
    """How many times as far as expected, also where that is so little that nobody asks."""
    monkeypatch.setattr("opcheck.compare.bounded.SCATTER", -1.0)
    found = scatter(of, got)
    assert found is not None
    return found


def softmax(name: str) -> Iterator[tuple[Want, Any]]:
    for dtype in FLOATS:
        for shape in ((40, 10), (8, 257), (2, 1000)):
            x = RNG.standard_normal(shape).astype(dtype)
            if shape[1] <= honest.longest(name):
                yield reference(SOFTMAX, {}, x), honest.answer(name, x)


def pooled(name: str) -> Iterator[tuple[Want, Any]]:
    for dtype in FLOATS:
        for p in (1, 2, 3):
            x = RNG.standard_normal((1, 200, 33)).astype(dtype)
            of = reference(POOL, {"kernel_shape": (33,), "p": p}, x)
            yield of, pools.HONEST[name](x[0], float(p)).reshape(of.values.shape)


@pytest.mark.sampled(17, evenly=True)
@pytest.mark.parametrize("name", honest.NAMES)
def test_no_honest_softmax_scatters_a_third_as_far_as_is_warned_of(name, monkeypatch):
    found = [times(*each, monkeypatch) for each in softmax(name)]
    assert found
    assert max(found) < SCATTER / 3


@pytest.mark.sampled(10, evenly=True)
@pytest.mark.parametrize("name", pools.HONEST)
def test_no_honest_pooling_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.errstate(all="ignore"):
        assert max(times(*each, monkeypatch) for each in pooled(name)) < SCATTER / 3


@pytest.mark.parametrize(
    ("bits", "name"), [(8, "bfloat16"), (11, "float16 or TF32"), (24, None), (53, None)]
)
def test_factors_of_fewer_bits_are_named(bits: int, name: str | None, wording: Wording) -> None:
    x = RNG.standard_normal((1, 256, 5, 5)).astype(np.float32)
    w = RNG.standard_normal((16, 256, 3, 3)).astype(np.float32)
    of = reference(CONV, {}, x, w)
    cut = [ar.keep_bits(one, bits) for one in (x, w)] if bits < 24 else [x, w]
    got = reference(CONV, {}, *cut).values.astype(np.float32)
    told = scatter_message(of, got)
    assert told.endswith(f" {name}") if name else told == ""
    assert without_times(told) == wording


MATMUL = OpVersion("", "MatMul", 13)


def given(op: OpVersion, *inputs: Any) -> Want:
    return replace(reference(op, {}, *inputs), of_own_data=True)


def in_sequence(a: Any, b: Any) -> Any:
    """The product of float32 matrices, with one running sum for each element."""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        total = total + a[:, k : k + 1] * b[k : k + 1]
    return total


def test_narrow_factors_of_given_data_are_warned_of_though_the_bound_admits_them() -> None:
    a = RNG.standard_normal((12, 4096)).astype(np.float32)
    b = RNG.standard_normal((4096, 12)).astype(np.float32)
    of = given(MATMUL, a, b)
    narrow = [ar.keep_bits(one, 11) for one in (a, b)]
    found = compare(of, (narrow[0].astype(float) @ narrow[1]).astype(np.float32))
    assert found.used < 1
    assert found.problem == "precision"
    assert "float16 or TF32" in found.remark
    assert compare(replace(of, of_own_data=False), of.values.astype(np.float32)).problem is None
    assert compare(of, in_sequence(a, b)).problem is None


def test_equal_terms_whose_roundings_are_alike_accuse_no_running_sum() -> None:
    a = np.full((10, 25_000), 0.1, np.float32)
    b = np.full((25_000, 10), 0.3, np.float32)
    of, honest = given(MATMUL, a, b), in_sequence(a, b)
    far = scatter(of, honest)
    assert far is not None
    assert far > SCATTER
    assert not scatters_independently(of)
    assert compare(of, honest).problem is None
    assert compare(replace(of, of_random_data=True), honest).problem == "precision"


def test_too_many_terms_to_add_up_one_by_one_are_not_judged(monkeypatch) -> None:
    a = RNG.standard_normal((12, 64)).astype(np.float32)
    b = RNG.standard_normal((64, 12)).astype(np.float32)
    of = given(MATMUL, a, b)
    assert scatters_independently(of)
    monkeypatch.setattr("opcheck.engine.orders.MOST_TERMS", 1000)
    assert not scatters_independently(of)


def test_elements_of_an_unknown_range_are_not_judged(monkeypatch) -> None:
    a = RNG.standard_normal((12, 4096)).astype(np.float32)
    b = RNG.standard_normal((4096, 12)).astype(np.float32)
    of = given(MATMUL, a, b)
    narrow = [ar.keep_bits(one, 11).astype(float) for one in (a, b)]
    got = (narrow[0] @ narrow[1]).astype(np.float32)

    def beyond_budget(bound: Expected, tier: Tier) -> None:
        raise NotSupported("beyond a budget")

    monkeypatch.setattr(Expected, "range_loss", beyond_budget)
    assert compare(of, got).problem is None
    assert compare(replace(of, of_random_data=True), got).problem == "precision"


def test_what_an_engine_flushes_to_zero_does_not_count_as_scatter() -> None:
    x = (3e-19 * RNG.standard_normal((200, 512))).astype(np.float32)
    squares = x * x
    squares[np.abs(squares) < np.finfo(np.float32).tiny] = 0
    of = given(OpVersion("", "ReduceSumSquare", 18), x, np.array([1]))
    found = compare(of, squares.sum(1, keepdims=True))
    assert "scatter" not in found.remark


def test_a_constant_of_float32_in_a_function_body_is_no_scatter(monkeypatch) -> None:
    x = RNG.uniform(-2, 2, 200)
    got = x * np.clip(x * float(np.float32(1 / 6)) + 0.5, 0, 1)
    of = reference(OpVersion("", "HardSwish", 22), {}, x)
    assert times(of, got, monkeypatch) < SCATTER / 3 < times(of, got * (1 + 1e-9), monkeypatch)
