"""Runs the tests of `must` in a golden folder by onnx and onnxruntime: read_golden.py DIR."""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, numpy_helper


def tensors(data, kind):
    """The tensors of a kind in a data set, in the order of the model's inputs or outputs."""
    paths = [data / f"{kind}_{number}.pb" for number in range(len([*data.glob(f"{kind}_*.pb")]))]
    return [numpy_helper.to_array(TensorProto.FromString(path.read_bytes())) for path in paths]


def outcome(test):
    """What onnxruntime makes of a test, in a few words."""
    allowed = json.loads((test / "data.json").read_bytes())
    try:
        session = ort.InferenceSession(test / "model.onnx", providers=["CPUExecutionProvider"])
        for data in test.glob("test_data_set_*"):
            names = [one.name for one in session.get_inputs()]
            got = session.run(None, dict(zip(names, tensors(data, "input"), strict=True)))
            for x, want in zip(got, tensors(data, "output"), strict=True):
                if x.shape != want.shape or not np.allclose(x, want, **allowed, equal_nan=True):
                    return "wrong"
    except Exception as error:  # each kind of error has a class of its own
        return type(error).__name__
    return "right"


ort.set_default_logger_severity(4)
print(Counter(outcome(test) for test in Path(sys.argv[1], "must").iterdir()))
