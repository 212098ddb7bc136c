"""How far answers may lie off a test's in ONNX's layout."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from opcheck.graph.data_files import Unfit, file_in

DATA = "data.json"
#: What ONNX's runner allows where nothing else is said.
RTOL, ATOL = 1e-3, 1e-7


def tolerance(folder: Path) -> tuple[float, float]:
    """The relative and the absolute tolerance of the test in `folder`; raises Unfit."""
    if not (folder / DATA).exists():
        return RTOL, ATOL
    try:
        said = json.loads(file_in(folder, DATA).read_bytes())
        found = said.get("rtol", RTOL), said.get("atol", ATOL)
    except Unfit:
        raise
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise Unfit(f"{DATA}: no JSON object with rtol and atol: {error}") from None
    if not all(map(_is_tolerance, found)):
        raise Unfit(f"{DATA}: rtol {found[0]!r}, atol {found[1]!r}: no numbers of at least 0")
    return float(found[0]), float(found[1])


def _is_tolerance(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0
