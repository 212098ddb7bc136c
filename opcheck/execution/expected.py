"""The question of a case and its accepted answers, computed if the case states none.

A `Want` is the expected value of one output, with its error bound if it has one. An answer is a
tuple of wants; an admitted refusal (`verdict.Refusal`) has those of the *legal twin*, the invalid
model made valid. The *other data* of a question, on which backends run in between, have the shapes
of the case's own. A *reading* is a way to understand what the text leaves open; each gives an
answer.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong. What
computes a model or writes it out raises UsageError if a file of its weights has changed, and
ValueError for a sparse constant.
"""

import math
import os
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from opcheck import backends, dtypes, grouping, model, opset
from opcheck.backends.address import parse
from opcheck.backends.connect import CLASS
from opcheck.backends.isolation.process import SETTINGS
from opcheck.compare import Want, are_plainly_right, compare, compare_outputs, too_wide, verdict
from opcheck.compare.outputs import Wants, computed_want, in_its_dtype, stated_want
from opcheck.engine import Node, any_order, evaluate, operator_of, operators, rounded
from opcheck.engine.graphs import graph_of, node_without, outputs_of
from opcheck.engine.outputs import Drawn, Expected, Outputs
from opcheck.engine.readings import Reading, are_complete, each_reading
from opcheck.errors import (
    BeyondBudget,
    InvalidNode,
    NodeWithoutAnswer,
    NotSupported,
    UsageError,
    few,
)
from opcheck.graph import model_of
from opcheck.graph.folders import read_tensor
from opcheck.graph.test_data import output_types
from opcheck.grouping import Item
from opcheck.model import Array, BackendInfo, Case, Outcome, Question, Task
from opcheck.opset import leads
from opcheck.suite import materialize, unrounded

#: What the engine admits for questions' own data. The ranks of outputs need it before the verdict.
_OWN_READINGS: WeakKeyDictionary[Question, tuple[Reading[Outputs], ...]] = WeakKeyDictionary()

_CONTRADICTION = "the case and opcheck's engine contradict each other"


def _stored(value: model.AttrValue | model.Typed) -> Any:
    """Return an attribute as a model holds it: each float rounded to float32, in tuples too."""
    match value:
        case model.Typed("float" | "floats", held):
            return model.Typed(value.type, _stored(held))
        case float():
            return float(np.float32(value))
        case tuple():
            return tuple(map(_stored, value))
        case _:
            return value


def question(case: Case) -> Question:
    """Return the question that `case` asks: its task, data, other data, and that of its legal twin.

    The twin is the invalid model made valid; of a node that the text lets a backend refuse for its
    data, such as a division by 0, the node on harmless data. None for others. Outputs have the
    ranks and types that follow from the answers, where these are known; the answers themselves are
    not in it.

    Raises ValueError if its data cannot be made: a value overflows its type, a permutation has
    ties, a file cannot be read. MemoryError if they do not fit into memory. UsageError if a file of
    a model's weights has changed.
    """
    fed = [spec for spec in case.inputs if not spec.initializer]
    inputs = tuple(materialize(spec) for spec in fed)
    task = _task(case, fed)
    draws = operator_of(case.op) is not None and node_of(task, inputs).draws
    other = _other_data(case, task, fed, inputs, draws=draws)
    refused = case.expect.rejection
    legal = refused.legal if refused else None
    twin = question(legal) if legal else None
    readings: tuple[Reading[Outputs], ...] = ()
    if not case.model:
        answers: list[Outputs] = [] if other.answer is None else [other.answer]
        with suppress(MemoryError):  # then the rank stays open
            if isinstance(case.expect, model.Computed) and not draws:
                readings = _own_readings(case, task, inputs)
            answers += _answers_for_ranks(case, task, inputs, readings)
        task = _with_ranks(case, task, twin, answers)
    if any(isinstance(reading.answer, InvalidNode) for reading in readings):
        twin = _on_harmless_data(task, inputs)
    asked = Question(
        task=task,
        inputs=inputs,
        second=other.inputs,
        second_is_legal=other.is_legal,
        timeout=case.timeout,
        random=draws or bool(case.expect.random),
        twin=twin,
    )
    if readings:
        _OWN_READINGS[asked] = readings
    return asked


def _on_harmless_data(task: Task, inputs: tuple[Array, ...]) -> Question | None:
    """Return the question of a node that no backend may refuse: the same one, on other data.

    One input after the other, the last one first, has ones in place of its numbers. None if the
    node may be refused on all of these, so that it is not the data that a backend refuses. Raises
    MemoryError for outputs that do not fit into memory.
    """
    for place in reversed(range(len(inputs))):
        if inputs[place].dtype.kind not in "fiu":
            continue
        harmless = (*inputs[:place], np.ones_like(inputs[place]), *inputs[place + 1 :])
        if _may_not_be_refused(task, harmless):
            return Question(
                task=replace(task, case=f"{task.case}~legal"),
                inputs=harmless,
                second=harmless,
                second_is_legal=True,
            )
    return None


def _may_not_be_refused(task: Task, inputs: Sequence[Array]) -> bool:
    """Return True if the engine has an answer for a node by each reading of the text."""
    try:
        with operators.judging():
            readings = evaluate.each_answer(node_of(task, inputs))
    except (InvalidNode, NotSupported):
        return False
    return not any(isinstance(reading.answer, InvalidNode) for reading in readings)


def _task(case: Case, fed: Sequence[model.TensorSpec]) -> Task:
    """Return the node or model of a case, with its constants; `fed` are the other inputs.

    Floats of attributes are rounded to float32, as a model holds them. Raises ValueError if a
    constant cannot be made: a value overflows its type, or a file cannot be read; MemoryError if it
    does not fit into memory.
    """
    return Task(
        case=case.id,
        attrs={name: _stored(value) for name, value in case.attrs.items()},
        inputs=tuple(model.TensorType(spec.name, spec.dtype, spec.shape) for spec in fed),
        initializers={spec.name: materialize(spec) for spec in case.inputs if spec.initializer},
        op=case.op,
        opset=case.opset,
        slots=case.slots,
        outputs=case.outputs,
        model=case.model,
        ports=case.ports,
        dtype=case.dtype,
    )


