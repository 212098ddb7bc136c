"""A whole model, node by node: each one as a case, and which of them a backend computes wrongly.

To find the first wrong node, each is judged on the backend's own inputs to it, so that no earlier
error counts against it: the model is asked again with its tensors as outputs, in as many passes as
memory needs. Where the backend is wrong and no node is, it computes several together: then the
tensors that have to be outputs for the answer to be right are searched for.

A `Part` is a node with its name and its place among all nodes, from 0. Tensors go by their names in
the model; "" stands for an input or output that a node leaves out. A function that returns
`Questions` is a generator: it yields questions to one backend, is sent the replies, and returns
what its type states.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong. What
judges an answer raises what the formula raises for a bound, such as NotSupported beyond a budget.
What reads the model raises UsageError if a file of its weights has changed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, engine, errors, grouping, model, opset
from opcheck.backends import same_answers
from opcheck.compare import Want, bounded, outputs, verdict
from opcheck.compare.outputs import Outputs
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.suspects import Suspects
from opcheck.engine.evaluate import exactly
from opcheck.execution.evaluation import CaseEvaluation, EvaluatedCase
from opcheck.execution.expected import WrongCase, answers_of, node_of
from opcheck.execution.severity import judge_case
from opcheck.execution.workers import Questions
from opcheck.graph import WholeModel
from opcheck.model.located import Depth, JudgedNode, Located, Part
from opcheck.opset import Body, BodyNode, onnx_defs
from opcheck.suite.tensors import case_file, made_up

#: Tensors by name; what a backend gave in place of one may be anything.
Values: TypeAlias = Mapping[str, Any]
#: Bytes of tensors that one pass makes outputs of.
_ROOM = 256 << 20
#: How often a pass that came to nothing is asked again in halves.
_MAX_HALVINGS = 40
#: Tensors whose errors are shown.
_MAX_SAMPLE = 16
#: Characters of a note that are shown.
_MAX_NOTE = 300
_UNANSWERED = "the backend does not give all that they read and give"
_EXPOSED = "with tensors as outputs"
_CHANGED = "tensors as outputs change the answer: some nodes are computed together"
_CURED = "any tensor as an output makes the answer right, so that no node is found"
_NO_ELEMENT = "no output has an element"
_UNSEARCHED = "nodes computed together cannot be searched for"


class Network:
    """The model of a case, with its functions expanded.

    Of an If whose condition the engine computes, the branch stands in its place. Raises ValueError
    if the case's data cannot be made or the model has a sparse constant, MemoryError if the data do
    not fit into memory, UsageError if a file of its weights has changed.

    Attributes:
        case: The case of the whole model.
        evaluation: Its evaluation.
        fed: The case's data, by the names of inputs.
        branches: The number of Ifs that were replaced.
        failed: Why the engine could not compute nodes, by place.
        whole: The model as onnx has it.
        body: The model as the engine has it.
        parts: The nodes, in order.
    """

    def __init__(self, case: model.Case) -> None:
        """Read the model, and put the branch that it takes in place of each If that is decided.

        One If is replaced at a time, and the model read anew: what a branch computes may decide the
        next one.
        """
        self.case = case
        self.evaluation = CaseEvaluation(case)
        question = self.evaluation.question
        self.fed: Values = question.task.feed(question.inputs)
        self.branches = 0
        self.failed: dict[int, str] = {}
        data: bytes | None = case.model or b""
        while data is not None:
            self.whole = WholeModel(data, question.task.inputs)
            self.body: Body = onnx_defs.model_body(data)
            self.parts = tuple(
                Part(place, name, node.op, node.outputs)
                for place, (name, node) in enumerate(
                    zip(self.whole.nodes, self.body.nodes, strict=True)
                )
            )
            data = self._with_a_branch()
            if data is not None:
                self.branches += 1

    def _with_a_branch(self) -> bytes | None:
        """Return the model with the branch of the first decided If, None if there is none.

        An If is decided if the engine computes its condition as one element. One whose branch
        cannot stand in its place, such as for a sparse constant, is passed over.
        """
        ifs = {part.place for part in self.parts if part.op.name == "If" and not part.op.domain}
        if not ifs:
            return None
        for part, values in self.values():
            if part.place not in ifs:
                continue
            condition = values.get(self.node(part).inputs[0])
            if not isinstance(condition, np.ndarray) or condition.size != 1:
                continue
            data = self.whole.with_branch(part.place, then=bool(condition.item()))
            if data:
                return data
        return None

    def node(self, part: Part) -> BodyNode:
        """Return a node as the engine has it: the names it reads and gives, and its attributes."""
        return self.body.nodes[part.place]

    @cached_property
    def constants(self) -> Mapping[str, model.Array]:
        """Tensors that are the same in every run, by name: initializers and outputs of Constant.

        A Constant that the specification forbids, such as one without a value, is left out.
        """
        constants = dict(self.body.constants)
        for node in self.body.nodes:
            if node.op.name == "Constant" and not node.op.domain:
                plain: Any = dict(node.attrs)
                with suppress(errors.InvalidNode):
                    constants[node.outputs[0]] = engine.Node(node.op, (), plain).plain[0]
        return constants

    def values(self) -> Iterator[tuple[Part, Values]]:
        """Yield each node, in order, with the tensors known by then, those that it gives included.

        They are the initializers, the case's data, and what the engine computes from these in plain
        arithmetic, by name. A node that the engine cannot compute gives none, for the reason that
        is noted in `failed`; nor does any node that reads a missing tensor, without a reason there.
        The mapping is one and the same, and changes: a tensor is dropped after its last reader's
        turn, unless it is an output of the model.
        """
        named: dict[str, Any] = {**self.body.constants, **self.fed}
        for part, done in zip(self.parts, self.body.done, strict=True):
            reads = tuple(name for name in dict.fromkeys(self.node(part).reads) if name)
            gives = tuple(filter(None, part.outputs))
            if all(name in named for name in reads):
                subgraph = engine.Subgraph(Body(reads, gives, (self.node(part),)))
                try:
                    with np.errstate(all="ignore"):
                        arrays = subgraph(*(named[name] for name in reads))
                    named |= zip(gives, arrays, strict=True)
                except (errors.NotSupported, errors.InvalidNode, MemoryError) as error:
                    self.failed[part.place] = str(error)
            yield part, named
            for name in done:
                named.pop(name, None)

    @cached_property
    def exact(self) -> Values:
        """Outputs of nodes, by name, that are integers or truth values computed from no float.

        All arithmetic makes them the same. Outputs of Constant are among them; initializers and
        inputs are not. So are sizes (Shape, Size) of any tensor that is given, or of which onnx
        infers a size that is not 0. Left out are nodes with graphs, and what the engine cannot
        compute.
        """
        computed: dict[str, Any] = {}
        given = {**self.constants, **self.fed}
        exact_names = {"", *(name for name, array in given.items() if is_whole(dtypes.of(array)))}
        for part, values in self.values():
            node = self.node(part)
            if node.graphs:
                continue
            if node.op.name in ("Shape", "Size") and not node.op.domain:
                reads_exact = all(name in given or self.whole.nbytes(name) for name in node.inputs)
            else:
                reads_exact = exact_names.issuperset(node.inputs)
            if not reads_exact:
                continue
            for name in part.outputs:
                array = values.get(name)
                if isinstance(array, np.ndarray) and is_whole(dtypes.of(array)):
                    computed[name] = array
                    exact_names.add(name)
        return computed

    @cached_property
    def why_not(self) -> Mapping[Part, str]:
        """The nodes that cannot be judged by themselves, and why."""
        reasons = {part: self._why_not(part) for part in self.parts}
        return {part: reason for part, reason in reasons.items() if reason}

    def _why_not(self, part: Part) -> str:
        """Return why a node cannot be judged by itself, "" if it can.

        Its operator is unknown to opcheck or of a newer opset than the installed packages know, has
        graphs, draws at random, or takes or gives a sequence or an optional.
        """
        operator = engine.operator_of(part.op)
        node = self.node(part)
        if operator is None:
            return f"opcheck does not know {part.op}"
        newest = opset.newest(part.op.domain)
        if self.whole.opset(part.op.domain) > newest:
            return f"its opset is too new: the installed packages know {newest}"
        if node.graphs:
            return f"{part.op.name} has graphs of its own"
        if not all(map(self.whole.is_tensor, (*node.inputs, *part.outputs))):
            return f"{part.op.name} takes or gives a sequence or an optional"
        if operator.random:
            return f"{part.op.name} draws at random"
        return ""

    def needed_outputs(self, parts: Sequence[Part]) -> list[str]:
        """Return the tensors that must be outputs for these nodes to be judged, each once.

        They are all that the nodes read and give, but for the `fixed` ones: constants and the
        model's inputs.
        """
        of_nodes = ((*self.node(part).inputs, *part.outputs) for part in parts)
        names = dict.fromkeys(chain.from_iterable(of_nodes))
        return [name for name in names if name not in self.fixed]

    def ancestors(self, names: Iterable[str]) -> set[str]:
        """Return these tensors and all they are computed from, constants and inputs included."""
        ancestors = {*names}
        for node in reversed(self.body.nodes):
            if not ancestors.isdisjoint(node.outputs):
                ancestors.update(node.reads)
        return ancestors

    @cached_property
    def fixed(self) -> set[str]:
        """The names of tensors that no node computes: constants, the model's inputs, and ""."""
        return {"", *self.constants, *self.fed}

    def passes(self) -> Iterator[list[Part]]:
        """Yield nodes that are judged together, in order: of at most 256 MiB, or a single one.

        That is the size of the tensors that they read and give, each once, without constants and
        the model's inputs; one of unknown size counts 0. Nodes in `why_not` and Constant are in
        none.
        """
        nodes: list[Part] = []
        names: set[str] = set()
        size = 0
        for part in self.parts:
            if part in self.why_not or part.op.name == "Constant":
                continue
            of_node = {*self.needed_outputs([part])}
            size += sum(map(self.whole.nbytes, of_node - names))
            if nodes and size > _ROOM:
                yield nodes
                nodes = []
                names = set()
                size = sum(map(self.whole.nbytes, of_node))
            nodes.append(part)
            names |= of_node
        if nodes:
            yield nodes

    def up_to(self, part: Part) -> "Network":
        """Return the model that gives only what a node reads, as far as other nodes compute it.

        Its answer is the engine's, without the tolerance of the case. Raises ValueError if the data
        cannot be made or the model has a sparse constant, MemoryError if they do not fit into
        memory, UsageError if a file of the weights has changed.
        """
        reads = [name for name in self.node(part).inputs if name not in self.fixed]
        data, names = self.whole.giving(reads, alone=True)
        outputs = tuple(model.OutputSpec(name, None) for name in names)
        # A test states its own outputs, and its tolerance is theirs.
        case = replace(self.case, expect=model.Computed(), tolerance=None)
        return Network(replace(case, model=data, outputs=outputs, empty="it is what nodes read"))

    def turned(self) -> "Network":
        """Return the model on the other data, of the same shapes, of a second run.

        Raises ValueError if the data cannot be made or the model has a sparse constant, MemoryError
        if they do not fit into memory, UsageError if a file of the weights has changed.
        """
        inputs = tuple(
            replace(spec, content=model.Given(array))
            for spec, array in zip(self.case.inputs, self.evaluation.question.second, strict=True)
        )
        return Network(replace(self.case, inputs=inputs))

    def asking_for(self, names: Sequence[str], *, turned: bool = False) -> model.Question:
        """Return the question for these tensors, after the model's own outputs; each comes once.

        Its inputs are the case's own data. The second run is on the other data if `turned`, else on
        the same: a node may be wrong only in a later run.
        """
        question = self.evaluation.question
        data, added = self.whole.giving(names)
        outputs = (*question.task.outputs, *(model.OutputSpec(name, None) for name in added))
        task = replace(question.task, outputs=outputs, model=data)
        second = question.second if turned else question.inputs
        return replace(question, task=task, second=second)


