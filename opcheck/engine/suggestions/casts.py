"""Rules about Cast and CastLike, and other operators that convert numbers."""

from decimal import Decimal

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.engine.ops.quantization import number_of_text
from opcheck.engine.suggestions import Masks, Subject
from opcheck.model import Array

#: Since this version the text says which numbers are true.
_TRUTH_IS_STATED = 13
#: Since this version of Cast the text says that numbers out of range become infinite.
_INFINITY_IS_STATED = 13
#: The type of powers of 2, which has no 0.
_POWERS = "float8e8m0"
_NUMBERS = ("float", "minifloat", "int")


def of_rounded_casts(subject: Subject) -> Masks | None:
    """Cover finite numbers that the type of the output does not hold as they are.

    The text states how a float is rounded to a type of 8 bits, and what is out of range of others,
    but not next to which number the range ends. Before version 13 it does not state either.
    """
    x, dtype, target = _of_cast(subject)
    if dtype.kind not in _NUMBERS or target.kind not in _NUMBERS:
        return None
    before, after = _exactly(x), _exactly(subject.outputs[0])
    with np.errstate(invalid="ignore", over="ignore"):
        is_rounded = (before != after) & np.isfinite(before)
        is_finite = np.isfinite(after)
        if target.kind == "int":
            # What an integer type does not hold wraps around; a fraction is what is cut off.
            return (np.asarray(is_rounded & (before != np.rint(before))),)
        largest = float(dtypes.limits(target)[1])
        next_power = np.ldexp(1.0, np.frexp(largest)[1])
        is_outside = ~is_finite & (np.abs(before) > largest)
        is_at_the_end = is_outside
        if subject.name != "Cast" or subject.since >= _INFINITY_IS_STATED:
            is_at_the_end = is_outside & (np.abs(before) < next_power)
        if _is_rounding_stated(subject, dtype, target):
            return (np.asarray(is_rounded & is_at_the_end),)
        return (np.asarray(is_rounded & (is_finite | is_at_the_end)),)


def admits_neighbors(subject: Subject, place: int, output: Array) -> Array:
    """Admit the numbers of the output's type on both sides of a number; outside of it, its ends.

    That is either end or no number of a floating type; of an integer type an end, 0, or what wraps
    around. Of texts the number that they state counts.
    """
    x, _, target = _of_cast(subject)
    low, high = map(float, dtypes.limits(target))
    with np.errstate(invalid="ignore", over="ignore"):
        before, after = _of_numbers_or_texts(x), _exactly(output)
        is_outside = (before < low) | (before > high)
        if target.kind == "int":
            is_next = np.abs(after - before) <= 1
            return np.asarray(is_next | is_outside & _is_converted(before, after, target))
        unit = 2 * dtypes.half_ulp(before.astype(np.float64), target)
        is_end = is_outside & (np.isnan(after) | ((np.abs(after) >= high) & (after * before > 0)))
        return np.asarray(is_end | (np.abs(after - before) <= unit))


def _is_converted(before: Array, after: Array, target: DType) -> Array:
    """Return a mask of integers that a number out of their range may become.

    They are the ends of the type, 0, or either integer next to the number, modulo its size.
    """
    low, high = map(float, dtypes.limits(target))
    size = high - low + 1
    is_wrapped = np.isin((after - np.floor(before)) % size, [0, 1])
    return np.asarray(is_wrapped | (after == low) | (after == high) | (after == 0))


def admits_the_same_number(subject: Subject, place: int, output: Array) -> Array:
    """Admit texts that state the right integer; of a number in a text, its neighbors.

    In place of a text that states no number, admit one of NaN, of 0, or an empty one.
    """
    x, dtype, target = _of_cast(subject)
    if target.kind != "string":
        return admits_neighbors(subject, place, output)
    if dtype.kind == "string":
        numbers = map(number_of_text, map(str, output.reshape(-1).tolist()))
        is_nan_or_0 = [number is not None and (number.is_nan() or not number) for number in numbers]
        return np.asarray(np.reshape(is_nan_or_0, output.shape) | (output == ""), bool)
    pairs = zip(x.reshape(-1).tolist(), output.reshape(-1).tolist(), strict=True)
    is_right = [number_of_text(str(text)) == Decimal(int(n)) for n, text in pairs]
    return np.reshape(is_right, output.shape)


