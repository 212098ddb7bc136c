"""What both modes of every operator owe, new ones included; no operator is treated by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from opcheck.engine.registry import Kernel, operators

from opcheck.compare import Want, compare
from opcheck.dtypes import DTYPES
from opcheck.engine import Exact, evaluate, exactly, natively
from opcheck.model import OpVersion
from tests.engine.ops.layouts import LAYOUTS
from tests.engine.test_registry import NEEDED

CELLS = [
    pytest.param(OpVersion(domain, name, since), DTYPES[dtype], id=f"{name}-{since} {dtype}")
    for (domain, name), operator in operators().items()
    for since, kernel in operator.kernels.items()
    for dtype in kernel.dtypes
]
SHAPE = (1, 5, 23)


def values(dtype: Any) -> Any:
    return np.random.default_rng(7).normal(0, 3, SHAPE).astype(dtype.numpy)


def assert_right(op: OpVersion, x: Any, got: tuple[Any, ...]) -> None:
    """`got` passes by the bounds of what exact mode computes of the plain values."""
    for answer, one in zip(exactly(op, [x], NEEDED.get(op.name, {})), got, strict=True):
        if isinstance(answer, Exact):
            want = Want("y", answer.dtype, answer.values, bound=answer.bound, rest=answer.rest)
        else:
            want = Want("y", DTYPES[x.dtype.name], answer)
        compared = compare(want, one)
        assert compared.problem is None, compared


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("op", "dtype"), CELLS)
def test_native_is_right_however_the_input_lies_in_memory(
    op: OpVersion, dtype: Any, threads: int, layout: Callable[[Any], Any]
) -> None:
    x = values(dtype)
    given = layout(x.copy())
    before = given.copy()
    given.flags.writeable = False
    got = natively(op, [given], NEEDED.get(op.name, {}), threads)
    assert_right(op, x, got)
    assert np.array_equal(given, before)
    for out in got:
        assert out.dtype == dtype.numpy
        assert out.dtype.isnative
        assert out.flags.writeable
        assert not np.shares_memory(out, given)


@pytest.mark.parametrize("compute", [evaluate, natively], ids=["exact", "native"])
@pytest.mark.parametrize(("op", "dtype"), CELLS)
def test_an_empty_tensor_has_an_empty_answer(op: OpVersion, dtype: Any, compute: Any) -> None:
    (out,) = compute(op, [np.zeros((0, 5, 23), dtype.numpy)], NEEDED.get(op.name, {}))
    assert (out.shape[0], out.size, out.dtype) == (0, 0, dtype.numpy)


@pytest.mark.parametrize(
    "kernel", [k for operator in operators().values() for k in operator.kernels.values()]
)
def test_a_plan_looks_at_shapes_and_types_only(kernel: Kernel) -> None:
    name = next(o.name for o in operators().values() if kernel in o.kernels.values())
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), SHAPE, (0, 0, 0))
    one, other = (kernel.plan(data, **NEEDED.get(name, {})) for data in (x, x + np.nan))
    assert one == other