def is_whole(dtype: dtypes.DType | None) -> bool:
    """Return True for integers and truth values; False for None, a type unknown to opcheck."""
    return dtype is not None and dtype.kind in ("int", "bool")


def _tensor(value: object) -> model.Array | None:
    """Return an array as it is; None for what is none, or is of a type that ONNX lacks."""
    if isinstance(value, np.ndarray) and dtypes.of(value) is not None:
        return value
    return None


def case_of(network: Network, part: Part, values: Values, *, later: bool = False) -> model.Case:
    """Return a node as a case of its own, on these values; the engine computes what is right.

    Inputs and outputs have the operator's names, and constants of the model are initializers.
    Raises KeyError for an operator or a version that opcheck does not know.

    Args:
        network: The model.
        part: The node.
        values: What it reads, by name; inputs that are missing here, or no arrays of a type that
            ONNX has, have no data in the case.
        later: The values are of a later run, which the case's id says.
    """
    op = part.op
    schema = opset.versions(op.domain, op.name)[op.since]
    reads = network.node(part).inputs
    slots = [*_slots(schema.inputs, reads)]
    inputs = []
    for slot, name in zip(slots, reads, strict=True):
        array = _tensor(values.get(name)) if name else None
        if array is not None:
            spec = model.TensorSpec(
                name=slot,
                dtype=grouping.not_none(dtypes.of(array)),
                shape=array.shape,
                content=model.Given(array),
                initializer=name in network.constants,
            )
            inputs.append(spec)
    outputs = enumerate(_slots(schema.outputs, part.outputs))
    tail = ", in a later run" if later else ""
    plain: Any = network.node(part).attrs
    return model.Case(
        id=f"node {part.place} of {len(network.parts)}, {part.name}{tail}",
        name=part.name,
        op=op,
        opset=network.whole.opset(op.domain) or op.since,
        dtype=inputs[0].dtype if inputs else None,
        attrs=plain,
        inputs=tuple(inputs),
        slots=tuple(slot if name else "" for slot, name in zip(slots, reads, strict=True)),
        outputs=tuple(model.OutputSpec(slot, None, n) for n, slot in outputs if part.outputs[n]),
        expect=model.Computed(),
        source=model.Source(network.case.source.file, 0, 0),
        empty="it is what the model gives",
    )


