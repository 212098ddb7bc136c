"""Sums of products: of matrices, the Einstein summation, and determinants; reductions over axes, in
all their versions, and scans along one."""

import re
from functools import partial, reduce, wraps
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import dtypes, numbers as xp, opset
from opcheck.engine.axes import common_shape, distinct, from_either_end, listed, scalar, stretches
from opcheck.engine.mutants.elements import BEYOND_FLOAT16, DOUBLE, FLOATS, LONG
from opcheck.engine.operators import (
    family,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
    with_parameters,
)
from opcheck.errors import InvalidNode, reject
from opcheck.grouping import sure

NAMES = """Det Einsum Gemm MatMul

CumProd CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
ReduceProd ReduceSum ReduceSumSquare"""
DET = operator("Det")
_TERM = r"[A-Za-z]*(\.\.\.)?[A-Za-z]*"


def _matmul(product, A, B):
    """`product(a, b)` of matrices, or of stacks of them; a vector is a row of A, a column of B."""
    reject(not (A.ndim and B.ndim), "a scalar is no matrix")
    a = xp.expand_dims(A, axis=0) if A.ndim == 1 else A
    b = xp.expand_dims(B, axis=1) if B.ndim == 1 else B
    reject(a.shape[-1] != b.shape[-2], f"A has rows of {a.shape[-1]}, B columns of {b.shape[-2]}")
    stack = common_shape(a.shape[:-2], b.shape[:-2])
    rows, columns = a.shape[-2:-1] * (A.ndim > 1), b.shape[-1:] * (B.ndim > 1)
    return xp.reshape(product(a, b), (*stack, *rows, *columns))


def _gemm(combined, A, B, C=None, *, alpha, beta, transA, transB, broadcast=None):
    """`combined(a, b, C, alpha, beta)` of the matrices to be multiplied."""
    reject(A.ndim != 2 or B.ndim != 2, f"A of rank {A.ndim} and B of rank {B.ndim}; allowed: 2")
    a = xp.permute_dims(A, (1, 0)) if transA else A
    b = xp.permute_dims(B, (1, 0)) if transB else B
    shape = a.shape[0], b.shape[1]
    reject(a.shape[1] != b.shape[0], f"A' has rows of {a.shape[1]}, B' columns of {b.shape[0]}")
    if C is not None:
        stretches("C", C, np.broadcast_to(0, shape))
        if broadcast == 0 and C.shape != shape:
            raise InvalidNode(f"C of shape {list(C.shape)} without broadcast; allowed: {shape}")
        if broadcast and C.size != 1 and C.shape not in (shape, shape[1:]):
            leave_open("how C stretches")
    return combined(a, b, C, alpha, beta)


def _times(factor, x):
    if factor == 0 and not xp.isfinite(x).all():
        leave_open("nothing is said of 0 times what is no number, which BLAS leaves out")
    if factor == 1 or x.dtype.kind not in "iu":
        return x if factor == 1 else x * factor
    if factor % 1 or not abs(factor) < 1 << 31:
        raise_unspecified("how multiples become integers")
    return x * np.asarray(int(factor)).astype(x.dtype)


def _terms_scaled(a, b, C, alpha, beta):
    y = _times(alpha, xp.matmul(a, b))
    return y if C is None else y + _times(beta, C)


def _factors_scaled(a, b, C, alpha, beta):
    """As BLAS does: products are added to the scaled C, one after the other."""
    more = None if C is None else _times(beta, C)
    return xp.bilinear(_times(alpha, a), b, xp.plain.matmul, a.shape[1], more)


def _product(of_a, of_b, out, a, b):
    return np.einsum(a, of_a, b, of_b, out, optimize=True)