class _OtherData(NamedTuple):
    """Other data of the same shapes, which show if a backend computes at all."""

    inputs: tuple[Array, ...]
    #: The node is known to be legal on them.
    is_legal: bool
    #: The engine's outputs, None if they were not computed.
    answer: tuple[Array, ...] | None


def _other_data(
    case: Case,
    task: Task,
    fed: Sequence[model.TensorSpec],
    inputs: tuple[Array, ...],
    *,
    draws: bool,
) -> _OtherData:
    """Return other data of the same shapes for a case, to be fed between two runs on its own data.

    Floats are reversed in memory order, or negated where that changes nothing. Integers may be
    indices or shapes, and stay; those at `_movable` places, booleans and texts are reversed too. An
    operator may have a rule of its own instead (`operator.other`). If an input of one element
    changed, such as a depth, the node may have become illegal: then the engine is asked, and if it
    refuses, data are only reversed, and not known to be legal. Without a formula for the operator,
    floats are reversed, and nothing is known to be legal; of a whole model without floats, integers
    are. Raises MemoryError.

    Args:
        case: The case.
        task: Its task.
        fed: The specifications of its inputs.
        inputs: The data of these inputs.
        draws: True for a node that draws numbers at random: its inputs are probabilities, and are
            not negated.
    """
    operator = operator_of(case.op)
    if operator is None:
        other = tuple(backends.second_data(inputs, may_negate=False, moved=[]))
        return _OtherData(_data_of_model(case, task, inputs, other), is_legal=False, answer=None)
    moved = _movable(case, fed)
    if operator.other:
        other = tuple(map(operator.other, inputs))
    else:
        other = tuple(backends.second_data(inputs, may_negate=not draws, moved=moved))
    # Negated parameters, such as a depth or a ratio, may make the node illegal.
    parameters_are_kept = all(
        before.size != 1 or dtypes.identical(before, after)
        for before, after in zip(inputs, other, strict=True)
    )
    answer = None
    is_legal = parameters_are_kept
    if not parameters_are_kept:
        answer = _plain_outputs(task, other)
        is_legal = answer is not None
    if not is_legal:
        other = tuple(backends.second_data(inputs, may_negate=False, moved=moved))
    return _OtherData(_data_of_model(case, task, inputs, other), is_legal, answer)


def _movable(case: Case, fed: Sequence[model.TensorSpec]) -> list[int]:
    """Return the places in `fed` of the inputs whose elements may stand in another order.

    They are all inputs where an attribute holds the values of the output, as of ConstantOfShape,
    whose sizes make a shape in any order; else booleans and texts, and inputs of the type that
    kernels differ by. Other integers may be indices or shapes.
    """
    schema = opset.versions(case.op.domain, case.op.name).get(case.op.since)
    if schema is not None and schema.by_value:
        return [*range(len(fed))]
    return [
        number
        for number, spec in enumerate(fed)
        if spec.dtype.kind in ("bool", "string") or leads(case.op, spec.name)
    ]


def _data_of_model(
    case: Case, task: Task, inputs: tuple[Array, ...], other: tuple[Array, ...]
) -> tuple[Array, ...]:
    """Return the other data of a whole model, reversed if all its inputs are integers.

    Such integers may be tokens. `other` is returned if it differs from `inputs` already, if the
    engine cannot compute the model on its own data and on reversed ones with outputs of the same
    shapes, and for all other cases. Raises MemoryError if outputs do not fit into memory.
    """
    if case.op != model.GRAPH or not isinstance(case.expect, model.Computed):
        return other
    if not all(map(dtypes.identical, inputs, other)):
        return other
    moved = tuple(backends.second_data(inputs, may_negate=False, moved=range(len(inputs))))
    answer = _plain_outputs(task, inputs)
    of_moved = _plain_outputs(task, moved)
    if not answer or not of_moved:
        return other
    same_shapes = [*map(np.shape, answer)] == [*map(np.shape, of_moved)]
    return moved if same_shapes else other


def _own_readings(case: Case, task: Task, inputs: Sequence[Array]) -> tuple[Reading[Outputs], ...]:
    """Return what the engine admits for a case's own data, with bounds; empty if it has no answer.

    So it is without a formula, for a node that the text forbids or leaves open, and for one that
    takes too much. Raises MemoryError for outputs that do not fit into memory.
    """
    if operator_of(case.op) is None:
        return ()
    with suppress(InvalidNode, NotSupported), operators.judging():
        return evaluate.each_answer(node_of(task, inputs))
    return ()


def readings_of(asked: Question) -> tuple[Reading[Outputs], ...]:
    """Return what the engine admits for a question's own data, with bounds.

    It is not evaluated again where `question` has done so. Raises InvalidNode if the text forbids
    the node, NotSupported where the engine has no answer, MemoryError if one does not fit into
    memory, and UsageError if a file of a model's weights has changed.
    """
    known = _OWN_READINGS.get(asked)
    if known is not None:
        return known
    with operators.judging():
        return evaluate.each_answer(node_of(asked.task, asked.inputs))


def _answers_for_ranks(
    case: Case, task: Task, inputs: Sequence[Array], readings: Sequence[Reading[Outputs]]
) -> Iterator[Outputs]:
    """Yield the engine's outputs by each reading, whose ranks and types are needed.

    They are those of `readings`, or without these computed in plain arithmetic. Nothing if the case
    writes the outputs out, if the engine lacks the operator, and if the node is illegal or not
    supported. Raises MemoryError if they do not fit into memory.
    """
    if operator_of(case.op) is None or case.expect.written:
        return
    node = node_of(task, inputs)
    with suppress(NotSupported):
        for reading in readings or each_reading(lambda: tuple(evaluate.evaluate(node))):
            if not isinstance(reading.answer, InvalidNode):
                yield reading.answer