def _slots(parameters: Sequence[opset.Parameter], names: Sequence[str]) -> Iterator[str]:
    """Yield the operator's own names of a node's inputs or outputs, one for each of `names`.

    Those of the last parameter, if it is variadic, have numbers from 0, as `inputs_0`.
    """
    last = len(parameters) - 1
    for place in range(len(names)):
        parameter = parameters[min(place, last)]
        if parameter.option == "variadic":
            yield f"{parameter.stem}_{place - last}"
        else:
            yield parameter.name


@dataclass
class Extracted:
    """Nodes that ask the same: the first as a case, the names of all, their share of time.

    The share is the sum of theirs, 0 if nothing is known of the time.
    """

    case: model.Case
    names: list[str]
    share: float = 0.0


def extracted(
    network: Network, shares: Mapping[str, float]
) -> tuple[list[Extracted], list[tuple[str, str]]]:
    """Return the nodes as cases, each question once, and other nodes' names with reasons.

    Two nodes ask the same if their cases are written alike, but for the ranges of large data.
    `shares` of the time are by the names of nodes, 0 for others; cases with larger shares come
    first. Constants are in neither list.
    """
    by_question: dict[str, Extracted] = {}
    left_out: list[tuple[str, str]] = []
    for part, values in network.values():
        if part.op.name == "Constant":
            continue
        reason = _why_not_extracted(network, part, values)
        if reason:
            left_out.append((part.name, reason))
            continue
        case = case_of(network, part, values)
        # Weights of one shape ask the same, whatever their range.
        text = case_file([replace(case, name="")], made_up)
        key = re.sub(r"(uniform|choice): \[.*?\]", r"\1", text)
        named = replace(case, name=f"node_{len(by_question)}")
        node = by_question.setdefault(key, Extracted(named, []))
        node.names.append(part.name)
        node.share += shares.get(part.name, 0.0)
    return sorted(by_question.values(), key=lambda node: -node.share), left_out


