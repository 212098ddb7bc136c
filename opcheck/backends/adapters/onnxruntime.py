"""`onnxruntime[:ProviderName]`: ONNX Runtime, on exactly the requested execution provider."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opcheck.backends.adapters import importing
from opcheck.backends.base import own_part
from opcheck.dtypes import DTYPES
from opcheck.errors import BackendUnavailable, NotSupported, UsageError, did_you_mean
from opcheck.graph import model_of
from opcheck.model import Array, BackendInfo, Task

_CPU = "CPUExecutionProvider"
_BFLOAT16 = DTYPES["bfloat16"]
#: How ONNX Runtime says that a provider has no kernel for a node and no other may step in; it has
#: no type of its own for this.
_NO_KERNEL = "assigned to the default CPU EP"


def connect(detail: str | None) -> OnnxRuntime:
    """ONNX Runtime on provider `detail`; the CPU's, named or not, has the address onnxruntime."""
    with importing("onnxruntime", "onnxruntime"):
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as state

        known, here = onnxruntime.get_all_providers(), onnxruntime.get_available_providers()
    provider = detail or _CPU
    if provider not in known:
        hint = did_you_mean(provider, known) or f"known providers: {', '.join(known)}"
        raise UsageError(f"onnxruntime has no execution provider {provider!r}", hint)
    if provider not in here:
        raise BackendUnavailable(
            f"this onnxruntime is built without {provider}",
            f"it has {', '.join(here)}; install the onnxruntime package that carries {provider}",
        )
    address = "onnxruntime" if provider == _CPU else f"onnxruntime:{provider}"
    return OnnxRuntime(
        BackendInfo(address, "onnxruntime", onnxruntime.__version__),
        provider,
        state.NotImplemented,
        # All of them derive from Exception alone; RuntimeError and ValueError come from its
        # Python layer (a wrong input type, a wrong name).
        (*_exceptions(state), RuntimeError, ValueError),
    )


def _exceptions(state: Any) -> tuple[type[BaseException], ...]:
    members = (getattr(state, name) for name in dir(state))
    return tuple(m for m in members if isinstance(m, type) and issubclass(m, Exception))


@dataclass(frozen=True)
class OnnxRuntime:
    """ONNX Runtime behind the protocol: its own defaults, but for one thread."""

    info: BackendInfo
    provider: str
    not_implemented: type[Exception]
    documented_errors: tuple[type[BaseException], ...]
    is_engine: bool = False

    def prepare(self, task: Task) -> Session:
        """A session for the one-node model on this provider and no other."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        if self.provider != _CPU:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        with own_part():
            model = model_of(task).SerializeToString()
        try:
            # Left enabled, the fallback moves a session that fails to the CPU in silence.
            session = onnxruntime.InferenceSession(
                model, options, providers=[self.provider], enable_fallback=0
            )
        except self.not_implemented as error:
            raise NotSupported(str(error)) from error
        except Exception as error:
            if self.provider != _CPU and _NO_KERNEL in str(error):
                raise NotSupported(f"{self.provider} has no kernel for it: {error}") from error
            raise
        got = session.get_providers()
        if got[:1] != [self.provider]:
            raise BackendUnavailable(f"asked for {self.provider}, got {', '.join(got)}")
        return Session(task, session, self.not_implemented)


@dataclass(frozen=True)
class Session:
    """One model in ONNX Runtime."""

    task: Task
    session: Any
    not_implemented: type[Exception]

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs as the session returns them."""
        feed = self.task.feed(inputs)
        try:
            if self._has_bfloat16:
                return self._run_ort_values(feed)
            outputs: Sequence[Array] = self.session.run(None, feed)
            return outputs
        except self.not_implemented as error:
            raise NotSupported(str(error)) from error

    @cached_property
    def _has_bfloat16(self) -> bool:
        ports = [*self.session.get_inputs(), *self.session.get_outputs()]
        return any("bfloat16" in port.type for port in ports)

    def _run_ort_values(self, feed: dict[str, Array]) -> list[Array]:
        """The way round for bfloat16, which ONNX Runtime does not convert from and to NumPy."""
        with own_part():
            values = {name: _ort_value(array) for name, array in feed.items()}
        return [_array(value) for value in self.session.run_with_ort_values(None, values)]


def _ort_value(array: Array) -> Any:
    from onnxruntime import OrtValue

    if array.dtype != _BFLOAT16.numpy:
        return OrtValue.ortvalue_from_numpy(array)
    return OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), _BFLOAT16.onnx)


def _array(value: Any) -> Array:
    if value.element_type() != _BFLOAT16.onnx:
        array: Array = value.numpy()
        return array
    shape = value.shape()
    raw = ctypes.string_at(value.data_ptr(), 2 * int(np.prod(shape)))
    return np.frombuffer(raw, _BFLOAT16.numpy).reshape(shape).copy()
