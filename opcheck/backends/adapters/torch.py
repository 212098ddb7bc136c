"""`torch`: PyTorch, by a small mapping of ONNX's operators on torch's own functions.

`?device=cuda:0` runs them on an accelerator, and takes no answer that lies elsewhere.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, grouping, opset
from opcheck.backends import transport
from opcheck.backends.adapters import About, declining, importing, take, threads
from opcheck.backends.base import Backend, Bare, only_nodes
from opcheck.engine import axes as ax
from opcheck.errors import (
    BackendUnavailable,
    InvalidNode,
    NotSupported,
    decline,
    did_you_mean,
    reject,
)
from opcheck.model import Array, BackendInfo, Task, Typed

#: Axes of a tensor, counted from the front.
Axes: TypeAlias = tuple[int, ...]
ABOUT = About("PyTorch's own functions", "torch", extra=True, threads=True)
#: Kinds of devices that run these functions and hand tensors back.
_DEVICES = ("cpu", "cuda", "xpu", "mps")
_MPS_FALLBACK = "PYTORCH_ENABLE_MPS_FALLBACK"


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return PyTorch on one device, the CPU unless another is named."""
    given = take("torch", options, {"threads": threads, "device": _device}, detail)
    count = given.get("threads", 1)
    with importing(ABOUT, "torch"):
        import torch

        torch.set_num_threads(count)
        version = torch.__version__.partition("+")[0]  # what follows names the build
    device = torch.device(given.get("device", "cpu"))
    _require_works(torch, device)
    here = _devices(torch)
    devices = (str(device), *(other for other in here if other != str(device)))
    info = BackendInfo("torch", "torch", version, devices=devices, threads=count)
    prepare = partial(_prepared, torch, device)
    return Backend(info, (InvalidNode, IndexError, RuntimeError), prepare)


def _device(text: str) -> str:
    """Return the name of a device, with the number 0 if it has none."""
    kind, colon, number = text.partition(":")
    if kind not in _DEVICES:
        raise ValueError(did_you_mean(kind, _DEVICES) or f"device is one of {', '.join(_DEVICES)}")
    if kind == "cpu":
        if colon:
            raise ValueError("cpu is one device, without a number")
        return text
    if colon and not (number.isascii() and number.isdecimal()):
        raise ValueError("behind the colon is the number of a device, as in cuda:0")
    return f"{kind}:{number or 0}"


def _require_works(torch: Any, device: Any) -> None:
    """Raise BackendUnavailable for a device that is not here, or that would fall back."""
    if device.type == "mps" and os.environ.get(_MPS_FALLBACK, "0") != "0":
        message = f"{_MPS_FALLBACK} lets torch run on the CPU what {device} lacks, in silence"
        raise BackendUnavailable(message, "unset this variable")
    try:
        torch.ones(1, device=device).cpu()
    except Exception as error:
        hint = f"it has {', '.join(_devices(torch))}"
        raise BackendUnavailable(f"torch finds no {device} here: {error}", hint) from error