def _why_not_extracted(network: Network, part: Part, values: Values) -> str:
    """Return why a node is not a case of its own, "" if it is.

    It cannot be judged by itself, the engine could not compute it, or a tensor that it reads is not
    among `values`, those that are known when the node's turn comes.
    """
    reason = network.why_not.get(part) or network.failed.get(part.place)
    if reason:
        return reason
    for name in network.node(part).inputs:
        if name and name not in values:
            return f"{name} is not known, which opcheck cannot compute"
    return ""


def located(network: Network, backend: model.BackendInfo) -> Questions[Located]:
    """Judge a model, and each of its nodes, on one backend; a generator of questions.

    First the model is judged as it is. Then each node is judged on the backend's own inputs to it.
    If the model's answer is wrong and no node explains that, nodes that the backend computes
    together are searched for. Nothing but the first is done for a case that is bad, or more than
    opcheck computes. If the model fails on other data of a second run alone, its nodes are judged
    on these.

    Raises ValueError or MemoryError if other data cannot be made, UsageError if a file of the
    weights has changed.
    """
    whole = yield from network.evaluation.judge(backend)
    has_answer = not network.case.expect.compares_backends
    is_bad = has_answer and whole.result.verdict is model.Verdict.BAD_CASE
    if whole.is_too_large or is_bad:
        return Located(whole.result, judged=(), around=(), total=len(network.parts))
    if has_answer and whole.elsewhere:
        network, whole = yield from _on_data_of_second_run(network, whole, backend)
    search = _Search(network, backend, stale=whole.result.verdict is model.Verdict.UNSTABLE)
    yield from search.ask(whole.answer)
    nodes = yield from _asked_alone(search.judged, backend)
    result = _node_results(search, whole.result, nodes, has_answer=has_answer)
    together = yield from _first_together(search, whole.result, result)
    result = replace(result, together=together)
    is_right_alone = yield from _is_right_alone(search, result.wrong)
    notes = [note[:_MAX_NOTE] for note in dict.fromkeys(search.notes)]
    exposed = errors.few(notes) if notes else ""
    return replace(result, right_alone=is_right_alone, exposed=exposed)


def _on_data_of_second_run(
    network: Network, whole: EvaluatedCase, backend: model.BackendInfo
) -> Questions[tuple[Network, EvaluatedCase]]:
    """Return the model on the other data, and its result there, if that has wrong or poorer values.

    Else `network` and `whole` as they are: the answer was wrong in a second run alone, or
    otherwise. Generator of the questions that judge it. Raises ValueError or MemoryError if the
    other data cannot be made, UsageError if a file of the weights has changed.
    """
    turned = network.turned()
    other = yield from turned.evaluation.judge(backend)
    if other.result.failure not in ("values", "precision"):
        return network, whole
    reason = f"on the data of a second run: {other.result.reason}"
    return turned, other.changed(reason=reason)


def _node_results(
    search: "_Search", whole: model.LiveResult, nodes: Sequence[JudgedNode], *, has_answer: bool
) -> Located:
    """Return what was found of the `nodes` judged so far, and why the others are not judged.

    Nodes without a verdict are `unjudged` only if a wrong output is computed from them, or any
    output if none is known to be wrong. Without an answer of the model (`has_answer` False) there
    is no result of the whole, and no depths, the errors of tensors on the way.
    """
    network = search.network
    judged_parts = {node.part for node in nodes}
    unanswered = [
        part for part in chain.from_iterable(network.passes()) if part not in judged_parts
    ]
    around = (*network.why_not.items(), *((part, _UNANSWERED) for part in unanswered))
    undecided = [(node.part, node.result.reason) for node in nodes if _is_undecided(node)]
    wrong_outputs = [compared.output for compared in whole.comparisons if compared.problem]
    before = network.ancestors(wrong_outputs or network.body.outputs)
    unjudged = {
        part: why for part, why in (*around, *undecided) if not before.isdisjoint(part.outputs)
    }
    return Located(
        replace(whole, diagnoses=()) if has_answer else None,
        judged=tuple(sorted(nodes, key=lambda node: node.part.place)),
        around=around,
        total=len(network.parts),
        depths=_depths(network, search.seen, search.sample) if has_answer else (),
        branches=network.branches,
        unjudged=tuple(sorted(unjudged.items())),
    )


def _first_together(
    search: "_Search", whole: model.LiveResult, result: Located
) -> Questions[Part | None]:
    """Return the first node that the backend computes together with others, and so wrongly.

    If a node is wrong by itself, the model is cut to what that node reads: its inputs may be wrong
    in the model as it is, where they are not outputs. None if the model, or the cut one, has no
    wrong or poorer values, if nobody knows its answer, if the wrong node reads only what no node
    computes, and if the search finds none. Generator of questions. Raises ValueError or MemoryError
    if the data cannot be made anew, UsageError if a file of the weights has changed.
    """
    if result.whole is None:
        return None
    network = search.network
    wrong = result.by_itself
    if wrong:
        if network.fixed.issuperset(network.node(wrong.part).inputs):
            return None
        network = network.up_to(wrong.part)
        whole = (yield from network.evaluation.judge(search.backend)).result
    if whole.failure not in ("values", "precision"):
        return None
    return (yield from search.together(network))


