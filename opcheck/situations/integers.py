"""Integers by sign, zero and the ends of their type, in tensors and of rank 0.

Each integer type has kernels of its own, so every one is asked; rank 0 is asked of one type.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product

import numpy as np

from opcheck.dtypes import BY_TEXT, DTYPES, DType
from opcheck.model import Array, Case
from opcheck.opset import Schema
from opcheck.situations.family import Argument, Family
from opcheck.suite import materialize

_LEFT_OUT = (
    "Operators that do not compute each element from one element of each operand. Rank 0 of other "
    "types than int64, and of operators that do the same with every sign."
)
_UNARY = frozenset({"Abs", "Neg", "Sign", "Relu", "BitwiseNot"})
_BINARY = frozenset(
    {
        *("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Pow", "PRelu", "BitShift"),
        *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    }
)
#: Attributes that choose another kernel, and their values.
_KERNELS: dict[str, tuple[str, tuple[int | str, ...]]] = {
    "Mod": ("fmod", (0, 1)),
    "BitShift": ("direction", ("LEFT", "RIGHT")),
}
#: Operators that do something else with numbers below 0, which are asked in rank 0 too.
_IN_RANK_0 = _UNARY | {"Div", "Mod", "Pow"}
_TYPE_OF_RANK_0 = "int64"
#: By whether there is one operand only.
_ENDS = {
    True: ("least", "greatest"),
    False: ("first is least", "first is greatest", "second is least", "second is greatest"),
}
_SIGNS = {-1: "negative", 0: "zero", 1: "positive"}

_RANGE = "The text does not say what becomes of integers out of range."
_DIVISION = "The text does not say what a division by 0 gives."
_NO_POWER = "The text does not say what 0 to the power of 0 is."
_POWER_OF_1 = "Of all bases but -1, 0 and 1 the power is out of range."
_FRACTION = "The text does not say how a negative power of an integer is rounded."
_ARGUED = (
    Argument("Abs", "int*: least", _RANGE),
    Argument("Neg", "int*: least", _RANGE),
    Argument("Sub", "uint*: zero with positive", _RANGE),
    Argument("Div", "*with zero", _DIVISION),
    Argument("Div", "uint*: second is least", _DIVISION),
    Argument("Mod", "*with zero", _DIVISION),
    Argument("Mod", "*uint*: second is least", _DIVISION),
    Argument("Pow", "int64 of rank 0: zero with zero", _NO_POWER),
    Argument("Pow", "*second is greatest", _POWER_OF_1),
    Argument("Pow", "*with negative", _FRACTION),
    Argument("Pow", "int64: second is least", _FRACTION),
)


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator that computes integers element by element."""
    op = schema.op.name
    if schema.op.domain or op not in _UNARY | _BINARY:
        return
    allowed = {BY_TEXT[text] for text in schema.typed.types if text in BY_TEXT}
    whole = [dtype for dtype in DTYPES.values() if dtype in allowed and dtype.kind == "int"]
    for kernel, dtype in product(_kernels(op), whole):
        signs = _signs(dtype) if op in _UNARY else _pairs(_signs(dtype))
        yield from (f"{kernel}{dtype}: {one}" for one in (*signs, *_ENDS[op in _UNARY]))
        if op in _IN_RANK_0 and dtype.name == _TYPE_OF_RANK_0:
            yield from (f"{kernel}{dtype} of rank 0: {one}" for one in signs)


def found_in(case: Case) -> Iterator[str]:
    """Yield the situations that the elements of a case are in."""
    op = case.op.name
    count = 1 if op in _UNARY else 2 if op in _BINARY else 0
    operands = case.inputs[:count]
    if not operands or len(case.inputs) < count or operands[0].dtype.kind != "int":
        return
    dtypes = [spec.dtype for spec in operands]
    values = [materialize(spec) for spec in operands]
    is_scalar = all(spec.shape == () for spec in operands)
    label = f"{_kernel(case)}{dtypes[0]}{' of rank 0' if is_scalar else ''}"
    elements = [array.reshape(-1) for array in np.broadcast_arrays(*values)]
    yield from (f"{label}: {situation}" for situation in _in_elements(dtypes, elements))


def elements(case: Case, situation: str) -> Array:
    """Return which elements of the output are in a situation that the case is in."""
    operands = case.inputs[: 1 if case.op.name in _UNARY else 2]
    values = np.broadcast_arrays(*map(materialize, operands))
    what = situation.rpartition(": ")[2]
    place, _, end = what.rpartition(" is ")
    if place or what in _ENDS[True]:
        number = 1 if place == "second" else 0
        is_end: Array = values[number] == _limit(operands[number].dtype, end)
        return is_end
    have_signs = map(_has_sign, what.split(" with "), values)
    return np.asarray(reduce(np.logical_and, have_signs))


def _has_sign(sign: str, array: Array) -> Array:
    """Return which numbers are `negative`, `zero` or `positive`."""
    compare = {"negative": np.less, "zero": np.equal, "positive": np.greater}[sign]
    return np.asarray(compare(array, 0))


def _kernels(op: str) -> Iterator[str]:
    if op not in _KERNELS:
        yield ""
        return
    name, values = _KERNELS[op]
    yield from (f"{name}={value}, " for value in values)


def _kernel(case: Case) -> str:
    if case.op.name not in _KERNELS:
        return ""
    name, values = _KERNELS[case.op.name]
    return f"{name}={case.attrs.get(name, values[0])}, "


def _signs(dtype: DType) -> tuple[str, ...]:
    return tuple(_SIGNS.values()) if _is_signed(dtype) else ("zero", "positive")


def _is_signed(dtype: DType) -> bool:
    return dtype.name.startswith("int")


def _pairs(signs: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{first} with {second}" for first, second in product(signs, repeat=2))


def _in_elements(dtypes: Sequence[DType], operands: Sequence[Array]) -> Iterator[str]:
    """Yield what elements at the same places in 1-D operands are, once each.

    An operand may be of another type than the first, as Pow's exponent: floats have no ends.
    """
    signs = [[_SIGNS[int(n > 0) - int(n < 0)] for n in array.tolist()] for array in operands]
    yield from sorted({" with ".join(pair) for pair in zip(*signs, strict=True)})
    for place, dtype, array in zip(("first", "second"), dtypes, operands, strict=False):
        prefix = f"{place} is " if len(operands) > 1 else ""
        if dtype.kind == "int":
            yield from (f"{prefix}{end}" for end in _ends(dtype, array))


def _ends(dtype: DType, array: Array) -> Iterator[str]:
    numbers = array.tolist()
    yield from (end for end in ("least", "greatest") if _limit(dtype, end) in numbers)


def _limit(dtype: DType, end: str) -> int:
    least = -(1 << dtype.bits - 1) if _is_signed(dtype) else 0
    return least if end == "least" else least + (1 << dtype.bits) - 1


FAMILY = Family(
    name="integers",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
    argued=_ARGUED,
    one_type=False,
    elements=elements,
)