def _devices(torch: Any) -> list[str]:
    """Return the names of the CPU and of all accelerators here."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None:
        return ["cpu"]
    count = torch.accelerator.device_count()
    return ["cpu", *(f"{accelerator.type}:{number}" for number in range(count))]


def _prepared(torch: Any, device: Any, task: Task) -> "Mapped":
    """Map the node on torch; raise InvalidNode for mistakes that torch would not notice."""
    only_nodes(task, "the mapping on torch")
    transport.check(task, "torch")
    function = _FUNCTIONS.get((task.op.domain, task.op.name))
    schema = opset.describe(task.op.domain, task.op.name, task.opset)
    if function is None or schema is None:
        raise NotSupported(f"the mapping on torch has no {task.op}")
    unknown = task.attrs.keys() - schema.attributes.keys()
    if unknown:
        raise InvalidNode(f"{task.op} has no {', '.join(unknown)}")
    mistyped = [name for name, value in task.attrs.items() if isinstance(value, Typed)]
    if mistyped:
        raise InvalidNode(f"{task.op}: {', '.join(mistyped)} of another type")
    return Mapped(torch, device, task, function, schema.inputs)


@dataclass(frozen=True)
class Mapped:
    """A node, the function that it is, and what the operator takes."""

    torch: Any
    device: Any
    task: Task
    function: Callable[..., Any]
    parameters: Sequence[opset.Parameter]

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the outputs; bfloat16 goes to torch and back as the bits of an integer."""
        tensors = self._tensors(inputs)
        with declining(RuntimeError):
            return self._arrays(self.function(self.torch, self.task, *tensors))

    def repeated(self, inputs: Sequence[Array]) -> Bare:
        """Return the function's call on tensors of torch."""
        call = partial(self.function, self.torch, self.task, *self._tensors(inputs))
        if self.device.type == "cpu":
            return Bare(call, self._arrays)

        def run() -> Any:
            outputs = call()
            self.torch.accelerator.synchronize(self.device)  # the device still computes
            return outputs

        return Bare(run, self._arrays)

    def _tensors(self, inputs: Sequence[Array]) -> list[Any]:
        """Return the node's inputs as torch's tensors; raises InvalidNode for wrong types."""
        torch = self.torch
        tensors: list[Any] = []
        bound: dict[str, Any] = {}
        for place, x in enumerate(self.task.operands(inputs)):
            if x is None:
                tensors.append(None)
                continue
            dtype = dtypes.of(x)
            parameter = self.parameters[min(place, len(self.parameters) - 1)]
            if dtype is None or dtype.text not in parameter.types:
                raise InvalidNode(f"{self.task.op} is not defined for {x.dtype}")
            if bound.setdefault(parameter.constraint, dtype) != dtype:
                raise InvalidNode(f"{self.task.op} takes one type for {parameter.constraint}")
            decline(x.dtype == object, "torch has no strings")
            if dtype.name == "bfloat16":
                bits = torch.tensor(x.view(np.uint16), device=self.device)
                tensors.append(bits.view(torch.bfloat16))
            else:
                tensors.append(torch.tensor(x, device=self.device))
        return tensors

    def _arrays(self, outputs: Any) -> Sequence[Array]:
        """Return what a function of torch returned, one tensor or a tuple, as arrays."""
        tensors = outputs if isinstance(outputs, tuple) else (outputs,)
        return [self._array(tensor) for tensor in tensors]

    def _array(self, tensor: Any) -> Array:
        if tensor.device != self.device:
            raise BackendUnavailable(f"asked for {self.device}, got {tensor.device}")
        tensor = tensor.cpu()
        if tensor.dtype != self.torch.bfloat16:
            return tensor.numpy()  # type: ignore[no-any-return]
        bits = tensor.view(self.torch.uint16).numpy()
        return bits.view(dtypes.DTYPES["bfloat16"].numpy)  # type: ignore[no-any-return]


def _along_axis(function: Callable[[Any, int], Any], torch: Any, task: Task, x: Any) -> Any:
    """Apply the function along an axis or, before version 13, to the rows of a matrix."""
    axis: Any = task.attrs.get("axis", -1 if task.op.since >= 13 else 1)
    # Torch takes a scalar for a vector, and is not asked about empty tensors.
    place = ax.from_the_front if task.op.since == 1 else ax.from_either_end
    front = place(axis, x.dim())
    if task.op.since >= 13:
        return function(x, axis)
    return function(x.reshape(ax.matrix_of(x.shape, front)), 1).reshape(x.shape)


def _hardmax(x: Any, axis: int) -> Any:
    zeros = x.new_zeros(x.shape)
    if not x.numel():
        return zeros  # argmax needs an element
    return zeros.scatter(axis, x.argmax(axis, keepdim=True), 1)


def _softmax(x: Any, axis: int) -> Any:
    return x.softmax(axis)