def _is_right_alone(search: "_Search", wrong: JudgedNode | None) -> Questions[bool]:
    """Return True if a wrong node is right as a model of its own, on the same inputs.

    Only a node is asked whose tensors the backend gave, with elements beyond what is allowed, and
    that was not found wrong alone before; False for all others, and for None. Poorer arithmetic is
    right. Generator of the questions that judge it.
    """
    if wrong is None or wrong.wrong_alone or not search.gives(wrong.part):
        return False
    if not any(it.problem == "values" and it.wrong for it in wrong.result.comparisons):
        return False
    alone = yield from CaseEvaluation(wrong.result.case).judge(search.backend)
    return verdict.is_right(alone.result)


def _asked_alone(
    results: Sequence[JudgedNode], backend: model.BackendInfo
) -> Questions[list[JudgedNode]]:
    """Return the results, in their order, with `wrong_alone` where a node is wrong alone, too.

    A node that is computed together with others may be off by some roundings. As a model of its
    own, as `opcheck extract` writes it, it is judged by its bound. Of the nodes that fail and are
    off by little (at most 64 roundings), the furthest off of each operator version and dtype is
    asked alone; it is wrong there if it has wrong values. Generator of these questions.
    """

    def operator_and_dtype(node: JudgedNode) -> tuple[model.OpVersion, dtypes.DType | None]:
        """Return what nodes have in common of which one is asked."""
        return node.part.op, node.result.case.dtype

    nodes = [*results]
    small = [node for node in results if node.fails and node.is_small]
    for of_kind in grouping.group_by(small, operator_and_dtype).values():
        furthest = max(of_kind, key=lambda node: node.harm)
        alone = yield from CaseEvaluation(furthest.result.case).judge(backend)
        if alone.result.failure == "values":
            nodes[nodes.index(furthest)] = replace(furthest, wrong_alone=True)
    return nodes


def _is_undecided(node: JudgedNode) -> bool:
    """Return True for a node that opcheck could not judge, though an output has an element."""
    return node.result.beyond and node.result.reason != _NO_ELEMENT


@dataclass(frozen=True, eq=False)
class _Tensors:
    """Tensors of one run of a model, by name: what it `gave`, and others that nodes read."""

    gave: Values
    others: Values
    #: It is the second run or the third.
    is_later: bool = False
    #: It is not on the case's own data.
    is_on_other_data: bool = False

    def __getitem__(self, name: str) -> Any:
        """Return a tensor by name; raises KeyError if it is in neither."""
        return self.gave[name] if name in self.gave else self.others[name]

    def __contains__(self, name: str) -> bool:
        return name in self.gave or name in self.others


