"""ONNX's own node tests as cases, and what they see of mistakes: a measure of a suite."""

from collections import defaultdict
from collections.abc import Iterable

from opcheck import opset
from opcheck.engine import operator_of
from opcheck.execution.mutate import MutationSettings, cells, mutations
from opcheck.graph.nodes import node_tests
from opcheck.model import Case, Cell, OpVersion, Source
from opcheck.model.mutation import Mutation, Yardstick, score
from opcheck.suite.models import cases_of


def cases_of_node_tests(ops: Iterable[OpVersion]) -> tuple[Case, ...]:
    """The node tests of these versions that the engine knows, with the tolerances of ONNX."""
    wanted = {op for op in ops if not op.domain and operator_of(op) and _takes_all(op)}
    tests = (test for name in sorted({op.name for op in wanted}) for test in node_tests(name))
    # Where they stand, as far as anybody can look it up.
    source = Source("onnx.backend.test", 0, 0)
    found = (case for test in tests for case in cases_of(test, source))
    return tuple(case for case in found if case.op in wanted)


def _takes_all(op: OpVersion) -> bool:
    """Return True if no node of an operator leaves an input or output out."""
    schema = opset.describe(op.domain, op.name, op.since)
    assert schema
    return all(one.option == "single" for one in (*schema.inputs, *schema.outputs))


def yardsticks(names: tuple[str, ...], found: Iterable[Mutation]) -> tuple[Yardstick, ...]:
    """One for each version and dtype of node tests and `found`; `names`: mutants, all if empty."""
    ours: dict[Cell, list[Mutation]] = defaultdict(list)
    of_all: dict[OpVersion, list[Mutation]] = defaultdict(list)
    for mutation in found:
        mutant = mutation.mutant
        among = of_all[mutant.op] if mutant.any_type else ours[Cell(mutant.op, mutant.dtype)]
        among.append(mutation)
    tests = cases_of_node_tests({cell.op for cell in ours} | {*of_all})
    # ONNX's runner runs each of them once.
    settings = MutationSettings(names, once=True)
    return tuple(
        Yardstick(
            cell.op,
            cell.dtype,
            len(cases),
            score(mutations(cases, settings)),
            score(ours[cell] + of_all[cell.op]),
        )
        for cell, cases in cells(tests).items()
        if cell in ours or cell.op in of_all
    )
