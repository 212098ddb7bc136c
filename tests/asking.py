"""Problems and cases in a line, for tests of what is done with them."""

import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from opcheck import dtypes, model, opset, opset as directml
from opcheck.backends import Backend, attempt, second_data
from opcheck.engine.operators import Operator, every
from opcheck.known import shipped_ledgers
from opcheck.reading import Kind, operators_in, shipped_files

HARDMAX1 = "DML_ACTIVATION_HARDMAX1"
#: The operators whose suites are looked at as a whole: in each version and type, at every level. Of
#: the others that takes minutes, so that tests ask of core cases of the newest version in float32;
#: `opcheck mutate` asks of all.
WHOLE = ("Hardmax", "Softmax", "LpPool", HARDMAX1)


def task_of(op, at_opset, attrs, *arrays, domain="", initializer=False, outputs=None):
    """The node `op` on inputs like `arrays`; of outputs, it has the first alone."""
    schema = opset.describe(domain, op, at_opset)
    assert schema is not None
    named = list(zip((p.name for p in schema.inputs), arrays, strict=False))
    types = tuple(model.TensorType(name, dtype_of(array), array.shape) for name, array in named)
    if outputs is None:
        bound = {p.constraint: t.dtype for p, t in zip(schema.inputs, types, strict=False)}
        first = schema.outputs[0]
        outputs = (model.OutputSpec(first.name, bound.get(first.constraint)),)
    return model.Task(
        case=op,
        op=schema.op,
        opset=at_opset,
        attrs=attrs,
        slots=tuple(name for name, _ in named),
        inputs=() if initializer else types,
        initializers=dict(named) if initializer else {},
        outputs=outputs,
    )


def asking(
    task: model.Task,
    *inputs: Any,
    second: Sequence[Any] | None = None,
    second_is_legal: bool = True,
) -> model.Question:
    """`task` on `inputs`, and on `second` in between: other data like them, if it is left out."""
    between = second_data(inputs) if second is None else second
    return model.Question(task, inputs, tuple(between), second_is_legal)


def outcome_of(backend: Backend, task: model.Task, *inputs: Any) -> model.Outcome:
    """What `backend` does with `task` in this process."""
    return attempt(backend, asking(task, *inputs))


def outputs_of(backend: Backend, task: model.Task, *inputs: Any) -> tuple[Any, ...]:
    """The outputs of a backend that answers, and does not contradict itself."""
    outcome = outcome_of(backend, task, *inputs)
    assert isinstance(outcome, model.Produced), outcome
    assert (outcome.unstable, outcome.again) == (None, None)
    return outcome.outputs


def output_of(backend: Backend, task: model.Task, *inputs: Any) -> Any:
    """The only output."""
    (output,) = outputs_of(backend, task, *inputs)
    return output


def dml_problem(axes: tuple[int, ...] | None, *arrays: Any, op: str = HARDMAX1) -> model.Task:
    attrs = {} if axes is None else {"Axes": axes}
    return task_of(op, 1, attrs, *arrays, domain=directml.DML)


def dtype_of(array: Any) -> dtypes.DType:
    dtype = dtypes.of(array)
    assert dtype is not None
    return dtype


#: Whether all shipped cases are asked about. Reading them takes half a minute, so that `pytest`
#: asks about those of some operators of each kind.
IS_GATE = "OPCHECK_PART" in os.environ
SOME = (
    *WHOLE,
    *"""
    Add And BitShift Clip Conv Dropout Gather Gemm If LSTM Loop QLinearMatMul RandomNormal ReduceL2
    ReduceSum Round SequenceAt SequenceInsert StringConcat TopK Where
""".split(),
)


def judged_operators() -> list[Operator]:
    """The operators of the engine that shipped cases are about; function bodies use others too.

    Outside a gate, some of them.
    """
    about = {op for file in shipped_files(Kind.CASES) for op in operators_in(file)}
    return [one for one in every() if one.name in (about if IS_GATE else SOME)]


def judged_versions() -> list[model.OpVersion]:
    """Their versions, of which there are cases of each."""
    return [
        model.OpVersion(one.domain, one.name, v) for one in judged_operators() for v in one.formulas
    ]


def shipped_cases(*ops: str) -> tuple[model.Case, ...]:
    """The shipped cases of these operators, or of all that are asked about, read once."""
    from opcheck.suite import load

    if ops and {*ops} <= {*WHOLE}:
        return tuple(case for case in load((), WHOLE) if case.op.name in ops)
    return load((), ops or (() if IS_GATE else SOME))


#: Whole suites are looked at without cases of more elements, which take too long.
MOST_ELEMENTS = 132_000


def whole_suites(*ops: str) -> tuple[model.Case, ...]:
    """The cases, of every level, of those of these operators that are looked at as a whole."""
    those = {*WHOLE} & {*ops}
    cases = shipped_cases(*those) if those else ()
    return tuple(case for case in cases if elements(case) <= MOST_ELEMENTS)


def wait_until(there: Callable[[], object], seconds: float = 30) -> None:
    """Ask again and again until something is there; it fails after so many seconds."""
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.01)


def elements(case: model.Case) -> int:
    """How many elements the inputs of a case have."""
    return sum(math.prod(spec.shape) for spec in case.inputs)


#: The page does not say what comes of ends without a number between them, which no model states.
UNANSWERED_ENDS_CROSSED = """
    domain: com.microsoft.dml
    op: DML_ELEMENT_WISE_CLIP
    opset: 1
    dtype: float32
    cases:
    - name: ends_crossed
      attrs: {Min: 2.0, Max: 1.0}
      inputs: {InputTensor: [0.0, 1.5, 3.0]}
"""
#: The same case, which states an answer.
ENDS_CROSSED = f"{UNANSWERED_ENDS_CROSSED}      expect: {{OutputTensor: [1, 1, 1]}}\n"


def cases_in(folder: Path, text: str) -> tuple[model.Case, ...]:
    """The cases of a case file."""
    from opcheck.suite import load

    file = folder / "cases.yaml"
    file.write_text(dedent(text), encoding="utf-8")
    return load([file])


def places_in(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values within a value of JSON or YAML."""
    if not isinstance(value, dict | list):
        return []
    below = value.items() if isinstance(value, dict) else enumerate(value)
    return [p for key, item in below for p in ((*way, key), *places_in(item, (*way, key)))]


def scatter_message(want: Any, got: Any) -> str:
    """Why errors scatter too far, or ""."""
    from opcheck.compare.bounded import scattering

    found = scattering(want, got)
    return found.message if found else ""


def at(value: Any, path: Sequence[Any]) -> Any:
    """What stands at a place."""
    for step in path:
        value = value[step]
    return value


def loses(stated):
    """Whether a line is about processes that die, or do not end."""
    return bool({*stated.failure} & {*model.LOSSES})


def every_line(backend=None):
    said = [ledger.fields for ledger in shipped_ledgers()]
    return [line for one in said if backend in (None, *one.backend) for line in one.known]


def kills(address, case):
    """Whether a shipped ledger lists that the case ends the backend's process."""
    return any(loses(line) and line.is_about(case) for line in every_line(address))
