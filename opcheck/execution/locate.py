"""A whole model, node by node: each one as a case, and which of them a backend computes wrongly.

To find the first wrong node, each is judged on the backend's own inputs to it, so that no earlier
error counts against it: the model is asked again with its tensors as outputs, in as many passes as
memory needs. Where the backend is wrong and no node is, it computes several together: then the
tensors that have to be outputs for the answer to be right are searched for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, engine, errors, grouping, model, opset
from opcheck.backends import same_answers
from opcheck.compare import Want, bounded, outputs, verdict
from opcheck.diagnose.suspects import Evidence, Suspects
from opcheck.engine.evaluate import exactly
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import WrongCase, answers_of, node_of
from opcheck.execution.workers import Inquiry
from opcheck.graph import WholeModel
from opcheck.model.located import Depth, JudgedNode, Located, Part
from opcheck.opset import Body, BodyNode, onnx_defs
from opcheck.suite.tensors import case_file, made_up

Values: TypeAlias = Mapping[str, Any]
#: Bytes of tensors that one pass makes outputs of.
_ROOM = 256 << 20
_UNANSWERED = "the backend does not give all that they read and give"
_EXPOSED = "with tensors as outputs"
_CHANGED = "tensors as outputs change the answer: some nodes are computed together"
_CURED = "any tensor as an output makes the answer right, so that no node is found"
_NO_ELEMENT = "no output has an element"
_UNSEARCHED = "nodes computed together cannot be searched for"


class Network:
    """The model of a case, with its functions expanded.

    Of an If whose condition the engine computes, the branch stands in its place. `taken` counts
    these.
    """

    def __init__(self, case: model.Case) -> None:
        self.case = case
        self.evaluation = CaseEvaluation(case)
        question = self.evaluation.question
        self.fed: Values = question.task.feed(question.inputs)
        self.taken = 0
        #: Why the engine could not compute nodes, by place.
        self.failed: dict[int, str] = {}
        data: bytes | None = case.model or b""
        while data is not None:
            self.whole = WholeModel(data, question.task.inputs)
            self.body: Body = onnx_defs.model_body(data)
            #: The nodes, in order.
            self.parts = tuple(
                Part(n, name, one.op, one.outputs)
                for n, (name, one) in enumerate(zip(self.whole.nodes, self.body.nodes, strict=True))
            )
            data = self._with_a_branch()
            self.taken += data is not None

    def _with_a_branch(self) -> bytes | None:
        """The model with the branch of the first If that is decided, None where there is none."""
        ifs = {part.place for part in self.parts if part.op.name == "If" and not part.op.domain}
        for part, values in self.values() if ifs else ():
            condition = values.get(self.node(part).inputs[0]) if part.place in ifs else None
            if not isinstance(condition, np.ndarray) or condition.size != 1:
                continue
            if data := self.whole.with_branch(part.place, then=bool(condition.item())):
                return data
        return None

    def node(self, part: Part) -> BodyNode:
        """The tensors that a node reads, and its attributes."""
        return self.body.nodes[part.place]

    @cached_property
    def constants(self) -> Mapping[str, model.Array]:
        """Tensors that are the same in every run."""
        found = dict(self.body.constants)
        for node in self.body.nodes:
            if node.op.name == "Constant" and not node.op.domain:
                plain: Any = dict(node.attrs)
                found[node.outputs[0]] = engine.Node(node.op, (), plain).plain[0]
        return found

    def values(self) -> Iterator[tuple[Part, Values]]:
        """Yield each node with the tensors that it reads and gives, as the engine computes them.

        Those that it cannot compute are left out. Tensors are dropped once nobody reads them.
        """
        named: dict[str, Any] = {**self.body.constants, **self.fed}
        for part, done in zip(self.parts, self.body.done, strict=True):
            reads = tuple(name for name in dict.fromkeys(self.node(part).reads) if name)
            gives = tuple(filter(None, part.outputs))
            if all(name in named for name in reads):
                one = engine.Subgraph(Body(reads, gives, (self.node(part),)))
                try:
                    with np.errstate(all="ignore"):
                        named |= zip(gives, one(*(named[name] for name in reads)), strict=True)
                except (errors.NotSupported, errors.InvalidNode, MemoryError) as error:
                    self.failed[part.place] = str(error)
            yield part, named
            for name in done:
                named.pop(name, None)

    @cached_property
    def exact(self) -> Values:
        """Computed integers and truth values of no float, which all arithmetic makes the same."""
        found: dict[str, Any] = {}
        given = {**self.constants, **self.fed}
        sure = {"", *(name for name, array in given.items() if is_whole(dtypes.of(array)))}
        for part, values in self.values():
            node = self.node(part)
            exact = sure.issuperset(node.inputs)
            if node.op.name in ("Shape", "Size") and not node.op.domain:
                exact = all(name in given or self.whole.nbytes(name) for name in node.inputs)
            arrays = {x: values[x] for x in part.outputs if isinstance(values.get(x), np.ndarray)}
            if exact and not node.graphs:
                found |= {name: x for name, x in arrays.items() if is_whole(dtypes.of(x))}
                sure.update(found.keys() & arrays)
        return found

    @cached_property
    def why_not(self) -> Mapping[Part, str]:
        """The nodes that cannot be judged by themselves, and why."""
        return {part: why for part in self.parts if (why := self._why_not(part))}

    def _why_not(self, part: Part) -> str:
        operator, node = engine.operator_of(part.op), self.node(part)
        if operator is None:
            return f"opcheck does not know {part.op}"
        if self.whole.opset(part.op.domain) > (newest := opset.newest(part.op.domain)):
            return f"its opset is too new: the installed packages know {newest}"
        if node.graphs:
            return f"{part.op.name} has graphs of its own"
        if not all(map(self.whole.is_tensor, (*node.inputs, *part.outputs))):
            return f"{part.op.name} takes or gives a sequence or an optional"
        return f"{part.op.name} draws at random" if operator.random else ""

    def names(self, parts: Sequence[Part]) -> list[str]:
        """The tensors that must be outputs for these nodes to be judged."""
        every = ((*self.node(part).inputs, *part.outputs) for part in parts)
        names = dict.fromkeys(chain.from_iterable(every))
        return [name for name in names if name not in self.fixed]

    def ancestors(self, names: Iterable[str]) -> set[str]:
        """The tensors that these are computed from, and these."""
        found = {*names}
        for node in reversed(self.body.nodes):
            if not found.isdisjoint(node.outputs):
                found.update(node.reads)
        return found

    @cached_property
    def fixed(self) -> set[str]:
        """The tensors that are given, and no node's."""
        return {"", *self.constants, *self.fed}

    def passes(self) -> Iterator[list[Part]]:
        """Yield nodes that are judged together."""
        nodes: list[Part] = []
        names: set[str] = set()
        size = 0
        for part in self.parts:
            if part in self.why_not or part.op.name == "Constant":
                continue
            mine = {*self.names([part])}
            size += sum(map(self.whole.nbytes, mine - names))
            if nodes and size > _ROOM:
                yield nodes
                nodes, names, size = [], set(), sum(map(self.whole.nbytes, mine))
            nodes.append(part)
            names |= mine
        if nodes:
            yield nodes

    def up_to(self, part: Part) -> "Network":
        """The model that gives what a node reads, and nothing else; something is not `fixed`."""
        reads = [name for name in self.node(part).inputs if name not in self.fixed]
        data, names = self.whole.giving(reads, alone=True)
        outputs = tuple(model.OutputSpec(name, None) for name in names)
        # A test states its own outputs, and its tolerance is theirs.
        case = replace(self.case, expect=model.Computed(), tolerance=None)
        return Network(replace(case, model=data, outputs=outputs, empty="it is what nodes read"))

    def turned(self) -> "Network":
        """The model on the other data of a second run."""
        pairs = zip(self.case.inputs, self.evaluation.question.second, strict=True)
        inputs = (replace(one, content=model.Given(array)) for one, array in pairs)
        return Network(replace(self.case, inputs=tuple(inputs)))

    def asking_for(self, names: Sequence[str], *, turned: bool = False) -> model.Question:
        """The question for these tensors, after the model's outputs; on other data if `turned`."""
        asked = self.evaluation.question
        data, more = self.whole.giving(names)
        outputs = (*asked.task.outputs, *(model.OutputSpec(name, None) for name in more))
        task = replace(asked.task, outputs=outputs, model=data)
        # The same data again: a node may be wrong in a later run alone.
        return replace(asked, task=task, second=asked.second if turned else asked.inputs)