def _plain_outputs(task: Task, inputs: Sequence[Array]) -> tuple[Array, ...] | None:
    """Return the engine's outputs in plain arithmetic, None for an illegal or unsupported node.

    Raises MemoryError if they do not fit into memory, UsageError if a file of a model's weights has
    changed, ValueError for a sparse constant of a model.
    """
    try:
        return node_of(task, inputs).plain
    except (InvalidNode, NotSupported):
        return None


def _with_ranks(case: Case, task: Task, twin: Question | None, answers: Sequence[Outputs]) -> Task:
    """Return `task` with the ranks of its outputs, and the types of those whose type is open.

    onnx's checker refuses an output of no rank, and ONNX infers none for many nodes. So answers
    state it: what the case writes out and what the engine gives, `answers`, where these agree.
    Without any, without a formula, and for a model that may be refused, the rank that onnx infers
    goes before. The legal `twin`, the model made valid, stands for an answer, if its inputs have
    the same ranks; None without one. Sizes stay open: they are part of the answer.
    """
    ranks: dict[str, set[int]] = defaultdict(set)
    types: dict[str, set[dtypes.DType | None]] = defaultdict(set)
    for spec in case.expect.written:
        ranks[spec.name].add(len(spec.shape))
        types[spec.name].add(spec.dtype)
    for answer in answers:
        for output, value in zip(task.outputs, answer, strict=True):
            rank_of_value, dtype_of_value = _rank_and_dtype(value)
            ranks[output.name].add(rank_of_value)
            types[output.name].add(dtype_of_value)
    inferred: dict[str, int] = {}
    if twin or not ranks or not operator_of(case.op):
        inferred = _inferred_ranks(task)
    if twin and [len(x.shape) for x in twin.inputs] == [len(x.shape) for x in task.inputs]:
        for output in twin.task.outputs:
            if output.rank is not None:
                ranks[output.name].add(output.rank)
                # Not its type: another one may be what makes the twin legal.
                types[output.name].add(None)
    outputs = []
    for output in task.outputs:
        rank = _only(ranks[output.name], output.rank)
        dtype = output.dtype or _only(types[output.name], None)
        outputs.append(replace(output, rank=inferred.get(output.name, rank), dtype=dtype))
    return replace(task, outputs=tuple(outputs))


def _rank_and_dtype(output: Array | Expected | Drawn) -> tuple[int, dtypes.DType | None]:
    """Return the rank and dtype of an output that the engine computed; it must not be drawn."""
    assert not isinstance(output, Drawn), "for ranks, numbers are drawn in plain arithmetic"
    if isinstance(output, Expected):
        return np.ndim(output.values), output.dtype
    return np.ndim(output), dtypes.of(output)


def _inferred_ranks(task: Task) -> dict[str, int]:
    """Return the ranks of outputs that onnx infers, by name.

    Outputs of open rank are left out; the result is empty if no ONNX model states the task, or
    DirectML's page leaves open which.
    """
    with suppress(NotSupported):
        inferred = {}
        for output, value in zip(task.outputs, model_of(task).graph.output, strict=True):
            tensor = value.type.tensor_type
            if tensor.HasField("shape"):
                inferred[output.name] = len(tensor.shape.dim)
        return inferred
    return {}


def _only(values: Collection[Item], otherwise: Item) -> Item:
    """Return the only one of `values`, `otherwise` if there are none or several different ones."""
    if len(values) == 1:
        return next(iter(values))
    return otherwise


def node_of(task: Task, inputs: Sequence[Array]) -> Node:
    """Return the node of `task` for the engine, or the model as one node, on these `inputs`.

    `inputs` are those that are fed, in the order of `task.inputs`; the node's are read-only views,
    in the operator's order, with the constants, None for omitted ones. Nothing is computed yet. Of
    a model, raises UsageError if a file of its weights has changed, ValueError for a sparse
    constant.
    """
    given = task.operands(inputs) if task.op != model.GRAPH else inputs
    operands = tuple(None if operand is None else operand.view() for operand in given)
    for array in operands:
        if array is not None:
            array.flags.writeable = False
    if task.op == model.GRAPH:
        attrs: Any = {"graph": graph_of(task)}
        return Node(task.op, operands, attrs, opset=task.opset)
    return Node(task.op, operands, task.attrs, task.places, bool(task.initializers), task.opset)


class OracleUnavailable(Exception):
    """The oracle produced no usable answer, for the reason in the message."""


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """The outcome of an oracle, the backend that a case names, for the question of that case."""

    oracle: BackendInfo
    outcome: Outcome

    def wants(self, case: Case, *, other_data: bool = False) -> tuple[Want, ...]:
        """Return its answer, or with `other_data` that to these, as wants: one for each output.

        Raises OracleUnavailable if it crashed, raised, contradicts itself, refuses the other data,
        or gives another number or other types of outputs than the case has; ValueError for a
        tolerance of the case that makes no sense; WrongOperator if the file of the operator's
        formula is wrong.
        """
        outcome = verdict.unstable_if_inconsistent(case, self.outcome)
        if not verdict.needs_expected(outcome):
            judgement = verdict.judge_without_expected("must", outcome)
            raise self._unavailable(f"{judgement.verdict}: {judgement.reason}")
        if isinstance(outcome, model.Raised):
            raise self._unavailable(f"raised {outcome}")
        answer = outcome.between if other_data else outcome.outputs
        if answer is None:
            raise self._unavailable("it refuses the other data")
        wrong = verdict.schema_violation(answer, case.outputs)
        if wrong:
            raise self._unavailable(f"its answer cannot be one: {verdict.what_is_wrong(wrong)}")
        arrays = [output for output in answer if not isinstance(output, model.Foreign)]
        return verdict.wants_of(case, arrays)

    def _unavailable(self, reason: str) -> OracleUnavailable:
        """Return the exception to raise, for this reason."""
        return OracleUnavailable(f"oracle {self.oracle} gives no answer: {reason}")


