"""A case filled with data: what a backend is asked, and the second data of the stability check."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opcheck.backends import Backend, attempt, second_data
from opcheck.engine import operator_of
from opcheck.model import Array, Case, Outcome, Task, TensorType
from opcheck.suite import materialize


@dataclass(frozen=True, eq=False)
class Question:
    """A task with its inputs, in the order of `task.inputs`, and other inputs like them.

    Those are surely legal only where the engine knows the operator: elsewhere a floating input may
    be a ratio or a threshold, to which not every value is allowed.
    """

    task: Task
    inputs: tuple[Array, ...]
    second: tuple[Array, ...]
    second_is_legal: bool

    def ask(self, backend: Backend) -> Outcome:
        """What `backend` makes of it."""
        return attempt(
            backend, self.task, self.inputs, self.second, second_is_legal=self.second_is_legal
        )

    def turned(self) -> Question:
        """The same question with the other data first."""
        return replace(self, inputs=self.second, second=self.inputs)

    def arrays(self, inputs: tuple[Array, ...]) -> list[Array]:
        """`inputs` and the initializers in the operator's order."""
        return self.task.operands(inputs)


def question(case: Case) -> Question:
    """The question that `case` asks.

    Raises ValueError where the case's data cannot be made.
    """
    fed = [spec for spec in case.inputs if not spec.initializer]
    inputs = tuple(materialize(spec) for spec in fed)
    task = Task(
        op=case.op,
        opset=case.opset,
        attrs=case.attrs,
        slots=case.slots,
        inputs=tuple(TensorType(spec.name, spec.dtype, spec.shape) for spec in fed),
        initializers={s.name: materialize(s) for s in case.inputs if s.initializer},
        outputs=case.outputs,
    )
    known = operator_of(case.op) is not None
    second = tuple(second_data(inputs, may_negate=known))
    return Question(task, inputs, second, second_is_legal=known)
