"""IREE on the CPU: pip install iree-base-compiler iree-base-runtime

opcheck run --level smoke --dtype float32 -b py:of_iree    # from this folder
"""

from __future__ import annotations

import importlib.metadata
import tempfile
from pathlib import Path

import iree.runtime as runtime
from iree.compiler import tools
from iree.compiler.tools.import_onnx.__main__ import main as import_onnx, parse_arguments

from opcheck.errors import NotSupported
from opcheck.graph import model_of

#: How IREE says that it does not lower an operator or a type.
MISSING = ("failed to legalize", "unhandled", "unsupported", "not supported")
OPTIONS = ["--iree-input-demote-f64-to-f32=false", "--iree-llvmcpu-target-cpu=host"]


class IREE:
    """Models compiled for the CPU, each by a process of the compiler."""

    version = importlib.metadata.version("iree-base-runtime")
    documented_errors = (tools.CompilerToolError,)

    def prepare(self, task):
        """Import the one-node model, and compile it."""
        model = model_of(task)
        with tempfile.TemporaryDirectory() as folder:
            read, made = Path(folder, "model.onnx"), Path(folder, "model.mlir")
            read.write_bytes(model.SerializeToString())
            import_onnx(parse_arguments([str(read), "-o", str(made)]))
            try:
                code = tools.compile_file(
                    str(made), input_type="onnx", target_backends=["llvm-cpu"], extra_args=OPTIONS
                )
            except tools.CompilerToolError as error:
                if any(text in str(error) for text in MISSING):
                    raise NotSupported(str(error).partition("\n")[0]) from None
                raise
        context = runtime.SystemContext(config=runtime.Config("local-sync"))
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
        return Compiled(context.modules.module[model.graph.name])


class Compiled:
    """A compiled function."""

    def __init__(self, function):
        self.function = function

    def run(self, inputs):
        """Return the outputs."""
        found = self.function(*inputs)
        return [one.to_host() for one in (found if isinstance(found, tuple) else (found,))]