class _Search:
    """The tensors that a backend gives of a model, and what they show.

    Attributes:
        stale: The model's second run is on other data, of which an earlier answer is wrong.
        judged: The results of nodes, a node's once for each run that shows more of it.
        notes: Remarks on passes without an answer, or with another answer of the model.
        given: The names of tensors that the backend gave.
        sample: The names of tensors whose errors are shown, with their nodes.
        seen: Those of them that the backend gave.
        first_wrong: The one in `sample` that is there because its node is wrong, "" for none.
    """

    def __init__(self, network: Network, backend: model.BackendInfo, *, stale: bool) -> None:
        """Begin without an answer of the backend; the attributes are those of the class."""
        self.network = network
        self.backend = backend
        self.stale = stale
        self.judged: list[JudgedNode] = []
        self.notes: list[str] = []
        self.given: set[str] = set()
        self.sample = _sample(network)
        self.seen: dict[str, Any] = {}
        self.first_wrong = ""

    def gives(self, part: Part) -> bool:
        """Return True if the backend gave all that a node gives and reads from other nodes."""
        return self.given.issuperset(self.network.needed_outputs([part]))

    def ask(self, answer: model.Produced | None) -> Questions[None]:
        """Ask for the tensors of all nodes, and judge the nodes; generator of questions.

        A pass that leaves nodes unjudged is asked again in halves, but not endlessly, and not if it
        ran out of time or has one node. Results are added to `judged`, remarks to `notes`, such as
        that the model's own outputs change when tensors are outputs too. `answer` is what the model
        gives as it is, None if it gave none.
        """
        passes = [*self.network.passes()]
        halvings_left = _MAX_HALVINGS
        while passes:
            parts = passes.pop(0)
            names, outcome = yield from self._pass(parts)
            if isinstance(outcome, model.Produced) and len(outcome.outputs) == len(names):
                own = outcome.outputs[: len(self.network.case.outputs)]
                if answer and not same_answers(answer.outputs, own):
                    self.notes.append(_CHANGED)
                unjudged = self._judge(parts, names, outcome)
            else:
                self.notes.append(f"{_EXPOSED}: {_what_came(outcome, len(names))}")
                unjudged = parts
            if len(parts) == 1 or not unjudged or isinstance(outcome, model.TimedOut):
                continue
            halvings_left -= 1
            if halvings_left > 0:
                middle = len(unjudged) // 2
                halves = [unjudged[:middle], unjudged[middle:]]
                passes[:0] = [half for half in halves if half]

    def _pass(self, parts: Sequence[Part]) -> Questions[tuple[list[str], model.Outcome]]:
        """Ask for what these nodes read and give, after the model's own outputs.

        Return the names of all outputs that were asked for, and the outcome. If the backend raises
        or declines, that is noted, and it is asked again without integers and truth values, if
        there are any. Generator of one question or two.
        """
        network = self.network
        names = network.needed_outputs(parts)
        question = network.asking_for(names, turned=self.stale)
        outcome = (yield question).outcome
        if isinstance(outcome, model.Raised | model.Declined):
            # Some engines give out no sizes and truth values.
            whole = {name for name in names if is_whole(network.whole.dtype(name))}
            whole |= network.exact.keys() & names
            if whole:
                self.notes.append(f"{_EXPOSED}: {_what_came(outcome)}")
                others = [name for name in names if name not in whole]
                question = network.asking_for(others, turned=self.stale)
                outcome = (yield question).outcome
        return [output.name for output in question.task.outputs], outcome

    def _judge(self, parts: list[Part], names: list[str], outcome: model.Produced) -> list[Part]:
        """Judge nodes all of whose outputs were given, on inputs that were given or are known.

        Return the other nodes. `names` are those of the outputs in `outcome`, as many as it has. A
        node is judged on the first run, and on each later one that differs there or is on other
        data; results are added to `judged`. Inputs are known if they are constants, the model's
        own, or exact.
        """
        runs = self._runs(parts, names, outcome)
        first = runs[0]
        self.given |= first.gave.keys()
        self.seen |= {name: first.gave[name] for name in self.sample if name in first.gave}
        unjudged: list[Part] = []
        for part in parts:
            outputs = [name for name in part.outputs if name]
            is_given = all(name in first.gave for name in outputs)
            if not is_given or not all(name in first for name in self.network.node(part).inputs):
                unjudged.append(part)
                continue
            for run in runs:
                if self._is_new(part, first, run):
                    self._judge_node(part, run)
        return unjudged

    def _runs(
        self, parts: Sequence[Part], names: list[str], outcome: model.Produced
    ) -> list[_Tensors]:
        """Return the tensors of each run that gave as many outputs as asked for, in order.

        The first run is always there; `names` are those of its outputs, as many as it has. Tensors
        that no run gave come from the constants, the data and, if these nodes need others, the
        exact integers. As those are exact on the case's own data alone, a second run on other data
        is left out then.
        """
        network = self.network
        first = dict(zip(names, outcome.outputs, strict=True))
        exact: Values = {}
        if not all(name in first for name in network.needed_outputs(parts)):
            exact = network.exact
        others: Values = {"": None, **exact, **network.constants, **network.fed}
        runs = [_Tensors(first, others)]
        question = network.evaluation.question
        other_data: Values = question.task.feed(question.second) if self.stale else {}

        def add(answer: Outputs | None, *, data: Values) -> None:
            """Add a later run, if it gave all outputs.

            `answer` is what it gave, None for none; `data` its inputs by name, empty for the first
            data.
            """
            if answer and len(answer) == len(names):
                run = _Tensors(
                    gave=dict(zip(names, answer, strict=True)),
                    others={**others, **data},
                    is_later=True,
                    is_on_other_data=bool(data),
                )
                runs.append(run)

        # Exact tensors are those of the first data.
        if not (exact and other_data):
            add(outcome.between, data=other_data)
        add(outcome.again, data={})
        return runs

    def _is_new(self, part: Part, first: _Tensors, run: _Tensors) -> bool:
        """Return True if this run shows more of a node than the `first` one.

        It is the first itself, or on other data, or gave other bits in what the node reads or
        gives.
        """
        if run is first or run.is_on_other_data:
            return True
        return _differs(self.network, part, first, run)

    def _judge_node(self, part: Part, run: _Tensors) -> None:
        """Judge one node on the tensors of a run, and add it to `judged`.

        If it is wrong, and no node before it is so far, its result gets the causes that mutants
        suggest.
        """
        node, evidence = _judge_node(self.network, part, run, self.backend)
        # Only the first wrong node is shown, and diagnosis takes long.
        is_first = not any(
            earlier.is_wrong and earlier.part.place < part.place for earlier in self.judged
        )
        if node.is_wrong and is_first and not run.is_on_other_data:
            self._show_error_of(part, run)
        if evidence and is_first:
            diagnoses = Suspects(_no_evidence).diagnose(evidence)
            node = replace(node, result=replace(node.result, diagnoses=diagnoses))
        self.judged.append(node)

    def _show_error_of(self, part: Part, run: _Tensors) -> None:
        """Add the first output of the first wrong node to `sample`, in the place of a later one's.

        Nothing changes if the backend did not give this output.
        """
        name = part.outputs[0]
        if name not in run.gave or name in self.sample:
            return
        if self.first_wrong:
            del self.sample[self.first_wrong]
            del self.seen[self.first_wrong]
        self.sample[name] = part
        self.seen[name] = run.gave[name]
        self.first_wrong = name

    def together(self, network: Network) -> Questions[Part | None]:
        """Return the first node such that all outputs of nodes up to it make the answer right.

        The answer is the model's own outputs, asked for together with those of these nodes. The
        node is found by bisection, among the nodes of which the backend gave an output. None if
        there is none, or if outputs of the last node, other than the model's own, do as much alone;
        a reason why none is found is put first into `notes`. Generator of questions; `network` is
        the model, or a part of it.
        """
        parts = [
            part
            for part in chain.from_iterable(network.passes())
            if not self.given.isdisjoint(part.outputs)
        ]
        if not parts and self.notes:
            self.notes.insert(0, f"{_UNSEARCHED}: {self.notes[0]}")
        place = yield from self._first_that_cures(network, parts)
        if place is None or place not in range(len(parts)):
            return None
        own = {output.name for output in network.case.outputs}
        later = [part for part in parts[place + 1 :] if own.isdisjoint(part.outputs)]
        # If an output far behind cures the answer too, this node is not the reason.
        if later and (yield from self._is_right(network, later[-1:])):
            self.notes.insert(0, _CURED)
            return None
        return parts[place]

    def _first_that_cures(self, network: Network, parts: Sequence[Part]) -> Questions[int | None]:
        """Return the place in `parts` up to which they must be outputs for a right answer.

        That is the length of `parts` if not even all of them help, and -1 if the model is right
        without any, which is tried only if a branch stands in place of an If: that may be enough.
        None, noted in `notes`, if a question stays unanswered. Generator of questions, by
        bisection.
        """
        low = -1 if network.branches else 0
        high = len(parts)
        while low < high:
            middle = (low + high) // 2
            is_right = yield from self._is_right(network, parts[: middle + 1])
            if is_right is None:
                return None
            if is_right:
                high = middle
            else:
                low = middle + 1
        return low

    def _is_right(self, network: Network, parts: Sequence[Part]) -> Questions[bool | None]:
        """Return True if the model's own outputs are right when those of `parts` are outputs too.

        Poorer arithmetic is not right here. None if not all outputs came; what came is put first
        into `notes`. Generator of one question.
        """
        names = chain.from_iterable(part.outputs for part in parts)
        question = network.asking_for([name for name in names if name in self.given])
        count = len(question.task.outputs)
        outcome = (yield question).outcome
        if not isinstance(outcome, model.Produced) or len(outcome.outputs) != count:
            self.notes.insert(0, f"{_UNSEARCHED}: {_what_came(outcome, count)}")
            return None
        own = model.Produced(outcome.outputs[: len(network.case.outputs)], 0.0, once=True)
        admitted = network.evaluation.accepted_answers
        return verdict.judge("must", admitted, own, network.case.tolerance).failure is None


