"""A backend in Python: copy this file, and put your library in the place of NumPy.

opcheck run --op Softmax --op Hardmax -b py:my_backend    # from the folder that holds this file
"""

from __future__ import annotations

import numpy as np

from opcheck.errors import NotSupported


class InvalidModel(Exception):
    """What your library raises for a model that it refuses."""


class MyBackend:
    """Found by its `prepare`. With two such classes in a file: py:my_backend:MyBackend."""

    version = "1.0"
    # Other exceptions are refusals too, but shown as accidents.
    documented_errors = (InvalidModel,)

    def prepare(self, task):
        """Compile; `task` has op, opset, attrs, inputs and outputs (opcheck.graph.model_of(task)
        is the same as an ONNX model)."""
        function = {"Softmax": softmax, "Hardmax": hardmax}.get(task.op.name)
        # The one way to say "not implemented", and the one thing to say with it.
        if function is None or task.op.since != 13:
            raise NotSupported(f"there is no {task.op}")
        if len(task.inputs) != 1 or task.inputs[0].dtype.name not in ("float32", "float64"):
            raise NotSupported("only float32 and float64, and no constants")
        for name, value in task.attrs.items():
            if name != "axis" or not isinstance(value, int):
                raise InvalidModel(f"there is no attribute {name} = {value}")
        # An attribute that the model leaves out is not in `attrs`: the default is yours.
        axis = task.attrs.get("axis", -1)
        rank = len(task.inputs[0].shape)
        if not -rank <= axis < rank:
            raise InvalidModel(f"axis {axis} is outside [{-rank}, {rank - 1}]")
        return Compiled(function, axis)


class Compiled:
    """What is run three times: on the case's data, on other data, and on the first again."""

    def __init__(self, function, axis):
        self.function, self.axis = function, axis

    def run(self, inputs):
        """The outputs as new NumPy arrays, in the model's order; `inputs` stay as they are."""
        return [self.function(inputs[0], self.axis)]


def softmax(x, axis):
    """Softmax along one axis."""
    # Without `initial`, an empty axis would have no maximum.
    powers = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis, keepdims=True)


def hardmax(x, axis):
    """Ones at the first maxima along one axis."""
    out = np.zeros_like(x)
    if x.size:
        np.put_along_axis(out, np.expand_dims(x.argmax(axis), axis), 1, axis)
    return out
