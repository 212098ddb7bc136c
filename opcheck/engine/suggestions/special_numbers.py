"""Rules about numbers that hardware treats in its own way: subnormals, infinities and NaN."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DType, are_subnormal
from opcheck.engine.suggestions import (
    Masks,
    Subject,
    are_alike,
    are_one_of,
    are_small,
    real,
)
from opcheck.model import Array
from opcheck.numbers.plain import axes_of

#: The version of Floor and Ceil that mentions infinities and NaN.
_SPECIAL_NUMBERS_ARE_STATED = 13
#: The version of PRelu from which on slopes broadcast to the numbers.
_SLOPES_BROADCAST = 7
#: Integers up to this are exact in float64.
_EXACT_IN_FLOAT64 = 2**53
#: A function of the library may be off by so many half ULP where a suggestion admits its value.
_HALF_ULP_OF_A_LIBRARY = 16
#: What flushing makes of a number is computed in the tensors' own types, which errs: so many half
#: ULP are allowed, of a sum or a power too.
_HALF_ULP_OF_FLUSHED = 64
#: A power of integers that is computed in float32 is off by this part at most.
_OF_POWERS_IN_FLOAT32 = 2.0**-16
#: Operators that overflow in one step, whose sign is sure. Others add up: ∞ - ∞ is NaN, and where
#: the sum of some terms overflows first, the sign is theirs.
_OF_ONE_STEP = ("Add", "Sub", "Mul", "Pow", "PRelu", "SwiGLU")
#: Operators that take many steps, of which the sign is sure: norms, and products. NaN may come of a
#: compensated sum, and of an infinite partial product next to one that is 0.
_OF_SURE_SIGN = ("GlobalLpPool", "LpPool", "ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare")
#: Sums of the inputs' numbers, and of their products, with no other factor. Of inputs without a
#: negative number their sign is sure, too.
_SUMS = ("Col2Im", "ReduceSum", "Sum")
_SUMS_OF_PRODUCTS = ("Conv", "ConvTranspose", "Einsum", "MatMul")


def of_subnormals(subject: Subject) -> Masks | None:
    """Cover what is subnormal, and what changes where subnormal inputs are read as zeros."""
    masks = subject.each(are_subnormal)
    if _has_subnormal_inputs(subject):
        flushed = subject.flushed
        changed = subject.all() if flushed is None else map(_difference, subject.outputs, flushed)
        masks = tuple(mask | more for mask, more in zip(masks, changed, strict=True))
    return masks


def of_shapes_by_subnormals(subject: Subject) -> Masks | None:
    """Cover nodes whose outputs get other shapes where subnormal inputs are read as zeros."""
    if not _has_subnormal_inputs(subject):
        return None
    flushed = subject.flushed
    is_same = flushed is not None and all(
        np.shape(before) == np.shape(after)
        for before, after in zip(subject.outputs, flushed, strict=True)
    )
    return None if is_same else subject.all()


def admits_flushed(subject: Subject, place: int, output: Array) -> Array:
    """Admit what is at most the smallest normal number, where the right number is subnormal.

    Where subnormal inputs that are read as zeros decide the number, admit the number that they give
    as zeros, which may be an infinity or NaN, and in place of a subnormal one any other as small.
    """
    admitted = are_small(output) & are_small(subject.outputs[place])
    flushed = subject.flushed
    if not _has_subnormal_inputs(subject) or flushed is None:
        return admitted
    if np.shape(flushed[place]) != output.shape:
        return admitted
    as_zeros = _are_near(output, flushed[place])
    return np.asarray(admitted | as_zeros | (are_small(output) & are_small(flushed[place])))


def accepts_flushed(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept the outputs where subnormal inputs are read as zeros; see `of_shapes_by_subnormals`.

    If these make the node illegal, no other answer is accepted.
    """
    flushed = subject.flushed
    return flushed is not None and are_one_of(outputs, [flushed])


def _has_subnormal_inputs(subject: Subject) -> bool:
    """Return True if an input has a subnormal number."""
    return any(are_subnormal(x).any() for x in subject.floats)


