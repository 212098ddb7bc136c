"""A runner that computes one model and ends. It needs onnx and onnxruntime, and not opcheck.

opcheck run --op Hardmax -b 'cmd:python3 one_shot.py {model} {inputs} {outputs}'
"""

import sys
from pathlib import Path

import onnxruntime
from onnx import TensorProto, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

onnxruntime.set_default_logger_severity(4)  # standard error is for reasons
UNSUPPORTED = 77  # "not implemented"; every other status but 0 is a refusal or a failure


def main(model, inputs, outputs):
    """Read the folder `inputs`, write the folder `outputs`; the exit status."""
    try:
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        feed = {}
        for number, port in enumerate(session.get_inputs()):
            data = Path(inputs, f"input_{number}.pb").read_bytes()
            feed[port.name] = numpy_helper.to_array(TensorProto.FromString(data))
        answers = session.run(None, feed)
    except NoKernel as error:
        # What is said on standard error is the reason that opcheck shows.
        print(error, file=sys.stderr)
        return UNSUPPORTED
    except Exception as error:
        print(error, file=sys.stderr)
        return 1
    for number, answer in enumerate(answers):
        data = numpy_helper.from_array(answer).SerializeToString()
        Path(outputs, f"output_{number}.pb").write_bytes(data)
    return 0


sys.exit(main(*sys.argv[1:]))
