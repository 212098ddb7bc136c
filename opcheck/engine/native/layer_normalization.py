"""LayerNormalization in float32, by blocks of rows that stay in the cache."""

from math import prod

import numpy as np

from opcheck.engine.axes import from_either_end, slices, stretches
from opcheck.engine.ops.layer_normalization import OP
from opcheck.model import Array

#: About how many elements of a block there are.
_BLOCK = 1 << 17


def _formula(
    X: Array, Scale: Array, B: Array | None = None, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Array, ...]:
    if X.dtype != np.float32 or stash_type != 1 or not X.size:
        attrs = {"axis": axis, "epsilon": epsilon, "stash_type": stash_type}
        return OP.formulas[17](X, Scale, B, **attrs)  # type: ignore[no-any-return]
    first = from_either_end(axis, X.ndim)
    given = [("Scale", np.multiply, Scale), *([] if B is None else [("B", np.add, B)])]
    for name, _, operand in given:
        stretches(name, operand, X)
    kept = (*X.shape[:first], *[1] * (X.ndim - first))
    count, length = prod(kept), prod(X.shape[first:])
    new = [np.empty(shape, np.float32) for shape in (X.shape, kept, kept)]
    rows, y, mean, inverse = (array.reshape(count, -1) for array in (X, *new))
    ones = np.ones(length, np.float32)
    if any(operand.shape != X.shape[first:] for _, _, operand in given):
        steps = [(do, np.broadcast_to(one, X.shape).reshape(rows.shape)) for _, do, one in given]
    else:
        steps = [(do, operand.reshape(1, length)) for _, do, operand in given]
    # NumPy copies what is broadcast along rows, unless they are as long as its buffer.
    if length >= 512:
        np.setbufsize(512)  # until the caller's errstate ends
    for part in slices(count, max(1, _BLOCK // length)):
        x, out, centre, factor = rows[part], y[part], mean[part], inverse[part]
        np.divide((x @ ones)[:, np.newaxis], np.float32(length), out=centre)
        np.subtract(x, centre, out=out)
        variance = np.vecdot(out, out)[:, np.newaxis] / np.float32(length)
        np.divide(1, np.sqrt(variance + np.float32(epsilon)), out=factor)
        out *= factor
        for do, operand in steps:
            do(out, operand[part] if len(operand) == count else operand, out=out)
    return tuple(new)


FORMULAS = {"LayerNormalization": {17: _formula}}
