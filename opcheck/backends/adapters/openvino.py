"""`openvino[:DEVICE]`: OpenVINO on exactly that device, the CPU unless another is named.

`?device=GPU.1` names it too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opcheck.backends import transport
from opcheck.backends.adapters import About, declining, importing, take, threads
from opcheck.backends.base import Backend, Bare, handed_over
from opcheck.dtypes import DTYPES
from opcheck.errors import BackendUnavailable, UsageError, did_you_mean
from opcheck.graph import model_of
from opcheck.model import Array, BackendInfo, Task

ABOUT = About("OpenVINO", "openvino", extra=True, threads=True, declares="query_model")

#: Types that NumPy lacks, by the names that OpenVINO has for them.
_BY_NAME = {
    "bf16": DTYPES["bfloat16"].numpy,
    "f8e4m3": DTYPES["float8e4m3fn"].numpy,
    "f8e5m2": DTYPES["float8e5m2"].numpy,
}
_BYTES_OF_HALF = 2
#: Those that are one device: AUTO and its like would choose, and fall back in silence.
_DEVICES = ("CPU", "GPU", "NPU")


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return OpenVINO on device `detail`; the CPU's address is always openvino."""
    given = take(
        "openvino", options, {"threads": threads, "precision": _precision, "device": _device}
    )
    if detail and "device" in given:
        message = f"openvino:{detail} has a device, and device={given['device']} names another"
        raise UsageError(message, "write one of them")
    device = detail or given.get("device", "CPU")
    if device.partition(".")[0] not in _DEVICES:
        hint = did_you_mean(device, _DEVICES) or f"it has {', '.join(_DEVICES)}"
        raise UsageError(f"openvino has no device {device!r}", hint)
    with importing(ABOUT, "openvino"):
        import openvino

        core = openvino.Core()
        here = core.available_devices
    if device not in here:
        raise BackendUnavailable(f"openvino finds no {device} here", f"it finds {', '.join(here)}")
    settings: dict[str, Any] = {}
    if "INFERENCE_NUM_THREADS" in core.get_property(device, "SUPPORTED_PROPERTIES"):
        settings["INFERENCE_NUM_THREADS"] = given.get("threads", 1)
    if "precision" in given:
        settings["INFERENCE_PRECISION_HINT"] = given["precision"]
    address = "openvino" if device == "CPU" or not detail else f"openvino:{device}"
    version = openvino.__version__.partition("-")[0]  # what follows names the build
    devices = (device, *(other for other in here if other != device))
    count = settings.get("INFERENCE_NUM_THREADS")
    info = BackendInfo(address, "openvino", version, devices=devices, threads=count)
    prepare = partial(prepared, core, device, settings)
    return Backend(info, (RuntimeError,), prepare, partial(_declares, core, device))


def _device(text: str) -> str:
    return text


def _precision(text: str) -> str:
    if text not in ("f32", "f16", "bf16"):
        raise ValueError("precision is f32, f16 or bf16")
    return text


def prepared(core: Any, device: str, settings: Mapping[str, Any], task: Task) -> "Compiled":
    """Compile the one-node model for the device, by default settings except for threads."""
    transport.check(task, "openvino")
    reading = declining(RuntimeError)
    with handed_over(partial(model_of, task, whole=False)) as model, reading:
        compiled = core.compile_model(core.read_model(model), device, settings)
        _require_device(compiled, device)
        return Compiled(task, compiled)


def _require_device(compiled: Any, device: str) -> None:
    """Raise BackendUnavailable for a model that runs on another device than this one."""
    names = compiled.get_property("EXECUTION_DEVICES")
    if {_numbered(name) for name in names} != {_numbered(device)}:
        raise BackendUnavailable(f"asked for {device}, got {', '.join(names)}")


def _numbered(device: str) -> str:
    """Return a device's name with its number: an only GPU is GPU, or GPU.0."""
    return device if "." in device else f"{device}.0"


