"""ONNX's own node tests on the mutants of the operators that they concern, beside opcheck's cases.

    python -m benchmarks.node_tests [--op OPERATOR …] [--level LEVEL]

A test finds a mutant if it fails it, by the tolerance of ONNX's runner, which asks once.
"""

import argparse
import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from opcheck import model, opset
from opcheck.engine import operator_of
from opcheck.execution.mutate import MutationSettings, cells, mutations
from opcheck.graph.test_data import ModelTest, whole
from opcheck.grouping import group_by
from opcheck.model import Case, Cell, Fate, MutantId, Mutation, OpVersion, Score
from opcheck.report.listing import percent
from opcheck.report.style import Numbers, new_table, put
from opcheck.suite import Selection, choose, load_all
from opcheck.suite.models import cases_of


@dataclass(frozen=True)
class Yardstick:
    """Scores on one version and dtype: `theirs` of `tests` ONNX node tests, `ours` of the suite."""

    op: OpVersion
    dtype: str
    tests: int
    theirs: Score
    ours: Score


_PACKAGE = "onnx.backend.test.case.node"


def node_tests(op: str) -> tuple[ModelTest, ...]:
    """ONNX's tests of one node of its operator `op`, not of graphs that operators expand to."""
    package = importlib.import_module(_PACKAGE)
    modules = {
        one.name.replace("_", ""): one.name for one in pkgutil.iter_modules(package.__path__)
    }
    if op.lower() not in modules:
        return ()
    # Importing the module of an operator makes its tests, which the package keeps in a list. NumPy
    # warns of NaN, infinity and overflow in them.
    with warnings.catch_warnings(action="ignore"):
        importlib.import_module(f"{_PACKAGE}.{modules[op.lower()]}")
    return tuple(
        whole(case)
        for case in package._NodeTestCases
        if [(node.domain, node.op_type) for node in case.model.graph.node] == [("", op)]
        and not re.search(r"_expanded(_ver\d+)?$", case.name)
    )


def cases_of_node_tests(ops: Iterable[OpVersion]) -> tuple[Case, ...]:
    """The node tests of these versions that the engine knows, with the tolerances of ONNX."""

    def takes_all(op: OpVersion) -> bool:  # no node leaves an input or output out
        schema = opset.versions(op.domain, op.name)[op.since]
        return all(one.option == "single" for one in (*schema.inputs, *schema.outputs))

    wanted = {op for op in ops if not op.domain and operator_of(op) and takes_all(op)}
    tests = (test for name in sorted({op.name for op in wanted}) for test in node_tests(name))
    # Where they stand, as far as anybody can look it up.
    source = model.Source("onnx.backend.test", 0, 0)
    found = (case for test in tests for case in cases_of(test, source))
    return tuple(case for case in found if case.op in wanted)


def yardsticks(names: tuple[str, ...], found: Iterable[Mutation]) -> tuple[Yardstick, ...]:
    """One for each version and dtype of node tests and `found`; `names`: mutants, all if empty."""

    def place(one: MutantId) -> Cell | OpVersion:
        return one.op if one.any_type else Cell(one.op, one.dtype)

    ours = group_by(found, lambda one: place(one.mutant))
    tests = cases_of_node_tests({one.op if isinstance(one, Cell) else one for one in ours})
    # ONNX's runner runs each of them once.
    settings = MutationSettings(names, once=True)
    return tuple(
        Yardstick(
            cell.op,
            cell.dtype,
            len(cases),
            Score(one.fate for one in mutations(cases, settings)),
            Score(one.fate for one in (*ours.get(cell, ()), *ours.get(cell.op, ()))),
        )
        for cell, cases in cells(tests).items()
        if cell in ours or cell.op in ours
    )


def table(yardsticks: Iterable[Yardstick]) -> Table:
    """A row for each version and type, and one for all."""
    counts = ("tests", "mutants", "killed", "survived", "score", "score of opcheck's cases")
    found = new_table("operator", "type", *map(Numbers, counts))
    tests, theirs, ours = 0, Score(), Score()
    for one in yardsticks:
        found.add_row(str(one.op), one.dtype, *_row(one.tests, one.theirs, one.ours))
        tests += one.tests
        theirs, ours = Score(theirs + one.theirs), Score(ours + one.ours)
    found.add_section()
    found.add_row("all", "", *_row(tests, theirs, ours))
    return found


def _row(tests: int, theirs: Score, ours: Score) -> list[str]:
    counts = (tests, theirs.total(), theirs[Fate.KILLED], theirs[Fate.SURVIVED])
    return [*(f"{count:,}" for count in counts), percent(theirs), percent(ours)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--op", action="append", default=[])
    parser.add_argument("--level", default="core")
    asked = parser.parse_args()
    chosen = Selection(ops=tuple(asked.op), level=asked.level)
    cases = choose(load_all((), {}, chosen), chosen)
    put(Console(), table(yardsticks((), [*mutations(cases)])))


if __name__ == "__main__":
    main()
