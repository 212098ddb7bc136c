"""How far answers may lie off a test's in ONNX's layout."""

from __future__ import annotations

import json
import sys
from typing import Any

from opcheck.errors import did_you_mean

DATA = "data.json"
#: What ONNX's runner allows where nothing else is said.
RTOL, ATOL = 1e-3, 1e-7


def read_tolerance(data: bytes) -> tuple[float, float]:
    """The relative and the absolute tolerance that a data.json states; raises ValueError."""
    try:
        said = json.loads(data)
        found = said.get("rtol", RTOL), said.get("atol", ATOL)
        for name in said.keys() - {"rtol", "atol"}:
            if meant := did_you_mean(name, ("rtol", "atol")):
                raise ValueError(f"{name!r} ({meant})")
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"this is no JSON object with rtol and atol: {error}") from None
    if not all(map(_is_tolerance, found)):
        raise ValueError(f"rtol {found[0]!r}, atol {found[1]!r}: no finite numbers of at least 0")
    return float(found[0]), float(found[1])


def _is_tolerance(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max
