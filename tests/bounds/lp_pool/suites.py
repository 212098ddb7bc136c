"""The windows that the shipped cases of LpPool hold, whatever is done with them there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from opcheck.model import Case, Typed
from opcheck.suite import load, materialize
from opcheck.suite.load import shipped_suites
from tests.bounds.arithmetic import Array

#: The elements of the windows along one axis, padding left out.
Spans: TypeAlias = list[list[int]]

#: A tensor of more elements than this, or more windows than these of one kind, hold nothing new.
_LARGE = 10_000
_MANY = 40


@cache
def windows_of_the_suites() -> dict[tuple[str, float, int], Array]:
    """Finite windows, of shape (n, K), by the name of their dtype, p and K."""
    found: dict[tuple[str, float, int], set[tuple[float, ...]]] = defaultdict(set)
    dtypes: dict[str, Any] = {}
    for case in load([shipped_suites() / "onnx" / "lp_pool.yaml"]):
        is_typed = any(isinstance(value, Typed) for value in case.attrs.values())
        if is_typed or not 0 < np.prod(case.inputs[0].shape) <= _LARGE:
            continue
        x = materialize(case.inputs[0])
        dtypes[x.dtype.name] = x.dtype
        stated: Any = case.attrs.get("p", 2)
        p = float(np.float32(stated))
        for window in _windows(case, x):
            if 0 < p < np.inf and window.size and np.isfinite(window).all():
                found[x.dtype.name, p, window.size].add(tuple(window.tolist()))
    return {
        key: np.array(sorted(all_)[:: 1 + len(all_) // _MANY], dtypes[key[0]])
        for key, all_ in found.items()
    }


def _windows(case: Case, x: Array) -> Iterator[Array]:
    attrs: dict[str, Any] = {**case.attrs}
    rank = x.ndim - 2
    lists = {
        "kernel_shape": x.shape[2:],
        "strides": [1] * rank,
        "dilations": [1] * rank,
        "pads": [0] * 2 * rank,
    }
    lists |= {name: attrs[name] for name in lists if name in attrs}
    kernel, strides, dilations = (lists[n] for n in ("kernel_shape", "strides", "dilations"))
    if rank < 1 or {len(kernel), len(strides), len(dilations), len(lists["pads"]) / 2} != {rank}:
        return
    if min(*kernel, *strides, *dilations) < 1:
        return
    mode = attrs.get("auto_pad", "NOTSET"), attrs.get("ceil_mode", 0)
    begins, ends = lists["pads"][:rank], lists["pads"][rank:]
    axes = zip(x.shape[2:], kernel, strides, dilations, begins, ends, strict=True)
    spans = [_spans(*mode, *axis) for axis in axes]
    for image in x.reshape(-1, *x.shape[2:]):
        for elements in product(*spans):
            yield image[np.ix_(*elements)].reshape(-1)


def _spans(
    auto_pad: str,
    ceil_mode: int,
    length: int,
    kernel: int,
    stride: int,
    dilation: int,
    begin: int,
    end: int,
) -> Spans:
    wide = (kernel - 1) * dilation + 1
    if auto_pad.startswith("SAME"):
        total = max(0, (-(-length // stride) - 1) * stride + wide - length)
        begin = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
        end = total - begin
    stop = length + end - wide + 1 + (stride - 1 if ceil_mode else 0)
    starts = range(-begin, min(stop, length), stride)
    return [[i for i in range(s, s + wide, dilation) if 0 <= i < length] for s in starts]
