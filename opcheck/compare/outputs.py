"""All outputs of a node or a model: what they must be, their number, and each of them."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from opcheck.compare.elements import Judge, check
from opcheck.compare.tensors import Want, compare, failed, range_end
from opcheck.dtypes import DType, element_type, of, round_to
from opcheck.engine import Expected, operator_of
from opcheck.model import NOTHING, Array, Comparison, Foreign, Items, OpVersion, Tolerance
from opcheck.numbers.arithmetic import expected


def stated_want(op: OpVersion, name: str, values: Array, dtype: DType | None) -> Want:
    """These values; no `dtype` admits any that can hold them.

    Where the operator's answers are rounded, its floor holds beside whatever tolerance is stated.
    """
    operator = operator_of(op)
    if operator is None:
        return Want(name, dtype, values)
    floored = not operator.exact and dtype is not None and dtype.kind == "float"
    floor = expected(dtype).floor if floored and dtype else 0.0
    return Want(name, dtype, values, operator.low, operator.high, floor=floor)


def in_its_dtype(want: Want) -> Array:
    """The values that are stated, rounded; raises ValueError where the dtype is not known."""
    dtype = want.dtype or of(want.values)
    if want.dtype is None and want.values.dtype == "float64":
        raise ValueError(f"{want.name}: only the backend's answer tells its dtype: state it")
    if dtype is not None and dtype.kind == "complex":
        return want.values.astype(dtype.numpy)
    if dtype is None or want.values.dtype == dtype.numpy or dtype.kind != "float":
        return want.values
    return round_to(want.values.astype("float64"), dtype)


def computed_want(op: OpVersion, name: str, answer: Array | Expected) -> Want:
    """What the engine's exact mode gives, with its error bound if it has one."""
    if not isinstance(answer, Expected):
        return stated_want(op, name, answer, of(answer))
    want = stated_want(op, name, answer.values, answer.dtype)
    return replace(want, bound=answer, rest=answer.rest)


def compare_outputs(
    wants: Sequence[Want],
    got: Sequence[Array | Foreign],
    tolerance: Tolerance | None = None,
    like: Array | None = None,
    declared: Collection[str] = (),
) -> tuple[Comparison, ...]:
    """Judge all outputs of a node, in order, each as `compare` does, of a sequence each item.

    If their number is wrong there is one Comparison only, of the first missing or extra output.
    """
    if tolerance is not None:
        check(tolerance)
    if len(got) == len(wants):
        parts = [_parts(*pair) for pair in zip(_in_order_of(got, wants), got, strict=True)]
        return tuple(
            part if isinstance(part, Comparison) else compare(*part, tolerance, like, declared)
            for part in chain.from_iterable(parts)
        )
    name = wants[len(got)].name if len(got) < len(wants) else f"output {len(wants)}"
    detail = f"{len(got)} output{'s' * (len(got) != 1)}, want {len(wants)}"
    return (Comparison(name, "count", detail, used=math.inf),)


def _in_order_of(got: Sequence[Array | Foreign], wants: Sequence[Want]) -> Sequence[Want]:
    """`wants` in the order that the last of `got` gives them, where any order is right."""
    axis = wants[0].any_order if wants else None
    if axis is None:
        return wants
    places, right = got[-1], wants[-1].values
    if isinstance(places, Foreign) or places.shape != right.shape:
        return wants
    rank = np.argsort(np.argsort(places, axis, kind="stable"), axis)
    order = np.take_along_axis(np.argsort(right, axis, kind="stable"), rank, axis)
    return [replace(w, values=np.take_along_axis(w.values, order, axis)) for w in wants]


def too_wide(wants: Iterable[Want], tolerance: Tolerance | None) -> str | None:
    """Name an answer that ignores the input, and that a tolerance admits; None if it admits none.

    Such an answer has one value for all elements: 0, an end of the operator's range, or the middle
    of what must come out. It has to be off by a quarter of the largest element, at one of them.
    """
    for want in chain.from_iterable(want.items or (want,) for want in wants):
        dtype = want.dtype or element_type(want.values)
        if tolerance is None or want.random or not want.values.size or dtype is None:
            continue
        if dtype.kind not in ("float", "int", "minifloat"):
            continue
        values = want.values.reshape(-1).astype(np.float64)
        if not np.isfinite(values).all():
            continue
        judge = Judge(dtype, tolerance, want.low, range_end(want.high, dtype))
        for value in (0.0, want.low, want.high, (values.max() + values.min()) / 2):
            if value is None:
                continue
            answer = np.rint(value) if dtype.kind == "int" else np.float64(value)
            error = np.abs(values - answer)
            worst = int(error.argmax())
            if error[worst] <= np.abs(values).max() / 4:
                continue
            # Most are wrong where they are worst.
            for place in (slice(worst, worst + 1), slice(None)):
                wanted = want.values.reshape(-1)[place]
                got = np.full(wanted.shape, answer).astype(dtype.numpy)
                if (judge.shares(wanted, got)[0] > 1).any():
                    break
            else:
                said = (
                    f"{want.name}: the tolerance, {tolerance}, admits {answer:g} for every element"
                )
                return f"{said}: an answer that ignores the input passes"
    return None


def _parts(want: Want, got: Array | Foreign) -> Sequence[tuple[Want, Array | Foreign] | Comparison]:
    """What there is to compare of one output; a comparison where its form settles that."""
    told = got.description if isinstance(got, Foreign) else "a tensor"
    if want.form == "tensor":
        return [(want, got)]
    if want.form == "nothing":
        right = isinstance(got, Foreign) and got == NOTHING
        wrong = failed(want, "type", f"{told}, want no value")
        return [Comparison(want.name, None) if right else wrong]
    wrong = failed(want, "type", f"{told}, want a sequence of {len(want.items)}")
    if not isinstance(got, Items):
        return [wrong]
    if len(got.values) != len(want.items):
        return [replace(wrong, problem="count")]
    return [*zip(want.items, got.values, strict=True)] or [Comparison(want.name, None)]
