"""An operator written from ONNX's text alone, against opcheck's engine on shipped cases."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import opcheck
from opcheck.dtypes import of as dtype_of
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import node_of, question

Function = Callable[[int, list[Any], dict[str, Any], int], Sequence[Any]]
ALLOWED = {"float64": 1e-12, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}


class Open(Exception):
    """The text leaves open what the answer is."""


class Forbidden(Exception):
    """The text forbids the node."""


def differences(op: str, function: Function, every: int = 1) -> list[str]:
    """One line for each of the operator's cases where `function` and the engine differ."""
    return [line for said, line in compared(op, function, every) if said == "differs"]


def compared(op: str, function: Function, every: int = 1) -> Iterator[tuple[str, str]]:
    """Yield what came of each case, in one word, and a line about it."""
    for case in [*opcheck.load(ops=[op])][::every]:
        asked = question(case)
        node = node_of(asked.task, asked.inputs)
        inputs = [*asked.task.operands(asked.inputs)]
        refused = mine = None
        right: Sequence[Any] = ()
        try:
            right = node.right
        except (InvalidNode, NotSupported) as error:
            refused = error
        try:
            mine = function(case.op.since, inputs, dict(asked.task.attrs), node.count)
        except Open as error:
            yield "open", f"{case.rule} {case.id}: {error}; the engine: {refused or 'answers'}"
            continue
        except Forbidden as error:
            said = "forbidden" if isinstance(refused, InvalidNode) else "differs"
            yield said, f"{case.rule} {case.id}: forbidden ({error}); the engine: {refused}"
            continue
        if isinstance(refused, NotSupported):
            yield "unsupported", f"{case.rule} {case.id}: {refused}"
        elif refused:
            yield "differs", f"{case.rule} {case.id}: the engine refuses it: {refused}"
        else:
            places = asked.task.places
            pairs = [(mine[place], want) for place, want in zip(places, right, strict=True)]
            wrong = [why for got, want in pairs if (why := unlike(got, want))]
            yield "differs" if wrong else "agrees", f"{case.rule} {case.id}: {'; '.join(wrong)}"


def unlike(got: Any, want: np.ndarray) -> str:
    """Say how two outputs differ, "" if they do not; float64 stands for any float type."""
    got = np.asarray(got)
    if got.shape != want.shape:
        return f"shape {got.shape}, the engine {want.shape}"
    dtype = dtype_of(want)
    if dtype is None or dtype.kind != "float":
        same = got == want if got.dtype == want.dtype else np.zeros(want.shape, bool)
    elif got.dtype not in (np.float64, want.dtype):
        return f"dtype {got.dtype}, the engine {want.dtype}"
    else:
        with np.errstate(over="ignore"):
            one, other = (it.astype(want.dtype).astype(np.float64) for it in (got, want))
        finite = np.isfinite(one) & np.isfinite(other)
        largest = np.max(np.abs(other), where=np.isfinite(other), initial=0)
        least = 2.0**dtype.min_exponent
        with np.errstate(invalid="ignore"):
            slack = ALLOWED[dtype.name] * np.abs(other) + 1e-12 * largest + least
            near = np.abs(one - other) <= slack
        same = np.where(finite, near, (one == other) | (np.isnan(one) & np.isnan(other)))
    if same.all():
        return ""
    at = tuple(int(n) for n in np.argwhere(~same)[0])
    return f"{(~same).sum()} of {same.size}; at {at}: {got[at]!r}, the engine {want[at]!r}"


def count(op: str, function: Function) -> None:
    """Print what came of all cases."""
    rows = [*compared(op, function)]
    print(op, len(rows), dict(Counter(said for said, _ in rows)))
    for said, line in rows:
        if said in ("differs", "open", "unsupported"):
            print(said, line[:400])