def _einsum(read, *Inputs, equation):
    """Sums of products, over the letters that the output of `read(equation)` is without."""
    equation, shapes = read(equation).replace(" ", ""), [x.shape for x in Inputs]
    left, arrow, right = equation.partition("->")
    *terms, last = (re.findall(r"\.\.\.|\w", term) for term in (*left.split(","), right))
    ranks = {len(shape) + 1 - len(t) for shape, t in zip(shapes, terms) if "..." in t}  # noqa: B905
    # Each axis has a label: a letter, or one of the ellipsis's.
    dots = [f".{n}" for n in range(max(ranks, default=0))]
    *named, out = (
        [one for word in term for one in (dots if word == "..." else [word])]
        for term in (*terms, last)
    )
    axes = [each for labels, shape in zip(named, shapes) for each in zip(labels, shape)]  # noqa: B905
    every = [label for label, _ in axes]
    lengths = {one: {length for label, length in axes if label == one} for one in every}
    if (
        not re.fullmatch(f"{_TERM}(,{_TERM})*(->{_TERM})?", equation)
        or ([*map(len, named)] != [*map(len, shapes)] or len(ranks) > 1)
        or (not {*out} <= {*every} or any(len(found - {1}) > 1 for found in lengths.values()))
    ):
        raise InvalidNode(f"the equation {equation!r} does not fit the shapes {shapes}")
    letters = {*every} - {*dots}
    out = out if arrow else dots + sorted(one for one in letters if every.count(one) == 1)
    wild = len({*out}) < len(out) or not {*dots} <= {*out} or ("..." in last) > len(ranks)
    if wild or any(len(lengths[one]) > 1 for one in letters):
        raise_unspecified("letters of 1 and more, or twice in the output")
    inner = [one for one in lengths if one not in out]
    if len(Inputs) == 1:
        grid = np.ix_(*(range(*lengths[one]) for one in (*out, *inner)))
        y = Inputs[0][tuple(grid[[*out, *inner].index(one)] for one in named[0])]
        return xp.sum(y, axis=tuple(range(len(out), len(grid)))) if inner else y
    *of_x, of_out = ([*map([*lengths].index, labels)] for labels in (*named, out))
    y, of_y = Inputs[0], of_x[0]
    for n, x in enumerate(Inputs[1:], 1):
        ends = n == len(Inputs) - 1
        kept = of_out if ends else [*dict.fromkeys(of_y + of_x[n])]
        count = prod(prod(lengths[one]) for one in inner) if ends else 1
        y, of_y = xp.bilinear(y, x, partial(_product, of_y, of_x[n], kept), count), kept
    return y


#: The function of each operator, and the step of it in which formulations differ.
_STEPS = {
    "MatMul": (_matmul, xp.matmul),
    "Gemm": (_gemm, _terms_scaled, _factors_scaled),
    "Einsum": (_einsum, str),
}
OPS = family({n: (*(partial(made, s) for s in steps),) for n, (made, *steps) in _STEPS.items()})


def with_step(name, step):
    formulas, form = OPS[name].formulas.items(), _STEPS[name][0]
    return {since: wraps(formula)(partial(form, step)) for since, formula in formulas}


def _of_first(x):
    return xp.broadcast_to(x[(slice(0, 1),) * (x.ndim - 2)], x.shape)


#: Wrong steps, by operator.
_MUTANTS: dict[str, dict[str, tuple[str, Any]]] = {
    "MatMul": {
        f"first_matrix_of_{x}": (f"{x}'s first matrix served for all of it", step)
        for x, step in (
            ("a", lambda a, b: xp.matmul(_of_first(a), b)),
            ("b", lambda a, b: xp.matmul(a, _of_first(b))),
        )
    },
    "Gemm": {
        "alpha_and_beta_exchanged": (
            "alpha and beta were exchanged",
            lambda a, b, C, alpha, beta: _terms_scaled(a, b, C, beta, alpha),
        ),
        "alpha_of_all": (
            "alpha multiplied C too",
            lambda a, b, C, alpha, beta: _times(alpha, _terms_scaled(a, b, C, 1, beta)),
        ),
        "vector_is_a_column": (
            "a vector C was a column where there are as many rows",
            lambda a, b, C, *scales: _terms_scaled(
                a,
                b,
                xp.expand_dims(C, axis=1) if C is not None and C.shape == a.shape[:1] else C,
                *scales,
            ),
        ),
    },
    "Einsum": {
        "letters_of_one_case": ("capital letters were taken for small ones", str.lower),
        "output_always_implicit": ("the output's term was ignored", lambda e: e.partition("->")[0]),
        "small_letters_first": ("small letters came before capital ones", str.swapcase),
        "letters_not_sorted": (
            "letters of an implicit output came in order of appearance",
            lambda e: e.translate(
                {ord(c): 97 + n for n, c in enumerate(dict.fromkeys(filter(str.isalpha, e)))}
            ),
        ),
    },
}
for _name, _table in _MUTANTS.items():
    OPS[_name].mutant_table(_table, build=partial(with_step, _name))


