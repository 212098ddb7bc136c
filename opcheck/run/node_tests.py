"""ONNX's own node tests as cases, and what they see of mistakes: a measure of a suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from opcheck import dtypes, opset
from opcheck.engine import operator_of
from opcheck.graph.nodes import NodeTest, node_tests
from opcheck.model import (
    Array,
    Case,
    Given,
    OpVersion,
    OutputSpec,
    Source,
    TensorSpec,
    Tolerance,
    Values,
)
from opcheck.model.mutation import Mutation, Yardstick, score
from opcheck.model.result import Cell
from opcheck.opset import Parameter
from opcheck.run.mutate import Settings, cells, mutations

#: Where they stand, as far as anybody can look it up.
_SOURCE = Source("onnx.backend.test", 0, 0)


def cases_of_node_tests(ops: Iterable[OpVersion]) -> tuple[Case, ...]:
    """The node tests of these versions, as far as the engine knows them.

    They are judged as ONNX's runner does, by a relative and an absolute tolerance; there, each is
    run once.
    """
    wanted = {op for op in ops if not op.domain and operator_of(op)}
    names = sorted({op.name for op in wanted})
    found = (case for name in names for case in _cases(name))
    return tuple(case for case in found if case.op in wanted)


def _cases(op: str) -> Iterator[Case]:
    for test in node_tests(op):
        schema = opset.describe("", op, test.opset)
        assert schema
        known = [dtypes.of(array) for array in (*test.inputs, *test.outputs)]
        single = all(one.option == "single" for one in (*schema.inputs, *schema.outputs))
        if single and all(known):
            yield _case(test, schema.op, schema.inputs, schema.outputs)


def _case(
    test: NodeTest, op: OpVersion, inputs: Sequence[Parameter], outputs: Sequence[Parameter]
) -> Case:
    fed, wanted = _specs(inputs, test.inputs), _specs(outputs, test.outputs)
    return Case(
        id=test.name,
        name=test.name,
        row=None,
        op=op,
        opset=test.opset,
        dtype=fed[0].dtype,
        attrs=test.attrs,
        inputs=fed,
        slots=tuple(spec.name for spec in fed),
        outputs=tuple(OutputSpec(spec.name, spec.dtype) for spec in wanted),
        expect=Values(wanted),
        tolerance=Tolerance(rtol=test.rtol, atol=test.atol),
        rule="must",
        level="core",
        clause="",
        source=_SOURCE,
    )


def _specs(parameters: Sequence[Parameter], arrays: Sequence[Array]) -> tuple[TensorSpec, ...]:
    specs = []
    for parameter, array in zip(parameters, arrays, strict=True):
        dtype = dtypes.of(array)
        assert dtype
        values = array.astype(np.float64) if dtype.kind == "float" else array
        specs.append(TensorSpec(parameter.name, dtype, array.shape, Given(values)))
    return tuple(specs)


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
