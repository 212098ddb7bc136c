"""The question of a case and its accepted answers, computed if the case states none."""

import math
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from opcheck import backends, dtypes, grouping, model, opset
from opcheck.backends.address import parse
from opcheck.backends.connect import CLASS
from opcheck.backends.isolation.process import SETTINGS
from opcheck.compare import Want, are_plainly_right, compare, compare_outputs, too_wide, verdict
from opcheck.compare.outputs import Wants, computed_want, in_its_dtype, stated_want
from opcheck.engine import Node, any_order, evaluate, operator_of, operators, rounded
from opcheck.engine.graphs import graph_of
from opcheck.engine.outputs import Outputs
from opcheck.engine.readings import Reading
from opcheck.errors import BeyondBudget, InvalidNode, NotExpressible, NotSupported, UsageError
from opcheck.graph import model_of
from opcheck.graph.folders import read_tensor
from opcheck.graph.test_data import output_types
from opcheck.model import Array, BackendInfo, Case, Outcome, Question, Task, Tensors
from opcheck.opset import leads
from opcheck.suite import materialize, unrounded

_CONTRADICTION = "the case and opcheck's engine contradict each other"


def _stored(value: model.AttrValue | model.Typed) -> Any:
    """An attribute as a model holds it: each float rounded to float32."""
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
    """The question that `case` asks; raises ValueError where its data cannot be made."""
    fed = [spec for spec in case.inputs if not spec.initializer]
    inputs = tuple(materialize(spec) for spec in fed)
    attrs = {name: _stored(value) for name, value in case.attrs.items()}
    types = tuple(model.TensorType(spec.name, spec.dtype, spec.shape) for spec in fed)
    held = {spec.name: materialize(spec) for spec in case.inputs if spec.initializer}
    rest = grouping.picked(case, "op opset slots outputs model ports dtype")
    task = Task(case=case.id, attrs=attrs, inputs=types, initializers=held, **rest)
    operator = operator_of(case.op)
    known, draws = operator is not None, operator is not None and node_of(task, inputs).draws
    schema = opset.versions(case.op.domain, case.op.name).get(case.op.since)
    # Booleans and texts are no indices or shapes, and some operators have nothing else; sizes of
    # ConstantOfShape make a shape in any order.
    by_value = schema is not None and schema.by_value
    any_order = ("bool", "string")
    may_move = (by_value or it.dtype.kind in any_order or leads(case.op, it.name) for it in fed)
    moved = [n for n, moves in enumerate(may_move) if known and moves]
    # Where numbers are drawn at random, inputs are probabilities.
    second = tuple(backends.second_data(inputs, may_negate=known and not draws, moved=moved))
    if operator and operator.other:
        second = tuple(map(operator.other, inputs))
    # Negated parameters, such as a depth or a ratio, may make the node illegal.
    pairs = zip(inputs, second, strict=True)
    unchanged = all(one.size != 1 or dtypes.identical(one, other) for one, other in pairs)
    otherwise = _answer(task, second) if known and not unchanged else None
    legal = known and (unchanged or otherwise is not None)
    if known and not legal:
        second = tuple(backends.second_data(inputs, may_negate=False, moved=moved))
    is_model = case.op == model.GRAPH and isinstance(case.expect, model.Computed)
    if is_model and all(map(dtypes.identical, inputs, second)):  # integers alone, such as tokens
        other = tuple(backends.second_data(inputs, may_negate=False, moved=range(len(inputs))))
        right, found = _answer(task, inputs), _answer(task, other)
        if right and found and [*map(np.shape, right)] == [*map(np.shape, found)]:
            second = other
    refused, random = case.expect.rejection, draws or bool(case.expect.random)
    twin = question(refused.legal) if refused else None
    if not case.model:
        right = None
        with suppress(MemoryError):  # then the rank stays open
            right = _answer(task, inputs) if known and not case.expect.written else None
        task = _with_ranks(case, task, twin, [*filter(None, (right, otherwise))])
    return Question(task, inputs, second, legal, case.timeout, random, twin)


def _answer(task: Task, inputs: Sequence[Array]) -> tuple[Array, ...] | None:
    """The outputs in plain arithmetic; None where the node is illegal, or the engine lacks it."""
    try:
        return node_of(task, inputs).plain
    except (InvalidNode, NotSupported):
        return None


