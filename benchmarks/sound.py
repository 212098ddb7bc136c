"""How much of the error bounds honest arithmetic uses, operator by operator.

    python -m benchmarks.sound [OPERATOR ...]

Shipped cases of every version and type are answered by each formula in each of some ways in which
machines compute, and by other formulations. Of infinities and NaN the text's formula decides: an
answer of another one that has others is left out. A number is the largest share of an element's
bound that a right answer of float32 or float64 used; one of 16 bits may use nearly all. No way may
be called wrong, or warned of for more than an intermediate result that left the range. Beside them
stands what engines used in their published runs, and how many of their answers are warned of and
are wrong, for whatever reason.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import opcheck
from opcheck import numbers as xp
from opcheck.dtypes import is_real
from opcheck.engine import operator_of
from opcheck.engine.evaluate import evaluate
from opcheck.engine.ops.det import of_matrices, triangles
from opcheck.errors import NotSupported, WrongOperator
from opcheck.execution.expected import node_of
from opcheck.model import Case, OpVersion, Task, Verdict
from opcheck.numbers.faulty import bare
from tests.numbers.machine import Machine

#: Whole runs, as `reports/regenerate.py` makes them or a release of opcheck has them.
RUNS = Path(__file__).parent.parent / "reports" / "runs"
ENGINES = ("onnxruntime", "openvino", "reference", "torch", "tract")
#: So many cases of each name, version and type, of so many elements at most.
SAMPLE, ELEMENTS = 1, 4_000

#: Whatever is said of none: functions err by one unit roundoff, nothing is fused or mixed.
_PLAIN = {"library": 1, "mixes": 0, "fuses": 0, "inverts": 0}
#: How each machine computes.
WAYS: dict[str, dict[str, Any]] = {
    "in sequence": {**_PLAIN, "orders": ("sequential",)},
    "backwards": {**_PLAIN, "orders": ("backwards",)},
    "by trees": {**_PLAIN, "orders": ("pairwise",)},
    "in lanes or blocks": {**_PLAIN, "orders": ("in 4 lanes", "in blocks of 3"), "mixes": 1},
    "fused": {**_PLAIN, "orders": ("sequential",), "fuses": 1},
    "by reciprocals": {**_PLAIN, "orders": ("compensated",), "inverts": 1},
    "functions off": {"library": 7},
    "flushes": {"library": 1, "flushes": True},
    "with every freedom": {"library": 7},
    "otherwise": {"library": 1},
}
#: The way that takes the other formulations that count as honest, where there are any.
OTHERWISE = "otherwise"
#: Operators whose text calls no function. What their formulas allow is for sums that most numbers
#: need roundings for; functions that err would also move locations that are exact everywhere.
WITHOUT_FUNCTIONS = frozenset({"GridSample"})


def machine_of(way: str, op: OpVersion, rng: np.random.Generator) -> Machine:
    """Return a machine that computes an operator in this way."""
    freedoms = WAYS[way]
    if op.name in WITHOUT_FUNCTIONS:
        freedoms = {**freedoms, "library": 1}
    return Machine(rng, **freedoms)


def by_elimination(X: Any) -> Any:
    """Determinants as machines make them; the engine's own are of whole numbers."""
    shape, found = X.shape, []
    for n, a in enumerate(bare(xp.values_of(X)).reshape(-1, *shape[-2:])):
        rows = triangles(a)[0]
        u = xp.take(xp.reshape(X, (-1, *shape[-2:]))[n], rows, axis=0)
        pivots = []
        while u.shape[0] and bare(xp.values_of(u))[0, 0]:
            pivots.append(u[0, 0])
            u = u[1:, 1:] - (u[1:, :1] / u[:1, :1]) * u[:1, 1:]
        product = xp.prod(xp.stack(pivots)) if pivots else xp.reshape(X, (-1,))[0] * 0
        found.append(product * (0 if u.shape[0] else round(np.linalg.det(np.eye(len(a))[rows]))))
    return xp.reshape(xp.stack(found) if found else X, shape[:-2])


#: Formulas in the place of what the engine does beyond the arithmetic of a type.
FORMULAS = {"Det": of_matrices(by_elimination)}


