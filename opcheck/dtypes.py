"""The element types: their names, NumPy dtypes, ONNX codes, and rounding to them exactly once."""

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeGuard

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

#: A "minifloat" has 8 bits or fewer: too few for distances in ULP to mean anything.
Kind = Literal["float", "int", "bool", "minifloat", "complex", "string"]
# NumPy casts float16 one number after the other, subnormal ones many times slower than others.
#: From so many numbers on their bits are cast in a few passes.
_MANY = 1 << 12
#: The bits of float32's exponent.
_EXPONENT = 0x7F80_0000
#: The smallest normal number of float16, 2^-14, as the bits of a float32.
_SMALLEST_NORMAL = 0x3880_0000
#: 65520 as the bits of a float32: from there on float16 is infinite. As an unsigned integer every
#: NaN, infinity and number below 0 is larger.
_TOO_LARGE = 0x477F_F000


@dataclass(frozen=True)
class DType:
    """One element type."""

    name: str
    numpy: np.dtype[Any]
    #: The number in TensorProto.DataType, and the spelling in type constraints.
    onnx: int
    text: str
    kind: Kind
    #: Of floats the significand's bits with the hidden one, the exponent of the smallest subnormal.
    precision: int = 0
    min_exponent: int = 0

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        # There is one of each in a process.
        return (of_name, (self.name,)) if self.name in DTYPES else super().__reduce__()

    @property
    def bits(self) -> int:
        """The width of a number, 0 of a boolean or a text; NumPy has 8 bits at least for each."""
        digits = re.search(r"\d+", self.name)
        return int(digits[0]) if digits else 0

    @property
    def smallest_normal(self) -> float:
        """Of floats the smallest positive number that is not subnormal."""
        return math.ldexp(1.0, self.min_exponent + self.precision - 1)

    @property
    def is_half(self) -> bool:
        """True for the floating types of 16 bits, float16 and bfloat16."""
        return self.kind == "float" and self.numpy.itemsize == 2


def of_name(name: str) -> DType:
    """The element type of this name."""
    return DTYPES[name]


def _table(kind: Kind, **types: tuple[Any, ...]) -> dict[str, DType]:
    """The types of a kind: NumPy type and code; of floats `precision` and `min_exponent` too."""
    words = {"float32": "float", "float64": "double"}
    return {
        name: DType(name, np.dtype(type_), code, f"tensor({words.get(name, name)})", kind, *digits)
        for name, (type_, code, *digits) in types.items()
    }


#: Every element type of real numbers with a NumPy dtype of its own, and bfloat16 and bool.
BASIC = {
    **_table("float", float16=(np.float16, 10, 11, -24)),
    **_table("float", bfloat16=(ml_dtypes.bfloat16, 16, 8, -133)),
    **_table("float", float32=(np.float32, 1, 24, -149), float64=(np.float64, 11, 53, -1074)),
    **_table("int", uint8=(np.uint8, 2), int8=(np.int8, 3), uint16=(np.uint16, 4)),
    **_table("int", int16=(np.int16, 5), int32=(np.int32, 6), int64=(np.int64, 7)),
    **_table("int", uint32=(np.uint32, 12), uint64=(np.uint64, 13)),
    **_table("bool", bool=(np.bool_, 9)),
}
#: Every element type, by its name in case files; strings are Python's, in NumPy.
DTYPES = {
    **BASIC,
    **_table("minifloat", float8e4m3fn=(ml_dtypes.float8_e4m3fn, 17, 4, -9)),
    **_table("minifloat", float8e4m3fnuz=(ml_dtypes.float8_e4m3fnuz, 18, 4, -10)),
    **_table("minifloat", float8e5m2=(ml_dtypes.float8_e5m2, 19, 3, -16)),
    **_table("minifloat", float8e5m2fnuz=(ml_dtypes.float8_e5m2fnuz, 20, 3, -17)),
    **_table("minifloat", float8e8m0=(ml_dtypes.float8_e8m0fnu, 24, 1, -127)),
    **_table("minifloat", float6e2m3=(ml_dtypes.float6_e2m3fn, 27, 4, -3)),
    **_table("minifloat", float6e3m2=(ml_dtypes.float6_e3m2fn, 28, 3, -4)),
    **_table("minifloat", float4e2m1=(ml_dtypes.float4_e2m1fn, 23, 2, -1)),
    **_table("int", uint4=(ml_dtypes.uint4, 21), int4=(ml_dtypes.int4, 22)),
    **_table("int", uint2=(ml_dtypes.uint2, 25), int2=(ml_dtypes.int2, 26)),
    **_table("complex", complex64=(np.complex64, 14), complex128=(np.complex128, 15)),
    **_table("string", string=(np.object_, 8)),
}
#: The names of the types that NumPy computes no further with.
NARROW = tuple(n for n, d in DTYPES.items() if d.kind == "minifloat" or 0 < d.bits < 8)
#: The types of the parts of complex numbers.
PARTS = {"complex64": BASIC["float32"], "complex128": BASIC["float64"]}
#: Every element type, by its spelling in a type constraint.
BY_TEXT = {dtype.text: dtype for dtype in DTYPES.values()}
#: And by its number and its word in TensorProto.DataType.
_BY_ONNX: dict[object, DType] = {dtype.onnx: dtype for dtype in DTYPES.values()}
_BY_ONNX |= {dtype.text[7:-1].upper(): dtype for dtype in DTYPES.values()}
_BY_NUMPY = {dtype.numpy: dtype for dtype in DTYPES.values()}