def _are_near(output: Array, values: Array) -> Array:
    """Return a mask of elements that are alike, or differ as a computation in their type may."""
    dtype = dtypes.of(output)
    if dtype is None or dtype.kind != "float":
        return are_alike(output, values)
    return are_alike(output, values) | _is_at(
        real(output), real(values), dtype, _HALF_ULP_OF_FLUSHED
    )


def _is_at(got: Array, value: Array, dtype: DType, allowed: int = _HALF_ULP_OF_A_LIBRARY) -> Array:
    """Return a mask of numbers that differ from `value` by so many half ULP at most."""
    value = np.asarray(value, np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(got - value)
    return np.asarray((got == value) | (error <= allowed * dtypes.half_ulp(value, dtype)))


def _type_of(output: Array) -> DType:
    """Return the dtype of an output of numbers."""
    dtype = dtypes.of(output)
    assert dtype
    return dtype


def _is_beyond(got: Array, dtype: DType, sign: Array | None = None) -> Array:
    """Return a mask of infinities and largest numbers of a type, of a sign if one is given."""
    is_beyond = np.abs(got) >= dtypes.limits(dtype)[1]
    return np.asarray(is_beyond if sign is None else is_beyond & (np.sign(got) == sign))


def _difference(before: Array, after: Array) -> Array:
    """Return a mask of the elements of an output that differ; all, if the shapes do."""
    if np.shape(before) != np.shape(after):
        return np.ones(np.shape(before), bool)
    if before.dtype.hasobject:
        return np.asarray(before != after, bool)
    with np.errstate(invalid="ignore"):
        a, b = real(before), real(after)
        return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))


def of_overflow(subject: Subject) -> Masks | None:
    """Cover infinities of an output where no input has one."""
    if any(np.isinf(real(x)).any() for x in subject.floats):
        return None
    return subject.each(lambda y: np.isinf(real(y)))


def admits_beyond_the_range(subject: Subject, place: int, output: Array) -> Array:
    """Admit the infinity or the largest number of the right sign; of sums also NaN and the other.

    Of norms, products and sums whose terms have one sign, admit NaN too, and not the other sign.
    The right number itself needs no admission: it is the exact one, in a wider type too.
    """
    got, dtype = real(output), _type_of(output)
    if subject.name in _OF_ONE_STEP:
        return _is_beyond(got, dtype, np.sign(real(subject.outputs[place])))
    if subject.name in _OF_SURE_SIGN or _adds_one_sign(subject):
        sign = np.sign(real(subject.outputs[place]))
        return np.isnan(got) | _is_beyond(got, dtype, sign)
    return np.isnan(got) | _is_beyond(got, dtype)


def _adds_one_sign(subject: Subject) -> bool:
    """Return True for a sum whose terms all have one sign, or are 0."""
    if subject.name not in (*_SUMS, *_SUMS_OF_PRODUCTS):
        return False
    numbers = [real(x) for x in subject.floats]
    if all((x >= 0).all() for x in numbers):
        return True
    return subject.name in _SUMS and all((x <= 0).all() for x in numbers)


def of_undefined_values(subject: Subject) -> Masks | None:
    """Cover NaN and infinities that a function of one number makes of a number or an infinity.

    An infinity that it makes of an infinity is its limit.
    """
    [x] = map(real, subject.node.given)
    y = real(subject.outputs[0])
    is_limit = np.isinf(x) & np.isinf(y)
    return (np.asarray(~np.isfinite(y) & ~np.isnan(x) & ~is_limit),)


#: Where a function of one number has no value, the values at the numbers next to it that have one.
_AT_THE_NEAREST_NUMBER: Mapping[str, Callable[[Array, DType], Sequence[Array]]] = {
    "acos": lambda x, _: [np.arccos(np.clip(x, -1, 1))],
    "acosh": lambda x, _: [np.zeros_like(x)],
    "asin": lambda x, _: [np.arcsin(np.clip(x, -1, 1))],
    "atanh": lambda x, dtype: [_end_of_atanh(x, dtype)],
    "log": lambda x, dtype: [
        np.full_like(x, np.log(dtype.smallest_normal)),
        np.full_like(x, dtype.min_exponent * np.log(2)),
    ],
}
#: The sign of the infinity that a function goes to, where it has no value.
_SIGN_OF_THE_LIMIT: Mapping[str, Callable[[Array], Array]] = {
    "atanh": np.sign,
    "log": lambda x: np.full_like(x, -1.0),
}


