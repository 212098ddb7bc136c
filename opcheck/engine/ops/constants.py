"""Constant, ConstantOfShape, EyeLike and Range: tensors made from attributes, sizes and scalars.

The texts under their own symbols, all versions:

- Constant: the one attribute that the node has;
- ConstantOfShape: a tensor of the shape `input` that holds `value` everywhere;
- EyeLike: "ones on the diagonal and zeros everywhere else"; T2[i, i+k] = 1;
- Range: output[i] = start + (i * delta), for 0 <= i < ceil((limit - start) / delta).
"""

import math
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import check_size, listed
from opcheck.engine.operators import formulas_of_versions, operator, raise_unspecified
from opcheck.errors import NotSupported, decline, reject
from opcheck.numbers import Array

NAMES = """Constant ConstantOfShape EyeLike Range"""


# ── Constant ──────────────────────────────────────────────────────────────────────────────────

CONSTANT = operator("Constant", exact=True)
#: The versions whose value may be a number, a text or a list of them.
OF_ANY_KIND = (11, 12, 13, 19, 21, 23, 24, 25)
#: The element type of a value that is not a tensor.
TYPES_OF_VALUES: Mapping[str, Any] = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": object,
    "value_strings": object,
}


@CONSTANT.formula(1, 9)
def constant(*, value: Array) -> Array:
    """Return `value`, "the value for the elements of the output tensor", as it is."""
    return value


@CONSTANT.formula(*OF_ANY_KIND)
def constant_of_any_kind(**values: Any) -> Array:
    """Return the one value that is given: "Exactly one of the provided attributes … will be used".

    values: every attribute of the schema by name, None if it is not stated. A tensor is returned as
    it is; a number or a text has rank 0, a list rank 1, also if it is empty. Floats become float32,
    integers int64, texts objects. Raises InvalidNode for no value and for several, NotSupported for
    a sparse tensor.
    """
    decline(values["sparse_value"] is not None, "opcheck has no sparse tensors")
    given = {name: value for name, value in values.items() if value is not None}
    reject(len(given) != 1, f"{len(given)} values; allowed: exactly one")
    ((name, value),) = given.items()
    return value if name == "value" else np.array(value, TYPES_OF_VALUES[name])


@CONSTANT.mutant("a missing value was taken for 0", *OF_ANY_KIND, of_validity=True)
def nothing_is_zero(**values: Any) -> Array:
    """Mutant: without any value the output is one zero.

    Raises InvalidNode for several values, NotSupported for a sparse tensor.
    """
    if all(value is None for value in values.values()):
        return np.zeros(1, np.float32)
    return constant_of_any_kind(**values)


# ── ConstantOfShape ───────────────────────────────────────────────────────────────────────────

CONSTANT_OF_SHAPE = operator("ConstantOfShape", exact=True)


@CONSTANT_OF_SHAPE.formula(9, 20, 21, 23, 24, 25)
def constant_of_shape(input: Array, *, value: Array) -> Array:
    """Return a tensor of the shape `input` filled with `value`, by default with 0.0 of float32.

    input: a list of sizes; empty for a scalar. value: "a one-element tensor" of any rank, or None.

    Raises InvalidNode for an `input` of another rank than 1, for a `value` of no or several
    elements, and for a negative size; NotSupported for more than 64 axes, MemoryError for more than
    2^28 elements.
    """
    sizes = listed("input", input)
    reject(any(size < 0 for size in sizes), f"shape {sizes} has negative sizes")
    fill = np.zeros(1, np.float32) if value is None else value
    reject(fill.size != 1, f"value holds {fill.size} elements; allowed: one")
    check_size(sizes)
    return np.full(sizes, fill.reshape(-1)[0], fill.dtype)


@CONSTANT_OF_SHAPE.mutant(
    "sizes with any number of axes were taken for a list",
    name="sizes_of_any_rank",
    of_validity=True,
)
def sizes_of_any_rank(input: Array, *, value: Array) -> Array:
    """Mutant: sizes with any number of axes are a list.

    Raises InvalidNode for a `value` of no or several elements, and for a negative size;
    NotSupported for more than 64 axes, MemoryError for more than 2^28 elements.
    """
    return constant_of_shape(np.reshape(input, -1), value=value)


# ── EyeLike ───────────────────────────────────────────────────────────────────────────────────

EYE_LIKE = operator("EyeLike", exact=True, of_shapes=True)


@EYE_LIKE.formula(9, 22)
def eye_like(input: Array, *, dtype: int | None, k: int) -> Array:
    """Return a matrix of the shape of `input` with ones where the column is the row plus `k`.

    A `k` below 0 is a diagonal below the main one. Without such places it is all zeros. dtype: an
    ONNX code; None: "If 'dtype' is not specified, then the type of input tensor is used." Raises
    InvalidNode unless the input is a matrix: "input T1 must be of rank 2".
    """
    reject(input.ndim != 2, f"input of rank {input.ndim}; allowed: 2")
    named = dtypes.of(np.empty(0, input.dtype)) if dtype is None else dtypes.named(dtype)
    assert named
    return np.eye(input.shape[0], input.shape[1], k, named.numpy)