def _declares(core: Any, device: str, task: Task) -> bool:
    """Return True if the device supports each node that the front end makes of the model."""
    model = core.read_model(model_of(task).SerializeToString())
    supported = core.query_model(model, device)
    return all(node.get_friendly_name() in supported for node in model.get_ops())


@dataclass(frozen=True)
class Compiled:
    """One model in OpenVINO, which hands out types that NumPy lacks as bits of others."""

    task: Task
    compiled: Any

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the outputs, which OpenVINO copies unless asked otherwise."""
        feed = {key: _tensor(array) for key, array in self._feed(inputs).items()}
        with declining(RuntimeError):
            return self._arrays(self.compiled(feed))

    def declared(self) -> list[tuple[str | None, list[int | None] | None]]:
        """Return the output shapes that the compiled model declares."""
        return [(None, _sizes(port.get_partial_shape())) for port in self.compiled.outputs]

    def repeated(self, inputs: Sequence[Array]) -> Bare:
        """Return a request on shared tensors, which writes its output anew in every run."""
        from openvino import Tensor

        request = self.compiled.create_infer_request()
        for key, array in self._feed(inputs).items():
            given = _tensor(array)
            tensor = given if given is not array else Tensor(array, shared_memory=True)
            request.set_tensor(key, tensor)
        return Bare(partial(request.infer, share_outputs=True), self._arrays)

    def _feed(self, inputs: Sequence[Array]) -> dict[Any, Array]:
        """Return the inputs by name; one that OpenVINO renamed by its port."""
        feed: dict[Any, Array] = {**self.task.feed(inputs)}
        renamed = [port for port in self.compiled.inputs if not port.get_names() & feed.keys()]
        names = {name for port in self.compiled.inputs for name in port.get_names()}
        named = {name: array for name, array in feed.items() if name in names}
        if not renamed:
            # Of a model that is read from bytes, it drops inputs that nothing reads. Of a node, one
            # that it dropped is refused when it is fed.
            return feed if self.task.model is None else named
        # OpenVINO names such inputs after the outputs, and drops those that nothing reads.
        sizes = [_sizes(port.get_partial_shape()) for port in renamed]
        others = [(name, [*array.shape]) for name, array in feed.items() if name not in names]
        first = _in_order(sizes, others)
        last = _in_order(reversed(sizes), reversed(others))
        # They keep their order: if the first that fit are the last that do, no others do.
        if first is None or last is None or first != last[::-1]:
            return feed
        by_port = {port: feed[name] for port, name in zip(renamed, first, strict=True)}
        return {**named, **by_port}

    def _arrays(self, outputs: Any) -> list[Array]:
        """Return the outputs; types that NumPy lacks come as the bits of another type."""
        arrays = []
        for port in self.compiled.outputs:
            array = outputs[port]
            dtype = _BY_NAME.get(port.element_type.to_string())
            arrays.append(array if dtype is None else array.view(dtype))
        return arrays


def _in_order(sizes: Iterable[object], named: Iterable[tuple[str, object]]) -> list[str] | None:
    """Return the first names that have these sizes in this order, None if there are none."""
    candidates = iter(named)
    names = []
    for size in sizes:
        name = next((name for name, own in candidates if own == size), None)
        if name is None:
            return None
        names.append(name)
    return names


def _sizes(shape: Any) -> list[int | None] | None:
    """Return the sizes of a shape, None for an open one; None for an open rank."""
    if shape.rank.is_dynamic:
        return None
    return [size.get_length() if size.is_static else None for size in shape]


def _tensor(array: Array) -> Any:
    """Return what OpenVINO takes for an array: the array itself, if NumPy has its type."""
    from openvino import Tensor, Type

    for name, dtype in _BY_NAME.items():
        if array.dtype == dtype:
            bits = array.view(np.uint16 if dtype.itemsize == _BYTES_OF_HALF else np.uint8)
            return Tensor(bits, array.shape, getattr(Type, name))
    return array
