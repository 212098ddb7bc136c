"""ONNX's own node tests as a measure of a suite: what they see of the same mistakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from opcheck.model.mutation import Mutation, Yardstick, score
from opcheck.model.support import Cell
from opcheck.run.mutate import Settings, cells, mutations
from opcheck.run.node_tests import cases_of_node_tests


def yardsticks(names: tuple[str, ...], found: Iterable[Mutation]) -> tuple[Yardstick, ...]:
    """One for each version and dtype that node tests are about, of those in `found`.

    `names` are the only mistakes there, all where it is empty.
    """
    ours: dict[Cell, list[Mutation]] = defaultdict(list)
    for mutation in found:
        ours[Cell(mutation.mutant.op, mutation.mutant.dtype)].append(mutation)
    tests = cases_of_node_tests({cell.op for cell in ours})
    # ONNX's runner runs each of them once.
    settings = Settings(names, once=True)
    return tuple(
        Yardstick(
            cell.op, cell.dtype, len(cases), score(mutations(cases, settings)), score(ours[cell])
        )
        for cell, cases in cells(tests).items()
        if cell in ours
    )