def oracles_of(cases: Iterable[Case]) -> dict[str, Case]:
    """Return the addresses of the oracles that cases name, each with the first of these cases."""
    first: dict[str, Case] = {}
    for case in cases:
        if case.expect.oracle:
            first.setdefault(case.expect.oracle, case)
    return first


def is_the_same(backend: BackendInfo, oracle: BackendInfo) -> bool:
    """Return True if a backend is the oracle itself, so that its pass proves nothing.

    Names, options, declarations, limits and variables make no other backend: the implementation
    counts, by kind and detail of its address, its version, and the digests of its files if they are
    known of both. Two addresses are one implementation if they name one Python class that has the
    same files, also where a module imports it and only one address loads that module, or copies
    under other names.
    """
    if backend.address == oracle.address:
        return True
    if backend.kind != oracle.kind or backend.version != oracle.version:
        return False
    here = _files_of(backend)
    there = _files_of(oracle)
    if _implementation(backend) != _implementation(oracle):
        return CLASS in here and (_is_imported(here, there) or _is_copied(here, there))
    # Two builds of one version differ in their files, if these are known of both.
    return not here or not there or here == there


def _files_of(backend: BackendInfo) -> dict[str, str]:
    """Return the digests of a backend's files by name, without that of its settings."""
    return {name: digest for name, digest in backend.made_of.items() if name != SETTINGS}


def _is_imported(here: dict[str, str], there: dict[str, str]) -> bool:
    """Return True if two backends are one class, and all files of one are files of the other.

    `here` and `there` are the digests of their files by name, and under CLASS the class. The
    further files are modules that import the class under another name.
    """
    return here.items() <= there.items() or there.items() <= here.items()


def _is_copied(here: dict[str, str], there: dict[str, str]) -> bool:
    """Return True if two backends are one class in files of other names that hold the same.

    `here` and `there` are the digests of their files by name, and under CLASS, which `here` must
    have, the class as module.Name; the module, named as its file, may differ. False if there are
    the same names of files: equal ones were found equal before.
    """
    if CLASS not in there or here.keys() == there.keys():
        return False
    classes = [files[CLASS].partition(".")[2] for files in (here, there)]
    contents = [sorted(files[name] for name in files if name != CLASS) for files in (here, there)]
    return classes[0] == classes[1] and contents[0] == contents[1]


def _implementation(backend: BackendInfo) -> tuple[str, ...]:
    """Return what an address names, without options: kind and detail.

    Of a program, `cmd`, these are its words, paths of files as real ones. An address that is
    unknown here is returned as its text; a command with an open quote is one word. Nothing is
    raised.
    """
    text = backend.of or backend.address
    try:
        address = parse(text)
    except UsageError:  # of a package that is not installed here
        return (text.partition("?")[0],)
    if address.kind != "cmd":
        return (address.kind, address.detail or "")
    try:
        words = shlex.split(address.detail or "")
    except ValueError:
        words = [address.detail or ""]
    return ("cmd", *(os.path.realpath(word) if os.path.isfile(word) else word for word in words))  # noqa: PTH113


def too_degenerate(values: Array, dtype: dtypes.DType | None, *, rounded: bool) -> str | None:
    """Return why an expected output is too degenerate to test anything, else None.

    It is if more than half of its elements come out as 0 in `dtype`, infinity or NaN; or all, if
    answers are not `rounded`, as those of Hardmax: zeros are answers like others there. Only floats
    of 16 bits or more have infinities and NaNs that count so; False and an empty text count as 0.
    An output without elements is not degenerate. `dtype` is None if it is not known.
    """
    if dtype is not None and dtype.kind == "float":
        # Half of the smallest subnormal number is the largest that rounds to 0.
        least = math.ldexp(0.5, dtype.min_exponent)
        _, largest = dtypes.limits(dtype)
        sizes = np.abs(values)
        values = (sizes > least) & (sizes <= largest)
    blank = values.size - int(np.count_nonzero(values))
    is_telling = 2 * blank <= values.size if rounded else blank < values.size
    if not values.size or is_telling:
        return None
    return f"{blank} of {values.size} elements come out as 0, infinity or NaN"


class WrongCase(ValueError):
    """The case contradicts itself or the engine, so that it judges no backend."""


class Unsupported(WrongCase):
    """The engine cannot compute the answer; the case itself may be right.

    Attributes:
        number: Of a whole model the number of the node that has no answer; None for other reasons.
    """

    def __init__(self, reason: str, number: int | None = None) -> None:
        super().__init__(reason)
        self.number = number


class TooLarge(Unsupported):
    """The answer takes more than opcheck computes, so that no backend should compute it either."""


def accepted_answers(
    case: Case, asked: Question, oracle_answer: OracleAnswer | None = None
) -> tuple[verdict.Admitted, ...]:
    """Return the answers that `case` admits, in order; none if it only compares backends.

    Args:
        case: The case.
        asked: Its question.
        oracle_answer: The answer of the oracle that it names, None if there is none.

    Raises:
        WrongCase: The engine rejects a model that the case takes for legal, or accepts one that it
            takes for invalid; a stated answer differs from the engine's, or has neither an error
            bound nor a tolerance; a computed one is too degenerate to test anything; or a tolerance
            admits a constant.
        Unsupported: The engine has no formula, or the text leaves open what cannot be listed.
        TooLarge: The answer takes more than opcheck computes.
        OracleUnavailable: `oracle_answer` is missing, or no usable answer.
        ValueError: The data, or a golden output, cannot be read or made.
        MemoryError: An answer does not fit into memory.
        NotSupported: The bound of a stated answer takes more than opcheck computes.
        UsageError: A file of a model's weights has changed.
    """
    answers: list[verdict.Admitted]
    match case.expect:
        case model.AnyOf(alternatives):
            answers = _admitted_of_several(case, asked, alternatives)
        case model.Oracle():
            answers = [_given_by_oracle(case, asked, oracle_answer)]
        case model.Agreement():
            answers = []
        case expect:
            answers = _admitted(case, asked, expect, None, ())
            if case.model is not None and isinstance(expect, model.Values):
                answers += _mixed_answers(case, asked)
    for answer in answers:
        problem = too_wide(answer.wants, case.tolerance)
        if problem:
            raise WrongCase(problem)
    return tuple(answers)