# Det: determinants of square matrices.
@formula_builder(11, 22, options=["finish"])
def of_matrices(determinants, X, *, finish=lambda y: y):
    """The formulas of both versions, from `determinants(X)` of matrices of 2×2 or more."""
    reject(X.ndim < 2 or X.shape[-1] != X.shape[-2], f"{list(X.shape)} are no square matrices")
    n = X.shape[-1]
    if not n or (n > 1 and not xp.isfinite(X).all()):
        raise_unspecified("matrices of nothing, of infinity or NaN")
    return finish(X[..., 0, 0] if n == 1 else xp.astype(determinants(X), X.dtype))


# The value is computed in whole numbers, because elimination loses what a singular matrix is about.
@DET.formula(build=of_matrices)
def eliminated(X):
    """The determinants, as near as the elimination with pivots gets in an arithmetic."""
    values = xp.values_of(X)
    *outer, n, _ = values.shape
    top = np.frexp(np.abs(values).max(axis=(-2, -1), initial=0))[1]
    scaled = np.ldexp(values, -top[..., None, None])
    found = [(*exact(a), *room(a)) for a in scaled.reshape(-1, n, n)]
    parts = np.array(found, np.float64).reshape(*outer, 5)
    with np.errstate(over="ignore"):
        parts = np.ldexp(parts, n * top[..., None])
    parts[..., 1:] = np.where(np.isinf(parts[..., :1]), 0, np.minimum(parts[..., 1:], 1e300))
    high, middle, low, most = (xp.astype(parts[..., k], np.float64) for k in range(4))
    return high + (middle + low) + (xp.inexact(most, 1, parts[..., 4]) - most)


def exact(a):
    """Three numbers that add up to the determinant, by Bareiss's elimination."""
    mantissas, exponents = np.frexp(a)
    least, sign, last = int(exponents.min()), 1, 1
    whole = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    whole = whole << (exponents - least).astype(object)
    for k in range(len(a) - 1):
        pivots = np.flatnonzero(whole[k:, k])
        if not pivots.size:
            return 0.0, 0.0, 0.0
        if pivots[0]:
            whole[[k, k + pivots[0]]], sign = whole[[k + pivots[0], k]], -sign
        pivot, rest = whole[k, k], whole[k + 1 :, k + 1 :]
        rest[...] = (rest * pivot - np.outer(whole[k + 1 :, k], whole[k, k + 1 :])) // last
        last = pivot
    rest, exponent, found = sign * whole[-1, -1], len(a) * (least - 53), []
    shift = max(0, rest.bit_length() - 1000)
    rest, exponent = rest >> shift, exponent + shift
    for _ in range(3):
        found.append(float(rest))
        rest -= int(found[-1])
    return tuple(np.ldexp(found, exponent))


def triangles(a, exchanged=True):
    """The order of rows, L and U of an elimination, with rows `exchanged` for larger pivots."""
    u, rows, lower = a.copy(), np.arange(len(a)), np.zeros_like(a)
    for k in range(len(u)):
        pivot = k + (np.abs(u[k:, k]).argmax() if exchanged else 0)
        for one in (u, rows, lower):
            one[[k, pivot]] = one[[pivot, k]]
        lower[k:, k] = u[k:, k] / (u[k, k] or 1.0)
        lower[k, k] = 1
        u[k + 1 :, k:] -= np.outer(lower[k + 1 :, k], u[k, k:])
    return rows, lower, u