def _with_ranks(case: Case, task: Task, twin: Question | None, answers: Sequence[Tensors]) -> Task:
    """`task` with the ranks of its outputs, and the types of those whose type is open.

    onnx's checker refuses an output of no rank, and ONNX infers none for many nodes. So answers
    state it: what the case writes out and what the engine gives, where these agree. Of a model that
    may be refused, ONNX's inference goes before, and its legal twin stands for an answer, if its
    inputs have the same ranks. Sizes stay open: they are part of the answer.
    """
    names = [output.name for output in task.outputs]
    known: list[tuple[str, int, dtypes.DType | None]]
    known = [(spec.name, len(spec.shape), spec.dtype) for spec in case.expect.written]
    for answer in answers:
        known += zip(names, map(np.ndim, answer), map(dtypes.of, answer), strict=True)
    inferred = dict[str, int]()
    if twin or not known or not operator_of(case.op):
        if twin and [len(x.shape) for x in twin.inputs] == [len(x.shape) for x in task.inputs]:
            # Not its types: another one may be what makes it legal.
            known += [(it.name, it.rank, None) for it in twin.task.outputs if it.rank is not None]
        with suppress(NotExpressible):
            tensors = (one.type.tensor_type for one in model_of(task).graph.output)
            pairs = zip(names, tensors, strict=True)
            inferred = {name: len(one.shape.dim) for name, one in pairs if one.HasField("shape")}
    outputs = []
    for one in task.outputs:
        ranks = {rank for name, rank, _ in known if name == one.name}
        types = {dtype for name, _, dtype in known if name == one.name}
        rank = inferred.get(one.name, ranks.pop() if len(ranks) == 1 else one.rank)
        dtype = one.dtype or (types.pop() if len(types) == 1 else None)
        outputs.append(replace(one, rank=rank, dtype=dtype))
    return replace(task, outputs=tuple(outputs))


def node_of(task: Task, inputs: Sequence[Array]) -> Node:
    """The node of `task`, or the model, on read-only data: a formula that writes there fails."""
    given = task.operands(inputs) if task.op != model.GRAPH else inputs
    operands = tuple(one if one is None else one.view() for one in given)
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
    """The outcome of an oracle for the question of a case."""

    oracle: BackendInfo
    outcome: Outcome

    def wants(self, case: Case, *, other_data: bool = False) -> tuple[Want, ...]:
        """Its answer, or that to the other data, as wants; raises OracleUnavailable if none."""
        outcome = verdict.steady(case, self.outcome)
        if not verdict.depends(outcome):
            found = verdict.by_itself("must", outcome)
            why = f"{found.verdict}: {found.reason}"
        elif isinstance(outcome, model.Raised):
            why = f"raised {outcome}"
        elif (answer := outcome.between if other_data else outcome.outputs) is None:
            why = "it refuses the other data"
        elif wrong := verdict.misfit(answer, case.outputs):
            why = f"its answer cannot be one: {verdict.what_is_wrong(wrong)}"
        else:
            arrays = [one for one in answer if not isinstance(one, model.Foreign)]
            return verdict.wants_of(case, arrays)
        raise OracleUnavailable(f"oracle {self.oracle} gives no answer: {why}")


def oracles_of(cases: Iterable[Case]) -> dict[str, Case]:
    """The oracles that cases name, each with the first of these cases."""
    by_oracle = grouping.group_by(cases, lambda case: case.expect.oracle)
    return {address: those[0] for address, those in by_oracle.items() if address}


def is_the_same(backend: BackendInfo, oracle: BackendInfo) -> bool:
    """Return True if a backend is the oracle itself, so that its pass proves nothing.

    Names, options, declarations, limits and variables make no other backend: the implementation
    counts, by its address without options, its version and the digests of its files.
    """
    if backend.address == oracle.address:
        return True
    if backend.kind != oracle.kind or backend.version != oracle.version:
        return False
    here, there = _files_of(backend), _files_of(oracle)
    if _implementation(backend) != _implementation(oracle):
        # Of Python code, one class may have two names.
        return CLASS in here and here == there
    # Where both are known, two builds are told apart.
    return not here or not there or here == there


def _files_of(backend: BackendInfo) -> dict[str, str]:
    """Return the digests of a backend's code, without those of how its process is started."""
    return {name: digest for name, digest in backend.made_of.items() if name != SETTINGS}


def _implementation(backend: BackendInfo) -> tuple[str, ...]:
    """Return what an address names, without options; of a program, its words with real paths."""
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
    return ("cmd", *(os.path.realpath(one) if os.path.isfile(one) else one for one in words))  # noqa: PTH113


