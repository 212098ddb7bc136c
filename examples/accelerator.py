"""A stand-in for an accelerator, for docs/accelerators.md: a habit of such devices at a time.

opcheck run --op MatMul --opset 13 -b 'py:accelerator?habit=narrow'
"""

import time

import numpy as np

from opcheck.errors import BackendUnavailable, NotSupported

HABITS = ("none", "narrow", "flush", "tf32", "unordered", "batched", "slow", "falls_back")


class Accelerator:
    """Mul and MatMul, in float16 and float32."""

    version = "1.0"
    refuses = False  # like most kernel libraries, it does not validate models

    def __init__(self, habit="none"):
        if habit not in HABITS:
            raise ValueError(f"habit is one of {', '.join(HABITS)}")
        self.habit = habit

    def prepare(self, task):
        """Take Mul and MatMul of its types."""
        types = {tensor.dtype.name for tensor in task.inputs}
        if task.op.name not in ("Mul", "MatMul") or types - {"float16", "float32"}:
            raise NotSupported(f"there is no {task.op} of {', '.join(types)}")
        if self.habit == "falls_back":
            raise BackendUnavailable("asked for npu:0, got cpu")
        return Compiled(task, self.habit)


class Compiled:
    """One node."""

    def __init__(self, task, habit):
        self.task = task
        self.habit = habit

    def run(self, inputs):
        """Compute the node."""
        x, y = self.task.operands(inputs)
        if self.habit == "slow":
            time.sleep(60)
        result = x * y if self.task.op.name == "Mul" else self.product(x, y)
        if self.habit == "flush":
            result = np.where(np.abs(result) < np.finfo(result.dtype).smallest_normal, 0, result)
        return [result.astype(x.dtype)]

    def product(self, x, y):
        """Multiply matrices; sums are exact enough in float64, but for a habit."""
        if self.habit == "narrow" and x.dtype == np.float16 and min(x.ndim, y.ndim) > 1:
            return in_float16(x, y)
        if self.habit == "tf32" and x.dtype == np.float32:
            x, y = (in_tf32(factor) for factor in (x, y))
        order = np.arange(x.shape[-1])
        wide = np.float64
        if self.habit == "unordered":
            order = np.random.default_rng().permutation(order)
            wide = np.float32
        if self.habit == "batched" and len(x) > 1:  # another kernel for several rows
            order = order[::-1]
            wide = np.float32
        return x[..., order].astype(wide) @ y.take(order, max(y.ndim - 2, 0)).astype(wide)


def in_float16(x, y):
    """Multiply matrices with sums that are rounded to float16 at each term."""
    total = np.zeros((1, 1), np.float16)
    for k in range(x.shape[-1]):
        total = total + x[..., k : k + 1] * y[..., k : k + 1, :]
    return total


def in_tf32(x):
    """Round float32 to 10 bits behind the point."""
    bits = x.view(np.uint32) + np.uint32(1 << 12)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)
