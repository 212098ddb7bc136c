"""Sums of products and running sums: MatMul, Gemm, CumSum, CumProd."""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, stretches
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode, NotSupported

NAMES = """
CumProd CumSum Gemm MatMul
"""

MATMUL = operator("MatMul")


@MATMUL.formula(1, 9, 13)
def matmul(A, B):
    if not A.ndim or not B.ndim or A.shape[-1] != B.shape[-2 if B.ndim > 1 else -1]:
        raise InvalidNode(f"shapes {list(A.shape)} and {list(B.shape)} do not match")
    try:
        np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    except ValueError:
        raise InvalidNode(f"{list(A.shape)} and {list(B.shape)} do not broadcast") from None
    return xp.matmul(A, B)


GEMM = operator("Gemm")


def _gemm(A, B, C, alpha, beta, transA, transB, *, folded=False):
    if (A.ndim, B.ndim) != (2, 2):
        raise InvalidNode(f"ranks {A.ndim} and {B.ndim}; allowed: 2")
    A = xp.permute_dims(A, (1, 0)) if transA else A
    B = xp.permute_dims(B, (1, 0)) if transB else B
    if A.shape[1] != B.shape[0]:
        raise InvalidNode(f"{list(A.shape)} times {list(B.shape)}")
    if A.dtype.kind in "iu" and (alpha, beta) != (1, 1):
        raise NotSupported("nothing is said of how integers are multiplied by a float")
    depth = A.shape[1]
    if C is not None:
        stretches("C", C, np.empty((A.shape[0], B.shape[1]), np.bool_))
        C = C if beta == 1 else beta * C
    if alpha == 1 or folded:
        A = A if alpha == 1 else alpha * A
        return xp.bilinear(A, B, np.matmul, depth, C)
    product = alpha * xp.bilinear(A, B, np.matmul, depth)
    return product if C is None else product + C


def _declare(made, **how):
    @made(1, 6)
    def gemm_1(A, B, C, *, alpha, beta, broadcast, transA, transB):
        if not broadcast and C.shape != (A.shape[1 if transA else 0], B.shape[0 if transB else 1]):
            raise InvalidNode(f"C of shape {list(C.shape)}, and no broadcast")
        return _gemm(A, B, C, alpha, beta, transA, transB, **how)

    @made(7, 9)
    def gemm_7(A, B, C, *, alpha, beta, transA, transB):
        return _gemm(A, B, C, alpha, beta, transA, transB, **how)

    @made(11, 13)
    def gemm(A, B, C=None, *, alpha, beta, transA, transB):
        return _gemm(A, B, C, alpha, beta, transA, transB, **how)


_declare(GEMM.formula)
_declare(lambda *versions: GEMM.also_honest("", *versions), folded=True)


def _running(function, start):
    """The formula of `function(x, axis)`, where the first of exclusive results is `start`."""

    def formula(x, axis, *, exclusive, reverse):
        if axis.size != 1 or exclusive not in (0, 1) or reverse not in (0, 1):
            raise InvalidNode("axis is a scalar, and exclusive and reverse are 0 or 1")
        place = from_either_end(int(axis.reshape(-1)[0]), x.ndim)
        x = xp.flip(x, axis=place) if reverse else x
        if exclusive and x.shape[place]:
            first = xp.take(x, [0], axis=place)
            rest = xp.take(x, range(x.shape[place] - 1), axis=place)
            x = xp.concat([xp.full_like(first, start), rest], axis=place)
        y = function(x, place)
        return xp.flip(y, axis=place) if reverse else y

    return formula


CUM_SUM = operator("CumSum")
CUM_SUM.formula(11, 14)(_running(lambda x, axis: xp.cumulative_sum(x, axis=axis), 0))


def _products(x, axis):
    parts = [xp.take(x, range(n + 1), axis=axis) for n in range(x.shape[axis])]
    rows = [xp.prod(part, axis=axis, keepdims=True) for part in parts]
    return xp.concat(rows, axis=axis) if rows else x


CUM_PROD = operator("CumProd")
CUM_PROD.formula(26)(_running(_products, 1))
