"""What an operator file declares, and how the files are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from opcheck.model import EXACT, Array, Tolerance


@dataclass(frozen=True)
class Kernel:
    """One operator version: a pure function and the dtypes this version allows.

    `function` takes the inputs by position and the attributes by keyword, with the
    specification's defaults in its signature, and returns the outputs as a tuple. It raises
    `InvalidNode` for whatever the specification forbids.
    """

    function: Callable[..., tuple[Array, ...]]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Operator:
    """What an operator file in `engine/ops/` declares as `OPERATOR`.

    `kernels` has one entry for each version implemented, by the opset since which it is in
    force; a version without an entry is unsupported, never another version's kernel. `bound` is
    how far a correct implementation may lie from exact mode. Every output lies in
    [`low`, `high`] where those are set.
    """

    domain: str
    name: str
    kernels: Mapping[int, Kernel]
    bound: Tolerance = EXACT
    low: float | None = None
    high: float | None = None


@cache
def operators() -> Mapping[tuple[str, str], Operator]:
    """Every operator that has a file, by (domain, name)."""
    package = importlib.import_module("opcheck.engine.ops")
    found: dict[tuple[str, str], Operator] = {}
    for module in pkgutil.iter_modules(package.__path__, "opcheck.engine.ops."):
        operator: Operator = importlib.import_module(module.name).OPERATOR
        found[operator.domain, operator.name] = operator
    return found
