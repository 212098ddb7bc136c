"""From a case to what a backend is asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from opcheck.backends import second_data
from opcheck.engine import operator_of
from opcheck.model import AttrValue, Case, Question, Task, TensorType, Typed, Values
from opcheck.suite import materialize
from opcheck.suite.signature import leads


def _stored(value: AttrValue | Typed) -> Any:
    """An attribute as a model holds it: each float rounded to float32."""
    match value:
        case Typed("float" | "floats", held):
            return Typed(value.type, _stored(held))
        case float():
            return float(np.float32(value))
        case tuple():
            return tuple(map(_stored, value))
        case _:
            return value


def question(case: Case) -> Question:
    """The question that `case` asks.

    Raises ValueError where the case's data cannot be made.
    """
    fed = [spec for spec in case.inputs if not spec.initializer]
    inputs = tuple(materialize(spec) for spec in fed)
    task = Task(
        case=case.id,
        op=case.op,
        opset=case.opset,
        attrs={name: _stored(value) for name, value in case.attrs.items()},
        slots=case.slots,
        inputs=tuple(TensorType(spec.name, spec.dtype, spec.shape) for spec in fed),
        initializers={s.name: materialize(s) for s in case.inputs if s.initializer},
        outputs=case.outputs,
        model=case.model,
        ports=case.ports,
    )
    known = operator_of(case.op) is not None
    moved = [n for n, spec in enumerate(fed) if known and leads(case.op, spec.name)]
    second = tuple(second_data(inputs, may_negate=known, moved=moved))
    random = isinstance(case.expect, Values) and bool(case.expect.random)
    return Question(task, inputs, second, known, case.timeout, random)
