"""MatMul: a stack of matrices times one matrix is a single product, however few their rows."""

import numpy as np

from opcheck.engine.ops.contractions import with_step
from opcheck.model import Array


def _product(a: Array, b: Array) -> Array:
    if b.ndim > 2 or not a.size:
        return np.asarray(np.matmul(a, b))
    return (a.reshape(-1, a.shape[-1]) @ b).reshape(*a.shape[:-1], b.shape[-1])


FORMULAS = {"MatMul": with_step("MatMul", _product)}  # type: ignore[no-untyped-call]
