"""Outputs of a node, correctly rounded, with the allowed errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from opcheck import dtypes
from opcheck.compare import Want
from opcheck.compare.bounded import ends as ends_of_bound
from opcheck.compare.elements import distance, stepped
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import parts
from opcheck.engine import Expected, operator_of
from opcheck.engine.evaluate import exactly
from opcheck.engine.rounding import correctly_rounded
from opcheck.errors import Exit, InvalidNode, NotSupported, OpcheckError
from opcheck.execution.expected import node_of
from opcheck.model import EXACT, Array, Task, Tensors, Tolerance
from opcheck.suite.golden_manifest import ManifestMethod


class Disagreement(ValueError):
    """The oracle and the case contradict each other; nothing may be written."""


class UnsoundArithmetic(OpcheckError):
    """The arithmetic of this process is not that of IEEE 754."""

    exit_code = Exit.UNUSABLE


class NodeOutputs(NamedTuple):
    """The outputs of a node and how they came about."""

    arrays: tuple[Array, ...]
    method: ManifestMethod


def outputs(task: Task, inputs: Tensors) -> NodeOutputs | None:
    """The outputs, correctly rounded; None if the engine lacks the operator.

    Raises InvalidNode, UnsoundArithmetic, and ValueError for uncertain rounding.
    """
    if operator_of(task.op) is None:
        return None
    require_sound_arithmetic()
    try:
        arrays, method = correctly_rounded(node_of(task, inputs))
    except NotSupported:
        return None
    # NaNs are positive and quiet: their bits depend on the processor.
    return NodeOutputs(
        tuple(
            np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
            if (known := dtypes.of(array)) and known.kind == "float"
            else array
            for array in arrays
        ),
        method,
    )


def require_sound_arithmetic() -> None:
    """Raise UnsoundArithmetic where a library changed rounding, or flushes subnormal numbers."""
    one, half_step, least = np.array([1.0]), np.array([2.0**-53]), np.array([2.0**-1074])
    to_nearest = one + half_step == 1 and -one - half_step == -1 and one + 1.5 * half_step > 1
    if not (to_nearest and least * one > 0):
        raise UnsoundArithmetic(
            "floating-point numbers are not rounded to nearest here, or lose their subnormals",
            "something in this process changed the processor's floating-point mode",
        )


def same(one: Array, other: Array) -> Any:
    """Compare elements: NaN equals NaN, +0 differs from −0."""
    if one.dtype.kind == "c":
        return np.all(same(parts(one), parts(other)), axis=-1)
    equal, known = np.asarray(one == other), dtypes.of(one)
    if known is None or known.kind != "float":
        return equal
    return (equal & (np.signbit(one) == np.signbit(other))) | (np.isnan(one) & np.isnan(other))


def accepted(task: Task, inputs: Tensors) -> str | None:
    """Return why a model that must be refused is not; None if the oracle refuses it."""
    try:
        is_accepted = outputs(task, inputs) is not None
    except InvalidNode:
        return None
    except (ValueError, MemoryError) as error:
        return f"the oracle gives no answer: {error}"
    return "must be refused, but the oracle accepts it" if is_accepted else None


def wrong_answers(
    task: Task,
    inputs: Tensors,
    stored: Tensors,
    method: ManifestMethod | None,
    allowed: tuple[float, float],
) -> Iterator[tuple[str | None, str]]:
    """Yield problems of outputs by file stem, None for the model; `allowed` are rtol and atol."""
    try:
        found = outputs(task, inputs)
    except (InvalidNode, ValueError, MemoryError) as error:
        yield None, f"today's oracle gives no answer: {error}"
        return
    if found is None:
        if method != "stated":
            yield None, "this opcheck lacks the operator"
        return
    if len(found.arrays) != len(stored):
        yield None, f"gives {len(found.arrays)} outputs, the manifest says {len(stored)}"
        return
    for number, (want, got) in enumerate(zip(found.arrays, stored, strict=True)):
        if (want.dtype, want.shape) != (got.dtype, got.shape):
            message = f"the oracle gives {dtypes.of(want)}{list(want.shape)}"
            yield f"output_{number}", f"holds {dtypes.of(got)}{list(got.shape)}, {message}"
            continue
        wrong = ~same(want, got)
        if method == "stated" and wrong.any():
            with np.errstate(all="ignore"):
                wrong &= ~np.isclose(got, want, *allowed, equal_nan=True)
        if wrong.any():
            place = tuple(map(int, np.argwhere(wrong)[0]))
            count = f"{int(np.count_nonzero(wrong)):,} of {want.size:,} elements are wrong"
            message = f"at {list(place)} it has {got[place]!s}, the oracle {want[place]!s}"
            yield f"output_{number}", f"{count}: {message}"


def wrong_ends(
    task: Task,
    inputs: Tensors,
    stored: Tensors,
    lowest: Tensors,
    highest: Tensors,
) -> Iterator[tuple[str, str]]:
    """Ends more than an ULP off those of the operator's error bound, by their files' stems."""
    if operator_of(task.op) is None:
        return
    try:
        answers = exactly(node_of(task, inputs))
    except (InvalidNode, MemoryError):
        # The answers themselves are reported; without any there are no ends.
        return
    columns = zip(answers, stored, lowest, highest, strict=True)
    for number, (answer, output, low, high) in enumerate(columns):
        if not isinstance(answer, Expected) or answer.values.shape != output.shape:
            continue
        mine = ends(computed_want(task.op, "", answer), output, None)
        for kind, want, got in (("lowest", mine.lowest, low), ("highest", mine.highest, high)):
            if (distance(want, got) > 1).any():
                yield f"{kind}_{number}", "is not what the operator's error bound allows"


@dataclass(frozen=True, eq=False)
class Ends:
    """The lowest and the highest right values around those that are `written`."""

    written: Array
    lowest: Array
    highest: Array
    #: The absolute error that is right whatever the case's tolerance.
    floor: float = 0.0


def ends(want: Want, written: Array, tolerance: Tolerance | None) -> Ends:
    """Return the error allowed around `written`: by the tolerance, else by the bound of `want`."""
    if tolerance is None and want.bound is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            return Ends(written, *ends_of_bound(want.bound, written, want.low, want.high))
    stated = tolerance or EXACT
    floor = 0.0 if stated.strict else want.floor
    # Neither exact outputs nor rtol and atol need arrays of ends.
    return stated_ends(written, stated.ulp or 0, floor)


def stated_ends(written: Array, ulp: int, floor: float = 0.0) -> Ends:
    """Return the error allowed around `written`: a number of ULP, or `floor`."""
    if not ulp and not floor:
        return Ends(written, written, written)
    finite = np.isfinite(written)
    lowest, highest = (np.where(finite, stepped(written, by), written) for by in (-ulp, ulp))
    if floor:
        off = [np.where(finite, _wide(written) + by, written) for by in (-floor, floor)]
        lowest = np.minimum(lowest, off[0].astype(written.dtype))
        highest = np.maximum(highest, off[1].astype(written.dtype))
    return Ends(written, lowest, highest, floor)


def as_rtol_and_atol(found: Sequence[Ends]) -> tuple[float, float]:
    """The tightest rtol and atol that admit, by ONNX's comparison, all finite values in `found`."""
    needs, sizes = [np.empty(0)], [np.empty(0)]
    for one in found:
        if one.lowest is one.written:
            continue
        low, at, high = (_wide(array) for array in (one.lowest, one.written, one.highest))
        with np.errstate(invalid="ignore"):
            # In files from strangers an end may lie on the wrong side.
            need = np.maximum(np.abs(high - at), np.abs(at - low))
        part = np.isfinite(need) & (need > 0)
        needs.append(need[part])
        sizes.append(np.abs(at[part]))
    need, size = np.concatenate(needs), np.concatenate(sizes)
    if not need.size:
        return 0.0, 0.0
    rtol, atol = _tightest(need, size)
    # The runner computes in the dtype itself, which rounds, and where small numbers vanish.
    for _ in range(40):
        if all(_admits(one, rtol, atol) for one in found):
            return rtol, atol
        rtol, atol = _upwards(rtol * 1.01), _upwards(atol * 1.01)
    return rtol, _upwards(1.1 * float(need.max()))