def is_raw(dtype: DType | None) -> bool:
    """Return True for a type that NumPy itself lacks, so that libraries take it as bytes alone."""
    return dtype is not None and (dtype.kind == "minifloat" or dtype.numpy.kind == "V")


def named(value: object) -> DType | None:
    """Return the dtype of a number or word in TensorProto.DataType, else None."""
    return _BY_ONNX.get(value) if isinstance(value, int | str) else None


@cache
def limits(dtype: DType) -> tuple[float, float]:
    """Return the least and the largest finite value, of complex types those of a part."""
    if dtype.kind == "complex":
        dtype = PARTS[dtype.name]
    if dtype.kind == "bool":
        return 0, 1
    find: Any = ml_dtypes.iinfo if dtype.kind == "int" else ml_dtypes.finfo
    ends = find(dtype.numpy)
    number = int if dtype.kind == "int" else float
    return number(ends.min), number(ends.max)


def holds(dtype: DType, value: float) -> bool:
    """Return True if a real `dtype` has `value`, which floating types may round."""
    low, high = limits(dtype)
    if low <= value <= high:
        return dtype.kind in ("float", "minifloat") or value == int(value)
    if -math.inf < value < math.inf or dtype.kind not in ("float", "minifloat"):
        return False
    rounded = float(np.float32(value).astype(dtype.numpy))
    return rounded == value or (math.isnan(value) and math.isnan(rounded))


def parts(array: NDArray[Any]) -> NDArray[Any]:
    """Return the real and the imaginary parts of complex numbers along a new last axis."""
    return np.stack([array.real, array.imag], axis=-1)


def content(array: NDArray[Any]) -> bytes:
    """Return bytes or texts that identify the values of an array among those of its dtype."""
    # The bytes of strings are but where they lie.
    return repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()


