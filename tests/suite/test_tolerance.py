from collections.abc import Sequence
from typing import Any

import pytest

from opcheck.dtypes import DTYPES
from opcheck.model import Tolerance
from opcheck.suite.fields import CaseFields
from opcheck.suite.resolve import tolerance_of


def meant(
    stated: Any, dtype: str | None = "float32", outputs: Sequence[str] | None = None
) -> Tolerance:
    """What `stated` means; the outputs have the case's dtype unless said otherwise."""
    fields = CaseFields.model_validate({"tolerance": stated}).tolerance
    assert fields is not None
    names = outputs if outputs is not None else [dtype] if dtype else []
    return tolerance_of(fields, DTYPES[dtype] if dtype else None, [DTYPES[n] for n in names])


@pytest.mark.parametrize(
    ("stated", "want"),
    [
        ({"ulp": 0}, Tolerance(ulp=0)),
        ({"ulp": 3, "signed_zeros": True}, Tolerance(ulp=3, signed_zeros=True)),
        ({"rtol": 0.5}, Tolerance(rtol=0.5)),
        ({"atol": 1}, Tolerance(atol=1.0)),
        ({"rtol": 0, "atol": 0.0}, Tolerance()),
        ({"rtol": 1e-3, "atol": 2.0, "signed_zeros": False}, Tolerance(rtol=1e-3, atol=2.0)),
        ({"signed_zeros": True}, Tolerance(ulp=0, signed_zeros=True)),
        ({"strict": True}, Tolerance(ulp=0, strict=True)),
        ({"rtol": 0.5, "strict": True}, Tolerance(rtol=0.5, strict=True)),
        ({"ulp": 1, "strict": False}, Tolerance(ulp=1)),
        ({"float16": {"ulp": 1}, "float32": {"atol": 2}}, Tolerance(atol=2.0)),
    ],
)
def test_a_tolerance_is_in_ulps_or_relative_and_absolute(stated: Any, want: Tolerance) -> None:
    assert meant(stated) == want


@pytest.mark.parametrize(
    ("stated", "dtype", "message"),
    [
        ({}, "float32", "states nothing"),
        ({"signed_zeros": False}, "float32", "states nothing"),
        ({"ulp": 1, "rtol": 0.0}, "float32", "ulp excludes rtol and atol"),
        ({"ulp": 1, "atol": 0.5}, "float32", "ulp excludes rtol and atol"),
        ({"rtol": 1.0}, "float32", "rtol 1 admits any value; it must be below 1"),
        ({"ulp": 1024}, "float16", "ulp 1024 is too many: 1024 steps double a float16"),
        ({"ulp": 128}, "bfloat16", "ulp 128 is too many"),
        ({"ulp": 2**23}, "float32", "ulp 8388608 is too many"),
        ({"float16": {"ulp": 1024}, "float32": {"ulp": 1}}, "float32", "ulp 1024 is too many"),
        ({"float16": {"ulp": 1}}, "float32", "says nothing about float32"),
        ({"float16": {"ulp": 1}}, None, "says nothing about a case without dtype"),
        ({"float16": {}, "float32": {"ulp": 1}}, "float32", "states nothing"),
        ({"atol": 32752}, "float16", "atol 32752 admits any value: float16 ends at 65504"),
        ({"atol": 64}, "int8", "atol 64 admits any value: int8 ends at 127"),
        ({"atol": 1.8e38}, "float32", "atol 1.8e[+]38 admits any value"),
        ({"float16": {"atol": 5e4}, "float32": {"ulp": 1}}, "float32", "atol 50000 admits any"),
    ],
)
def test_what_makes_no_sense_is_refused(stated: Any, dtype: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        meant(stated, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", None])
def test_it_is_held_against_the_dtype_of_every_output(dtype: str | None) -> None:
    assert meant({"ulp": 1024}, dtype, ["int8", "bool", "float32"]) == Tolerance(ulp=1024)
    assert meant({"atol": 32751}, dtype, ["float16"]) == Tolerance(atol=32751)
    assert meant({"atol": 2}, dtype, ["bool", "int8"]) == Tolerance(atol=2)
    for stated in ({"ulp": 1024}, {"atol": 32752}):
        with pytest.raises(ValueError, match="float16"):
            meant(stated, dtype, ["float32", "float16"])
