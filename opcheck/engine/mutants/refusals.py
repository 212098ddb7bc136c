"""What is accepted, refused, or no tensor at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from opcheck.engine.mutants.making import accepting, floating, refusing
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array


def _without_the_attribute(node: Node) -> Sequence[Any]:
    """Without the first attribute that is to blame, if one alone is."""
    for name in node.attrs:
        with suppress(InvalidNode):
            return node.with_attrs(**{name: None}).right
    return node.right


def _has(strange: Callable[[Array], Any]) -> Callable[[Node], bool]:
    """Return True if an input has such elements."""
    return lambda node: any(bool(strange(one).any()) for one in node.given if floating(one))


MUTANTS: tuple[Mutant, ...] = (
    Mutant("invalid_is_copied", "an invalid model gave its input back",
           accepting(lambda node: [node.given[0].copy()])),
    Mutant("invalid_is_zero", "an invalid model gave zeros",
           accepting(lambda node: [np.zeros_like(node.given[0])])),
    Mutant("invalid_attribute_ignored", "an attribute that made the model invalid was ignored",
           accepting(_without_the_attribute)),
    Mutant("two_outputs", "there were two outputs", lambda node: [*node.right, *node.right]),
    Mutant("no_output", "there was no output", lambda node: []),
    Mutant("a_list", "the output was a list", lambda node: [out.tolist() for out in node.right]),
    refusing("refuses_rank_1", "vectors were not supported", lambda n: n.rank == 1),
    refusing("refuses_rank_5", "more than four axes were not supported", lambda n: n.rank > 4),
    refusing("refuses_empty", "empty tensors were not supported", lambda n: not n.given[0].size),
    refusing("refuses_infinities", "infinities were not supported", _has(np.isinf)),
    refusing("refuses_nan", "NaN was not supported", _has(np.isnan)),
    refusing("refuses_constants", "initializers were not supported", lambda n: n.constant),
    *(refusing(f"refuses_{name}", f"{name} was not supported", lambda n: True, only=(name,))
      for name in ("float16", "bfloat16", "float32", "float64")),
)  # fmt: skip