def _admitted_of_several(
    case: Case, asked: Question, alternatives: Sequence[model.Alternative]
) -> list[verdict.Admitted]:
    """Return the answers and refusals of all alternatives, in their order.

    Of a golden folder, whose case has a model, answers follow whose elements mix those of several
    readings of the text. Raises WrongCase if the case contradicts the engine, Unsupported or
    TooLarge if an answer cannot be computed, ValueError if data cannot be read, MemoryError if an
    answer does not fit into memory, and NotSupported where the bound of a stated one takes more
    than opcheck computes.
    """
    refusals = {
        alternative.name: _refusal(case, asked, alternative.expect, alternative.name)
        for alternative in alternatives
        if alternative.expect.rejection
    }
    twins = [want for refusal in refusals.values() for want in refusal.wants]
    answers: list[verdict.Admitted] = []
    for alternative in alternatives:
        if alternative.name in refusals:
            answers.append(refusals[alternative.name])
        else:
            answers += _admitted(case, asked, alternative.expect, alternative.name, twins)
    if case.model is not None:
        answers += _mixed_answers(case, asked)
    return answers


def _mixed_answers(case: Case, asked: Question) -> list[verdict.Admitted]:
    """Return answers of the engine whose elements may each follow another reading.

    A golden folder, whose cases have a model, holds one whole answer for each reading, and test
    data of others hold one alone. A backend may mix the elements of several. Empty if the engine
    lacks the operator or has no answer. Raises WrongCase if the text forbids the node, MemoryError
    if the answers do not fit into memory.
    """
    if operator_of(case.op) is None:
        return []
    try:
        answers = computed_answers(case, asked, asked.inputs, "mixed")
    except Unsupported:
        return []
    return [
        answer
        for answer in answers
        if isinstance(answer, verdict.Answer) and any(want.others for want in answer.wants)
    ]


def _given_by_oracle(
    case: Case, asked: Question, oracle_answer: OracleAnswer | None
) -> verdict.Answer:
    """Return the oracle's answer, with the engine's bounds if it has any.

    Raises OracleUnavailable if `oracle_answer` is None or unusable; WrongCase if the engine
    contradicts it or, without a tolerance, has no bound for it; ValueError for a tolerance that
    makes no sense; MemoryError where the engine's answer is too large; and what the operator's
    formula raises for a bound, such as NotSupported beyond a budget.
    """
    if oracle_answer is None:
        raise OracleUnavailable("the oracle was not asked: there was no memory left")
    try:
        return _stated_answer(case, asked, oracle_answer.wants(case), None)
    except WrongCase as error:
        raise WrongCase(f"by oracle {oracle_answer.oracle}: {error}") from None


def _admitted(
    case: Case, asked: Question, expect: model.OneAnswer, name: str | None, twins: Sequence[Want]
) -> list[verdict.Admitted]:
    """Return the answers that one expectation admits.

    A refusal is one answer, a stated answer too; a computed one, and numbers drawn at random by a
    known operator, may be several. Raises WrongCase for an answer that the engine contradicts or
    that tests nothing; Unsupported or TooLarge if it has to be computed and is not; ValueError for
    a golden file that cannot be read; MemoryError where the engine's answer is too large; and what
    the operator's formula raises for the bound of a stated answer, such as NotSupported.

    Args:
        case: The case.
        asked: Its question.
        expect: What it expects, or one of its alternatives.
        name: The name of the alternative, None without alternatives.
        twins: The outputs of legal twins, whose bounds count if the engine refuses the model.
    """
    match expect:
        case model.Rejected():
            return [_refusal(case, asked, expect, name)]
        case model.Computed():
            answers = computed_answers(case, asked, asked.inputs, name)
            if not (case.rule == "open" or case.empty or asked.random):
                _check_that_they_test_something(answers)
            return answers
        case model.Values(random=random) if random and operator_of(case.op):
            return computed_answers(case, asked, asked.inputs, name)
        case model.Values(specs, ports, random):
            given = [stated_want(case.op, s.name, unrounded(s), s.dtype) for s in specs]
            if ports and operator_of(case.op) is None:
                return [verdict.Answer(tuple(_outputs(ports, given, random)), name)]
            answer = _stated_answer(case, asked, given, name, twins)
            # A case file that writes its answer out has decided; test data have no word for it.
            is_of_test_data = case.model is not None
            return [_without_undefined_elements(asked, answer) if is_of_test_data else answer]
        case model.Golden(folder):
            answer = _stated_answer(case, asked, [*_golden_wants(case, folder)], name, twins)
            return [_without_undefined_elements(asked, answer)]


def _refusal(
    case: Case, asked: Question, expect: model.OneAnswer, name: str | None
) -> verdict.Refusal:
    """Return the refusal that an expectation of one admits, with the answer to its legal twin.

    The answer is empty without a twin, or without a formula for it. Raises WrongCase if the engine
    computes a model that the case takes for invalid, unless the case has the rule `open`, or if the
    twin, the same model made valid, is wrong itself; Unsupported or TooLarge if the engine has no
    answer to the twin; MemoryError.
    """
    assert isinstance(expect, model.Rejected)
    if case.rule != "open" and operator_of(case.op) is not None:
        # In judging, what the text leaves open is unsupported: there a case may decide.
        with operators.judging():
            accepted = _plain_outputs(asked.task, asked.inputs) is not None
        if accepted:
            raise WrongCase("the case takes this model for invalid, opcheck's engine accepts it")
    wants: tuple[Want, ...] = ()
    legal = expect.legal
    if legal and operator_of(legal.op):
        twin = grouping.not_none(asked.twin)
        try:
            wants = computed(legal, twin, twin.inputs)
        except WrongCase as error:
            raise type(error)(f"its legal twin: {error}") from None
    return verdict.Refusal(expect.reason, wants, name)