def _end_of_atanh(x: Array, dtype: DType) -> Array:
    """Return the inverse hyperbolic tangent of the largest number below 1, with the sign of x."""
    below_1 = 1 - float(dtypes.half_ulp(np.ones(()), dtype))
    return np.asarray(np.copysign(np.arctanh(below_1), x))


def admits_limits(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN, the limit, the largest number in its place, and the value at the nearest number.

    Of sines and cosines of an infinity that is any number within [-1, 1], and of tangents any at
    all, for each is the tangent of some large number. A reciprocal of 0 may lose the sign of 0.
    """
    [x] = map(real, subject.node.given)
    got, dtype = real(output), _type_of(output)
    name = subject.name.rpartition("_")[2].lower()
    if name == "tan":
        return np.ones(output.shape, bool)
    admitted = np.isnan(got)
    if name in ("sin", "cos"):
        return admitted | (np.abs(got) <= 1)
    if name in ("recip", "reciprocal"):
        is_of_zero = x == 0
        has_sign = np.sign(got) == np.sign(x)
        is_limit = _is_beyond(got, dtype) & (is_of_zero | has_sign)
        return np.asarray(is_limit | admitted & is_of_zero)
    for value in _AT_THE_NEAREST_NUMBER[name](x, dtype):
        admitted |= _is_at(got, value, dtype)
    sign = _SIGN_OF_THE_LIMIT.get(name)
    return admitted if sign is None else np.asarray(admitted | _is_beyond(got, dtype, sign(x)))


def of_undefined_quotients(subject: Subject) -> Masks | None:
    """Cover NaN and infinities of outputs where all inputs are finite."""
    if not all(np.isfinite(real(x)).all() for x in subject.floats):
        return None
    return subject.each(lambda y: ~np.isfinite(real(y)))


def admits_quotients(subject: Subject, place: int, output: Array) -> Array:
    """Admit infinities and largest numbers in place of a quotient, and NaN for a division by 0.

    Of 0 / 0 also 0. The sign is that of the quotient, if the divisor is not 0, which may lose its
    sign. Of a remainder by 0 admit NaN, 0 and the dividend.
    """
    x, y = np.broadcast_arrays(*_operands(subject))
    got, dtype = real(output), _type_of(output)
    by_zero = y == 0
    if subject.name == "Mod":
        return np.asarray(np.isnan(got) | (got == 0) | (got == x))
    has_sign = np.sign(got) == np.sign(x) * np.sign(y)
    is_quotient = _is_beyond(got, dtype) & (x != 0) & (by_zero | has_sign)
    return np.asarray(is_quotient | by_zero & (np.isnan(got) | (x == 0) & (got == 0)))


def of_no_shares(subject: Subject) -> Masks | None:
    """Cover NaN where no input is NaN or positive infinity: 0 divided by 0, log of less than 0."""
    if any((np.isnan(real(x)) | (real(x) == np.inf)).any() for x in subject.floats):
        return None
    return subject.each(lambda y: np.isnan(real(y)))


def admits_shares(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN; of Softmax 0 and equal shares, and their logarithms; of a mean without weight 0.

    Of a logarithm of a number below 0, admit what `admits_limits` does of Log.
    """
    got, dtype = real(output), _type_of(output)
    admitted = np.isnan(got)
    if subject.name == "NegativeLogLikelihoodLoss":
        return np.asarray(admitted | (got == 0))
    if subject.name == "DML_REDUCE":
        for value in _AT_THE_NEAREST_NUMBER["log"](np.zeros_like(got), dtype):
            admitted |= _is_at(got, value, dtype)
        return np.asarray(admitted | _is_beyond(got, dtype, np.full_like(got, -1.0)))
    x = subject.node.given[0]
    for shares in subject.evaluated(*subject.variants([np.zeros_like(x)])):
        admitted |= _is_at(got, real(shares[place]), dtype)
    if "LOG" in subject.name:
        return np.asarray(admitted | _is_beyond(got, dtype, np.full_like(got, -1.0)))
    return np.asarray(admitted | (got == 0))


def of_nan(subject: Subject) -> Masks | None:
    """Cover NaN in an output."""
    return subject.each(lambda y: np.isnan(real(y)))


def admits_other_elements(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN, and an element of those that are reduced: NaN may have hidden the extreme one.

    Where all are NaN, admit what a comparison begins with too: the infinity, or the largest number,
    of the sign of the other extreme.
    """
    x = real(subject.node.given[0])
    got, dtype = real(output), _type_of(output)
    given = subject.input(1)
    stated = subject.attribute("axes") if given is None else given.tolist()
    is_identity = not stated and subject.attribute("noop_with_empty_axes", 0)
    axes = () if is_identity else axes_of(tuple(stated) if stated else None, x.ndim)
    is_kept = np.isnan(x).all(axis=axes, keepdims=True).reshape(got.shape)
    each = got.reshape([1 if axis in axes else size for axis, size in enumerate(x.shape)])
    is_element = (x == each).any(axis=axes, keepdims=True).reshape(got.shape)
    sign = -1.0 if subject.name == "ReduceMax" else 1.0
    return np.asarray(
        np.isnan(got) | is_element | is_kept & _is_beyond(got, dtype, np.asarray(sign))
    )


def of_infinities(subject: Subject) -> Masks | None:
    """Cover infinities in an output."""
    return subject.each(lambda y: np.isinf(real(y)))


def admits_infinities_and_nan(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN, and the infinity or the largest number of the right sign."""
    got = real(output)
    sign = np.sign(real(subject.outputs[place]))
    return np.isnan(got) | _is_beyond(got, _type_of(output), sign)


def of_nan_inputs(subject: Subject) -> Masks | None:
    """Cover what becomes of NaN, element by element."""
    return (np.isnan(real(subject.node.given[0])),)


def admits_nan_and_0(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN and 0."""
    got = real(output)
    return np.asarray(np.isnan(got) | (got == 0))


def of_special_numbers_before_13(subject: Subject) -> Masks | None:
    """Cover infinities and NaN of versions before 13."""
    if subject.since >= _SPECIAL_NUMBERS_ARE_STATED:
        return None
    return subject.each(lambda y: ~np.isfinite(real(y)))


def admits_integers_of_hardware(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN, the largest number, and what comes of a conversion to integers of 32 or 64 bits.

    A conversion gives an end of the type, and 0 for NaN.
    """
    got, dtype = real(output), _type_of(output)
    right = real(subject.outputs[place])
    ends = [-(2.0**31), 2.0**31 - 1, 2.0**31, -(2.0**63), 2.0**63]
    with np.errstate(over="ignore"):
        in_type = [real(np.asarray(end).astype(dtype.numpy)) for end in ends]
    is_end = np.isin(got, in_type)
    has_sign = np.isnan(right) | (np.sign(got) == np.sign(right)) | (got < 0)
    is_zero_of_nan = np.isnan(right) & (got == 0)
    is_beyond = _is_beyond(got, dtype, np.sign(right))
    return np.asarray(np.isnan(got) | is_beyond | is_end & has_sign | is_zero_of_nan)


def of_infinite_scales(subject: Subject) -> Masks | None:
    """Cover what infinities in the scale, the second input, make infinite."""
    scale = subject.input(1)
    if scale is None or not np.isinf(real(scale)).any():
        return None
    return subject.each(lambda y: np.isinf(real(y)))


def of_slopes_of_no_number(subject: Subject) -> Masks | None:
    """Cover numbers of at least 0, of PRelu, that have an infinite slope or NaN."""
    x, slope = map(real, subject.node.given)
    if subject.since < _SLOPES_BROADCAST and slope.size > 1 and slope.shape != x.shape:
        # One slope for each channel, of axis 1.
        slope = slope.reshape(-1, *[1] * (x.ndim - 2))
    elif slope.size == 1:
        slope = slope.reshape(())
    return (np.asarray((x >= 0) & ~np.isfinite(slope)),)


def admits_nan(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN."""
    return np.isnan(real(output))


def of_powers(subject: Subject) -> Masks | None:
    """Cover powers that are no numbers by their definition, and integers that no text mentions.

    Those are 0 to the power 0 and to negative ones, 1 and x^0 of infinities and NaN, fractional
    powers of negative numbers, and infinite powers of those; of integers, also what has a fraction,
    and results beyond what float64 holds exactly.
    """
    x, y = _operands(subject)
    with np.errstate(all="ignore"):
        has_fraction = np.isfinite(y) & (y != np.rint(y))
        masks = [
            (y == 0) & ~(np.isfinite(x) & (x != 0)),
            (x == 1) & ~np.isfinite(y),
            (x == 0) & (y < 0),
            (x < 0) & np.isfinite(x) & (has_fraction | np.isinf(y)),
        ]
        if subject.node.given[0].dtype.kind in "iu":
            exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
            masks += [exact != np.rint(exact), np.abs(exact) > _EXACT_IN_FLOAT64]
    return (np.asarray(np.any(masks, axis=0)),)


def _operands(subject: Subject) -> tuple[Array, Array]:
    """Return two inputs in shapes that broadcast by NumPy's rules, of old versions too."""
    x, y = map(real, subject.node.given)
    axis = subject.node.attrs.get("axis")
    if isinstance(axis, int):
        y = np.reshape(y, (*y.shape, *[1] * (x.ndim - axis % max(x.ndim, 1) - y.ndim)))
    return x, y


def admits_powers(subject: Subject, place: int, output: Array) -> Array:
    """Admit what a library gives where no number is the power by its definition.

    To the power 0, and of 1, that is 1 or NaN; of 0 to a negative power, an infinity, the largest
    number or NaN; and of negative numbers NaN, the power of their magnitude with either sign, and
    that of 0. Of integers, see `_are_integer_powers`.
    """
    x, y = np.broadcast_arrays(*_operands(subject))
    if subject.node.given[0].dtype.kind in "iu":
        return _are_integer_powers(subject, x, y, output)
    got, dtype = real(output), _type_of(output)
    with np.errstate(all="ignore"):
        of_magnitudes = np.power(np.abs(x), y)
        of_zero = np.power(np.zeros_like(x), y)
    is_one = (y == 0) | (x == 1)
    is_pole = (x == 0) & (y < 0)
    is_negative = (x < 0) & ~is_one
    is_power = _is_at(np.abs(got), of_magnitudes, dtype) | _is_at(got, of_zero, dtype)
    is_large = of_magnitudes > dtypes.limits(dtype)[1]
    is_power |= is_large & _is_beyond(got, dtype)
    admitted = np.isnan(got) | is_one & (got == 1) | is_negative & is_power
    return np.asarray(admitted | is_pole & _is_beyond(got, dtype))


def _are_integer_powers(subject: Subject, x: Array, y: Array, output: Array) -> Array:
    """Return a mask of integers that a power in floats, converted back, may become.

    A fraction is rounded to either side, and a power of up to 64 digits errs as float32 does. What
    is infinite, or not held by the type, wraps around, or becomes 0, -1 or an end of the type. To
    the power 0 it is 1, or what NaN becomes, which is the same.
    """
    ends = np.iinfo(output.dtype)
    got = output.astype(np.longdouble)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        is_next = (got == np.floor(exact)) | (got == np.ceil(exact))
        is_near = np.abs(got - exact) <= np.abs(exact) * _OF_POWERS_IN_FLOAT32
    is_outside = ~np.isfinite(exact) | (exact < ends.min) | (exact > ends.max) | (y == 0)
    is_near_the_end = np.abs(exact) >= ends.max * (1 - _OF_POWERS_IN_FLOAT32)
    is_conversion = np.isin(output, [0, -1, ends.min, ends.max])
    is_large = np.isfinite(exact) & (np.abs(exact) > _EXACT_IN_FLOAT64)
    return np.asarray(is_next | is_large & is_near | (is_outside | is_near_the_end) & is_conversion)