# ── Range ─────────────────────────────────────────────────────────────────────────────────────

RANGE = operator("Range", of_scalars=("int16", "int32", "int64"))
#: From the start, the delta, and how many numbers there are, to the numbers.
Steps: TypeAlias = Callable[[Array, Array, int], Array]
#: Quotients this close to a whole number, relatively, may be rounded to its other side.
CLOSE_TO_WHOLE = Fraction(1, 1 << 10)


def count_of_integers(start: int, limit: int, delta: int) -> int:
    """Return max(ceil((limit - start) / delta), 0).

    Raises NotSupported for a delta of 0, MemoryError for more than 2^28 numbers.
    """
    if not delta:
        raise_unspecified("a delta of 0")
    count = max(0, -((start - limit) // delta))
    check_size((count,))
    return count


def count_of_floats(start: Array, limit: Array, delta: Array) -> int:
    """Return max(ceil((limit - start) / delta), 0) of floats, of rank 0.

    Raises NotSupported for NaN, infinity, a delta of 0, and ends further apart than float64
    reaches. So it does for a quotient within 1/1024 of a whole number, relatively, as its rounding
    may decide the count, unless it is whole, and the difference and the step are float32 numbers.
    Raises MemoryError for more than 2^28 numbers.
    """
    ends = [float(xp.values_of(x)) for x in (start, limit, delta)]
    if not all(map(math.isfinite, ends)) or not ends[2]:
        raise_unspecified("such ends and steps")
    first, last, step = map(Fraction, ends)
    if abs(last - first) > sys.float_info.max:
        raise_unspecified("ends that are further apart than float64 reaches")
    exact = (last - first) / step
    # The function body casts the difference and the step to float32, and divides them there.
    operands = [last - first, step]
    with np.errstate(over="ignore"):
        in_float32 = [float(np.float32(float(operand))) for operand in operands]
    is_whole_in_float32 = exact == round(exact) and operands == in_float32
    is_close_to_whole = abs(exact - round(exact)) <= abs(exact) * CLOSE_TO_WHOLE
    if is_close_to_whole and not is_whole_in_float32:
        raise NotSupported("how many numbers there are depends on how their quotient is rounded")
    count = max(0, math.ceil(exact))
    check_size((count,))
    return count


def range_of_integers(start: Array, limit: Array, delta: Array) -> Array:
    """Return start + i * delta in integers, in the type of `start`.

    They are computed modulo 2^64, so that none of the steps overflows. Raises NotSupported for a
    delta of 0, MemoryError for more than 2^28 numbers.
    """
    count = count_of_integers(int(start), int(limit), int(delta))
    first = np.uint64(int(start) % (1 << 64))  # two's complement
    step = np.uint64(int(delta) % (1 << 64))
    return (first + np.arange(count, dtype=np.uint64) * step).astype(start.dtype)


@formulas_of_versions(11, 27)
def range_by(
    steps: Steps, start: Array, limit: Array, delta: Array, *, stash_type: int = 1
) -> Array:
    """Return the numbers from `start` on, before `limit`, by `steps` if they are floats.

    start, limit, delta: scalars of one type, which is that of the result. Where `delta` leads away
    from `limit` there are none. Numbers of 16 bits are computed in float32, which is the only
    `stash_type` (1) defined for them.

    Raises InvalidNode for operands of rank 1 or more. Raises NotSupported for a delta of 0; for
    floats also for NaN, infinity, another stash_type in 16 bits, and where rounding decides how
    many numbers there are. Raises MemoryError for more than 2^28 numbers.
    """
    reject(any(x.ndim for x in (start, limit, delta)), "start, limit and delta are scalars")
    if start.dtype.kind in "iu":
        return range_of_integers(start, limit, delta)
    own = start.dtype
    decline(stash_type != 1 and own.itemsize == 2, f"stash_type {stash_type}")
    count = count_of_floats(start, limit, delta)
    if own.itemsize == 2:
        start = xp.astype(start, np.float32, computes=True)
        delta = xp.astype(delta, np.float32, computes=True)
    return xp.astype(steps(start, delta, count), own)


@RANGE.formula(build=range_by)
def by_products(start: Array, delta: Array, count: int) -> Array:
    """Return start + i * delta for i below `count`: a vector, empty for a count of 0."""
    return start + xp.astype(np.arange(count), start.dtype) * delta


@RANGE.alternative("", build=range_by)
def by_running_sums(start: Array, delta: Array, count: int) -> Array:
    """Return the running sums of start, delta, delta and so on, as the function body does.

    There are `count` of them, which may be 0.
    """
    if not count:
        return by_products(start, delta, count)
    steps = xp.broadcast_to(xp.reshape(delta, (1,)), (count - 1,))
    return xp.cumulative_sum(xp.concat([xp.reshape(start, (1,)), steps], axis=0), axis=0)