def _check_that_they_test_something(answers: Iterable[verdict.Admitted]) -> None:
    """Raise WrongCase for a computed answer that is mostly 0, infinity or NaN.

    That is more than half of an output's elements; all, if the output has no error bound, as
    answers that are not rounded. Refusals pass.
    """
    for answer in answers:
        if isinstance(answer, verdict.Refusal):
            continue
        for want in answer.wants:
            reason = too_degenerate(want.values, want.dtype, rounded=want.bound is not None)
            if reason:
                raise WrongCase(
                    f"{want.name}: {reason}, so the case tells little: choose other data, write"
                    " the answer out, or state in `empty` why it is meant to be so"
                )


def _outputs(ports: Iterable[model.Port], wants: Wants, random: Collection[str]) -> Iterator[Want]:
    """Yield the expected outputs of a model by its `ports`, whose tensors are `wants` in order.

    A port that is a sequence or an optional takes as many tensors as it has items, and becomes one
    want without values. Tensors named in `random` are judged by type and shape only.
    """
    tensors = (replace(want, random=want.name in random) for want in wants)
    for port in ports:
        if port.form == "tensor":
            yield next(tensors)
        else:
            items = tuple(islice(tensors, port.count))
            yield Want(port.name, None, np.empty(0), form=port.form, items=items)


def _stated_answer(
    case: Case, asked: Question, wants: Sequence[Want], name: str | None, twins: Sequence[Want] = ()
) -> verdict.Answer:
    """Return the answer of `wants`, which the case or its oracle states, with the engine's bounds.

    `name` is that of the alternative of the case, None without alternatives.

    There are no bounds, and nothing is checked, without a formula, and where the engine does not
    support the node; an exact operator has no bounds either. If the case has the rule `open`,
    nothing is checked, and where the engine refuses its model, the bounds are those of its legal
    twin's outputs, `twins`, if they are the same.

    Raises WrongCase where the engine contradicts an answer in legality, number, shape or values,
    and where the case states no tolerance, and the engine, which computes the operator, has no
    bound for an output of that shape. Raises MemoryError where the engine's answer is too large,
    and what the operator's formula raises for a bound, such as NotSupported beyond a budget.
    """
    operator = operator_of(case.op)
    if operator is None:
        return verdict.Answer(tuple(wants), name)
    wants = _marked_orderless(case, wants)
    try:
        computed_outputs, undefined = evaluate.with_undefined_elements(
            node_of(asked.task, asked.inputs)
        )
    except NotSupported:
        return verdict.Answer(tuple(wants), name)
    except InvalidNode as error:
        if case.rule != "open":
            raise _refused_by_the_engine(error) from None
        computed_outputs, undefined = (), {}
    answers = [*map(rounded, computed_outputs)]
    if case.rule != "open":
        _check_shapes(wants, answers)
    if not operator.exact:
        of_engine = [computed_want(case.op, "", output) for output in computed_outputs]
        pairs = zip_longest(wants, (of_engine or twins)[: len(wants)])
        wants = [_bounded(case, *pair, is_twin=not of_engine) for pair in pairs]
    if case.rule != "open":
        # Of elements that the text does not define, the case alone states something.
        defined = [replace(want, undefined=undefined.get(n)) for n, want in enumerate(wants)]
        if not are_plainly_right(defined, answers, case.tolerance):
            check_agreement(compare_outputs(defined, answers, case.tolerance))
    return verdict.Answer(tuple(wants), name)


def _without_undefined_elements(asked: Question, answer: verdict.Answer) -> verdict.Answer:
    """Return the answer of a file in ONNX's layout, with the elements marked that may be anything.

    Whoever wrote the file had to write some number there, such as what one processor makes of 3.0
    as an int2. Raises Unsupported if no other element is left to judge, UsageError if a file of a
    model's weights has changed, and MemoryError where the engine's answer does not fit into memory.
    """
    if operator_of(asked.task.op) is None:
        return answer
    try:
        _, undefined = evaluate.with_undefined_elements(node_of(asked.task, asked.inputs))
    except (InvalidNode, NotSupported):
        return answer
    if not undefined:
        return answer
    _require_a_defined_element(answer.wants, undefined)
    wants = [replace(want, undefined=undefined.get(n)) for n, want in enumerate(answer.wants)]
    return answer._replace(wants=tuple(wants))


def _check_shapes(wants: Sequence[Want], answers: Sequence[Array]) -> None:
    """Raise WrongCase for the first stated output of another shape than the engine's."""
    for want, answer in zip(wants, answers, strict=False):
        if answer.shape != want.values.shape:
            shapes = f"the case says shape {want.values.shape}, the engine {answer.shape}"
            raise WrongCase(f"{_CONTRADICTION}: {want.name}: {shapes}")


def _bounded(case: Case, want: Want, other: Want | None, *, is_twin: bool) -> Want:
    """Return `want` with the bound of the engine's output, for the case or for its legal twin.

    `other` is that output, None if the engine refuses the model or gives fewer outputs. It must
    have the same shape and, if it `is_twin`, of the model made valid, the same values. Otherwise
    `want` is returned as it is, to be judged by the case's tolerance. Raises WrongCase if the case
    states none.
    """
    of_one_shape = other is not None and other.values.shape == want.values.shape
    if other and of_one_shape and not (is_twin and compare(other, in_its_dtype(want)).problem):
        return replace(want, bound=other.bound, rounded=dtypes.of(want.values))
    if case.tolerance:
        return want
    if is_twin:
        answer = "refuses it"
    elif other:
        answer = f"gives the shape {other.values.shape}"
    else:
        answer = "gives fewer outputs"
    raise WrongCase(
        f"{want.name}: tolerance must be stated: opcheck's engine {answer}, so it has no error"
        " bound for this answer"
    )


