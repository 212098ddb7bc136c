"""Capabilities that a backend declares, which the probe compares with what it does.

A backend may have a method `declares(task)`, which returns True, False, or None if it does not say.
It may break, hang or die like any other. So it is asked by a backend in its own process, at
`address_of`, whose answers are the other one's declarations.
"""

from collections.abc import Sequence
from urllib.parse import quote, unquote

import numpy as np

from opcheck.backends.base import TaskCall
from opcheck.backends.connect import connect
from opcheck.dtypes import DType
from opcheck.model import Array, Task


def address_of(address: str) -> str:
    """Return the address of a backend whose answers are the declarations of `address`."""
    # Quoted, because options of its own would be taken for this one's.
    return f"py:{__name__}:Declarations?of={quote(address, safe='')}"


def meant(answer: Array) -> bool | None:
    """Interpret the answer of such a backend."""
    return None if answer < 0 else bool(answer)


def lead_dtype(task: Task) -> DType | None:
    """Return the dtype that kernels differ by; None where that is of a constant input."""
    from opcheck.engine import dtype_of, leading

    name = leading(task.op, task.slots)
    lead = next((tensor.dtype for tensor in task.inputs if tensor.name == name), None)
    return dtype_of(task.op, task.attrs, lead)


class Declarations:
    """The backend of `address_of`."""

    repeatable = False

    def __init__(self, of: str) -> None:
        self._declares = getattr(connect(unquote(of)), "declares", None)

    def prepare(self, task: Task) -> TaskCall:
        """Ask; whatever comes up is the answer."""
        return declaration(self._declares(task) if self._declares else None)


def declaration(answer: bool | None) -> TaskCall:
    """Return a task that answers with a tensor: 1, 0, or -1 for nothing."""

    def run(inputs: Sequence[Array]) -> list[Array]:
        if answer not in (True, False, None):
            raise TypeError(f"declares returned {answer!r}, not True, False or None")
        return [np.array(-1 if answer is None else answer, np.int8)]

    return TaskCall(run)
