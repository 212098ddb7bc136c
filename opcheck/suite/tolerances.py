"""The tolerance of a case as its file states it, checked to be one that wrong answers exceed."""

from collections.abc import Iterable

from opcheck.dtypes import DTYPES, DType, limits
from opcheck.model import Tolerance
from opcheck.reading.validation import shown
from opcheck.suite.fields import ToleranceField, ToleranceFields


def tolerance_of(
    stated: ToleranceField, dtype: DType | None, output_dtypes: Iterable[DType]
) -> Tolerance:
    """Return the tolerance of a case of `dtype`, which is None for a case without one.

    `stated` is one tolerance, or one for each of several dtypes by name. Raises ValueError if it
    has none for this dtype, states nothing, or both ulp and rtol or atol; and if it admits answers
    that are wrong in every digit, of any dtype that it names or that an output has.
    """
    if isinstance(stated, ToleranceFields):
        tolerance = _stated(stated)
    else:
        by_dtype = {name: _stated(fields) for name, fields in stated.items()}
        for name, one in by_dtype.items():
            _check(one, DTYPES[name])
        if dtype is None or dtype.name not in by_dtype:
            raise ValueError(f"says nothing about {dtype or 'a case without dtype'}")
        tolerance = by_dtype[dtype.name]
    for output in output_dtypes:
        _check(tolerance, output)
    return tolerance


def _check(tolerance: Tolerance, dtype: DType) -> None:
    """Raise ValueError if a tolerance admits answers that are wrong in every digit.

    That is an rtol of 1 or more, an ulp that doubles a float of `dtype`, and an atol of half its
    largest number or more. An atol is not checked of booleans and texts.
    """
    if tolerance.rtol >= 1:
        raise ValueError(f"rtol {tolerance.rtol:g} admits any value; it must be below 1")
    if tolerance.ulp and dtype.kind == "float":
        # That many steps double a value. Integers are exact unless rtol and atol are stated.
        doubled = 2 ** (dtype.precision - 1)
        if tolerance.ulp >= doubled:
            many = f"ulp {shown(tolerance.ulp)} is too many"
            raise ValueError(f"{many}: {doubled} steps double a {dtype}")
    if dtype.kind in ("bool", "string"):
        return
    _, largest = limits(dtype)
    if tolerance.atol >= largest / 2:
        raise ValueError(f"atol {tolerance.atol:g} admits any value: {dtype} ends at {largest:g}")


def _stated(stated: ToleranceFields) -> Tolerance:
    """Return the tolerance of its fields: in ulp, or else in rtol and atol.

    Of these a missing one is 0; with signed_zeros or strict alone, so is ulp. Raises ValueError if
    ulp is stated next to rtol or atol, or nothing at all.
    """
    signed_zeros = bool(stated.signed_zeros)
    strict = bool(stated.strict)
    if stated.rtol is None and stated.atol is None:
        if stated.ulp is None and not (signed_zeros or strict):
            raise ValueError("states nothing: give ulp, or rtol and atol")
        return Tolerance(stated.ulp or 0, signed_zeros=signed_zeros, strict=strict)
    if stated.ulp is not None:
        raise ValueError("ulp excludes rtol and atol")
    return Tolerance(
        ulp=None,
        rtol=stated.rtol or 0.0,
        atol=stated.atol or 0.0,
        signed_zeros=signed_zeros,
        strict=strict,
    )