@dataclass(frozen=True)
class Prepared:
    """A task's formula on a machine that is drawn anew for each case."""

    task: Task
    way: str

    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, the same each time."""
        rng = np.random.default_rng(crc32(self.task.case.encode()))
        op, operator = self.task.op, operator_of(self.task.op)
        node = node_of(self.task, inputs)
        formulas = [FORMULAS.get(op.name, {}).get(op.since)]
        if self.way == OTHERWISE and formulas == [None]:
            sound = [] if operator is None else operator.alternatives
            formulas = [one.function for one in sound if one.since == op.since and not one.remark]
            rng.shuffle(formulas)
        if self.way == OTHERWISE:
            # Which also refuses what is illegal, of which the other formulations know nothing.
            strange = [np.where(np.isfinite(y), 0, y) for y in node.plain if is_real(y)]
        for formula in formulas:
            faults = machine_of(self.way, op, rng).faults()
            try:
                found = evaluate(node, formula, faults)
            except WrongOperator as error:
                # It would end the run. Some other formulations are made for bounds alone.
                if self.way != OTHERWISE:
                    raise RuntimeError(str(error)) from error
                continue
            # Sound is how far they lie off; of infinities and NaN the text's formula decides.
            if self.way == OTHERWISE:
                own = [np.where(np.isfinite(y), 0, y) for y in found if is_real(y)]
                if not all(map(partial(np.array_equal, equal_nan=True), own, strange)):
                    continue
            return found
        raise NotSupported("no other formulation")


@dataclass(frozen=True)
class OnMachine:
    """A backend that computes the engine's formulas in a way."""

    __name__: str

    def prepare(self, task: Task) -> Prepared:
        """The backend's answer to a task."""
        return Prepared(task, self.__name__)


@dataclass
class Found:
    """The largest share by operator, and how many answers are warned of and are wrong."""

    most: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    count: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, record: Any) -> None:
        """Take a result in."""
        operator, verdict = record.case.partition("/")[0], record.verdict
        if verdict == Verdict.PASS:
            types = ("float32", "float64")
            used = (one.used for one in record.comparisons if str(one.dtype) in types)
            self.most[operator] = max(self.most[operator], *used, 0.0)
        if verdict not in (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_RUN):
            self.count[operator, "warn" if verdict == Verdict.WARN else "fail"] += 1

    def text(self, operator: str) -> str:
        """The share, and the counts, if there are any."""
        share = self.most.get(operator, 0.0)
        counts = [(self.count[operator, word], word) for word in ("warn", "fail")]
        told = ", ".join(f"{count} {word}" for count, word in counts if count)
        return (f"{share:.2g}" if share else "–") + (f" ({told})" if told else "")


def drawn(cases: Iterable[Case]) -> Iterator[Case]:
    """Some cases of each name, version and type, of operators that may round."""
    count: Counter[Any] = Counter()
    for case in cases:
        kind = case.name, case.op, case.inputs and case.inputs[0].dtype
        operator = operator_of(case.op)
        # Other cases say themselves what is right, or that a sound backend may differ.
        by_bound = case.tolerance is None and case.rule != "should"
        if operator is None or operator.exact or not by_bound:
            continue
        if sum(np.prod(spec.shape) for spec in case.inputs) <= ELEMENTS and count[kind] < SAMPLE:
            count[kind] += 1
            yield case


def judged(cases: Sequence[Case]) -> tuple[dict[str, Found], list[str]]:
    """What each way uses, and who is called wrong or warned of."""
    found, accused = {way: Found() for way in WAYS}, []
    for result in opcheck.run(cases, [*map(OnMachine, WAYS)], shipped_ledgers=False):
        way = result.backend.removeprefix("object:")
        found[way].note(result)
        out_of_range = result.verdict == Verdict.WARN and "left the range" in result.reason
        if not out_of_range and result.verdict not in (Verdict.PASS, Verdict.UNSUPPORTED):
            accused.append(f"{way}: {result.case}: {result.verdict}: {result.reason}")
    return found, accused


def run_file(engine: str) -> Path:
    """Return where the published run of an engine is, if it was fetched."""
    return RUNS / f"{engine}.jsonl.gz"


def published(engine: str) -> Found:
    """What an engine uses in its published run."""
    found = Found()
    for record in opcheck.read(run_file(engine)).records:
        found.note(record)
    return found


def main() -> int:
    """Print a table in Markdown, and who is accused, for which the exit status is 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    try:
        cases = list(drawn(opcheck.load(ops=parser.parse_args().operators)))
    except opcheck.UsageError as error:
        parser.error(str(error))
    columns: Mapping[str, Found]
    columns, accused = judged(cases)
    columns |= {engine: published(engine) for engine in ENGINES if run_file(engine).exists()}
    print(f"| operator | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|", sep="\n")
    for operator in sorted({case.op.name for case in cases}):
        if any(columns[way].most.get(operator) for way in WAYS):
            print(f"| {operator} |", *(f"{one.text(operator)} |" for one in columns.values()))
    print(
        "| the most |", *(f"{max(one.most.values(), default=0):.4g} |" for one in columns.values())
    )
    print(f"\n{len(cases)} cases, {len(accused)} accusations", *accused, sep="\n")
    return bool(accused)


if __name__ == "__main__":
    sys.exit(main())
