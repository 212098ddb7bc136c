"""What readings of ONNX's text share: the shipped cases, and the comparison with the engine."""

from collections import Counter
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

import opcheck
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import node_of, question
from opcheck.model import Case
from tests.blind.schema import forbids

Function = Callable[..., Sequence[np.ndarray]]
#: By operator, how its cases came out: agreed, forbidden, open and why, unsupported.
counts: dict[str, Counter[str]] = {}
_RELATIVE = {
    "float64": 1e-10,
    "float32": 1e-6,
    "complex64": 1e-6,
    "float16": 2e-3,
    "bfloat16": 2e-2,
}


class Open(Exception):
    """The text does not say it."""


class Forbidden(Exception):
    """The text forbids it."""


def differs(mine: np.ndarray, right: np.ndarray) -> str | None:
    """Return how an answer, in float64 or the output's type, differs from the engine's."""
    is_text = right.dtype.kind in "OUST"
    same = is_text or mine.dtype in (right.dtype, np.float64, np.complex128)
    if mine.shape != right.shape or not same:
        return f"{mine.dtype} {mine.shape}, the engine's {right.dtype} {right.shape}"
    with np.errstate(over="ignore", invalid="ignore"):
        mine = mine if is_text else mine.astype(right.dtype)
        wrong = (mine != right) & ~((mine != mine) & (right != right))
        if (room := _RELATIVE.get(right.dtype.name)) is not None:
            a, b = (it.astype(complex if it.dtype.kind == "c" else float) for it in (mine, right))
            least = float(ml_dtypes.finfo(right.dtype).smallest_subnormal)
            wrong &= ~(abs(a - b) <= room * np.maximum(abs(a), abs(b)) + least)
    if not np.any(wrong):
        return None
    at = tuple(map(int, np.argwhere(wrong)[0]))
    return f"{np.sum(wrong)} of {right.size}, at {at} {mine[at]!r}, the engine {right[at]!r}"


def difference(case: Case, function: Function) -> str | None:
    """Return how the engine's answer to a case differs from that of `function`, or None."""
    asked, seen = question(case), counts.setdefault(case.op.name, Counter())
    node, inputs = node_of(asked.task, asked.inputs), asked.task.operands(asked.inputs)
    try:
        if why := forbids(case, inputs):
            raise Forbidden(why)
        mine: Sequence[np.ndarray] = function(case.op.since, inputs, dict(case.attrs), node.count)
        found = [differs(mine[n], it) for n, it in zip(asked.task.places, node.right, strict=True)]
        how = next(filter(None, found), None)
        seen["differ" if how else "agreed"] += 1
    except Open as why:
        how, _ = None, seen.update([f"open ({case.rule}): {why}"])
    except Forbidden as why:
        how = f"forbidden: {why}; the engine answers" if node.is_legal else None
        seen["differ" if how else "forbidden"] += 1
    except (InvalidNode, NotSupported) as error:
        how = f"the engine: {error}" if isinstance(error, InvalidNode) else None
        seen["differ" if how else "unsupported"] += 1
    return how


def differences(op: str, function: Function, every: int = 1) -> list[str]:
    """Return a line for each shipped case of `op`, or each of so many, that differs."""
    counts.pop(op, None)
    pairs = ((c, difference(c, function)) for c in opcheck.load(ops=[op])[::every])
    return [f"{case.id} ({case.op}, {case.rule}): {found}" for case, found in pairs if found]
