"""LayerNormalization in float32, each step in the place of the one before."""

from math import prod

import numpy as np

from opcheck.engine.axes import from_either_end, stretches
from opcheck.engine.ops.layer_normalization import OP
from opcheck.model import Array


def _formula(
    X: Array, Scale: Array, B: Array | None = None, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Array, ...]:
    if X.dtype != np.float32 or stash_type != 1 or not X.size:
        given = {"axis": axis, "epsilon": epsilon, "stash_type": stash_type}
        return OP.formulas[17](X, Scale, B, **given)  # type: ignore[no-any-return]
    first = from_either_end(axis, X.ndim)
    for name, operand in (("Scale", Scale), ("B", B)):
        if operand is not None:
            stretches(name, operand, X)
    kept = (*X.shape[:first], *[1] * (X.ndim - first))
    rows = X.reshape(prod(kept), -1)
    length = np.float32(rows.shape[1])
    mean = (rows @ np.ones(rows.shape[1], np.float32) / length).reshape(kept)
    y = X - mean
    rows = y.reshape(rows.shape)
    squares = np.vecdot(rows, rows).reshape(kept)
    inverse = 1 / np.sqrt(squares / length + np.float32(epsilon))
    y *= inverse
    y *= Scale
    if B is not None:
        y += B
    return y, mean, inverse


FORMULAS = {"LayerNormalization": {17: _formula}}
