"""`onnxruntime[:Provider]`: ONNX Runtime, on exactly that execution provider.

`?ep_library=FILE` takes the provider from a plugin library, `device=N` chooses one of its devices,
and options that begin with `ep.` are its own.
"""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from opcheck import dtypes, grouping, opset
from opcheck.backends.adapters import About, importing, take, threads
from opcheck.backends.base import Backend, Bare, handed_over
from opcheck.backends.connect import lead_dtype
from opcheck.backends.execute import message_of
from opcheck.backends.execution_providers import CPU, OPTION, Provider, built_in, of_library
from opcheck.backends.missing import missing
from opcheck.errors import BackendUnavailable, NotCarried, NotSupported
from opcheck.graph import model_of
from opcheck.model import Array, BackendInfo, Task

ABOUT = About("ONNX Runtime", "onnxruntime", threads=True, declares="its registry of kernels")

#: Types, by ONNX Runtime's names, that its Python layer only knows as bytes.
_RAW = {t: d for t, d in dtypes.BY_TEXT.items() if dtypes.is_raw(d)}


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return ONNX Runtime on provider `detail`; the CPU's address is always onnxruntime."""
    own = {name: text for name, text in options.items() if name.startswith(OPTION)}
    others = {name: text for name, text in options.items() if name not in own}
    known = {"threads": threads, "device": _device, "ep_library": _library}
    given = take("onnxruntime", others, known)
    count = given.get("threads", 1)
    device = given.get("device")
    library = given.get("ep_library")
    for_provider = {name.removeprefix(OPTION): text for name, text in own.items()}
    with importing(ABOUT, "onnxruntime"):
        import onnxruntime as ort
        from onnxruntime.capi import onnxruntime_pybind11_state as state

        ort.get_all_providers()  # which a broken package lacks
    if library is None:
        provider = built_in(ort, detail or CPU, device, for_provider)
    else:
        provider = of_library(ort, library, detail, device, for_provider)
    address = "onnxruntime" if provider.name == CPU else f"onnxruntime:{provider.name}"
    version = ort.__version__
    info = BackendInfo(address, "onnxruntime", version, devices=provider.devices, threads=count)
    # Its own derive from Exception alone; the others come from its Python layer (wrong inputs).
    classes = (thing for thing in vars(state).values() if isinstance(thing, type))
    documented = (
        *(kind for kind in classes if issubclass(kind, Exception)),
        RuntimeError,
        ValueError,
    )
    prepare = partial(_prepared, ort, provider, count)
    return Backend(info, documented, prepare, partial(_declares, provider.name))


def _device(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise ValueError("device is a whole number from 0, as in `opcheck backends`")
    return int(text)


def _library(text: str) -> str:
    if not text:
        raise ValueError("ep_library is the path of a shared library")
    return text


def _declares(provider: str, task: Task) -> bool | None:
    """Return True if each node has its own kernel; others may be converted or expanded."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    if not hasattr(state, "get_all_opkernel_def"):
        return None
    # A provider that compiles whole graphs has no kernels, and nothing to declare.
    kernels = [one for one in state.get_all_opkernel_def() if one.provider == provider]
    lead = lead_dtype(task)
    if not kernels or lead is None:
        return None
    model = model_of(task)
    versions = {entry.domain: entry.version for entry in model.opset_import}

    def has_kernel(node: Any) -> bool:
        schema = grouping.not_none(opset.describe(node.domain, node.op_type, versions[node.domain]))
        return any(
            (kernel.op_name, kernel.domain) == (node.op_type, node.domain)
            and kernel.version_range[0] <= schema.op.since <= kernel.version_range[1]
            and {lead.text, f"seq({lead.text})"}
            & {*kernel.type_constraints.get(schema.typed.constraint, [lead.text])}
            for kernel in kernels
        )

    return all(map(has_kernel, model.graph.node))


def _prepared(ort: Any, provider: Provider, threads: int, task: Task) -> "RuntimeSession":
    """Return a session for the one-node model on this provider only."""
    with handed_over(partial(model_of, task, whole=False)) as model, _declining():
        return RuntimeSession(task, provider.session(ort, model, threads))


@contextmanager
def _declining() -> Iterator[None]:
    """Around a call: raises NotSupported where ONNX Runtime says that it has no kernel."""
    try:
        yield
    except (BackendUnavailable, NotSupported):
        raise
    except Exception as error:
        from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

        message = message_of(error)
        reason = message if isinstance(error, NoKernel) else missing(message)
        if reason:
            raise NotSupported(reason) from error
        raise


@dataclass(frozen=True)
class RuntimeSession:
    """One model in ONNX Runtime, which does not convert all types from and to NumPy."""

    task: Task
    session: Any

    def run(self, inputs: Sequence[Array]) -> Any:
        """Return the outputs as the session returns them."""
        with _declining():
            if not self._types:
                return self.session.run(None, self.task.values(inputs))
            for kind in self._types:
                if not kind.startswith("tensor") or kind == "tensor(string)":
                    raise NotCarried(f"no {kind} beside a type that NumPy does not know")
            feed = self.task.feed(inputs)
            values = {name: self._ort_value(array) for name, array in feed.items()}
            return [_array(value) for value in self.session.run_with_ort_values(None, values)]

    @cached_property
    def _types(self) -> frozenset[str]:
        """The types of all inputs and outputs if NumPy does not know one of them, else none."""
        ports = (*self.session.get_inputs(), *self.session.get_outputs())
        types = frozenset(port.type for port in ports)
        has_raw = any(raw in kind for kind in types for raw in _RAW)
        return types if has_raw else frozenset()

    def declared(self) -> list[tuple[str | None, list[object] | None]]:
        """Return the outputs that the session declares; an unknown shape looks like rank 0."""
        ports = [(dtypes.BY_TEXT.get(port.type), port) for port in self.session.get_outputs()]
        return [(dtype.name if dtype else None, port.shape or None) for dtype, port in ports]

    def repeated(self, inputs: Sequence[Array]) -> Bare:
        """Return the session on bound tensors; it allocates the outputs in every run."""
        values = {name: self._ort_value(array) for name, array in self.task.feed(inputs).items()}
        binding = self.session.io_binding()
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        for port in self.session.get_outputs():
            binding.bind_output(port.name)

        def run(values: object = values) -> Any:  # which have to live as long as this
            self.session.run_with_iobinding(binding)
            return binding

        return Bare(run, _bound_arrays)

    def _ort_value(self, array: Array) -> Any:
        from onnxruntime import OrtValue

        dtype = dtypes.of(array)
        if dtype is None or dtype.text not in _RAW:
            return OrtValue.ortvalue_from_numpy(array)
        if array.dtype.itemsize > 1:
            return OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), dtype.onnx)
        # Elements of less than a byte lie packed at the beginning of what has a byte for each.
        raw = np.zeros(array.shape, np.uint8)
        packed = np.frombuffer(numpy_helper.from_array(array).raw_data, np.uint8)
        raw.reshape(-1)[: packed.size] = packed
        value = OrtValue.ortvalue_from_numpy_with_onnx_type(raw, dtype.onnx)
        value.lent = raw  # which has to live as long as the value
        return value


def _bound_arrays(binding: Any) -> list[Any]:
    """Return the outputs that a run wrote to bound tensors."""
    return [_array(value) for value in binding.get_outputs()]


def _array(value: Any) -> Any:
    dtype = _RAW.get(value.data_type())
    if dtype is None:
        return value.numpy()
    raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    tensor = TensorProto(data_type=dtype.onnx, dims=value.shape(), raw_data=raw)
    return numpy_helper.to_array(tensor)
