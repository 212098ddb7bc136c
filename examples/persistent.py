"""A runner that is started once and asked in lines of JSON. It needs onnxruntime, and not opcheck.

opcheck run -b 'cmd:python3 persistent.py'
"""

import base64
import json
import os
import sys

import numpy as np
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

# Standard output is for the protocol alone: from now on, whatever a library prints there, be it
# from C, goes to standard error.
lines = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
onnxruntime.set_default_logger_severity(4)


def say(**message):
    """Write one line."""
    print(json.dumps(message), file=lines, flush=True)


def from_json(tensor):
    """A tensor of a request."""
    data = base64.b64decode(tensor["data"])  # little-endian, as this machine is
    return np.frombuffer(data, tensor["dtype"]).reshape(tensor["shape"])


def to_json(array):
    """A tensor of a reply."""
    data = base64.b64encode(array.tobytes()).decode()
    return {"dtype": str(array.dtype), "shape": array.shape, "data": data}


say(opcheck=1, name="onnxruntime", version=onnxruntime.__version__)
session = None
for line in sys.stdin:  # ends when opcheck wants no more
    request = json.loads(line)
    number = request["id"]
    try:
        if request["do"] == "prepare":
            session = onnxruntime.InferenceSession(
                base64.b64decode(request["bytes"]), providers=["CPUExecutionProvider"]
            )
            say(id=number, ready=True)
        elif any(tensor["dtype"] == "bfloat16" for tensor in request["inputs"]):
            say(id=number, unsupported="NumPy has no bfloat16")
        else:
            feed = {tensor["name"]: from_json(tensor) for tensor in request["inputs"]}
            say(id=number, outputs=[to_json(array) for array in session.run(None, feed)])
    except NoKernel as error:
        say(id=number, unsupported=str(error))
    except Exception as error:
        say(id=number, error=str(error))
