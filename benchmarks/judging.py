"""What judging a large output costs, in parts of what computing the exact reference costs.

    python benchmarks/judging.py

Both are measured in turns, in one process; a ratio below 1 means that judging is the cheaper. The
outputs are the exact answer rounded and, where it is installed, what ONNX Runtime answers.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from opcheck import backends
from opcheck.backends.base import Backend
from opcheck.compare import compare
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine import Expected, Node
from opcheck.engine.evaluate import exactly
from opcheck.model import Attrs, OpVersion, OutputSpec, Task, TensorType

ROUNDS = 9
FLOAT32 = DTYPES["float32"]
SOFTMAX, LP_POOL = OpVersion("", "Softmax", 13), OpVersion("", "LpPool", 22)
WORKLOADS: tuple[tuple[OpVersion, tuple[int, ...], Attrs], ...] = (
    (SOFTMAX, (10_000, 1_000), {"axis": -1}),
    (SOFTMAX, (156_250, 64), {"axis": -1}),
    (SOFTMAX, (10, 1_000_000), {"axis": -1}),
    (SOFTMAX, (8, 1_250, 1_000), {"axis": 1}),
    (LP_POOL, (4, 10, 502, 502), {"kernel_shape": (3, 3)}),
)


def outputs(op: OpVersion, x: Any, attrs: Attrs, exact: Expected) -> Iterator[tuple[str, Any]]:
    """Answers to judge, by the name of who gave them."""
    yield "rounded", exact.rounded()
    task = Task(
        case=str(op),
        op=op,
        opset=op.since,
        attrs=attrs,
        slots=("x",),
        inputs=(TensorType("x", FLOAT32, x.shape),),
        initializers={},
        outputs=(OutputSpec("y", FLOAT32),),
    )
    backend: Backend = backends.connect("onnxruntime")
    yield "onnxruntime", backend.prepare(task).run([x])[0]


def ratio(op: OpVersion, x: Any, attrs: Attrs, got: Any) -> float:
    """How much longer it takes to judge an answer than to compute the reference."""
    start = time.perf_counter()
    [exact] = exactly(Node(op, (x,), attrs))
    want = computed_want(op, "y", exact)
    middle = time.perf_counter()
    assert compare(want, got).problem is None
    return (time.perf_counter() - middle) / (middle - start)


def main() -> None:
    """Measure and print a line for each workload and output."""
    print(f"{'workload':<48} {'output':<12} judging / exact (median, range)")
    for op, shape, attrs in WORKLOADS:
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        [exact] = exactly(Node(op, (x,), attrs))
        assert isinstance(exact, Expected)
        for name, got in outputs(op, x, attrs, exact):
            ratios = sorted(ratio(op, x, attrs, got) for _ in range(ROUNDS))
            middle = statistics.median(ratios)
            told = f"{op} {'×'.join(map(str, shape))}"
            print(f"{told:<48} {name:<12} {middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
