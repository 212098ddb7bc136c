"""`reference`: the evaluator in onnx.reference."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opcheck.backends.adapters import About, declining, importing, take
from opcheck.backends.base import Backend, Bare, own_part
from opcheck.graph import model_of
from opcheck.model import Array, BackendInfo, Task

ABOUT = About("the evaluator onnx.reference", "onnx")
#: Its sentences for something missing, besides NotImplementedError, such as an assertion that
#: "ceil_mode is not supported with auto_pad", or the name of a package that it lacks.
_NOT_IMPLEMENTED = re.compile(
    r"\b[Nn]ot (yet )?(supported|implemented)\b|^Unsupported |\bmust be installed to use\b"
)


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the evaluator of the installed onnx package."""
    take("reference", options, {}, detail)
    with importing(ABOUT, "reference"):
        import onnx.reference
        from onnx.checker import ValidationError
        from onnx.reference.op_run import RuntimeContextError, RuntimeTypeError
        from onnx.shape_inference import InferenceError

    def prepare(task: Task) -> Evaluator:
        with own_part():
            model = model_of(task)
        return Evaluator(task, onnx.reference.ReferenceEvaluator(model))

    documented = (ValidationError, InferenceError, RuntimeContextError, RuntimeTypeError)
    info = BackendInfo("reference", "reference", onnx.__version__, threads=1)
    return Backend(info, documented, prepare)


@dataclass(frozen=True)
class Evaluator:
    """One model in the evaluator."""

    task: Task
    evaluator: Any

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the outputs as the evaluator returns them."""
        # It computes in NumPy, whose warnings of overflow and the like are no news here.
        with declining(_NOT_IMPLEMENTED, Exception), warnings.catch_warnings(action="ignore"):
            outputs: Sequence[Array] = self.evaluator.run(None, self.task.values(inputs))
        return outputs

    def repeated(self, inputs: Sequence[Array]) -> Bare:
        """Return the evaluator's call alone."""
        # For the rest of this process: a filter around each call takes as long as a small one.
        warnings.simplefilter("ignore")
        return Bare(partial(self.evaluator.run, None, self.task.feed(inputs)), list)
