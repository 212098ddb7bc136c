"""OpenCV's DNN module: pip install opencv-python-headless

opcheck run --level smoke -b py:of_opencv    # from this folder
"""

from __future__ import annotations

from contextlib import contextmanager

import cv2
import numpy as np

from opcheck.errors import NotSupported
from opcheck.graph import model_of

#: How OpenCV says that it has no such operator, type or mode.
MISSING = ("Can't create layer", "not implemented", "is not supported", "Unsupported", "Unknown")


class OpenCV:
    """Models of tensors, by the newest engine that takes them."""

    version = cv2.__version__
    documented_errors = (cv2.error,)

    def prepare(self, task):
        """Read the one-node model."""
        model = model_of(task)
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
        with declining():
            net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
        return Net(
            net, [one.name for one in model.graph.input], [o.name for o in model.graph.output]
        )


class Net:
    """A network, which is told its inputs by name."""

    def __init__(self, net, inputs, outputs):
        self.net, self.inputs, self.outputs = net, inputs, outputs

    def run(self, inputs):
        """Return the outputs."""
        with declining():
            for name, array in zip(self.inputs, inputs, strict=True):
                self.net.setInput(array, name)
            return [np.array(one) for one in self.net.forward(self.outputs)]


@contextmanager
def declining():
    """Turn what OpenCV says of missing things into NotSupported."""
    try:
        yield
    except cv2.error as error:
        if any(text in str(error) for text in MISSING):
            raise NotSupported(str(error)) from None
        raise
