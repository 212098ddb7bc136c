"""Hardmax and DML_ACTIVATION_HARDMAX1 as a backend: right, or with one step taken otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Task
from tests.miniatures import Fake, Run, of_operand


def numbers(matrix: Any) -> Any:
    """What is compared: NumPy is slow with types of 16 bits, and float32 holds their values."""
    return matrix.astype(np.float32) if matrix.dtype.itemsize <= 2 else matrix


def first(matrix: Any) -> Any:
    """The place of the first maximum of each row, or of its first NaN."""
    return matrix.argmax(axis=1)


def skipping_nan(matrix: Any) -> Any:
    return np.where(np.isnan(matrix), -np.inf, matrix).argmax(axis=1)


def none_beside_nan(matrix: Any) -> Any:
    """No place in rows with NaN."""
    return np.where(np.isnan(matrix).any(axis=1), -1, matrix.argmax(axis=1))


@dataclass(frozen=True)
class Hardmax(Fake):
    """Compares `values`, puts a one at the place that is chosen, and does something to the output.

    `lenient` computes types that the version lacks.
    """

    prepared: Callable[[Task], Run] = field(init=False)
    documented_errors: tuple[type[BaseException], ...] = (InvalidNode,)
    values: Callable[[Any], Any] = numbers
    choose: Callable[[Any], Any] = first
    output: Callable[[Any], Any] = lambda out: [out]
    lenient: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepared", of_operand(self._run))

    def _run(self, task: Task, x: Any) -> Any:
        with np.errstate(over="ignore"):
            seen = x.astype(np.float32) if self.lenient else x
        # The engine refuses what is illegal; what is legal is answered without it.
        assert Node(task.op, (seen,), task.attrs).right
        if not x.size:
            return self.output(x.copy())
        competing = _competing(task, x.ndim)
        kept = [axis for axis in range(x.ndim) if axis not in competing]
        apart = x.transpose(*kept, *competing)
        matrix = apart.reshape(-1, np.prod([x.shape[axis] for axis in competing]))
        ones = np.arange(matrix.shape[1]) == self.choose(self.values(matrix))[:, np.newaxis]
        back = ones.reshape(apart.shape).transpose(np.argsort((*kept, *competing)))
        return self.output(np.ascontiguousarray(back).astype(x.dtype))


def _competing(task: Task, rank: int) -> list[int]:
    """The axes whose elements make up a row."""
    attrs: Any = task.attrs
    if task.op.name != "Hardmax":
        return sorted(attrs["Axes"])
    axis = attrs.get("axis", -1 if task.op.since >= 13 else 1) % rank
    return [axis] if task.op.since >= 13 else list(range(axis, rank))


def _flush(matrix: Any) -> Any:
    smallest = ml_dtypes.finfo(matrix.dtype).smallest_normal
    with np.errstate(invalid="ignore"):
        return numbers(np.where(np.abs(matrix) < smallest, np.zeros_like(matrix), matrix))


#: Permitted, or not decided by the text: no case may fail for these.
LIBERTIES: dict[str, Hardmax] = {
    "negative_zeros": Hardmax(output=lambda out: [np.where(out == 0, -0.0, 1).astype(out.dtype)]),
    "skips_nan": Hardmax(choose=skipping_nan),
    "no_one_beside_nan": Hardmax(choose=none_beside_nan),
    "fortran_order": Hardmax(output=lambda out: [np.asfortranarray(out)]),
    "read_only": Hardmax(output=lambda out: [np.broadcast_to(out, out.shape)]),
    "a_tuple": Hardmax(output=lambda out: (out,)),
}

#: Only `should` speaks against these: they are warned of.
LAPSES: dict[str, Hardmax] = {
    "subnormals_flushed": Hardmax(values=_flush),
    "accepts_integers": Hardmax(lenient=True),
}
