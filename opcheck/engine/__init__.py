"""The engine: pure, versioned NumPy functions, one file an operator.

It knows no files, no models and no ONNX package: arrays and attributes in, arrays out.
"""

from opcheck.engine.evaluate import evaluate, operator_of

__all__ = ["evaluate", "operator_of"]
