"""Groups of dtypes in which something can be wrong."""

from opcheck.dtypes import BASIC

#: Every floating type.
FLOATS = tuple(name for name, dtype in BASIC.items() if dtype.kind == "float")
#: Every type of real numbers that NumPy computes with.
REALS = tuple(n for n, d in BASIC.items() if d.kind in ("float", "int"))
#: The types of integers, and of complex numbers.
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*REALS, *COMPLEX)
#: Types that hold more than float16 does, that have the digits of float32, and float64 alone.
BEYOND_FLOAT16 = ("bfloat16", "float32", "float64")
LONG = ("float32", "float64")
DOUBLE = ("float64",)
