"""From a task to the one-node ONNX model that backends run."""

from onnx import ModelProto

from opcheck.errors import NotExpressible
from opcheck.graph.build import model_of, output_names