def is_whole(dtype: dtypes.DType | None) -> bool:
    """Return True for integers and truth values."""
    return dtype is not None and dtype.kind in ("int", "bool")


def case_of(network: Network, part: Part, values: Values, *, later: bool = False) -> model.Case:
    """A node as a case of its own, on these values."""
    op, domain = part.op, part.op.domain
    schema = opset.versions(domain, op.name)[op.since]
    inputs, reads = [], network.node(part).inputs
    slots = [*_slots(schema.inputs, reads)]
    for slot, name in zip(slots, reads, strict=True):
        if name and isinstance(array := values.get(name), np.ndarray):
            dtype = grouping.sure(dtypes.of(array))
            held = name in network.constants
            inputs.append(model.TensorSpec(slot, dtype, array.shape, model.Given(array), (), held))
    outputs = enumerate(_slots(schema.outputs, part.outputs))
    tail = ", in a later run" if later else ""
    plain: Any = network.node(part).attrs
    return model.Case(
        id=f"node {part.place} of {len(network.parts)}, {part.name}{tail}",
        name=part.name,
        op=op,
        opset=network.whole.opset(domain) or op.since,
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
    """Yield the operator's own names of a node's inputs or outputs."""
    for n in range(len(names)):
        parameter = parameters[min(n, len(parameters) - 1)]
        many = parameter.option == "variadic"
        yield f"{parameter.stem}_{n - len(parameters) + 1}" if many else parameter.name


@dataclass
class Extracted:
    """Nodes that ask the same: the first of them as a case, how many, and their share of time."""

    case: model.Case
    names: list[str]
    share: float = 0.0


def extracted(
    network: Network, shares: Mapping[str, float]
) -> tuple[list[Extracted], list[tuple[str, str]]]:
    """The nodes as cases, each question once, with `shares` of time by name; the rest with why."""
    found: dict[str, Extracted] = {}
    left: list[tuple[str, str]] = []
    for part, values in network.values():
        if part.op.name == "Constant":
            continue
        if why := network.why_not.get(part) or network.failed.get(part.place):
            left.append((part.name, why))
            continue
        if missing := [name for name in network.node(part).inputs if name and name not in values]:
            left.append((part.name, f"{missing[0]} is not known, which opcheck cannot compute"))
            continue
        case = case_of(network, part, values)
        # Weights of one shape ask the same, whatever their range.
        text = case_file([replace(case, name="")], made_up)
        key = re.sub(r"(uniform|choice): \[.*?\]", r"\1", text)
        one = found.setdefault(key, Extracted(replace(case, name=f"node_{len(found)}"), []))
        one.names.append(part.name)
        one.share += shares.get(part.name, 0.0)
    return sorted(found.values(), key=lambda one: -one.share), left


def located(network: Network, backend: model.BackendInfo) -> Inquiry[Located]:
    """The inquiry of one backend about the nodes of a model."""
    whole = yield from network.evaluation.on(backend)
    known = not network.case.expect.compares_backends
    if whole.is_too_large or (known and whole.result.verdict is model.Verdict.BAD_CASE):
        return Located(whole.result, (), (), len(network.parts))
    if known and whole.elsewhere:
        # What is right on this data, and wrong on the other, is judged on the other.
        turned = network.turned()
        other = yield from turned.evaluation.on(backend)
        if other.result.failure in ("values", "precision"):
            network = turned
            whole = other.changed(reason=f"on the data of a second run: {other.result.reason}")
    search = _Search(network, backend, stale=whole.result.verdict is model.Verdict.UNSTABLE)
    yield from search.ask(whole.answer)
    results = yield from _asked_alone(search.judged, backend)
    judged = {one.part for one in results}
    left = [part for part in chain.from_iterable(network.passes()) if part not in judged]
    outputs = [one.output for one in whole.result.comparisons if one.problem]
    before = network.ancestors(outputs or network.body.outputs)
    around = (*network.why_not.items(), *((part, _UNANSWERED) for part in left))
    undecided = [(one.part, one.result.reason) for one in results if _is_undecided(one)]
    unjudged = [
        (part, why) for part, why in (*around, *undecided) if not before.isdisjoint(part.outputs)
    ]
    found = Located(
        replace(whole.result, diagnoses=()) if known else None,
        tuple(sorted(results, key=lambda one: one.part.place)),
        around,
        len(network.parts),
        tuple(_depths(network, search.seen, search.sample)) if known else (),
        taken=network.taken,
        unjudged=tuple(sorted(dict(unjudged).items())),
    )
    wrong = found.by_itself
    if known and wrong and not network.fixed.issuperset(network.node(wrong.part).inputs):
        # What it reads may be wrong where it is no output.
        network = network.up_to(wrong.part)
        whole = yield from network.evaluation.on(backend)
    elif wrong:
        known = False
    if known and whole.result.failure in ("values", "precision"):
        found = replace(found, together=(yield from search.together(network)))
    wrongs = found.wrong.result.comparisons if found.wrong else ()
    beyond = any(one.problem == "values" and one.wrong for one in wrongs)
    # Alone, it is judged by the bound.
    wrong = found.wrong
    if wrong and beyond and not wrong.wrong_alone and search.gives(wrong.part):
        alone = yield from CaseEvaluation(wrong.result.case).on(backend)
        found = replace(found, right_alone=verdict.is_right(alone.result))
    notes = [note[:300] for note in dict.fromkeys(search.notes)]
    return replace(found, exposed=errors.few(notes) if notes else "")


def _asked_alone(
    judged: Sequence[JudgedNode], backend: model.BackendInfo
) -> Inquiry[list[JudgedNode]]:
    """The results, of which nodes that are off by little are wrong if they are so alone, too.

    A node that is computed together with others may be off by some roundings. As a model of its
    own, as `opcheck extract` writes it, it is judged by its bound. Of each operator and type, the
    furthest off is asked.
    """
    found = [*judged]
    small = [one for one in judged if one.fails and one.is_small]
    kinds = grouping.group_by(small, lambda one: (one.part.op, one.result.case.dtype))
    for some in kinds.values():
        furthest = max(some, key=lambda one: one.harm)
        alone = yield from CaseEvaluation(furthest.result.case).on(backend)
        if alone.result.failure == "values":
            found[found.index(furthest)] = replace(furthest, wrong_alone=True)
    return found


def _is_undecided(one: JudgedNode) -> bool:
    """Return True for a node that has something to judge, and no verdict."""
    return one.result.beyond and one.result.reason != _NO_ELEMENT


class _Search:
    """The tensors that a backend gives of a model, and what they show."""

    def __init__(self, network: Network, backend: model.BackendInfo, *, stale: bool) -> None:
        self.network, self.backend = network, backend
        #: The model's second run is on other data, of which an earlier answer is wrong.
        self.stale = stale
        self.judged: list[JudgedNode] = []
        self.notes: list[str] = []
        #: The names of tensors that it gave; those whose errors are shown, with their nodes.
        self.given: set[str] = set()
        self.sample = _sample(network)
        self.seen: dict[str, Any] = {}

    def gives(self, part: Part) -> bool:
        """Return True if the backend gave all that a node reads and gives."""
        return self.given.issuperset(self.network.names([part]))

    def ask(self, answer: model.Produced | None) -> Inquiry[None]:
        """Ask for the tensors of all nodes; `answer` is what the model gives as it is."""
        # So many passes may come to nothing, and be asked in halves, before it is left at that.
        todo, patience = [*self.network.passes()], 40
        while todo:
            parts = todo.pop(0)
            names, outcome = yield from self._pass(parts)
            if isinstance(outcome, model.Produced) and len(outcome.outputs) == len(names):
                own = outcome.outputs[: len(self.network.case.outputs)]
                if answer and not same_answers(answer.outputs, own):
                    self.notes.append(_CHANGED)
                left = self._judge(parts, names, outcome)
            else:
                self.notes.append(f"{_EXPOSED}: {_how(outcome, len(names))}")
                left = parts
            if left and len(parts) > 1 and not isinstance(outcome, model.TimedOut):
                patience -= 1
                halves = left[: len(left) // 2], left[len(left) // 2 :]
                todo[:0] = filter(None, halves if patience > 0 else ())

    def _pass(self, parts: Sequence[Part]) -> Inquiry[tuple[list[str], model.Outcome]]:
        """Ask for what nodes read and give; return which tensors, and what came of it."""
        network, names = self.network, self.network.names(parts)
        question = network.asking_for(names, turned=self.stale)
        outcome = (yield question).outcome
        if isinstance(outcome, model.Raised | model.Declined):
            # Some engines give out no sizes and truth values.
            whole = {name for name in names if is_whole(network.whole.dtype(name))}
            if whole := whole | (network.exact.keys() & names):
                self.notes.append(f"{_EXPOSED}: {_how(outcome)}")
                left = [name for name in names if name not in whole]
                question = network.asking_for(left, turned=self.stale)
                outcome = (yield question).outcome
        return [one.name for one in question.task.outputs], outcome

    def _judge(self, parts: list[Part], names: list[str], outcome: model.Produced) -> list[Part]:
        """Judge nodes whose outputs were given, on inputs given or exact; return the others."""
        network = self.network
        first = dict(zip(names, outcome.outputs, strict=True))
        self.given |= first.keys()
        self.seen |= {name: first[name] for name in self.sample if name in first}
        lent = {} if first.keys() >= {*network.names(parts)} else network.exact
        known: Values = {"": None, **lent, **network.constants, **network.fed}
        asked = network.evaluation.question
        other = asked.task.feed(asked.second) if self.stale else {}
        runs: list[tuple[Values, Values]] = [(first, {})]
        # What is lent is of the first data.
        between = None if lent and other else outcome.between
        for got, own in ((between, other), (outcome.again, {})):
            if got and len(got) == len(names):
                runs.append((dict(zip(names, got, strict=True)), own))
        there, left = first.keys() | known.keys(), []
        for part in parts:
            gives = {*part.outputs} - {""}
            if not (first.keys() >= gives and there >= {*network.node(part).inputs}):
                left.append(part)
                continue
            for number, (run, fed) in enumerate(runs):
                values = {**known, **fed, **run}
                if not number or fed or _differs(network, part, first, values):
                    one, evidence = _judged(network, part, values, self.backend, number)
                    # To say what a node looks like takes long; the first wrong one is shown.
                    if evidence and not any(
                        it.is_wrong and it.part.place < part.place for it in self.judged
                    ):
                        looks = Suspects(lambda case: None).diagnose(evidence)
                        one = replace(one, result=replace(one.result, diagnoses=looks))
                    self.judged.append(one)
        return left

    def together(self, network: Network) -> Inquiry[Part | None]:
        """The first node whose outputs, with those before it, make the answer right as outputs."""
        every = [*chain.from_iterable(network.passes())]
        every = [part for part in every if not self.given.isdisjoint(part.outputs)]
        if not every and self.notes:
            self.notes.insert(0, f"{_UNSEARCHED}: {self.notes[0]}")
        # Where branches stand in place of Ifs, that alone may make it right.
        low, high = -1 if network.taken else 0, len(every)
        while low < high:
            middle = (low + high) // 2
            right = yield from self._is_right(network, every[: middle + 1])
            if right is None:
                return None
            low, high = (low, middle) if right else (middle + 1, high)
        if not 0 <= low < len(every):
            return None
        own = {one.name for one in network.case.outputs}
        last = [part for part in every[low + 1 :] if own.isdisjoint(part.outputs)][-1:]
        # What any output cures says nothing of this node.
        if last and (yield from self._is_right(network, last)):
            self.notes.insert(0, _CURED)
            return None
        return every[low]

    def _is_right(self, network: Network, parts: Sequence[Part]) -> Inquiry[bool | None]:
        """Return True if the model is right with outputs of nodes as its own; None if unknown."""
        names = chain.from_iterable(part.outputs for part in parts)
        question = network.asking_for([*filter(self.given.__contains__, names)])
        outcome, count = (yield question).outcome, len(question.task.outputs)
        if not isinstance(outcome, model.Produced) or len(outcome.outputs) != count:
            self.notes.insert(0, f"{_UNSEARCHED}: {_how(outcome, count)}")
            return None
        own = model.Produced(outcome.outputs[: len(network.case.outputs)], 0.0, once=True)
        right, tolerance = network.evaluation.accepted_answers, network.case.tolerance
        return verdict.judge("must", right, own, tolerance).failure is None


def _how(outcome: model.Outcome, count: int = 0) -> str:
    if isinstance(outcome, model.Produced):
        return f"it gave another number than {count}"
    if verdict.needs_expected(outcome):
        return str(outcome)
    judgement = verdict.judge_without_expected("must", outcome)
    return f"{judgement.verdict}: {judgement.reason}"


def _differs(network: Network, part: Part, first: Values, values: Values) -> bool:
    """Return True if a later run gave a node other inputs or outputs."""
    names = [name for name in (*network.node(part).inputs, *part.outputs) if name in first]
    return not same_answers(*(tuple(some[name] for name in names) for some in (first, values)))


def _judged(
    network: Network, part: Part, values: Values, backend: model.BackendInfo, run: int
) -> tuple[JudgedNode, Evidence | None]:
    """Judge a node by what the backend fed it, and gave; then the evidence against a wrong one."""
    case = case_of(network, part, values, later=run > 0)
    got: list[Any] = [values[name] for name in part.outputs if name]
    operands = tuple(values[name] for name in network.node(part).inputs)
    if any(isinstance(x, model.Foreign) for x in operands):
        return JudgedNode(part, _unjudged(case, backend, "it was fed no tensor")), None
    while operands and operands[-1] is None:
        operands = operands[:-1]
    constant = any(name in network.constants for name in network.node(part).inputs)
    places = [one.place or 0 for one in case.outputs]
    node = engine.Node(part.op, operands, case.attrs, places, constant, case.opset)
    try:
        admitted = answers_of(case, node)
    except (WrongCase, MemoryError) as error:
        return JudgedNode(part, _unjudged(case, backend, f"unsupported by opcheck: {error}")), None
    answers = [
        verdict.Answer(tuple(replace(want, drawn=True) for want in answer.wants), answer.name)
        for answer in admitted
        if isinstance(answer, verdict.Answer)
    ]
    wants = answers[0].wants
    if not any(want.values.size for want in wants):
        return JudgedNode(part, _unjudged(case, backend, _NO_ELEMENT)), None
    outcome = model.Produced(tuple(got), 0.0, once=True)
    like = next((x for x in operands if x is not None), None)
    judgement = verdict.judge("must", answers, outcome, None, like, backend.accumulate)
    result = model.LiveResult(case, backend.address, **vars(judgement))
    if judgement.failure is None:
        return JudgedNode(part, result), None
    right = tuple(one.bound.rounded() if one.bound else one.values for one in wants)
    harm = max((_off(*pair) for pair in zip(right, got, strict=False)), default=np.inf)
    judged = JudgedNode(part, result, right, harm)
    if not judged.is_wrong:
        return judged, None
    return judged, Evidence(node, tuple(got), [answer.wants for answer in answers])


def _off(right: model.Array, got: Any) -> float:
    """The deviation of an output relative to its size; infinity where that says nothing."""
    dtype = dtypes.of(right)
    if isinstance(got, model.Foreign) or got.shape != right.shape or got.dtype != right.dtype:
        return np.inf
    if dtype is None or dtype.kind not in ("float", "int"):
        return np.inf
    return bounded.off_by(right.astype(np.float64), got.astype(np.float64))


def _unjudged(case: model.Case, backend: model.BackendInfo, reason: str) -> model.LiveResult:
    return model.LiveResult(case, backend.address, model.Verdict.UNSUPPORTED, reason, beyond=True)


def _sample(network: Network) -> dict[str, Part]:
    """At most 16 floating tensors from the first to the last, with the nodes that give them."""
    floats = []
    for part in network.parts:
        dtype = network.whole.dtype(next(iter(part.outputs), ""))
        moves = (operator := engine.operator_of(part.op)) is None or operator.exact
        if dtype and dtype.kind == "float" and not moves and part not in network.why_not:
            floats.append(part)
    places = np.linspace(0, len(floats) - 1, min(16, len(floats))).round().astype(int)
    return {floats[n].outputs[0]: floats[n] for n in places.tolist()}


def _depths(network: Network, seen: Values, sample: Mapping[str, Part]) -> Iterator[Depth]:
    """Yield the errors of tensors that the backend gave, in the order of the nodes."""
    names = [name for name, array in seen.items() if isinstance(array, np.ndarray) and array.size]
    if not names:
        return
    question = network.evaluation.question
    node = node_of(question.task, question.inputs)
    graph: Any = node.attrs["graph"]
    body = replace(network.body, inputs=graph.body.inputs, outputs=tuple(names))
    some: Any = {"graph": replace(graph, body=body)}
    try:
        answers = exactly(replace(node, attrs=some))
    except (errors.InvalidNode, errors.NotSupported, MemoryError):
        return
    for name, answer in zip(names, answers, strict=True):
        got = seen[name]
        if not isinstance(answer, engine.Expected) or answer.values.shape != got.shape:
            continue
        want: Want = replace(outputs.computed_want(node.op, name, answer), drawn=True, whole=True)
        ratio, off = bounded.scatter(want, got), _off(answer.values, got.astype(np.float64))
        if ratio is not None and np.isfinite(off):
            yield Depth(sample[name], off, off / ratio if ratio else 0.0, ratio)
