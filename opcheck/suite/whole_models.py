"""A model in a file as a case: its inputs are made up, and backends compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from pathlib import Path

from opcheck.dtypes import DTYPES
from opcheck.errors import UsageError, did_you_mean
from opcheck.graph.model_files import Declared, declared_inputs, read_model
from opcheck.graph.nodes import random_outputs
from opcheck.graph.test_data import Told
from opcheck.graph.values import BeyondOpcheck
from opcheck.model import Case, Fill, Port, Source, TensorSpec, Tolerance
from opcheck.suite.models import WholeModel
from opcheck.suite.tensors import MAX_ELEMENTS

#: How far answers may lie apart. Errors add up over a graph, so that this is more than ONNX's
#: runner allows one node.
TOLERANCE = Tolerance(rtol=1e-3, atol=1e-4)
#: What inputs are made up of: numbers of a size that is usual between layers, and small indices.
_FILLS: dict[str, tuple[str, tuple[float, ...]]] = {
    "float": ("normal", (0.0, 1.0)),
    "int": ("integers", (0.0, 3.0)),
    "bool": ("integers", (0.0, 1.0)),
}


class Sizes:
    """The sizes that a user gave, by the names of dimensions or as INPUT[AXIS]."""

    def __init__(self, given: Mapping[str, int]) -> None:
        self.given = given
        self.known: set[str] = set()
        self.used: set[str] = set()

    def of(self, name: str, axis: int, size: int | str) -> int | None:
        """The size of an axis, None if nobody says."""
        place = f"{name}[{axis}]"
        if isinstance(size, int):
            return size
        self.known |= {key for key in (size, place) if key}
        key = next((key for key in (place, size) if key in self.given), None)
        if key is None:
            return None
        self.used.add(key)
        return self.given[key]

    def check(self) -> None:
        """Raise UsageError for sizes that no model asked for."""
        for name in self.given:
            if name not in self.known:
                hint = did_you_mean(name, self.known)
                here = f"there are {', '.join(sorted(self.known))}" if self.known else None
                raise UsageError(
                    f"--dim {name}: no model here has a size of that name", hint or here
                )


def case_of_model(path: Path, sizes: Sizes, told: Told) -> Case | None:
    """The model in a file as a case; None where something is wrong with it, which is `told`."""
    known = len(told.problems)
    if not (str(path).isprintable() and str(path).isascii()):
        told.add(path, "the name must be printable ASCII")
        return None
    beyond = ""
    sizes.used.clear()
    specs: list[TensorSpec] = []
    try:
        model = read_model(path)
        if random := random_outputs(model):
            raise BeyondOpcheck(f"outputs that are drawn at random: {', '.join(sorted(random))}")
        specs = [*_inputs(declared_inputs(model), sizes, told, path)]
    except BeyondOpcheck as error:
        beyond = str(error)
    except ValueError as error:
        told.add(path, error)
    if len(told.problems) > known:
        return None
    ports = tuple(Port(spec.name) for spec in specs)
    case = WholeModel.of(model).case(path.as_posix(), tuple(specs), ports, Source(str(path), 0, 0))
    said = tuple(f"--dim={name}={sizes.given[name]}" for name in sorted(sizes.used))
    return replace(case, tolerance=TOLERANCE, beyond=beyond, said=said)


def _inputs(
    declared: Iterable[Declared], sizes: Sizes, told: Told, path: Path
) -> Iterator[TensorSpec]:
    """Every input with values made up, those of each its own."""
    for seed, one in enumerate(declared):
        if one.dtype.kind not in _FILLS or one.dtype.name not in DTYPES:
            raise BeyondOpcheck(f"no values are made up for {one.dtype} (input {one.name!r})")
        if one.sizes is None:
            told.add(path, f"input {one.name!r} is declared without a shape")
            continue
        shape = tuple(sizes.of(one.name, axis, size) for axis, size in enumerate(one.sizes))
        unknown = [axis for axis, size in enumerate(shape) if size is None]
        for axis in unknown:
            name = one.sizes[axis] or f"'{one.name}[{axis}]'"
            told.add(
                path, f"input {one.name!r}: nobody says how large axis {axis} is: --dim {name}=N"
            )
        if unknown:
            continue
        sound = tuple(size for size in shape if size is not None)
        if any(size < 0 for size in sound) or prod(sound) > MAX_ELEMENTS:
            limit = f"0 to {MAX_ELEMENTS:,} elements are made up"
            told.add(path, f"input {one.name!r} is declared as {one.dtype}{[*sound]}: {limit}")
            continue
        kind, args = _FILLS[one.dtype.kind]
        yield TensorSpec(one.name, one.dtype, sound, Fill(kind, args, seed))
