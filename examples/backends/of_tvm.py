"""Apache TVM on the CPU: pip install apache-tvm

opcheck run --level smoke -b py:of_tvm    # from this folder
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from opcheck.errors import NotSupported
from opcheck.graph import model_of

#: How TVM says that it has no such operator, type or mode.
MISSING = ("supported", "not implemented", "unknown dtype", "cannot emit this Relax operator")


class TVM:
    """Models compiled by Relax, without a schedule."""

    version = tvm.__version__

    def prepare(self, task):
        """Translate the one-node model, and compile it."""
        try:
            module = from_onnx(model_of(task), keep_params_in_input=False)
            compiled = tvm.compile(module, target="llvm")
        except Exception as error:
            if any(text in str(error) for text in MISSING):
                raise NotSupported(str(error)) from None
            raise
        return Compiled(relax.VirtualMachine(compiled, tvm.cpu())["main"])


class Compiled:
    """A compiled function."""

    def __init__(self, function):
        self.function = function

    def run(self, inputs):
        """Return the outputs."""
        found = self.function(*map(tvm.runtime.tensor, inputs))
        parts = [found] if isinstance(found, tvm.runtime.Tensor) else list(found)
        return [one.numpy() for one in parts]