def _tightest(need: Any, size: Any) -> tuple[float, float]:
    exponents = np.frexp(need)[1]
    least, most = int(exponents.min()) - 1, int(exponents.max())
    tried = [0.0, *np.ldexp(1.0, np.unique(np.linspace(least, most, 48).astype(int)))]
    best = (np.inf, 0.0, 0.0)
    for atol in map(_upwards, tried):
        beyond = np.maximum(need - atol, 0.0)
        if (beyond[size == 0] > 0).any():
            continue
        share = np.divide(beyond, size, out=np.zeros_like(need), where=size > 0)
        rtol = _upwards(float(share.max(initial=0.0)))
        with np.errstate(over="ignore"):
            looseness = float(np.mean(np.log2((atol + rtol * size) / need)))
        best = min(best, (looseness, rtol, atol))
    return best[1:]


def _admits(one: Ends, rtol: float, atol: float) -> bool:
    """Return True if numpy.testing.assert_allclose accepts both ends, as ONNX's runner calls it."""
    if one.lowest is one.written:
        return True
    arrays = [one.lowest, one.written, one.highest]
    if dtypes.of(one.written) is dtypes.DTYPES["bfloat16"]:
        arrays = [array.astype(np.float32) for array in arrays]
        rtol = max(rtol, 2.0**-6)  # as ONNX's runner does, whatever data.json states
    low, at, high = arrays
    with np.errstate(all="ignore"):
        close = np.isclose(low, at, rtol, atol, equal_nan=True)
        close &= np.isclose(high, at, rtol, atol, equal_nan=True)
    return bool(np.all(close | ~np.isfinite(_wide(low)) | ~np.isfinite(_wide(high))))


def _upwards(number: float) -> float:
    """`number` with three digits, rounded up."""
    if number == 0 or not np.isfinite(number):
        return number
    spelt = float(f"{number:.2e}")
    return spelt if spelt >= number else float(f"{number * 1.005:.2e}")


def _wide(array: Array) -> Any:
    return array.astype(np.float64)
