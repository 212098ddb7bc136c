"""Cast (1, 6, 9, 13, 19, 21, 23, 24, 25, 28): the elements in another type."""

import numpy as np

from opcheck import dtypes
from opcheck.engine.casting import cast_any
from opcheck.engine.operators import operator

_LACKS = ("string", *dtypes.NARROW)
OP = operator("Cast", exact=True, ignores=("saturate", "round_mode"), lacks=_LACKS)


@OP.formula(1, 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(input, *, to):
    """Function bodies cast numbers with bounds too; what they make of others may have some."""
    dtype = dtypes.named(to)
    assert dtype
    return cast_any(input, dtype)


@OP.mutant(
    "what is out of range became the largest number, as in float 8 types that saturate",
    *(19, 21, 23, 24, 25, 28),
    only=("bfloat16", "float32", "float64", "int32", "int64", "uint16", "uint32", "uint64"),
)
def saturates_every_float(input, *, to, saturate=1):
    dtype = dtypes.named(to)
    assert dtype
    made = cast(input, to=to)
    if not saturate or dtype.kind != "float":
        return made
    low, high = (np.array(end, dtype.numpy) for end in dtypes.limits(dtype))
    return np.clip(made, low, high).astype(dtype.numpy)


OP.equivalent(
    "attributes_of_another_type_ignored",
    "`to` alone is declared, and mandatory",
    "1",
    "6",
    "9",
    "13",
)
OP.equivalent("attributes_converted", "no number becomes a word that names a type", "1")
OP.equivalent("later_attributes_accepted", "later versions take no word for `to`", "1")
OP.equivalent("cast_integers_saturate", "nothing is said of integers out of range", "1", "6", "9")
for called in ("cast_ties_away", "cast_towards_zero"):
    OP.equivalent(called, "no type is narrower", "1 float16", "6 float16", "9 float16")
OP.equivalent(
    "subnormal_inputs_flushed",
    "subnormal numbers that are computed with may be flushed, but for those of float16",
    *("bfloat16", "float32", "float64"),
)
