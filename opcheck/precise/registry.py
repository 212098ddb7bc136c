"""What an operator's file declares, and how the files are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from opcheck.precise.answer import Precise


@dataclass(frozen=True)
class Version:
    """One version of an operator of one input and one output.

    `compute` takes the input by position and the attributes by keyword, with the specification's
    defaults in its signature. The input has native byte order and one of the `dtypes`; any strides.
    It raises InvalidNode for what the specification forbids, Undecided for what it leaves open.
    """

    dtypes: tuple[str, ...]
    compute: Callable[..., Precise]


@dataclass(frozen=True)
class Operator:
    """What a file or folder in `precise/ops/` declares as `OPERATOR`; versions by their opset."""

    domain: str
    name: str
    versions: Mapping[int, Version]


@cache
def operators() -> Mapping[tuple[str, str], Operator]:
    """Every operator that has a file, by (domain, name)."""
    package = importlib.import_module("opcheck.precise.ops")
    found = pkgutil.iter_modules(package.__path__, "opcheck.precise.ops.")
    declared = [importlib.import_module(module.name).OPERATOR for module in found]
    return {(operator.domain, operator.name): operator for operator in declared}