def too_degenerate(values: Array, dtype: dtypes.DType | None, *, rounded: bool) -> str | None:
    """Return why an expected output is too degenerate to test anything, else None.

    More than half of it is 0 in `dtype`, infinity or NaN; or all, if answers are not `rounded`, as
    those of Hardmax: zeros are answers like others there.
    """
    if dtype is not None and dtype.kind == "float":
        # Half of the smallest subnormal number is the largest that rounds to 0.
        least, largest = math.ldexp(0.5, dtype.min_exponent), dtypes.limits(dtype)[1]
        sizes = np.abs(values)
        values = (sizes > least) & (sizes <= largest)
    blank = values.size - int(np.count_nonzero(values))
    if not values.size or (2 * blank <= values.size if rounded else blank < values.size):
        return None
    return f"{blank} of {values.size} elements come out as 0, infinity or NaN"


class WrongCase(ValueError):
    """The case contradicts itself or the engine, so that it judges no backend."""


class Unsupported(WrongCase):
    """The engine cannot compute the answer; the case itself may be right."""


class TooLarge(Unsupported):
    """The answer takes more than opcheck computes, so that no backend should compute it either."""


def accepted_answers(
    case: Case, asked: Question, oracle_answer: OracleAnswer | None = None
) -> tuple[verdict.Admitted, ...]:
    """The answers that `case` admits; none if it only compares backends.

    Raises WrongCase if the engine rejects a model that the case takes for legal, OracleUnavailable
    if `oracle_answer` is missing or unusable, and ValueError for data that cannot be made.
    """
    answers: list[verdict.Admitted]
    match case.expect:
        case model.AnyOf(alternatives):
            refused = [a for a in alternatives if a.expect.rejection]
            refusals = {a.name: _refusal(case, asked, a.expect, a.name) for a in refused}
            twins = [want for answer in refusals.values() for want in answer.wants]
            pairs = ((refusals.get(a.name), a) for a in alternatives)
            answers = []
            for known, a in pairs:
                answers += [known] if known else _admitted(case, asked, a.expect, a.name, twins)
        case model.Oracle():
            if oracle_answer is None:
                raise OracleUnavailable("the oracle was not asked: there was no memory left")
            try:
                answers = [_given(case, asked, oracle_answer.wants(case), None)]
            except WrongCase as error:
                raise WrongCase(f"by oracle {oracle_answer.oracle}: {error}") from None
        case model.Agreement():
            answers = []
        case expect:
            answers = _admitted(case, asked, expect, None, ())
    for answer in answers:
        if wide := too_wide(answer.wants, case.tolerance):
            raise WrongCase(wide)
    return tuple(answers)


def _admitted(
    case: Case, asked: Question, expect: model.OneAnswer, name: str | None, twins: Sequence[Want]
) -> list[verdict.Admitted]:
    """The answers that one expectation admits; `twins` as in `_given`."""
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
            return [_given(case, asked, given, name, twins)]
        case model.Golden(folder):
            return [_given(case, asked, [*_golden_wants(case, folder)], name, twins)]


def _refusal(
    case: Case, asked: Question, expect: model.OneAnswer, name: str | None
) -> verdict.Refusal:
    """The refusal that an expectation of one admits, with the answer to its legal twin."""
    assert isinstance(expect, model.Rejected)
    if case.rule != "open" and operator_of(case.op) is not None:
        # What the engine answers, but as undecided, the case may decide.
        with operators.judging():
            accepted = _answer(asked.task, asked.inputs) is not None
        if accepted:
            raise WrongCase("the case takes this model for invalid, opcheck's engine accepts it")
    twin = grouping.sure(asked.twin)
    wants: tuple[Want, ...] = ()
    if operator_of(expect.legal.op):
        try:
            wants = computed(expect.legal, twin, twin.inputs)
        except WrongCase as error:
            raise type(error)(f"its legal twin: {error}") from None
    return verdict.Refusal(expect.reason, wants, name)


def _check_that_they_test_something(answers: Iterable[verdict.Admitted]) -> None:
    """Raise WrongCase for a computed answer that is mostly 0, infinity or NaN."""
    for answer in answers:
        if isinstance(answer, verdict.Refusal):
            continue
        for want in answer.wants:
            if why := too_degenerate(want.values, want.dtype, rounded=want.bound is not None):
                raise WrongCase(
                    f"{want.name}: {why}, so the case tells little: choose other data, write"
                    " the answer out, or state in `empty` why it is meant to be so"
                )


def _outputs(ports: Iterable[model.Port], wants: Wants, random: Collection[str]) -> Iterator[Want]:
    """Yield the expected outputs of a model, whose tensors are `wants`."""
    rest = (replace(want, random=want.name in random) for want in wants)
    for port in ports:
        if port.form == "tensor":
            yield next(rest)
        else:
            items = tuple(islice(rest, port.count))
            yield Want(port.name, None, np.empty(0), form=port.form, items=items)


