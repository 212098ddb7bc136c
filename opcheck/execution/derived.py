"""Cases to time of operators that have no bench cases: their shipped cases, made larger.

What is made depends on the shipped cases alone, not on the machine: saved benchmarks of it can be
compared. Only the engine's answers are asked for: an operator *allows* a longer axis if it has one.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong. What
asks for a case's answers raises NotSupported if the bound of a stated one takes more than opcheck
computes.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from opcheck.compare.verdict import Answer
from opcheck.execution import expected
from opcheck.execution.bench import why_not
from opcheck.model import Case, Computed, FromFile, Given, TensorSpec
from opcheck.model.timing import DERIVED
from opcheck.suite import load

#: Elements that the largest input of a derived case has, or as near as its axes allow.
ELEMENTS = 1 << 16
#: The longest that an axis becomes: some operators take a step along it, or compare pairs.
LONGEST = 4096
#: The most elements of the answer, compared with those of the largest input.
_GROWTH = 4
#: The type that is timed if none is asked for; without it, the first that the operator has.
_USUAL = "float32"
#: The shipped cases that are tried, the largest first.
_TRIED = 3


def derived_cases(
    op: str, dtypes: Collection[str] = (), opsets: Collection[int] = ()
) -> tuple[Case, ...]:
    """Return a case to time of an operator, or one for each of `dtypes` that it has.

    Without `dtypes` it is of float32, or else of the first type. There is none for an operator or
    type without suitable shipped cases. A case is of the newest version that has one, at one of
    `opsets` if there are any. Raises CaseFileError if the operator's shipped files are wrong.
    """
    shipped = [case for case in load(ops=[op]) if _is_suitable(case, opsets)]
    newest = max((case.op.since for case in shipped), default=0)
    shipped = [case for case in shipped if case.op.since == newest]
    by_type: dict[str, list[Case]] = {}
    for case in shipped:
        by_type.setdefault(_dtype(case), []).append(case)
    wanted = [*dtypes] or [_USUAL if _USUAL in by_type else next(iter(by_type), "")]
    return tuple(_derived(by_type[name]) for name in wanted if name in by_type)


def _is_suitable(case: Case, opsets: Collection[int]) -> bool:
    """Return True for a case of one node with a certain answer, at one of `opsets` if any.

    It has the rule `must`, no oracle, no refusal and no empty tensor, and is not beyond opcheck.
    """
    is_certain = case.rule == "must" and case.expect.is_stated and not case.beyond
    is_node = case.model is None and not why_not(case)
    return is_certain and is_node and (not opsets or case.opset in opsets)


def _dtype(case: Case) -> str:
    """Return the element type that a case is about: its own, else that of its first input."""
    if case.dtype is not None:
        return case.dtype.name
    return case.inputs[0].dtype.name if case.inputs else ""


def _derived(cases: Sequence[Case]) -> Case:
    """Return the largest of some cases with longer axes, as far as its operator allows.

    Cases whose answers are mostly 0, infinity or NaN are left out, then those that write floats
    out, then those of more than 65,536 elements, each if there are others. Of the three largest,
    the first counts whose operator allows a longer axis, or that has 65,536 elements: its answer is
    the engine's. Without such a one, the largest is returned with its own shapes and answer. There
    is at least one case.
    """
    ordinary = [case for case in cases if not case.empty] or cases
    of_fills = [case for case in ordinary if not any(map(_is_written_out, case.inputs))]
    fitting = [case for case in of_fills or ordinary if _elements(case) <= ELEMENTS]
    bases = sorted(fitting or ordinary, key=_elements, reverse=True)[:_TRIED]
    for base in bases:
        case = replace(_named(base), expect=Computed(), tolerance=None)
        larger = _made_larger(case)
        if larger is not case or (_elements(case) == ELEMENTS and _has_answer(case)):
            return larger
    return _named(bases[0])


def _named(case: Case) -> Case:
    """Return a case as `OPERATOR/derived@opset=N,dtype=T`, at smoke, which all levels have."""
    parameters = f"opset={case.opset}"
    if case.dtype:
        parameters += f",dtype={case.dtype}"
    id = f"{case.op.name}/{DERIVED}@{parameters}"
    return replace(case, id=id, name=DERIVED, row=None, level="smoke")


def _is_written_out(spec: TensorSpec) -> bool:
    """Return True for a tensor of floats that a case writes out: they are few, and often special.

    False for a scalar, which is a parameter.
    """
    return isinstance(spec.content, Given) and spec.dtype.kind == "float" and len(spec.shape) > 0


def _elements(case: Case) -> int:
    """Return the number of elements of the largest input, 0 without inputs."""
    return max((math.prod(spec.shape) for spec in case.inputs), default=0)


def _made_larger(case: Case) -> Case:
    """Return a case with axes of its largest input made longer, to about 65,536 elements.

    The first and the last axis come first. One becomes longer by a whole factor, to 4096 at most,
    and stays as it is if the operator does not allow another length. `case` itself if none becomes
    longer, or if its inputs have no element.
    """
    if _elements(case) == 0:
        return case
    largest = max(case.inputs, key=lambda spec: math.prod(spec.shape))
    rank = len(largest.shape)
    for axis in sorted(range(rank), key=lambda axis: (0 < axis < rank - 1, axis)):
        length = next(spec.shape[axis] for spec in case.inputs if spec.name == largest.name)
        factor = min(LONGEST // length, ELEMENTS // _elements(case))
        if factor > 1:
            longer = _with_longer_axis(case, largest.name, axis, factor)
            case = next(longer, case)
    return case


def _with_longer_axis(case: Case, name: str, axis: int, factor: int) -> Iterator[Case]:
    """Yield cases that have an answer, with an axis `factor` times as long.

    It is longer in the input of this `name` alone, then in all inputs of its rank that are as long
    along it. Nothing is yielded if the operator allows neither.
    """
    chosen = next(spec for spec in case.inputs if spec.name == name)
    alike = [
        spec.name
        for spec in case.inputs
        if len(spec.shape) == len(chosen.shape) and spec.shape[axis] == chosen.shape[axis]
    ]
    for names in ([name], alike):
        # Twice as long first: that shows soon if the operator does not allow it.
        if all(_has_answer(_longer(case, names, axis, times)) for times in (2, factor)):
            yield _longer(case, names, axis, factor)


def _longer(case: Case, names: Collection[str], axis: int, factor: int) -> Case:
    """Return a case with an axis of some inputs so many times as long; their values repeat."""
    inputs = [_repeated(spec, axis, factor) if spec.name in names else spec for spec in case.inputs]
    return replace(case, inputs=tuple(inputs))


def _repeated(spec: TensorSpec, axis: int, factor: int) -> TensorSpec:
    """Return a tensor with an axis so many times as long.

    Written values are repeated, a rule makes more; the values of a file stay, and have another
    shape then.
    """
    shape = [*spec.shape]
    shape[axis] *= factor
    content = spec.content
    if isinstance(content, Given):
        repeats = [factor if at == axis else 1 for at in range(len(shape))]
        content = Given(np.tile(content.values, repeats))
    return replace(spec, shape=tuple(shape), content=content)


def _has_answer(case: Case) -> bool:
    """Return True if opcheck has answers to a case, none of them a refusal, of a sensible size.

    That is at most 262,144 elements for each output. False for a case with data from a file.
    """
    if any(isinstance(spec.content, FromFile) for spec in case.inputs):
        return False
    try:
        admitted = expected.accepted_answers(case, expected.question(case))
    except (ValueError, MemoryError):
        return False
    answers = [answer for answer in admitted if isinstance(answer, Answer)]
    sizes = [want.values.size for answer in answers for want in answer.wants]
    return len(answers) == len(admitted) > 0 and max(sizes, default=0) <= _GROWTH * ELEMENTS
