"""Rules about numbers that hardware treats in its own way: subnormals, infinities and NaN."""

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import are_subnormal
from opcheck.engine.node import operator_of
from opcheck.engine.suggestions import Masks, Subject, real
from opcheck.model import Array

#: The version of Floor and Ceil that mentions infinities and NaN.
_SPECIAL_NUMBERS_ARE_STATED = 13
#: Operators whose result is that of one operation.
_OF_ONE_OPERATION = ("Add", "Mul", "PRelu", "Pow", "Sub")
#: Integers up to this are exact in float64.
_EXACT_IN_FLOAT64 = 2**53


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

    Where subnormal inputs that are read as zeros give more than that, admit what they give, of an
    operator without roundings; of others anything.
    """
    may_be_large = ~_is_small(subject.outputs[place])
    if _has_subnormal_inputs(subject):
        flushed = subject.flushed
        if flushed is None or np.shape(flushed[place]) != output.shape:
            return np.ones(output.shape, bool)
        may_be_large |= ~_is_small(flushed[place])
        if _is_exact(subject, output):
            may_be_large &= ~_difference(output, flushed[place])
    return np.asarray(may_be_large | _is_small(output))


def _is_exact(subject: Subject, output: Array) -> bool:
    """Return True if an output has no roundings: of an exact operator, or no floats."""
    dtype = dtypes.of(output)
    is_float = dtype is not None and dtype.kind == "float"
    operator = operator_of(subject.node.op)
    return not is_float or (operator is not None and operator.exact)


def _has_subnormal_inputs(subject: Subject) -> bool:
    """Return True if an input has a subnormal number."""
    return any(are_subnormal(x).any() for x in subject.floats)


def _is_small(x: Array) -> Array:
    """Return a mask of floats up to the smallest normal number; of other types none."""
    dtype = dtypes.of(x)
    if dtype is None or dtype.kind != "float":
        return np.zeros(np.shape(x), bool)
    return np.asarray(np.abs(real(x)) <= dtype.smallest_normal)


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


def admits_largest(subject: Subject, place: int, output: Array) -> Array:
    """Admit the largest number and infinity, each with its sign, where one operation overflows.

    Of operators with several operations, admit anything: they may stop in between.
    """
    if subject.name not in _OF_ONE_OPERATION:
        return np.ones(output.shape, bool)
    dtype = dtypes.of(output)
    assert dtype
    got = real(output)
    has_right_sign = np.sign(got) == np.sign(real(subject.outputs[place]))
    is_at_the_end = np.abs(got) >= float(dtypes.limits(dtype)[1])
    return np.asarray(is_at_the_end & has_right_sign)


def of_undefined_values(subject: Subject) -> Masks | None:
    """Cover NaN and infinities that a function of one number makes of a number or an infinity.

    An infinity that it makes of an infinity is its limit.
    """
    [x] = map(real, subject.node.given)
    y = real(subject.outputs[0])
    is_limit = np.isinf(x) & np.isinf(y)
    return (np.asarray(~np.isfinite(y) & ~np.isnan(x) & ~is_limit),)


def of_undefined_quotients(subject: Subject) -> Masks | None:
    """Cover NaN and infinities of outputs where all inputs are finite."""
    if not all(np.isfinite(real(x)).all() for x in subject.floats):
        return None
    return subject.each(lambda y: ~np.isfinite(real(y)))


def of_no_shares(subject: Subject) -> Masks | None:
    """Cover NaN where no input is NaN or positive infinity: 0 divided by 0, log of less than 0."""
    if any((np.isnan(real(x)) | (real(x) == np.inf)).any() for x in subject.floats):
        return None
    return subject.each(lambda y: np.isnan(real(y)))


def of_nan(subject: Subject) -> Masks | None:
    """Cover NaN in an output."""
    return subject.each(lambda y: np.isnan(real(y)))


def of_infinities(subject: Subject) -> Masks | None:
    """Cover infinities in an output."""
    return subject.each(lambda y: np.isinf(real(y)))


def of_nan_inputs(subject: Subject) -> Masks | None:
    """Cover what becomes of NaN, element by element."""
    return (np.isnan(real(subject.node.given[0])),)


def of_special_numbers_before_13(subject: Subject) -> Masks | None:
    """Cover infinities and NaN of versions before 13."""
    if subject.since >= _SPECIAL_NUMBERS_ARE_STATED:
        return None
    return subject.each(lambda y: ~np.isfinite(real(y)))


def of_infinite_scales(subject: Subject) -> Masks | None:
    """Cover what infinities in the scale, the second input, make infinite."""
    scale = subject.input(1)
    if scale is None or not np.isinf(real(scale)).any():
        return None
    return subject.each(lambda y: np.isinf(real(y)))


def of_slopes_of_no_number(subject: Subject) -> Masks | None:
    """Cover numbers of at least 0, of PRelu, that have an infinite slope or NaN."""
    x, slope = map(real, subject.node.given)
    if np.isfinite(slope).all() or slope.shape not in (x.shape, (), (1,)):
        return None
    return (np.asarray((x >= 0) & ~np.isfinite(slope)),)


def of_powers(subject: Subject) -> Masks | None:
    """Cover powers that are no numbers by their definition, and integers that no text mentions.

    Those are 0 to the power 0 and to negative ones, 1 and x^0 of infinities and NaN, fractional
    powers of negative numbers, and infinite powers of those; of integers, also what has a fraction,
    and results beyond what float64 holds exactly.
    """
    x, y = map(real, subject.node.given)
    axis = subject.node.attrs.get("axis")
    if isinstance(axis, int):
        y = np.reshape(y, (*y.shape, *[1] * (x.ndim - axis % max(x.ndim, 1) - y.ndim)))
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