def _given(
    case: Case, asked: Question, wants: Sequence[Want], name: str | None, twins: Sequence[Want] = ()
) -> verdict.Answer:
    """Outputs that the case states, with the bounds of those that the engine computes.

    Where the engine refuses the model, the bounds are those of the legal twin's outputs, `twins`,
    if they are the same. Raises WrongCase where the engine contradicts an answer that the case
    calls the only one, and where an answer needs a tolerance, because the engine has no bound.
    """
    operator = operator_of(case.op)
    if operator is None:
        return verdict.Answer(tuple(wants), name)
    wants = _in_any_order(case, wants)
    try:
        mine = evaluate.exactly(node_of(asked.task, asked.inputs))
    except NotSupported:
        return verdict.Answer(tuple(wants), name)
    except InvalidNode as error:
        if case.rule != "open":
            raise _refused_by_the_engine(error) from None
        mine = ()
    answers = [*map(rounded, mine)]
    for want, answer in zip(wants, answers, strict=False) if case.rule != "open" else ():
        if answer.shape != want.values.shape:
            shapes = f"the case says shape {want.values.shape}, the engine {answer.shape}"
            raise WrongCase(f"{_CONTRADICTION}: {want.name}: {shapes}")
    if not operator.exact:
        engine = [computed_want(case.op, "", answer) for answer in mine]
        pairs = zip_longest(wants, (engine or twins)[: len(wants)])
        wants = [_bounded(case, *pair, is_twin=not engine) for pair in pairs]
    if case.rule != "open" and not are_plainly_right(wants, answers, case.tolerance):
        check_agreement(compare_outputs(wants, answers, case.tolerance))
    return verdict.Answer(tuple(wants), name)


def _bounded(case: Case, want: Want, other: Want | None, *, is_twin: bool) -> Want:
    """`want` with the bound of the engine's output, for the case or for its legal twin."""
    # The bound is of outputs of the same shape and, of a twin, of the same values only.
    of_one_shape = other is not None and other.values.shape == want.values.shape
    if other and of_one_shape and not (is_twin and compare(other, in_its_dtype(want)).problem):
        return replace(want, bound=other.bound, rounded=dtypes.of(want.values))
    if case.tolerance:
        return want
    shape = f"gives the shape {other.values.shape}" if other and not is_twin else "refuses it"
    raise WrongCase(
        f"{want.name}: tolerance must be stated: opcheck's engine {shape}, so it has no error bound"
        " for this answer"
    )


def check_agreement(comparisons: Iterable[model.Comparison]) -> None:
    """Raise WrongCase where an answer that a case states differs from the engine's."""
    for comparison in (it for it in comparisons if it.problem not in (None, "undecided")):
        message = verdict.what_is_wrong(comparison)
        if comparison.wrong:
            count = f"{comparison.wrong} of {comparison.total} elements differ"
            message = f"{comparison.output}: {count}, {comparison.where}"
        for worst in comparison.worst[:1]:
            message += f"; at {list(worst.index)} the case says {worst.want!r},"
            message += f" the engine {worst.got!r} (allowed: {worst.allowed})"
        raise WrongCase(f"{_CONTRADICTION}: {message}")


def _golden_wants(case: Case, folder: Path) -> Iterator[Want]:
    """Yield the golden outputs; raises ValueError where they cannot be those of this case."""
    stored = [read_tensor(folder / f"output_{number}.pb") for number in range(len(case.outputs))]
    for number, (output, array) in enumerate(zip(case.outputs, stored, strict=True)):
        dtype = dtypes.of(array)
        if dtype is None or output.dtype not in (None, dtype):
            gives = f"; {case.op} gives {output.dtype} here" if output.dtype else ""
            raise WrongCase(f"output_{number}.pb holds {dtype or array.dtype}{gives}")
        yield stated_want(case.op, output.name, array, dtype)


def computed(case: Case, asked: Question, inputs: tuple[Array, ...]) -> tuple[Want, ...]:
    """Return the first answer that the engine admits for `asked` on `inputs`, with error bounds."""
    for answer in computed_answers(case, asked, inputs):
        if isinstance(answer, verdict.Answer):
            return answer.wants
    raise AssertionError("the engine admits refusals only")


def computed_answers(
    case: Case, asked: Question, inputs: tuple[Array, ...], name: str | None = None
) -> list[verdict.Admitted]:
    """Return the answers that the engine admits for `asked` on `inputs`, with error bounds.

    They bear the `name`, if there is one, and the readings of the text that they follow.
    """
    found: list[verdict.Admitted] = []
    for answer in answers_of(case, node_of(asked.task, inputs)):
        named = ", ".join(filter(None, (name, answer.name))) or None
        if isinstance(answer, verdict.Answer):
            wants = _as_judged(case, asked, inputs, answer.wants)
            found.append(verdict.Answer(wants, named))
        else:
            found.append(answer._replace(name=named))
    return found