def identical(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return True if two arrays are equal bit by bit, including dtype and shape."""
    if one is other:
        return True
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.hasobject:
        left, right = (x.reshape(-1).tolist() for x in (one, other))
        return [*map(type, left)] == [*map(type, right)] and left == right
    if one.size < _MANY or one.itemsize not in (1, 2, 4, 8):
        return one.tobytes() == other.tobytes()
    # Integers are compared in less time than bytes are copied.
    bits = f"u{one.itemsize}"
    return np.array_equal(one.view(bits), other.view(bits))


def of(array: NDArray[Any]) -> DType | None:
    """Return the element type of `array`, whatever its byte order, None if it is none of ONNX's."""
    if array.dtype.kind in "OUT":
        kinds = {*map(type, array.reshape(-1).tolist())}
        return DTYPES["string"] if all(issubclass(kind, str) for kind in kinds) else None
    dtype = array.dtype
    return _BY_NUMPY.get(dtype if dtype.isnative else dtype.newbyteorder("="))


def is_real(array: NDArray[Any] | None) -> TypeGuard[NDArray[Any]]:
    """Return True for a tensor of real floating numbers of 16 bits or more."""
    dtype = None if array is None else of(array)
    return dtype is not None and dtype.kind == "float"


def are_subnormal(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask the subnormal numbers of a floating type of 16 bits or more; of other types none."""
    dtype = of(array)
    if dtype is None or dtype.kind != "float":
        return np.zeros(array.shape, np.bool_)
    with np.errstate(invalid="ignore"):  # a NaN that signals is a value like any other
        sizes = np.abs(array.astype(np.float64))
    return np.asarray((sizes > 0) & (sizes < dtype.smallest_normal))


def round_to(values: NDArray[np.float64], dtype: DType) -> NDArray[Any]:
    """Round `values` to `dtype` once, to nearest, ties to even; too large becomes infinite.

    NumPy's own float64 → float32 and float64 → float16 casts do that; those of ml_dtypes go through
    float32 and may round twice. A minifloat without infinities has NaN in their place, and one
    without NaN its largest number. Raises ValueError for what the integer or bool dtype lacks.
    """
    if dtype.kind not in ("float", "minifloat"):
        low, high = limits(dtype)
        # high + 1 is a power of two and so exact in float64, which 2^63 - 1 is not.
        held = (values >= low) & (values < high + 1) & (values == np.trunc(values))
        if not held.all():
            raise ValueError(f"{float(values[~held].flat[0])!r} is no value of {dtype.name}")
        return values.astype(dtype.numpy)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if dtype.kind == "minifloat" or dtype.name == "bfloat16":
            quantum = np.maximum(np.frexp(values)[1] - dtype.precision, dtype.min_exponent)
            # Both scalings are by powers of two and so exact; infinities and NaN pass through.
            values = np.asarray(np.ldexp(np.rint(np.ldexp(values, -quantum)), quantum))
        return values.astype(dtype.numpy)


def nearest_integers(
    values: NDArray[np.float64], rest: NDArray[np.float64] | None, dtype: DType
) -> NDArray[Any]:
    """Return `values` + `rest` as the nearest numbers of an integer `dtype`, ties to even.

    That is an end of the type for what is beyond it, and 0 for NaN. rest: what float64 has no room
    for, in the shape of `values`; None for nothing.
    """
    low, high = limits(dtype)

    def nearest(value: float, lost: float) -> float:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        whole = round(value)
        return min(max(whole + round(value - whole + lost), low), high)

    rests = np.zeros(values.shape) if rest is None else rest
    integers = map(nearest, values.reshape(-1).tolist(), rests.reshape(-1).tolist())
    return np.array([*integers], dtype.numpy).reshape(values.shape)


def half_ulp(values: NDArray[np.float64], dtype: DType) -> NDArray[np.float64]:
    """Return half the distance between numbers of a floating `dtype` around each of `values`.

    That is how far rounding to `dtype` can move them. Beyond its largest number the distance is
    that below it, and half the smallest subnormal of float64 is 0. 0 for NaN and the infinities.
    """
    size = np.asarray(np.minimum(np.abs(values), limits(dtype)[1]))
    # Without its digits a number is its power of two, and a subnormal one 0.
    power = (size.view(np.int64) & 0x7FF0_0000_0000_0000).view(np.float64)
    least = math.ldexp(0.5, dtype.min_exponent)
    half = np.maximum(power * math.ldexp(1.0, -dtype.precision), least)
    return np.where(np.isfinite(values), half, 0.0)


def widened(x: NDArray[Any]) -> NDArray[np.float32]:
    """`x` of float16 or bfloat16, of any byte order, as float32, which has all their numbers."""
    with np.errstate(invalid="ignore"):  # a NaN that signals is a value like any other
        if x.dtype.kind != "f" or x.size < _MANY:
            return x.astype(np.float32, order="C")
        signed = _bits(x, "i2")
        bits = signed.astype(np.int32, order="C")
        # Exponent and digits go where float32 has them, the sign to all bits before.
        np.left_shift(bits, 13, out=bits)
        np.bitwise_and(bits, ~0x7000_0000, out=bits)
        wide = bits.view(np.float32)
        # A product, and not a larger exponent, since float16's subnormal numbers are normal here.
        np.multiply(wide, np.float32(2.0**112), out=wide)
        if signed.max() >= 0x7C00 or _bits(x, "u2").max() >= 0xFC00:
            np.bitwise_or(bits, _EXPONENT, out=bits, where=np.abs(wide) >= 65536)
        return wide


def narrowed(values: NDArray[np.float32], dtype: np.dtype[Any]) -> NDArray[Any]:
    """`values` as `dtype`, float16 or bfloat16, to nearest, ties to even.

    Values too large become infinite. NaN stays NaN with its sign; one that signals may warn.
    """
    bits = values.view(np.uint32)
    if dtype.kind == "f" and values.size >= _MANY and bits.max() < _TOO_LARGE:
        power = np.maximum(bits, _SMALLEST_NORMAL)
        np.bitwise_and(power, _EXPONENT, out=power)
        # Beside a number 2^13 times as large, float32 has as many digits left as float16.
        beside = np.add(power, 13 << 23)
        rounded = np.add(values, beside.view(np.float32)).view(np.uint32)
        np.subtract(rounded, beside, out=rounded)
        # The digits, whose first one counts in the exponent.
        np.right_shift(power, 13, out=power)
        np.subtract(power, 113 << 10, out=power)
        np.add(rounded, power, out=rounded)
        return rounded.astype(np.uint16, order="C").view(np.float16)
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype.newbyteorder("="), order="C")


def _bits(x: NDArray[Any], code: str) -> NDArray[Any]:
    """`x` as integers of 16 bits, in its own byte order."""
    return x.view(np.dtype(code).newbyteorder("=" if x.dtype.isnative else "S"))
