"""On random data errors scatter as roundings of the expected arithmetic do, or are warned of."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from opcheck.compare import Want
from opcheck.compare.bounded import SCATTER, scatter
from opcheck.engine import Expected
from opcheck.model import Attrs, OpVersion
from tests.asking import scatter_message
from tests.bounds import arithmetic as ar
from tests.bounds.lp_pool import implementations as pools
from tests.bounds.softmax import honest
from tests.computed import exactly

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
def test_factors_of_fewer_bits_are_named(bits: int, name: str | None) -> None:
    x = RNG.standard_normal((1, 256, 5, 5)).astype(np.float32)
    w = RNG.standard_normal((16, 256, 3, 3)).astype(np.float32)
    of = reference(CONV, {}, x, w)
    cut = [ar.keep_bits(one, bits) for one in (x, w)] if bits < 24 else [x, w]
    got = reference(CONV, {}, *cut).values.astype(np.float32)
    told = scatter_message(of, got)
    assert told.endswith(f"as if factors were rounded to {name}") if name else told == ""


def test_a_constant_of_float32_in_a_function_body_is_no_scatter(monkeypatch) -> None:
    x = RNG.uniform(-2, 2, 200)
    got = x * np.clip(x * float(np.float32(1 / 6)) + 0.5, 0, 1)
    of = reference(OpVersion("", "HardSwish", 22), {}, x)
    assert times(of, got, monkeypatch) < SCATTER / 3 < times(of, got * (1 + 1e-9), monkeypatch)