def _of_numbers_or_texts(x: Array) -> Array:
    """Return numbers as long doubles, and the numbers that texts state; NaN for none."""
    if not x.dtype.hasobject:
        return _exactly(x)
    numbers = [number_of_text(text) for text in x.reshape(-1).tolist()]
    given = ["nan" if n is None or n.is_nan() else str(n) for n in numbers]
    return np.reshape([np.longdouble(text) for text in given], x.shape)


def _is_rounding_stated(subject: Subject, dtype: DType, target: DType) -> bool:
    """Return True if the text states how `dtype` is rounded to `target`."""
    if target.name == _POWERS:
        # CastLike names the modes of rounding, and has no table of them.
        is_default = subject.node.attrs.get("round_mode", "up") == "up"
        return subject.name == "Cast" or is_default
    return target.name.startswith("float8") and dtype.kind != "int"


def of_casts_of_texts(subject: Subject) -> Masks | None:
    """Cover numbers that texts are rounded to, texts of integers, and texts that are no numbers."""
    x, dtype, target = _of_cast(subject)
    if dtype.kind == "int" and target.kind == "string":
        return subject.all()
    if dtype.kind != "string":
        return None
    texts = x.reshape(-1).tolist()
    if target.kind == "string":
        is_covered = [number_of_text(text) is None for text in texts]
    elif target.kind in ("float", "minifloat"):
        given = subject.outputs[0].astype(np.float64).reshape(-1).tolist()
        is_covered = [*map(_is_rounded, texts, given)]
    else:
        return None
    return (np.reshape(is_covered, x.shape),)


def _is_rounded(text: str, given: float) -> bool:
    """Return True if a text states another number than the one given, or one beyond it."""
    number = number_of_text(text)
    if number is None or not number.is_finite():
        return False
    return not np.isfinite(given) or Decimal(given) != number


def of_truth(subject: Subject) -> Masks | None:
    """Cover booleans of numbers other than 0 and 1, of versions that do not mention them."""
    x, dtype, target = _of_cast(subject)
    if target.kind != "bool" or subject.since >= _TRUTH_IS_STATED or dtype.kind == "string":
        return None
    numbers = _exactly(x)
    return (np.asarray((numbers != 0) & (numbers != 1)),)


def admits_either(subject: Subject, place: int, output: Array) -> Array:
    """Admit both booleans: the text states of none of these numbers which it becomes."""
    return np.ones(output.shape, bool)


def of_powers_of_2(subject: Subject) -> Masks | None:
    """Cover what CastLike makes of 0 in the type of powers of 2, which has none."""
    x, dtype, target = _of_cast(subject)
    if target.name != _POWERS or dtype.kind not in _NUMBERS:
        return None
    return (np.asarray(_exactly(x) == 0),)


def admits_nan_or_the_smallest(subject: Subject, place: int, output: Array) -> Array:
    """Admit NaN and the smallest power of 2, which is next to 0."""
    _, _, target = _of_cast(subject)
    got = _exactly(output)
    return np.asarray(np.isnan(got) | (got == dtypes.limits(target)[0]))


def of_attributes_without_effect(subject: Subject) -> Masks | None:
    """Cover a cast whose attribute is for other types than its own."""
    _, _, target = _of_cast(subject)
    is_of_8_bits = target.kind == "minifloat"
    has_saturate = "saturate" in subject.node.attrs and not is_of_8_bits
    has_mode = "round_mode" in subject.node.attrs and not is_of_8_bits
    return subject.all() if has_saturate or has_mode else None


def _of_cast(subject: Subject) -> tuple[Array, DType, DType]:
    """Return the input of a cast, its dtype and that of the output."""
    x = subject.node.given[0]
    dtype, target = dtypes.of(x), dtypes.of(subject.outputs[0])
    assert dtype
    assert target
    return x, dtype, target


def _exactly(x: Array) -> Array:
    """Return numbers of any type as long doubles."""
    if x.dtype.kind in "iub":
        return x.astype(np.longdouble)
    with np.errstate(invalid="ignore"):  # a NaN that signals is a value like any other
        return x.astype(np.float64).astype(np.longdouble)