def room(a):
    """The largest error of an elimination, and its standard deviation, in unit roundoffs.

    Elimination is right of a matrix nearby: A + E = LU with |E| ≤ n·u·|L||U|. To first order each
    element of E moves a determinant by its cofactor, and to others by products of singular values.
    """
    n = len(a)
    left, sizes, right = np.linalg.svd(a)
    others = np.prod(np.where(np.eye(n), 1, sizes), axis=1)
    cofactors, found = np.abs((left * others) @ right), []
    for x, factors in (a, cofactors), (a.T, cofactors.T):
        rows, lower, upper = triangles(x)
        spread = 2 * (lower**2 @ upper**2) * factors[rows] ** 2
        found.append(
            (
                np.sum(factors[rows] * (near := np.abs(lower) @ np.abs(upper))),
                np.linalg.norm(near),
                np.sqrt(spread.sum()),
            )
        )
    first, moved, deviation = np.max(found, axis=0) * [n, n, 1]
    moved *= 2.0**-24
    rest = np.poly(-sizes)[::-1][2:] @ moved ** np.arange(2, n + 1)
    return first + rest * 2.0**24 + n * np.prod(sizes), deviation + np.prod(sizes)


DET.alternative(
    "where determinants are exponentials of sums of logarithms",
    build=partial(of_matrices, finish=lambda y: xp.sign(y) * xp.exp(xp.log(xp.abs(y)))),
)(eliminated)


# Kernels of small matrices have the formula, which is not as near to singular matrices.
@DET.alternative("", build=of_matrices)
def by_minors(X):
    n = X.shape[-1]
    if n > 4:
        return eliminated(X)
    if n == 1:
        return X[..., 0, 0]
    others = ([j for j in range(n) if j != k] for k in range(n))
    minors = (by_minors(xp.take(X[..., 1:, :], columns, axis=-1)) for columns in others)
    terms = [(-1) ** k * (X[..., 0, k] * minor) for k, minor in enumerate(minors)]
    return reduce(lambda a, b: a + b, terms)


DET.mutant_table(
    {
        "sign_lost": ("determinants were positive", lambda x: abs(np.linalg.det(x))),
        "exchanges_not_counted": (
            "the sign did not turn where rows were exchanged",
            lambda x: np.prod(np.diagonal(triangles(x)[2])),
        ),
        "no_exchanges": (
            "a pivot of 0 was the end",
            lambda x: np.prod(np.diagonal(triangles(x, exchanged=False)[2])),
        ),
        "diagonal_product": (
            "the product of the diagonal was taken",
            lambda x: np.prod(np.diag(x)),
        ),
    },
    build=lambda change: of_matrices(
        lambda X: np.array(
            [change(x) for x in X.astype(np.float64).reshape(-1, *X.shape[-2:])]
        ).reshape(X.shape[:-2])
    ),
)


# Reductions, and scans.
def _log_sum_exp(x, **over):
    return xp.log(xp.sum(xp.exp(x), **over))


def _stable_log_sum_exp(x, **over):
    if not all(x.shape[axis] for axis in over["axis"]):
        return _log_sum_exp(x, **over)
    top = xp.max(x, axis=over["axis"], keepdims=True)
    rest = _log_sum_exp(x - xp.where(xp.isfinite(top), top, xp.zeros_like(top)), **over)
    return rest + xp.reshape(top, rest.shape)


def _power_norm(x, **over):
    """By a power, or a library's root, which need not be rounded rightly."""
    total = xp.sum(x * x, **over)
    return xp.sqrt(total) if x.dtype.kind in "iu" else xp.pow(total, 0.5)


