"""The tolerance a case states."""

from __future__ import annotations

from opcheck.dtypes import DTYPES, DType
from opcheck.model import Tolerance
from opcheck.suite.fields import ToleranceField, ToleranceFields


def tolerance_of(stated: ToleranceField, dtype: DType | None) -> Tolerance:
    """What `stated` means for a case of `dtype`; raises ValueError where it makes no sense."""
    if isinstance(stated, ToleranceFields):
        return _checked(_one(stated), dtype)
    found = {name: _checked(_one(fields), DTYPES[name]) for name, fields in stated.items()}
    if dtype is None or dtype.name not in found:
        raise ValueError(f"says nothing about {dtype or 'a case without dtype'}")
    return found[dtype.name]


def _checked(tolerance: Tolerance, dtype: DType | None) -> Tolerance:
    """`tolerance`, unless it admits answers that are wrong in every digit."""
    if tolerance.rtol >= 1:
        raise ValueError(f"rtol {tolerance.rtol:g} admits any value; it must be below 1")
    # That many steps double a value.
    doubled = 2 ** (dtype.precision - 1) if dtype and dtype.kind == "float" else None
    if tolerance.ulp and doubled and tolerance.ulp >= doubled:
        raise ValueError(f"ulp {tolerance.ulp} is too many: {doubled} steps double a {dtype}")
    return tolerance


def _one(stated: ToleranceFields) -> Tolerance:
    zeros = bool(stated.signed_zeros)
    absolute = stated.rtol is not None or stated.atol is not None
    if absolute and stated.ulp is not None:
        raise ValueError("ulp excludes rtol and atol")
    if absolute:
        return Tolerance(None, stated.rtol or 0.0, stated.atol or 0.0, zeros)
    if stated.ulp is None and not zeros:
        raise ValueError("states nothing: give ulp, or rtol and atol")
    return Tolerance(stated.ulp or 0, signed_zeros=zeros)
