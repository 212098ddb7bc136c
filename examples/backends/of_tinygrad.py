"""tinygrad on the CPU: pip install tinygrad, and clang on the PATH

opcheck run --level smoke -b py:of_tinygrad    # from this folder
"""

from __future__ import annotations

import importlib.metadata
import tempfile

from tinygrad import Tensor
from tinygrad.nn.onnx import OnnxRunner

from opcheck.errors import NotSupported
from opcheck.graph import model_of


class Tinygrad:
    """Models as tinygrad's own reader of ONNX runs them."""

    version = importlib.metadata.version("tinygrad")

    def prepare(self, task):
        """Read the one-node model."""
        model = model_of(task)
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model.SerializeToString())
            file.flush()
            try:
                runner = OnnxRunner(file.name)
            except ValueError as error:
                if "is not a valid OnnxDataType" in str(error):
                    raise NotSupported(str(error)) from None
                raise
        return Runner(runner, [one.name for one in task.inputs])


class Runner:
    """A model, which is told its inputs by name."""

    def __init__(self, runner, names):
        self.runner, self.names = runner, names

    def run(self, inputs):
        """Return the outputs."""
        try:
            found = self.runner(dict(zip(self.names, map(Tensor, inputs), strict=True)))
        except NotImplementedError as error:
            raise NotSupported(str(error)) from None
        return [one.numpy() for one in found.values()]