def _mean(x, **over):
    """Of integers only where all agree: no text says how it is rounded, or summed out of range."""
    if x.dtype.kind not in "iu":
        return xp.mean(x, **over)
    total, size = np.sum(x, **over), np.abs(np.sum(x, **over, dtype=np.float64))
    n = x.size // max(1, total.size)
    if (total.size and not n) or (total % max(n, 1)).any() or (size >= np.iinfo(x.dtype).max).any():
        raise_unspecified("means that are no integers, or of sums out of range")
    return total // max(n, 1)


def _extreme(choose, sign, x, *, axis, keepdims):
    """The extreme element; of none the other end of the type's range, and for floats infinity."""
    if not all(x.shape[a] for a in axis):
        whole = x.dtype.kind in "iub"
        ends = dtypes.limits(sure(dtypes.of(x))) if whole else (-np.inf, np.inf)
        shape = [1 if a in axis else n for a, n in enumerate(x.shape)]
        x = xp.astype(np.full(shape, ends[sign > 0]), x.dtype)
    return choose(x, axis=axis, keepdims=keepdims)


#: The reductions of the elements along the axes, by operator; after the text's others as honest.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "ReduceL1": (lambda x, **over: xp.sum(xp.abs(x), **over),),
    "ReduceL2": (lambda x, **over: xp.sqrt(xp.sum(x * x, **over)), _power_norm),
    "ReduceLogSum": (lambda x, **over: xp.log(xp.sum(x, **over)),),
    "ReduceLogSumExp": (_log_sum_exp, _stable_log_sum_exp),
    "ReduceMax": (partial(_extreme, xp.max, -1),),
    "ReduceMean": (_mean,),
    "ReduceMin": (partial(_extreme, xp.min, 1),),
    "ReduceProd": (xp.prod,),
    "ReduceSum": (xp.sum,),
    "ReduceSumSquare": (lambda x, **over: xp.sum(x * x, **over),),
}


def _reduced(schema, function, data, axes=None, *, keepdims, noop_with_empty_axes=0):
    x, noop = data, noop_with_empty_axes
    stated = () if axes is None else listed("axes", axes)
    along = distinct(stated, x.ndim) or (() if noop else tuple(range(x.ndim)))
    whole = x if along else xp.expand_dims(x, axis=0)
    made = function(whole, axis=along or (0,), keepdims=bool(along and keepdims))
    if not {keepdims, noop} <= {0, 1}:
        leave_open("nothing is said of flags other than 0 and 1")
    negative = schema.op.since == 1 and min(stated, default=0) < 0
    if negative or ("axes" in schema.attributes and axes == ()):
        leave_open("nothing is said of negative axes in version 1, nor of an empty list of them")
    said = "set of values yields" in schema.doc and schema.op.name != "ReduceMean"
    if made.size and not (said or all(x.shape[axis] for axis in along)):
        leave_open("nothing is said of what is made of no values")
    if x.dtype.kind in "iu" and made.dtype.kind == "f":
        if (made if "Log" in schema.op.name else made % 1).any():
            raise_unspecified("how reals become integers")
        made = made.astype(x.dtype)
    return made


def _by_schema(name, function):
    return {
        since: with_parameters(partial(_reduced, schema, function), schema, schema.attributes)
        for since, schema in opset.versions("", name).items()
    }


def _along_others(name, function, change):
    """The formulas that have axes as an input, with a `change` made to them."""

    def changed(x, *, axis, keepdims):
        return function(x, axis=change(axis, x.ndim), keepdims=keepdims)

    schemas = opset.versions("", name)
    made = _by_schema(name, changed).items()
    return {since: one for since, one in made if "axes" not in schemas[since].attributes}


for _name, _functions in FUNCTIONS.items():
    # Types in which logarithms are seldom whole numbers.
    _none = ("int32", "int64", "uint32", "uint64") if "Log" in _name else ()
    _made = operator(_name, exact=_name in ("ReduceMax", "ReduceMin"), constant=_none)
    _made.formula_and_alternatives(partial(_by_schema, _name), *_functions)
    _made.mutant_table(
        {
            "first_of_the_axes_alone": (
                "only the first of several axes was reduced",
                lambda axes, r: axes[:1],
            ),
            "next_axis_reduced": (
                "the axis after each right one was reduced",
                lambda axes, r: tuple((axis + 1) % r for axis in axes),
            ),
        },
        build=partial(_along_others, _name, _functions[0]),
    )