def _no_evidence(case: model.Case) -> None:
    """Return None: a node of a model has no other cases that it passes."""


def _what_came(outcome: model.Outcome, count: int = 0) -> str:
    """Describe an outcome that is not an answer of as many outputs as asked for, `count`.

    A refusal is described by its own text, a crash and the like by verdict and reason.
    """
    if isinstance(outcome, model.Produced):
        return f"it gave another number than {count}"
    if verdict.needs_expected(outcome):
        return str(outcome)
    judgement = verdict.judge_without_expected("must", outcome)
    return f"{judgement.verdict}: {judgement.reason}"


def _differs(network: Network, part: Part, first: _Tensors, later: _Tensors) -> bool:
    """Return True if a later run gave a node other inputs or outputs, in any bit.

    Only tensors that the `first` run gave are compared. Raises KeyError if `later` lacks one.
    """
    names = [name for name in (*network.node(part).inputs, *part.outputs) if name in first.gave]
    return not same_answers(
        tuple(first.gave[name] for name in names), tuple(later[name] for name in names)
    )


def _judge_node(
    network: Network, part: Part, run: _Tensors, backend: model.BackendInfo
) -> tuple[JudgedNode, Evidence | None]:
    """Judge a node by what the backend fed it, and gave; return evidence if it is wrong.

    The result comes first. The evidence, None otherwise, is what a diagnosis needs. A node that is
    off by little, at most 64 roundings, fails but is not wrong. It is *unsupported*, by opcheck, if
    it was fed what is no tensor of a type that ONNX has, if the engine has no answer or takes too
    much memory, and if no output has an element. Elements are judged by the operator's bound, and
    by the scatter of their errors. Raises KeyError if a tensor is missing in `run`.
    """
    names = (*network.node(part).inputs, *part.outputs)
    values = {name: run[name] for name in names if name}
    case = case_of(network, part, values, later=run.is_later)

    def unjudged(reason: str) -> tuple[JudgedNode, None]:
        """Return the node as *unsupported* by opcheck, for this reason, and no evidence."""
        result = model.LiveResult(
            case, backend.address, model.Verdict.UNSUPPORTED, reason, beyond=True
        )
        return JudgedNode(part, result), None

    operands = _operands(network, part, run)
    if any(operand is not None and _tensor(operand) is None for operand in operands):
        return unjudged("it was fed no ONNX tensor")
    node = _engine_node(network, part, case, operands)
    try:
        answers = _answers_judged_by_scatter(case, node)
    except (WrongCase, MemoryError) as error:
        return unjudged(f"unsupported by opcheck: {error}")
    wants = answers[0].wants
    if not any(want.values.size for want in wants):
        return unjudged(_NO_ELEMENT)
    got = tuple(run[name] for name in part.outputs if name)
    answer = model.Produced(got, 0.0, once=True)
    judgement = judge_case(
        case,
        answers,
        answer,
        lambda: node,
        like=next((operand for operand in operands if operand is not None), None),
        declared=backend.accumulate,
    )
    result = model.LiveResult(case, backend.address, **vars(judgement))
    if judgement.failure is None:
        return JudgedNode(part, result), None
    right = tuple(want.bound.rounded() if want.bound else want.values for want in wants)
    harm = max(map(_deviation, right, got), default=np.inf)
    judged_node = JudgedNode(part, result, right, harm)
    if not judged_node.is_wrong:
        return judged_node, None
    return judged_node, Evidence(node, got, [answer.wants for answer in answers])


