"""Elements that no text defines, and of which any number is right, next to others that are judged.

A formula that comes across such elements, as of integers divided by 0, marks them in an output:

    return undefined_where(y, b == 0, "integers divided by 0")

A judge leaves them out and judges the others. Whatever computes further with the output has no such
choice: a graph that is judged is not supported. A backend gives `y`.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.operators import DECIDED, is_judging, raise_unspecified
from opcheck.numbers import setting

#: True for each element that may be anything, in the shape of its output.
Undefined: TypeAlias = NDArray[np.bool_]
#: The undefined elements of the outputs that are asked for, by their place among these.
UndefinedByPlace: TypeAlias = dict[int, Undefined]

#: True where the outputs of the formula in progress are those of the node that is judged.
_may_be_marked: ContextVar[bool] = ContextVar("_may_be_marked", default=False)


@dataclass(frozen=True, eq=False)
class PartlyDefined:
    """An output of a formula that has undefined elements.

    Attributes:
        output: The output on any kind of numbers, with something in place of these elements.
        undefined: A mask of them, in the shape of the output.
        subject: What nothing is said of, as `raise_unspecified` takes it.
    """

    output: Any
    undefined: Undefined
    subject: str

    @property
    def size(self) -> int:
        """The number of elements of the output."""
        return self.undefined.size


def undefined_where(output: Any, mask: Any, subject: str) -> Any:
    """Return `output`, of which the elements in `mask` may be anything.

    The mask broadcasts to the output's shape. Without such an element, for a backend, and if
    DECIDED has this subject, that is the output itself, else a `PartlyDefined`, which a formula
    must return as it is. Raises NotSupported, while judging, where another formula would compute
    with the output.
    """
    if not np.any(mask) or subject in DECIDED.get():
        return output
    if _may_be_marked.get():
        return PartlyDefined(output, np.broadcast_to(mask, output.shape), subject)
    if is_judging():
        raise_unspecified(subject)
    return output


def reshaped(output: Any, shape: tuple[int, ...]) -> Any:
    """Return an output of a formula, which may be a `PartlyDefined`, in another shape."""
    if not isinstance(output, PartlyDefined):
        return xp.reshape(output, shape)
    undefined = output.undefined.reshape(shape)
    return PartlyDefined(xp.reshape(output.output, shape), undefined, output.subject)


def marking(allowed: bool) -> AbstractContextManager[None]:
    """Let formulas mark undefined elements in the block, or raise NotSupported in their place."""
    return setting(_may_be_marked, allowed)


def taken_apart(outputs: Sequence[Any], undefined: UndefinedByPlace | None) -> Sequence[Any]:
    """Return outputs of a formula without their marks, which are added to `undefined`, by place.

    `undefined` is None where none may be marked. Raises NotSupported, while judging, if all
    elements of all outputs are undefined: nothing would be judged.
    """
    marked = {n: x for n, x in enumerate(outputs) if isinstance(x, PartlyDefined)}
    if undefined is None or not marked:
        return outputs
    undefined.update({n: x.undefined for n, x in marked.items()})
    is_all_undefined = len(marked) == len(outputs) and all(
        x.undefined.all() for x in marked.values()
    )
    if is_all_undefined and is_judging():
        raise_unspecified(next(iter(marked.values())).subject)
    return [x.output if isinstance(x, PartlyDefined) else x for x in outputs]
