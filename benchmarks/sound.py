"""How much of the error bounds honest arithmetic uses, operator by operator.

    python -m benchmarks.sound [OPERATOR ...]

Shipped cases of every version and type are answered by each formula as machines may compute it:
sums in any order, in blocks, fused or not, quotients by reciprocals, library functions off by as
much as the bound allows, zeros in place of subnormal numbers. A number is the largest share of an
element's bound that a right answer of float32 or float64 used; one of 16 bits may use nearly all.
Nobody may be called wrong. Beside them stands what engines used in their published runs.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import opcheck
from opcheck.engine.evaluate import evaluate
from opcheck.execution.expected import node_of
from opcheck.model import Case, Task, Verdict
from tests.numbers.machine import Machine

RUNS = Path(__file__).parent.parent / "reports" / "runs"
ENGINES = ("onnxruntime", "openvino", "reference", "torch", "tract")
#: So many cases of each name, version and type, of so many elements at most.
SAMPLE, ELEMENTS = 2, 20_000


@dataclass(frozen=True)
class Prepared:
    """A task's formula on a machine that is drawn anew for each case."""

    task: Task
    how: Mapping[str, Any]

    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, the same each time."""
        machine = Machine(np.random.default_rng(crc32(self.task.case.encode())), **self.how)
        return evaluate(node_of(self.task, inputs), faults=machine.faults())


@dataclass(frozen=True)
class OnMachine:
    """A backend that computes the engine's formulas as a machine does."""

    how: Mapping[str, Any]

    def prepare(self, task: Task) -> Prepared:
        """The backend's answer to a task."""
        return Prepared(task, self.how)


MACHINES = {
    "any order": OnMachine({"library": 1}),
    "functions off": OnMachine({"library": 7}),
    "flushes": OnMachine({"library": 1, "flushes": True}),
}


def drawn(cases: Iterable[Case]) -> Iterator[Case]:
    """Some cases of each name, version and type."""
    count: Counter[Any] = Counter()
    for case in cases:
        kind = case.name, case.op, case.inputs and case.inputs[0].dtype
        if sum(np.prod(spec.shape) for spec in case.inputs) <= ELEMENTS and count[kind] < SAMPLE:
            count[kind] += 1
            yield case


def most(found: dict[str, float], operator: str, comparisons: Iterable[Any]) -> None:
    """Note what an answer of an operator has used, if that is the most yet."""
    used = (one.used for one in comparisons if str(one.dtype) in ("float32", "float64"))
    found[operator] = max(found[operator], *used, 0.0)


def judged(cases: Sequence[Case], machine: OnMachine) -> tuple[dict[str, float], list[str]]:
    """The largest share by operator, and the failures."""
    found: dict[str, float] = defaultdict(float)
    wrong = []
    for result in opcheck.run(cases, [machine]):
        if result.verdict in (Verdict.PASS, Verdict.WARN):
            most(found, result.case.partition("/")[0], result.comparisons)
        elif result.verdict != Verdict.UNSUPPORTED:
            wrong.append(f"{result.case}: {result.verdict}: {result.reason}")
    return found, wrong


def published(engine: str) -> dict[str, float]:
    """The largest share by operator of the passes in an engine's published run."""
    found: dict[str, float] = defaultdict(float)
    for record in opcheck.read(RUNS / f"{engine}.jsonl.gz").records:
        if record.verdict == Verdict.PASS:
            most(found, record.case.partition("/")[0], record.comparisons)
    return found


def main() -> int:
    """Print a table in Markdown, and who is called wrong, for which the exit status is 1."""
    cases = list(drawn(opcheck.load(ops=sys.argv[1:])))
    columns: dict[str, Mapping[str, float]] = {}
    accused = []
    for name, machine in MACHINES.items():
        columns[name], wrong = judged(cases, machine)
        accused += [f"{name}: {one}" for one in wrong]
    columns |= {engine: published(engine) for engine in ENGINES}
    print(f"| operator | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|", sep="\n")
    for operator in sorted({case.op.name for case in cases}):
        shares = [found.get(operator, 0.0) for found in columns.values()]
        if any(shares[: len(MACHINES)]):
            print(f"| {operator} |", *(f"{share:.2g} |" if share else "– |" for share in shares))
    print(f"\n{len(cases)} cases, {len(accused)} failures", *accused, sep="\n")
    return bool(accused)


if __name__ == "__main__":
    sys.exit(main())