def _operands(network: Network, part: Part, run: _Tensors) -> tuple[Any, ...]:
    """Return the inputs of a node in a run, None for omitted ones, without omitted last ones.

    Raises KeyError if one is missing in `run`.
    """
    operands = [run[name] for name in network.node(part).inputs]
    while operands and operands[-1] is None:
        operands.pop()
    return tuple(operands)


def _engine_node(
    network: Network, part: Part, case: model.Case, operands: tuple[Any, ...]
) -> engine.Node:
    """Return the node of a model for the engine; nothing is computed yet.

    `case` is the node as a case, and `operands` are its inputs, None for omitted ones.
    """
    has_constants = any(name in network.constants for name in network.node(part).inputs)
    places = [output.place or 0 for output in case.outputs]
    return engine.Node(part.op, operands, case.attrs, places, has_constants, case.opset)


def _answers_judged_by_scatter(case: model.Case, node: engine.Node) -> list[verdict.Answer]:
    """Return the admitted answers of a node, marked like answers to data drawn at random.

    So the scatter of their errors counts, next to their bounds. Refusals are left out. Raises
    WrongCase if the text forbids the node or the engine has no answer, and MemoryError.
    """
    return [
        verdict.Answer(
            tuple(replace(want, of_random_data=True) for want in admitted.wants), admitted.name
        )
        for admitted in answers_of(case, node)
        if isinstance(admitted, verdict.Answer)
    ]


def _has_floats(value: object) -> bool:
    """Return True for a tensor of floats of 16 bits or more that has elements."""
    array = _tensor(value)
    if array is None or not array.size:
        return False
    return grouping.not_none(dtypes.of(array)).kind == "float"


def _deviation(right: model.Array, got: Any) -> float:
    """Return the deviation of an output relative to its size, 0 if it is equal.

    `right` are the right values, `got` the output; deviation and size are root mean squares.
    Infinity for another shape or dtype, for no tensor, and for texts, truth values and complex
    numbers.
    """
    dtype = dtypes.of(right)
    if isinstance(got, model.Foreign) or got.shape != right.shape or got.dtype != right.dtype:
        return np.inf
    if dtype is None or dtype.kind not in ("float", "int"):
        return np.inf
    return bounded.off_by(right.astype(np.float64), got.astype(np.float64))


def _sample(network: Network) -> dict[str, Part]:
    """Return at most 16 floating tensors, from the first to the last, by name, with their nodes.

    They are first outputs of nodes that can be judged and that compute: one that only moves values
    adds no error of its own. Empty without such nodes.
    """
    floats = []
    for part in network.parts:
        if part in network.why_not:
            continue
        dtype = network.whole.dtype(next(iter(part.outputs), ""))
        operator = engine.operator_of(part.op)
        computes = operator is not None and not operator.exact
        if dtype and dtype.kind == "float" and computes:
            floats.append(part)
    count = min(_MAX_SAMPLE, len(floats))
    places = np.linspace(0, len(floats) - 1, count).round().astype(int)
    return {floats[n].outputs[0]: floats[n] for n in places.tolist()}


def _depths(network: Network, seen: Values, sample: Mapping[str, Part]) -> tuple[Depth, ...]:
    """Return the error of each tensor in `seen`, what the backend gave, in the order of the nodes.

    `sample` has the nodes of the tensors.
    """
    depths = _depths_unordered(network, seen, sample)
    return tuple(sorted(depths, key=lambda depth: depth.part.place))


def _depths_unordered(
    network: Network, seen: Values, sample: Mapping[str, Part]
) -> Iterator[Depth]:
    """Yield the error of each tensor in `seen`, with what roundings explain, and their ratio.

    None are yielded if the engine does not compute the model. Left out are what is no tensor of
    floats, empty tensors, and those of another shape, without a theory of their errors, or without
    a finite error.
    """
    names = [name for name, value in seen.items() if _has_floats(value)]
    if not names:
        return
    question = network.evaluation.question
    node = node_of(question.task, question.inputs)
    graph: Any = node.attrs["graph"]
    body = replace(network.body, inputs=graph.body.inputs, outputs=tuple(names))
    attrs: Any = {"graph": replace(graph, body=body)}
    try:
        answers = exactly(replace(node, attrs=attrs))
    except (errors.InvalidNode, errors.NotSupported, MemoryError):
        return
    for name, answer in zip(names, answers, strict=True):
        got = seen[name]
        if not isinstance(answer, engine.Expected) or answer.values.shape != got.shape:
            continue
        want: Want = replace(
            outputs.computed_want(node.op, name, answer), of_random_data=True, whole=True
        )
        ratio = bounded.scatter(want, got)
        error = _deviation(answer.values, got.astype(np.float64))
        if ratio is None or not np.isfinite(error):
            continue
        explained = error / ratio if ratio else 0.0
        yield Depth(sample[name], error, explained, ratio)