def check_agreement(comparisons: Iterable[model.Comparison]) -> None:
    """Raise WrongCase for the first output that a case states otherwise than the engine.

    `comparisons` are of the engine's outputs with the stated ones. Undecided ones, whose bound is
    too wide to tell, agree; poorer arithmetic does not.
    """
    for comparison in comparisons:
        if comparison.problem in (None, "undecided"):
            continue
        message = verdict.what_is_wrong(comparison)
        if comparison.wrong:
            count = f"{comparison.wrong} of {comparison.total} elements differ"
            message = f"{comparison.output}: {count}, {comparison.where}"
        for worst in comparison.worst[:1]:
            message += f"; at {list(worst.index)} the case says {worst.want!r},"
            message += f" the engine {worst.got!r} (allowed: {worst.allowed})"
        raise WrongCase(f"{_CONTRADICTION}: {message}")


def _golden_wants(case: Case, folder: Path) -> Iterator[Want]:
    """Yield the golden outputs in order; all are read from `folder` before the first.

    Raises ValueError for a file that cannot be read, WrongCase for an output of another type than
    the case's operator gives, or of one that opcheck does not know.
    """
    stored = [read_tensor(folder / f"output_{number}.pb") for number in range(len(case.outputs))]
    for number, (output, array) in enumerate(zip(case.outputs, stored, strict=True)):
        dtype = dtypes.of(array)
        if dtype is None or output.dtype not in (None, dtype):
            gives = f"; {case.op} gives {output.dtype} here" if output.dtype else ""
            raise WrongCase(f"output_{number}.pb holds {dtype or array.dtype}{gives}")
        yield stated_want(case.op, output.name, array, dtype)


def computed(case: Case, asked: Question, inputs: tuple[Array, ...]) -> tuple[Want, ...]:
    """Return the first answer that the engine admits for `asked` on `inputs`, with error bounds.

    Refusals are passed over. Raises WrongCase if the text forbids the node, Unsupported if the
    engine has no answer, TooLarge if that takes too much, MemoryError if it does not fit into
    memory, and AssertionError if it admits refusals only.
    """
    answer = verdict.first_answer(computed_answers(case, asked, inputs))
    if answer is None:
        raise AssertionError("the engine admits refusals only")
    return answer.wants


def computed_answers(
    case: Case, asked: Question, inputs: tuple[Array, ...], name: str | None = None
) -> list[verdict.Admitted]:
    """Return the answers and refusals that the engine admits for `asked` on `inputs`, at least one.

    Answers have error bounds. Their names are the `name`, if there is one, and the readings of the
    text that they follow, the ways to understand what it leaves open; None without either. Raises
    WrongCase if the text forbids the node or a model declares another type of an output,
    Unsupported if the engine has no answer, TooLarge if that takes too much, MemoryError if it does
    not fit into memory, and UsageError if a file of a model's weights has changed.
    """
    known = _OWN_READINGS.get(asked) if inputs is asked.inputs else None
    if known is None:
        computed_here = answers_of(case, node_of(asked.task, inputs))
    else:
        computed_here = _of_readings(case, known)
    answers: list[verdict.Admitted] = []
    for answer in computed_here:
        full_name = ", ".join(filter(None, (name, answer.name))) or None
        if isinstance(answer, verdict.Answer):
            wants = _with_origin(case, asked, inputs, answer.wants)
            answers.append(verdict.Answer(wants, full_name))
        else:
            answers.append(answer._replace(name=full_name))
    return answers


def _with_origin(
    case: Case, asked: Question, inputs: tuple[Array, ...], wants: tuple[Want, ...]
) -> tuple[Want, ...]:
    """Return `wants` marked as a whole model's, and by the data that they are computed from.

    Data drawn at random, a model's, and others of the case's own allow the scatter of errors to be
    judged; on the data of a second run, that is if `inputs` are not the question's own object, it
    is not, but for a model. Raises WrongCase for a model that declares another type of an output.
    """
    declared = output_types(case.model) if case.model and inputs is asked.inputs else []
    for want, dtype in zip(wants, declared, strict=False):
        if dtype and want.dtype and dtype != want.dtype:
            contradiction = f"{want.name} is declared as {dtype}, and its node gives {want.dtype}"
            raise WrongCase(f"it is no valid model: {contradiction}")
    is_whole = case.op == model.GRAPH
    # Scatter is judged once: on other data it is not a mistake.
    is_random = is_whole or (inputs is asked.inputs and has_random_data(case))
    is_own = not is_random and inputs is asked.inputs
    return tuple(
        replace(want, of_random_data=is_random, of_own_data=is_own, whole=is_whole)
        for want in wants
    )


def answers_of(case: Case, node: Node) -> tuple[verdict.Admitted, ...]:
    """Return all answers and refusals of a case's node that the text admits, at least one.

    Readings that differ in single elements are one answer, whose elements may follow either; others
    are answers of their own, by name. Of a whole model all are one. Raises WrongCase where the text
    forbids the node, Unsupported where it leaves open what cannot be listed, or where the engine
    has no formula; among those TooLarge where the answer takes more than opcheck computes. Raises
    MemoryError where it does not fit into memory.
    """
    try:
        with operators.judging():
            answers = _answers_of_needed_nodes(node)
    except InvalidNode as error:
        if case.model is not None and isinstance(case.expect, model.Computed):
            message = f"by the specification it is illegal on these inputs: {error}"
            raise WrongCase(f"{message} (--inputs DIR gives it others)") from None
        raise _refused_by_the_engine(error) from None
    except BeyondBudget as error:
        raise TooLarge(f"unsupported by opcheck: {error}") from None
    except NotSupported as error:
        number = error.number if isinstance(error, NodeWithoutAnswer) else None
        raise Unsupported(f"opcheck's engine has no answer: {error}", number) from None
    return _of_readings(case, answers)


