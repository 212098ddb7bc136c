"""All outputs of a node or a model against what they must be: their number, and each of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain

from opcheck.compare.elements import check
from opcheck.compare.tensors import Want, compare, failed
from opcheck.model import NOTHING, Array, Comparison, Foreign, Items, Tolerance


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
        parts = [_parts(*pair) for pair in zip(wants, got, strict=True)]
        return tuple(
            part if isinstance(part, Comparison) else compare(*part, tolerance, like, declared)
            for part in chain.from_iterable(parts)
        )
    name = wants[len(got)].name if len(got) < len(wants) else f"output {len(wants)}"
    detail = f"{len(got)} output{'s' * (len(got) != 1)}, want {len(wants)}"
    return (Comparison(name, "count", detail, used=math.inf),)


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