def _as_judged(
    case: Case, asked: Question, inputs: tuple[Array, ...], wants: tuple[Want, ...]
) -> tuple[Want, ...]:
    """Return `wants` marked as a whole model's, or as computed from random data, if they are.

    Raises WrongCase for a model that declares another type of an output.
    """
    declared = output_types(case.model) if case.model and inputs is asked.inputs else []
    for want, dtype in zip(wants, declared, strict=False):
        if dtype and want.dtype and dtype != want.dtype:
            says = f"{want.name} is declared as {dtype}, and its node gives {want.dtype}"
            raise WrongCase(f"it is no valid model: {says}")
    is_whole = case.op == model.GRAPH
    # Scatter is no mistake on other data, which it is enough to judge once.
    is_drawn = is_whole or (inputs is asked.inputs and _is_drawn(case))
    is_given = not is_drawn and inputs is asked.inputs
    return tuple(replace(want, drawn=is_drawn, given=is_given, whole=is_whole) for want in wants)


def answers_of(case: Case, node: Node) -> tuple[verdict.Admitted, ...]:
    """Return all answers to a case's node that the text admits.

    Raises WrongCase where the text forbids the node, Unsupported where it leaves open what cannot
    be listed, or where the engine has no formula.
    """
    try:
        with operators.judging():
            answers = evaluate.each_answer(node)
    except InvalidNode as error:
        if case.model is not None and isinstance(case.expect, model.Computed):
            said = f"by the specification it is illegal on these inputs: {error}"
            raise WrongCase(f"{said} (--inputs DIR gives it others)") from None
        raise _refused_by_the_engine(error) from None
    except BeyondBudget as error:
        raise TooLarge(f"unsupported by opcheck: {error}") from None
    except NotSupported as error:
        raise Unsupported(f"opcheck's engine has no answer: {error}") from None
    if case.op == model.GRAPH:
        # Each node may follow another reading. What depends on one is not judged at all.
        return tuple(_of_reading(case, None, answers))
    by_name = grouping.group_by(answers, lambda answer: answer.name)
    return tuple(
        chain.from_iterable(_of_reading(case, name, group) for name, group in by_name.items())
    )


def wants_of_outputs(case: Case, outputs: Outputs) -> list[Want]:
    """Return what the engine computed as the expected outputs of a case's node."""
    pairs = zip(case.outputs, outputs, strict=True)
    return [computed_want(case.op, output.name, one) for output, one in pairs]


def _of_reading(
    case: Case, name: str | None, answers: Sequence[Reading[Outputs]]
) -> Iterator[verdict.Admitted]:
    """Yield the answer of readings that differ in single elements only, and a refusal."""
    for answer in answers:
        if isinstance(answer.answer, InvalidNode):
            yield verdict.Refusal(str(answer.answer), (), name or "refused")
            break
    first: list[Want] = []
    others: list[tuple[str, list[Want]]] = []
    for answer in answers:
        if isinstance(answer.answer, InvalidNode):
            continue
        wants = wants_of_outputs(case, answer.answer)
        if not first:
            first = wants
        elif [want.values.shape for want in wants] != [want.values.shape for want in first]:
            raise Unsupported("opcheck's engine has no answer: its shape depends on what is open")
        else:
            others.append((", ".join(answer.chosen.values()), wants))
    if first:
        each = [
            replace(want, others=tuple((name, wants[n]) for name, wants in others))
            for n, want in enumerate(first)
        ]
        yield verdict.Answer(_in_any_order(case, each), name)


def _is_drawn(case: Case) -> bool:
    """Return True if all numbers that are not whole are drawn at random."""
    real = [one for one in case.inputs if one.dtype.kind == "float" and math.prod(one.shape) > 1]
    kinds = {one.content.kind if isinstance(one.content, model.Fill) else "" for one in real}
    return bool(real) and kinds <= {"uniform", "normal"} and not any(one.put for one in real)


def _in_any_order(case: Case, wants: Iterable[Want]) -> tuple[Want, ...]:
    """Let the outputs come in any order along an axis where the operator decides none."""
    axis = any_order(case.op, case.attrs)
    return tuple(wants if axis is None else (replace(want, any_order=axis) for want in wants))


def _refused_by_the_engine(error: InvalidNode) -> WrongCase:
    return WrongCase(f"the case takes this model for legal, the engine does not: {error}")
