"""`reference`: the evaluator in onnx.reference."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from opcheck.backends.adapters import About, declining, importing, take
from opcheck.backends.base import Backend, Bare, TaskCall, own_part
from opcheck.graph import model_of
from opcheck.model import Array, BackendInfo, Task

ABOUT = About("the evaluator onnx.reference", "onnx")


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the evaluator of the installed onnx package."""
    take("reference", options, {}, detail)
    with importing(ABOUT, "reference"):
        import onnx.reference
        from onnx.checker import ValidationError
        from onnx.reference.op_run import RuntimeContextError, RuntimeTypeError
        from onnx.shape_inference import InferenceError

    def prepare(task: Task) -> TaskCall:
        with own_part():
            model = model_of(task)
        with declining(RuntimeError):
            evaluator = onnx.reference.ReferenceEvaluator(model)

        def run(inputs: Sequence[Array]) -> Any:
            # It computes in NumPy, whose warnings of overflow and the like are no news here.
            with declining(Exception), warnings.catch_warnings(action="ignore"):
                return evaluator.run(None, task.values(inputs))

        def repeated(inputs: Sequence[Array]) -> Bare:
            # For the rest of this process: a filter around each call takes as long as a small one.
            warnings.simplefilter("ignore")
            return Bare(partial(evaluator.run, None, task.feed(inputs)), list)

        return TaskCall(run, repeated)

    documented = (ValidationError, InferenceError, RuntimeContextError, RuntimeTypeError)
    info = BackendInfo("reference", "reference", onnx.__version__, threads=1)
    return Backend(info, documented, prepare)
