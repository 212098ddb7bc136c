"""DML_ACTIVATION_HARDMAX1 as Hardmax of the dimensions in another order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from opcheck.engine.ops.dml_activation_hardmax1.kernels import JointRows
from opcheck.engine.ops.hardmax.exact import exact as exact_hardmax
from opcheck.engine.ops.hardmax.native import native as native_hardmax
from opcheck.model import Array


def exact(plan: JointRows, input_tensor: Array) -> tuple[Array]:
    """One at the first maximum of every row, zero elsewhere; same shape and dtype."""
    return _reordered(plan, input_tensor, exact_hardmax)


def native(plan: JointRows, input_tensor: Array, *, threads: int = 1) -> tuple[Array]:
    """The same, as fast as NumPy allows."""
    return _reordered(plan, input_tensor, partial(native_hardmax, threads=threads))


def _reordered(
    plan: JointRows, input_tensor: Array, hardmax: Callable[..., tuple[Array]]
) -> tuple[Array]:
    (ones,) = hardmax(plan.rows, input_tensor.transpose(plan.order))
    return (np.ascontiguousarray(ones.transpose(np.argsort(plan.order))),)
