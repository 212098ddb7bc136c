"""What an operator file declares, and how the files are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from opcheck.engine.exact import Exact
from opcheck.model import Array

#: The floating types of ONNX before bfloat16 came.
FLOATS = ("float16", "float32", "float64")


@dataclass(frozen=True)
class Kernel:
    """One operator version: what its attributes mean, and the dtypes this version allows.

    `plan` takes the inputs by position and the attributes by keyword, with the specification's
    defaults in its signature. Of the inputs it looks at the shapes and dtypes only. It returns
    what is to be computed, in terms that all versions and both modes share, and raises
    `InvalidNode` for whatever the specification forbids.
    """

    plan: Callable[..., Any]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Operator:
    """What an operator file in `engine/ops/` declares as `OPERATOR`.

    `kernels` has one entry for each version implemented, by the opset since which it is in
    force; a version without an entry is unsupported, never another version's kernel.

    `exact` and `native` compute a plan on the inputs, which follow it by position. `exact` gives
    an array where the answer is exact, else the unrounded value with its error bound; `native`
    gives arrays that lie within that bound, as fast as NumPy allows, in `threads` threads. Neither
    modifies an input or shares memory with it; inputs may have any strides and byte order.

    Every output lies in [`low`, `high`] where those are set. `rounded`: its answers are real
    numbers rounded to the output's dtype, so that correct implementations differ.
    """

    domain: str
    name: str
    kernels: Mapping[int, Kernel]
    exact: Callable[..., tuple[Array | Exact, ...]]
    native: Callable[..., tuple[Array, ...]]
    low: float | None = None
    high: float | None = None
    rounded: bool = False


@cache
def operators() -> Mapping[tuple[str, str], Operator]:
    """Every operator that has a file, by (domain, name)."""
    return {(o.domain, o.name): o for o in _by_module().values()}


def module_of(operator: Operator) -> str:
    """The file or folder that declares `operator`."""
    return next(name for name, declared in _by_module().items() if declared is operator)


@cache
def _by_module() -> Mapping[str, Operator]:
    package = importlib.import_module("opcheck.engine.ops")
    modules = pkgutil.iter_modules(package.__path__, "opcheck.engine.ops.")
    return {module.name: importlib.import_module(module.name).OPERATOR for module in modules}
