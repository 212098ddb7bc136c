"""The engine: pure, versioned NumPy functions, one file an operator.

It knows no files, no models and no ONNX package: arrays and attributes in, arrays out.
"""

from opcheck.engine.evaluate import (
    Planned,
    dtypes_of,
    evaluate,
    exactly,
    natively,
    operator_of,
    planned,
)
from opcheck.engine.exact import Exact, rounded

__all__ = [
    "Exact",
    "Planned",
    "dtypes_of",
    "evaluate",
    "exactly",
    "natively",
    "operator_of",
    "planned",
    "rounded",
]
