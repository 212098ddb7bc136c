"""The tolerance a case states."""

from __future__ import annotations

from collections.abc import Iterable

from opcheck.dtypes import DTYPES, DType, limits
from opcheck.model import Tolerance
from opcheck.reading.form import shown
from opcheck.suite.fields import ToleranceField, ToleranceFields


def tolerance_of(
    stated: ToleranceField, dtype: DType | None, outputs: Iterable[DType]
) -> Tolerance:
    """What `stated` means for a case of `dtype` whose outputs have the dtypes `outputs`.

    Raises ValueError where it makes no sense.
    """
    if isinstance(stated, ToleranceFields):
        found = _one(stated)
    else:
        each = {name: _one(fields) for name, fields in stated.items()}
        for name, tolerance in each.items():
            _check(tolerance, DTYPES[name])
        if dtype is None or dtype.name not in each:
            raise ValueError(f"says nothing about {dtype or 'a case without dtype'}")
        found = each[dtype.name]
    for output in outputs:
        _check(found, output)
    return found


def _check(tolerance: Tolerance, dtype: DType) -> None:
    """Refuse what admits answers that are wrong in every digit."""
    if tolerance.rtol >= 1:
        raise ValueError(f"rtol {tolerance.rtol:g} admits any value; it must be below 1")
    # That many steps double a value. Integers are exact unless rtol and atol are stated.
    doubled = 2 ** (dtype.precision - 1) if dtype.kind == "float" else None
    if tolerance.ulp and doubled and tolerance.ulp >= doubled:
        many = f"ulp {shown(tolerance.ulp)} is too many"
        raise ValueError(f"{many}: {doubled} steps double a {dtype}")
    largest = limits(dtype)[1]
    if dtype.kind != "bool" and tolerance.atol >= largest / 2:
        raise ValueError(f"atol {tolerance.atol:g} admits any value: {dtype} ends at {largest:g}")


def _one(stated: ToleranceFields) -> Tolerance:
    rules = {"signed_zeros": bool(stated.signed_zeros), "strict": bool(stated.strict)}
    absolute = stated.rtol is not None or stated.atol is not None
    if absolute and stated.ulp is not None:
        raise ValueError("ulp excludes rtol and atol")
    if absolute:
        return Tolerance(None, stated.rtol or 0.0, stated.atol or 0.0, **rules)
    if stated.ulp is None and not any(rules.values()):
        raise ValueError("states nothing: give ulp, or rtol and atol")
    return Tolerance(stated.ulp or 0, **rules)