def _lp_pool(torch: Any, task: Task, x: Any) -> Any:
    attrs: dict[str, Any] = {**task.attrs}
    p = float(np.float32(attrs.pop("p", 2)))
    if not 0 < p < math.inf or "kernel_shape" not in attrs:
        raise InvalidNode("LpPool has a kernel_shape, and a p above 0")
    axes = ax.windows_of(x.shape, **attrs).axes
    x = torch.nn.functional.pad(x, _widths(axes))
    for n, axis in enumerate(axes, 2):
        x = x.unfold(n, axis.width, axis.stride)[..., :: axis.dilation]
    return torch.linalg.vector_norm(x, p, tuple(range(-len(axes), 0)))


def _layer_normalization(torch: Any, task: Task, x: Any, scale: Any, shift: Any = None) -> Any:
    attrs: dict[str, Any] = {"axis": -1, "epsilon": 1e-5, "stash_type": 1, **task.attrs}
    if attrs["stash_type"] != 1 or len(task.outputs) > 1:
        raise NotSupported("torch's layer_norm has no stash_type, and one output")
    front = ax.from_either_end(attrs["axis"], x.dim())
    for name, other in (("Scale", scale), ("B", shift)):
        if other is not None:
            ax.stretches(name, other, x)
    y = torch.nn.functional.layer_norm(x, x.shape[front:], eps=attrs["epsilon"]) * scale
    return y if shift is None else y + shift


def _group_normalization(torch: Any, task: Task, x: Any, scale: Any, shift: Any) -> Any:
    attrs: dict[str, Any] = {"epsilon": 1e-5, "stash_type": 1, **task.attrs}
    decline(attrs["stash_type"] != 1, "torch's group_norm has no stash_type")
    if x.shape[1:2] != scale.shape or scale.shape != shift.shape:
        raise InvalidNode("scale and bias have an element for each channel")
    y = torch.nn.functional.group_norm(x, attrs["num_groups"], eps=attrs["epsilon"])
    channels = (-1, *[1] * (x.dim() - 2))
    return y * scale.reshape(channels) + shift.reshape(channels)


def _conv(torch: Any, task: Task, x: Any, w: Any, bias: Any = None) -> Any:
    attrs: dict[str, Any] = {**task.attrs}
    group = attrs.pop("group", 1)
    kernel = tuple(w.shape[2:])
    if x.dim() != w.dim() or tuple(attrs.pop("kernel_shape", kernel)) != kernel:
        raise InvalidNode("X has the rank of W, and kernel_shape is that of W")
    axes = ax.windows_of(x.shape, kernel, **attrs).axes
    decline(len(axes) > 3, "torch convolves along three axes at the most")
    convolve = (torch.conv1d, torch.conv2d, torch.conv3d)[len(axes) - 1]
    return convolve(
        torch.nn.functional.pad(x, _widths(axes)),
        w,
        bias,
        stride=[axis.stride for axis in axes],
        dilation=[axis.dilation for axis in axes],
        groups=group,
    )


def _widths(axes: Sequence[ax.AxisWindows]) -> list[int]:
    """Return the widths of torch's pad from the last axis on; elements in no window are cut off."""
    ends = [(axis.begin, axis.span - axis.length - axis.begin) for axis in reversed(axes)]
    return [width for pair in ends for width in pair]


def _concat(torch: Any, task: Task, *tensors: Any) -> Any:
    x = tensors[0]
    axis = task.attrs.get("axis", 1 if task.op.since == 1 else None)
    if not isinstance(axis, int):
        raise InvalidNode(f"{task.op} needs an axis")
    place = ax.from_the_front if task.op.since < 11 else ax.from_either_end
    front = place(axis, x.dim())
    # Torch drops empty vectors, whatever the others' shapes.
    reject(any(other.dim() != x.dim() for other in tensors), f"{task.op} takes one rank")
    return torch.cat(tensors, front)


