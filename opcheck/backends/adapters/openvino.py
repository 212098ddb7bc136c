"""`openvino[:DEVICE]`: OpenVINO on exactly that device, the CPU unless another is named."""

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

_BF16 = DTYPES["bfloat16"].numpy
#: Those that are one device: AUTO and its like would choose, and fall back in silence.
_DEVICES = ("CPU", "GPU", "NPU")


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return OpenVINO on device `detail`; the CPU's address is always openvino."""
    taken = take("openvino", options, {"threads": threads, "precision": _precision})
    device = detail or "CPU"
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
        settings["INFERENCE_NUM_THREADS"] = taken.get("threads", 1)
    if "precision" in taken:
        settings["INFERENCE_PRECISION_HINT"] = taken["precision"]
    address = "openvino" if device == "CPU" else f"openvino:{device}"
    version = openvino.__version__.partition("-")[0]  # what follows names the build
    devices = (device, *(other for other in here if other != device))
    count = settings.get("INFERENCE_NUM_THREADS")
    info = BackendInfo(address, "openvino", version, devices=devices, threads=count)
    prepare = partial(prepared, core, device, settings)
    return Backend(info, (RuntimeError,), prepare, partial(_declares, core, device))


def _precision(text: str) -> str:
    if text not in ("f32", "f16", "bf16"):
        raise ValueError("precision is f32, f16 or bf16")
    return text


def prepared(core: Any, device: str, settings: Mapping[str, Any], task: Task) -> "Compiled":
    """Compile the one-node model for the device, by default settings except for threads."""
    transport.check(task, "openvino")
    reading = declining(RuntimeError)
    with handed_over(lambda: model_of(task, whole=False)) as model, reading:
        return Compiled(task, core.compile_model(core.read_model(model), device, settings))


def _declares(core: Any, device: str, task: Task) -> bool:
    """Return True if the device supports each node that the front end makes of the model."""
    model = core.read_model(model_of(task).SerializeToString())
    supported = core.query_model(model, device)
    return all(node.get_friendly_name() in supported for node in model.get_ops())


@dataclass(frozen=True)
class Compiled:
    """One model in OpenVINO, which hands out bfloat16 as if its bits were those of float16."""

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
        """Return the inputs by name, or by port that which is handed on and bears another name."""
        feed: dict[Any, Array] = {**self.task.feed(inputs)}
        ports = [one for one in self.compiled.inputs if not one.get_names() & feed.keys()]
        names = {name for one in self.compiled.inputs for name in one.get_names()}
        named = {name: array for name, array in feed.items() if name in names}
        if not ports:
            # Of a model that is read from bytes, it drops inputs that nothing reads. Of a node, one
            # that it dropped is refused, as whoever feeds it sees.
            return feed if self.task.model is None else named
        # OpenVINO names such inputs after the outputs, and drops those that nothing reads.
        sizes = [_sizes(port.get_partial_shape()) for port in ports]
        others = {name: [*array.shape] for name, array in feed.items() if name not in names}
        first = _in_order(sizes, others.items())
        # They keep their order: where the first that fit are the last that do, no others do.
        if first is None or first != (_in_order(sizes[::-1], reversed(others.items())) or [])[::-1]:
            return feed
        return {**named, **{port: feed[n] for port, n in zip(ports, first, strict=True)}}

    def _arrays(self, found: Any) -> list[Array]:
        pairs = [(found[one], one.element_type.to_string()) for one in self.compiled.outputs]
        return [array.view(_BF16) if kind == "bf16" else array for array, kind in pairs]


def _in_order(sizes: Iterable[object], named: Iterable[tuple[str, object]]) -> list[str] | None:
    """Return the first names that have these sizes in this order, None if there are none."""
    left = iter(named)
    found = [next((name for name, own in left if own == size), None) for size in sizes]
    return None if None in found else [name for name in found if name is not None]


def _sizes(shape: Any) -> list[int | None] | None:
    if shape.rank.is_dynamic:
        return None
    return [one.get_length() if one.is_static else None for one in shape]


def _tensor(array: Array) -> Any:
    from openvino import Tensor, Type

    return Tensor(array.view(np.uint16), array.shape, Type.bf16) if array.dtype == _BF16 else array
