"""Hardmax and DML_ACTIVATION_HARDMAX1 as a backend: right, or with one step taken otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
from opcheck.engine.mistakes import Node
from opcheck.engine.ops.dml_activation_hardmax1.mistakes import RIGHT as DIRECTML
from opcheck.engine.ops.hardmax.steps import RIGHT, numbers

from opcheck.engine.ops.hardmax import choices
from opcheck.errors import InvalidNode
from opcheck.model import Task
from tests.miniatures import Fake, Run, of_operand


@dataclass(frozen=True)
class Hardmax(Fake):
    """Takes `steps` otherwise than is right, and then does something to the `output`."""

    prepared: Callable[[Task], Run] = field(init=False)
    documented_errors: tuple[type[BaseException], ...] = (InvalidNode,)
    steps: Mapping[str, Any] = field(default_factory=dict)
    output: Callable[[Any], Any] = lambda out: [out]

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepared", of_operand(self._run))

    def _run(self, task: Task, x: Any) -> Any:
        right = RIGHT if task.op.name == "Hardmax" else DIRECTML
        (out,) = replace(right, **self.steps)(Node(task.op, (x,), task.attrs))
        return self.output(out)


def _flush(matrix: Any) -> Any:
    smallest = ml_dtypes.finfo(matrix.dtype).smallest_normal
    return numbers(np.where(np.abs(matrix) < smallest, np.zeros_like(matrix), matrix))


#: Permitted, or not decided by the text: no case may fail for these.
LIBERTIES: dict[str, Hardmax] = {
    "negative_zeros": Hardmax(output=lambda out: [np.where(out == 0, -0.0, 1).astype(out.dtype)]),
    "skips_nan": Hardmax(steps={"choose": choices.skipping_nan}),
    "no_one_beside_nan": Hardmax(steps={"choose": choices.none_beside_nan}),
    "fortran_order": Hardmax(output=lambda out: [np.asfortranarray(out)]),
    "read_only": Hardmax(output=lambda out: [np.broadcast_to(out, out.shape)]),
    "a_tuple": Hardmax(output=lambda out: (out,)),
}

#: Only `should` speaks against these: they are warned of.
LAPSES: dict[str, Hardmax] = {
    "subnormals_flushed": Hardmax(steps={"values": _flush}),
    "accepts_integers": Hardmax(steps={"dtype": lambda node: None}),
}