def _answers_of_needed_nodes(node: Node) -> tuple[Reading[Outputs], ...]:
    """Return what `evaluate.each_answer` does, of the nodes of a model that its outputs need.

    Others are left out if one of them has no answer. Raises what `each_answer` raises, such as
    NodeWithoutAnswer.
    """
    try:
        return evaluate.each_answer(node)
    except NodeWithoutAnswer as error:
        if node.op != model.GRAPH:
            raise
        rest = node_without(node, error.number)
        if outputs_of(rest) != outputs_of(node):
            raise
        return _answers_of_needed_nodes(rest)


def _of_readings(case: Case, answers: Sequence[Reading[Outputs]]) -> tuple[verdict.Admitted, ...]:
    """Return the answers and refusals of all readings, as `answers_of` describes them.

    Raises Unsupported if two readings of one answer give other shapes, and if they leave no element
    to judge.
    """
    if case.op == model.GRAPH:
        if are_complete(answers):
            each = (_of_reading(case, _name_in_model(one), [one]) for one in answers)
            return tuple(chain.from_iterable(each))
        # Each node may follow another reading. Elements that depend on one are not judged at all.
        return tuple(_of_reading(case, None, answers))
    by_name = grouping.group_by(answers, attrgetter("name"))
    return tuple(
        chain.from_iterable(_of_reading(case, name, group) for name, group in by_name.items())
    )


def _name_in_model(reading: Reading[Outputs]) -> str | None:
    """Return the name of a model's answer: its readings; None if there is nothing to choose."""
    return ", ".join(reading.chosen.values()) or None


def _open_at(answers: Sequence[Reading[Outputs]]) -> str:
    """Describe by which rulings a model's answers differ, and in which nodes; "" if by none."""
    nodes = {
        f"{id_} in {use.node}"
        for reading in answers
        for id_, uses in reading.uses.items()
        for use in uses
    }
    return few(sorted(nodes), most=2)


def wants_of_outputs(case: Case, outputs: Outputs) -> list[Want]:
    """Return what the engine computed as the expected outputs of a case's node, in order."""
    pairs = zip(case.outputs, outputs, strict=True)
    return [computed_want(case.op, output.name, computed) for output, computed in pairs]


def _of_reading(
    case: Case, name: str | None, answers: Sequence[Reading[Outputs]]
) -> Iterator[verdict.Admitted]:
    """Yield a refusal, if a reading gives one, and then the answer of the others.

    A reading is a way to understand what the text leaves open. `answers` are what each gives:
    outputs, or InvalidNode if it makes the node invalid. The first outputs are the answer, the
    `others` of its wants are those of the rest, by the names of their readings. An element that one
    reading leaves undefined is so in the answer. `name` is that of answer and refusal, None for
    none. Raises Unsupported if two readings give other shapes, and if no element is left to judge.
    """
    for answer in answers:
        if isinstance(answer.answer, InvalidNode):
            yield verdict.Refusal(str(answer.answer), (), name or "refused")
            break
    first: list[Want] = []
    others: list[tuple[str, list[Want]]] = []
    undefined: dict[int, Array] = {}
    for answer in answers:
        if isinstance(answer.answer, InvalidNode):
            continue
        wants = wants_of_outputs(case, answer.answer)
        for n, mask in answer.undefined.items():
            undefined[n] = mask | undefined.get(n, False)
        if not first:
            first = wants
        elif [want.values.shape for want in wants] != [want.values.shape for want in first]:
            raise Unsupported("opcheck's engine has no answer: its shape depends on what is open")
        else:
            others.append((", ".join(answer.chosen.values()), wants))
    if undefined:
        _require_a_defined_element(first, undefined)
    if first:
        open_at = _open_at(answers)
        each = [
            replace(
                want,
                others=tuple((name, wants[n]) for name, wants in others),
                undefined=undefined.get(n),
                open_at=open_at,
            )
            for n, want in enumerate(first)
        ]
        yield verdict.Answer(_marked_orderless(case, each), name)


def _require_a_defined_element(wants: Sequence[Want], undefined: Mapping[int, Array]) -> None:
    """Raise Unsupported if every element of an answer is undefined; masks by place of output."""
    for n, want in enumerate(wants):
        if want.values.size and not np.all(undefined.get(n, False)):
            return
    reason = "each element may be anything by one of the readings"
    raise Unsupported(f"opcheck's engine has no answer: {reason}")


def has_random_data(case: Case) -> bool:
    """Return True if there are floating inputs of several elements, and all are drawn at random.

    Drawn is what a case fills uniformly or normally, without single values put in.
    """
    real = [
        spec for spec in case.inputs if spec.dtype.kind == "float" and math.prod(spec.shape) > 1
    ]
    kinds = {spec.content.kind if isinstance(spec.content, model.Fill) else "" for spec in real}
    return bool(real) and kinds <= {"uniform", "normal"} and not any(spec.put for spec in real)


def _marked_orderless(case: Case, wants: Iterable[Want]) -> tuple[Want, ...]:
    """Return `wants`, marked if the operator decides no order along an axis: any is right there."""
    axis = any_order(case.op, case.attrs)
    if axis is None:
        return tuple(wants)
    return tuple(replace(want, any_order=axis) for want in wants)


def _refused_by_the_engine(error: InvalidNode) -> WrongCase:
    """Return the exception to raise for a legal model that the engine refuses."""
    return WrongCase(f"the case takes this model for legal, the engine does not: {error}")