def _gather(torch: Any, task: Task, data: Any, indices: Any) -> Any:
    axis: Any = task.attrs.get("axis", 0)
    front = ax.from_either_end(axis, data.dim())
    # Torch's own indices count from the front, and are a vector.
    places = ax.elements_at(indices.cpu().numpy(), data.shape[front], back=task.op.since > 1)
    flat = torch.tensor(places.reshape(-1), dtype=torch.int64, device=data.device)
    chosen = data.index_select(front, flat)
    return chosen.reshape((*data.shape[:front], *indices.shape, *data.shape[front + 1 :]))


def _top_k(torch: Any, task: Task, x: Any, count: Any = None) -> Any:
    attrs: dict[str, Any] = {"axis": -1, "largest": 1, "sorted": 1, **task.attrs}
    if count is not None and (tuple(count.shape) != (1,) or count < 1):
        raise InvalidNode("K is one positive number in a list")
    k = attrs["k"] if count is None else int(count)
    # Only a whole sort is stable; topk is not.
    axis = ax.from_either_end(attrs["axis"], x.dim())
    reject(not 0 <= k <= x.shape[axis], f"k {k}; the axis has {x.shape[axis]} elements")
    values, indices = torch.sort(x, dim=axis, descending=attrs["largest"] == 1, stable=True)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)


def _cast(torch: Any, task: Task, x: Any) -> Any:
    dtype = dtypes.named(task.attrs.get("to"))
    schema = opset.describe("", "Cast", task.opset)
    if dtype is None or schema is None or dtype.text not in schema.outputs[0].types:
        raise InvalidNode(f"to {task.attrs.get('to')!r} names no type that the output may have")
    decline(dtype.name not in dtypes.BASIC, f"the mapping on torch has no {dtype}")
    return x.to(getattr(torch, dtype.name))


def _reduced(name: str, torch: Any, task: Task, x: Any, axes: Any = None) -> Any:
    attrs: dict[str, Any] = {"keepdims": 1, "noop_with_empty_axes": 0, **task.attrs}
    stated = attrs.get("axes", ()) if axes is None else ax.listed("axes", axes.cpu().numpy())
    over = [*ax.distinct(stated, x.dim())]
    if not over and not attrs["noop_with_empty_axes"]:
        over = [*range(x.dim())]
    if not x.is_floating_point() and name in ("L2", "LogSum", "LogSumExp", "Mean"):
        raise NotSupported(f"{task.op} of {x.dtype}")
    if name in ("Max", "Min") and not all(x.shape[axis] for axis in over):
        raise NotSupported(f"{task.op} of no values")
    reduction = _REDUCTIONS[name]
    # Torch adds up integers in int64.
    if over:
        return reduction(x, tuple(over), bool(attrs["keepdims"])).to(x.dtype)
    # Torch takes an empty tuple for all axes.
    return reduction(x.unsqueeze(0), (0,), False).to(x.dtype)


def _named(name: str, torch: Any, task: Task, x: Any, **attrs: Any) -> Any:
    """Call the function of this name in torch, or else in torch.nn.functional."""
    module = torch if hasattr(torch, name) else torch.nn.functional
    return getattr(module, name)(x, **attrs)


def _real(function: Callable[..., Any], torch: Any, task: Task, x: Any) -> Any:
    """A function of floats, with the attributes of the node or their defaults."""
    decline(not x.is_floating_point(), f"{task.op} of {x.dtype}")
    schema = grouping.not_none(opset.describe("", task.op.name, task.opset))
    names = schema.attributes.keys() - {"consumed_inputs"}
    attrs = {name: task.attrs.get(name, schema.attributes[name].default) for name in names}
    return function(torch, task, x, **attrs)


#: Operators that torch has by another name than their own in lower case.
_OTHER_NAMES = {"Not": "logical_not", "BitwiseNot": "bitwise_not"}
_UNARY = ("Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Relu", *_OTHER_NAMES)

