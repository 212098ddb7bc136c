"""From a node to its answer."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np

from opcheck.errors import InvalidNode
from opcheck.model import Array, Attrs, OpVersion, Typed
from opcheck.precise.answer import Precise, Undecided, UnsoundArithmetic
from opcheck.precise.registry import Version, operators


def evaluate(op: OpVersion, inputs: Sequence[Array], attrs: Attrs) -> tuple[Precise, ...] | None:
    """The outputs of a node, each correctly rounded; None where this version is unknown here.

    `inputs` follow the operator's order, have any strides and byte order and are not modified. The
    answer depends on op, inputs and attrs alone: not on the machine, on versions of NumPy, on
    memory layout, or on what other threads compute.

    Raises InvalidNode where the specification forbids the node, Undecided where it leaves open
    what comes out, and UnsoundArithmetic where floating-point numbers of this process do not round
    to nearest, or lose their subnormals.
    """
    operator = operators().get((op.domain, op.name))
    version = operator.versions.get(op.since) if operator else None
    if version is None:
        return None
    require_sound_arithmetic()
    try:
        # Where something overflows, underflows or is a signalling NaN, that is meant, whatever the
        # caller had NumPy do about it.
        with np.errstate(all="ignore"):
            return (_computed(version, inputs, attrs),)
    except (InvalidNode, Undecided) as error:
        raise type(error)(f"{op}: {error}") from None


def _computed(version: Version, inputs: Sequence[Array], attrs: Attrs) -> Precise:
    if len(inputs) != 1:
        raise InvalidNode(f"takes 1 input, not {len(inputs)}")
    native = inputs[0].astype(inputs[0].dtype.newbyteorder("="), copy=False)
    if native.dtype.name not in version.dtypes:
        raise InvalidNode(f"{native.dtype.name} is none of {', '.join(version.dtypes)}")
    known = list(inspect.signature(version.compute).parameters)[1:]
    for name, value in attrs.items():
        if name not in known:
            raise InvalidNode(f"{name} is none of its attributes ({', '.join(known)})")
        if isinstance(value, Typed):
            raise InvalidNode(f"{name} is of another type: {value}")
    return version.compute(native, **attrs)


def require_sound_arithmetic() -> None:
    """Raises UnsoundArithmetic unless this thread computes as IEEE 754's default has it.

    A library that was loaded may have told the processor to flush subnormal numbers, or to round
    otherwise. Both oracles would then be wrong alike.
    """
    one, half_step, least = np.array([1.0]), np.array([2.0**-53]), np.array([2.0**-1074])
    to_nearest = one + half_step == 1 and -one - half_step == -1 and one + 1.5 * half_step > 1
    if not (to_nearest and least * one > 0):
        raise UnsoundArithmetic(
            "floating-point numbers are not rounded to nearest here, or lose their subnormals",
            "something in this process changed the processor's floating-point mode",
        )
