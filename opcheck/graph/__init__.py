"""From a task to the one-node ONNX model that backends run."""

from opcheck.graph.build import NotExpressible, model_of

__all__ = ["NotExpressible", "model_of"]