_LIBRARY = """
Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Reciprocal Sigmoid Sin Sinh Sqrt Tan Tanh
Celu Elu Gelu HardSwish Mish Softsign
""".split()


def _leaky_relu(torch: Any, task: Task, x: Any, alpha: float) -> Any:
    return torch.nn.functional.leaky_relu(x, alpha)


def _softplus(torch: Any, task: Task, x: Any) -> Any:
    # From 40 on, torch returns x itself, which is Softplus of it to the last bit of a double.
    return torch.nn.functional.softplus(x, threshold=40)


def _thresholded_relu(torch: Any, task: Task, x: Any, alpha: float) -> Any:
    return torch.nn.functional.threshold(x, alpha, 0)


#: Those whose attributes torch calls otherwise.
_ACTIVATIONS: Mapping[str, Callable[..., Any]] = {
    "LeakyRelu": _leaky_relu,
    "Softplus": _softplus,
    "ThresholdedRelu": _thresholded_relu,
}


def _reduce_l1(x: Any, axes: Axes, keep: bool) -> Any:
    return x.abs().sum(axes, keep)


def _reduce_l2(x: Any, axes: Axes, keep: bool) -> Any:
    return x.square().sum(axes, keep).sqrt()


def _reduce_log_sum(x: Any, axes: Axes, keep: bool) -> Any:
    return x.sum(axes, keep).log()


def _reduce_log_sum_exp(x: Any, axes: Axes, keep: bool) -> Any:
    return x.logsumexp(axes, keep)


def _reduce_max(x: Any, axes: Axes, keep: bool) -> Any:
    return x.amax(axes, keep)


def _reduce_mean(x: Any, axes: Axes, keep: bool) -> Any:
    return x.mean(axes, keep)


def _reduce_min(x: Any, axes: Axes, keep: bool) -> Any:
    return x.amin(axes, keep)


def _reduce_prod(x: Any, axes: Axes, keep: bool) -> Any:
    # Torch multiplies along one axis at a time; the last first, so that the others stay in place.
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keep)
    return x


def _reduce_sum(x: Any, axes: Axes, keep: bool) -> Any:
    return x.sum(axes, keep)


def _reduce_sum_square(x: Any, axes: Axes, keep: bool) -> Any:
    return x.square().sum(axes, keep)


_REDUCTIONS: Mapping[str, Callable[[Any, Axes, bool], Any]] = {
    "L1": _reduce_l1,
    "L2": _reduce_l2,
    "LogSum": _reduce_log_sum,
    "LogSumExp": _reduce_log_sum_exp,
    "Max": _reduce_max,
    "Mean": _reduce_mean,
    "Min": _reduce_min,
    "Prod": _reduce_prod,
    "Sum": _reduce_sum,
    "SumSquare": _reduce_sum_square,
}


def _where(torch: Any, task: Task, condition: Any, x: Any, y: Any) -> Any:
    return torch.where(condition, x, y)


_FUNCTIONS: Mapping[tuple[str, str], Callable[..., Any]] = {
    **{("", name): partial(_real, partial(_named, name.lower())) for name in _LIBRARY},
    **{("", name): partial(_real, function) for name, function in _ACTIVATIONS.items()},
    **{("", name): partial(_named, _OTHER_NAMES.get(name, name.lower())) for name in _UNARY},
    **{("", f"Reduce{name}"): partial(_reduced, name) for name in _REDUCTIONS},
    ("", "Softmax"): partial(_along_axis, _softmax),
    ("", "Hardmax"): partial(_along_axis, _hardmax),
    ("", "LpPool"): _lp_pool,
    ("", "Conv"): _conv,
    ("", "GroupNormalization"): _group_normalization,
    ("", "LayerNormalization"): _layer_normalization,
    ("", "Where"): _where,
    ("", "Concat"): _concat,
    ("", "Gather"): _gather,
    ("", "TopK"): _top_k,
    ("", "Cast"): _cast,
}
