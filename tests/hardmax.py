"""Hardmax and DML_ACTIVATION_HARDMAX1 as a backend of its own: right, or nearly so."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from opcheck.errors import InvalidNode
from opcheck.model import Task
from opcheck.opset.direct_ml import invalid_axes
from tests.miniatures import Fake, Run, of_operand

_FLOATS = {"float16", "float32", "float64"}


def first(m: Any) -> Any:
    """The first maximum of each row of a matrix, which is the first NaN where there is one."""
    return np.arange(m.shape[1]) == m.argmax(axis=1)[:, None]


def _flushed(m: Any) -> Any:
    return first(np.where(np.abs(m) < ml_dtypes.finfo(m.dtype).smallest_normal, 0, m))


def _competing(task: Task, rank: int) -> list[int]:
    """The axes whose elements compete for a one, the last running fastest."""
    if task.op.name != "Hardmax":
        stated: Any = task.attrs.get("Axes", ())
        if problem := invalid_axes(stated, rank):
            raise InvalidNode(problem)
        return sorted(stated)
    since = task.op.since
    axis: Any = task.attrs.get("axis", -1 if since == 13 else 1)
    if {*task.attrs} - {"axis"} or not isinstance(axis, int):
        raise InvalidNode(f"attributes {task.attrs}")
    if not (0 if since == 1 else -rank) <= axis < rank:
        raise InvalidNode(f"axis {axis} of a tensor of rank {rank}")
    return [axis % rank] if since == 13 else [*range(axis % rank, rank)]


@dataclass(frozen=True)
class Hardmax(Fake):
    """Puts a one where `choose` says so of each row, and then does something to the `output`."""

    prepared: Callable[[Task], Run] = field(init=False)
    documented_errors: tuple[type[BaseException], ...] = (InvalidNode,)
    choose: Callable[[Any], Any] = first
    any_type: bool = False
    output: Callable[[Any], Any] = lambda out: [out]

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepared", of_operand(self._run))

    def _run(self, task: Task, x: Any) -> Any:
        allowed = _FLOATS - {"float64"} if task.op.name != "Hardmax" else _FLOATS
        allowed = {*allowed, "bfloat16"} if task.op.since == 13 else allowed
        if x.dtype.name not in allowed and not self.any_type:
            raise InvalidNode(f"input of type {x.dtype}")
        competing = _competing(task, x.ndim)
        if not x.size:
            return self.output(x.copy())
        order = [*(axis for axis in range(x.ndim) if axis not in competing), *competing]
        moved = x.transpose(order)
        m = moved.reshape(-1, prod(x.shape[axis] for axis in competing))
        with np.errstate(all="ignore"):
            ones = self.choose(m.astype(np.float32) if m.itemsize == 2 else m)
        ones = ones.reshape(moved.shape).transpose(np.argsort(order))
        return self.output(np.ascontiguousarray(ones.astype(x.dtype)))


#: Permitted, or not decided by the text: no case may fail for these.
LIBERTIES: dict[str, Hardmax] = {
    "negative_zeros": Hardmax(output=lambda out: [np.where(out == 0, -0.0, 1).astype(out.dtype)]),
    "skips_nan": Hardmax(choose=lambda m: first(np.where(np.isnan(m), -np.inf, m))),
    "no_one_beside_nan": Hardmax(choose=lambda m: first(m) & ~np.isnan(m).any(1, keepdims=True)),
    "fortran_order": Hardmax(output=lambda out: [np.asfortranarray(out)]),
    "read_only": Hardmax(output=lambda out: [np.broadcast_to(out, out.shape)]),
    "a_tuple": Hardmax(output=lambda out: (out,)),
}

#: Only `should` speaks against these: they are warned of.
LAPSES: dict[str, Hardmax] = {
    "subnormals_flushed": Hardmax(choose=_flushed),
    "accepts_integers": Hardmax(any_type=True),
}