def _along(scan, x, axis, *, exclusive, reverse):
    """The formula of all versions, from `scan(x, axis, exclusive, reverse)`."""
    place = from_either_end(scalar("axis", axis), x.ndim)
    if not {exclusive, reverse} <= {0, 1}:
        leave_open("nothing is said of flags other than 0 and 1")
    return scan(x, place, exclusive, reverse)


def _scan(accumulate, start, x, axis, exclusive, reverse):
    """From the last element on if `reverse`; an `exclusive` scan begins at `start`."""
    y = accumulate(xp.flip(x, axis=axis) if reverse else x, axis=axis)
    if exclusive and y.size:
        first, others = (xp.take(y, np.arange(n), axis=axis) for n in (1, y.shape[axis] - 1))
        y = xp.concat([xp.full_like(first, start), others], axis=axis)
    return xp.flip(y, axis=axis) if reverse else y


def _in_blocks(width, scan, less, x, axis, exclusive, reverse):
    ends = range(x.shape[axis] % width if reverse else width, x.shape[axis], width)
    parts = (scan(part, axis, exclusive, reverse) for part in np.split(x, ends, axis))
    return np.concatenate([*parts], axis)


def _difference(scan, less, x, axis, exclusive, reverse):
    y = scan(x, axis, 0, 0)
    if reverse and y.size:
        y = less(np.take(y, [-1], axis), scan(x, axis, 1, 0))
    return less(y, x) if exclusive else y


#: Mutants: a text, the function, and its dtypes if not all.
_WRONG: dict[str, tuple[Any, ...]] = {
    **{
        f"starts_anew_after_{width}": (
            f"the scan started anew after each {width} elements",
            partial(_in_blocks, width),
        )
        for width in (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    },
    "flattened": (
        "the whole tensor was scanned, in the order of memory",
        lambda scan, less, x, axis, *how: scan(x.reshape(-1), 0, *how).reshape(x.shape),
    ),
    "first_axis_always": (
        "the first axis was taken",
        lambda scan, less, x, axis, *how: scan(x, 0, *how),
    ),
    "last_axis_always": (
        "the last axis was taken",
        lambda scan, less, x, axis, *how: scan(x, x.ndim - 1, *how),
    ),
    "exclusive_from_the_front": (
        "what is exclusive was moved to the back in reverse too",
        lambda scan, less, x, axis, *how: (
            scan(x, axis, *how)
            if 0 in how
            else np.delete(np.insert(scan(x, axis, 0, 1), 0, scan.args[1], axis), -1, axis)
        ),
    ),
    "by_difference": ("what is left out was taken away from a scan of more", _difference, *FLOATS),
    **{
        f"scanned_in_{np.dtype(kind).name}": (
            f"the scan was kept in {np.dtype(kind).name}",
            lambda scan, less, x, *how, kind=kind: scan(x.astype(kind), *how).astype(x.dtype),
            *only,
        )
        for kind, *only in (
            (np.float32, *DOUBLE),
            (np.float16, *BEYOND_FLOAT16),
            (ml_dtypes.bfloat16, "float16", *LONG),
        )
    },
}

for _name, _accumulate, _start, _less in (
    ("CumProd", xp.cumulative_prod, 1, np.divide),
    ("CumSum", xp.cumulative_sum, 0, np.subtract),
):
    _made, _right = operator(_name), partial(_scan, _accumulate, _start)
    _all = formula_builder(*opset.versions("", _name))(_along)
    _made.formula(build=_all)(_right)
    _made.mutant_table(
        _WRONG, build=lambda way, of=_all, how=(_right, _less): of(partial(way, *how))
    )
