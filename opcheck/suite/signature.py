"""Inputs and outputs by name against the operator's parameters.

A variadic parameter `data` is written as data_0, data_1 … in case files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.opset import Parameter

_COUNT = re.compile("0|[1-9][0-9]{0,3}")


def place(parameters: Sequence[Parameter], name: str) -> tuple[int, int] | None:
    """Which parameter `name` means, and which of its tensors; None if it means none."""
    for number, parameter in enumerate(parameters):
        if parameter.option != "variadic":
            if name == parameter.name:
                return number, 0
            continue
        stem, _, count = name.rpartition("_")
        if stem == parameter.name and _COUNT.fullmatch(count):
            return number, int(count)
    return None


def name_at(parameters: Sequence[Parameter], number: int) -> tuple[str, Parameter]:
    """The name of the tensor at a place of the node, and the parameter it is of.

    Raises ValueError where the operator has no such place.
    """
    for before, parameter in enumerate(parameters):
        if parameter.option == "variadic":
            return f"{parameter.name}_{number - before}", parameter
        if before == number:
            return parameter.name, parameter
    raise ValueError(f"the operator has {len(parameters)}, and no number {number}")


def spelt(parameters: Iterable[Parameter]) -> list[str]:
    """The names a case file may use, for messages."""
    return [f"{p.name}_0" if p.option == "variadic" else p.name for p in parameters]


def missing(parameters: Sequence[Parameter], names: Iterable[str]) -> list[str]:
    """The mandatory parameters that `names` leaves out; a variadic one needs tensors from 0 on."""
    found = [place(parameters, name) for name in names]
    lacking = []
    for number, parameter in enumerate(parameters):
        counts = sorted(place[1] for place in found if place and place[0] == number)
        if parameter.option == "single" and not counts:
            lacking.append(parameter.name)
        elif parameter.option == "variadic" and counts != list(range(max(len(counts), 1))):
            gap = next(k for k in range(len(counts) + 1) if k not in counts)
            lacking.append(f"{parameter.name}_{gap}")
    return lacking


def slots(parameters: Sequence[Parameter], names: Iterable[str]) -> tuple[str, ...]:
    """The names in the operator's order, "" for what is left out before the last of them."""
    places = {place(parameters, name): name for name in names}
    ordered: list[str] = []
    for number, parameter in enumerate(parameters):
        tensors = [name for at, name in sorted(_known(places)) if at[0] == number]
        ordered += tensors or ([""] if parameter.option != "variadic" else [])
    while ordered and not ordered[-1]:
        ordered.pop()
    return tuple(ordered)


def _known(places: Mapping[tuple[int, int] | None, str]) -> list[tuple[tuple[int, int], str]]:
    return [(at, name) for at, name in places.items() if at is not None]


def dtype_of(parameter: Parameter, bound: Mapping[str, DType]) -> DType | None:
    """The dtype of an output: as the inputs bound its constraint, or the only one there is."""
    if parameter.constraint in bound:
        return bound[parameter.constraint]
    only = parameter.types if len(parameter.types) == 1 else frozenset({parameter.constraint})
    return dtypes.by_text(next(iter(only)))
