"""The first wrong node of a model, each judged on the backend's own inputs to it.

The model is asked again with its tensors as outputs, in as many passes as memory needs, so that no
earlier error counts against a node. Where the backend is wrong and no node is, it computes several
together: then the tensors that have to be outputs for the answer to be right are searched for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from opcheck import dtypes, model
from opcheck.backends import same_answers
from opcheck.compare import Want, bounded, outputs, verdict
from opcheck.diagnose.suspects import Evidence, Suspects
from opcheck.engine import Expected, Node, operator_of
from opcheck.engine.evaluate import exactly
from opcheck.errors import InvalidNode, NotSupported, few
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import WrongCase, answers_of, node_of
from opcheck.execution.network import Network, Values, case_of, is_whole
from opcheck.execution.workers import Inquiry
from opcheck.model.located import Depth, JudgedNode, Located, Part

#: Passes that come to nothing, and are asked in halves, before it is left at that.
_PATIENCE = 40
#: Characters of what a backend says of a pass.
_LONGEST = 300
#: How many tensors are shown, from the first to the last, with their errors.
_DEPTHS = 16
_UNANSWERED = "the backend does not give all that they read and give"
_EXPOSED = "with tensors as outputs"
_CHANGED = "tensors as outputs change the answer: some nodes are computed together"
_CURED = "any tensor as an output makes the answer right, so that no node is found"
_UNSEARCHED = "nodes computed together cannot be searched for"


def located(network: Network, backend: model.BackendInfo) -> Inquiry[Located]:
    """The inquiry of one backend about the nodes of a model."""
    whole = yield from network.evaluation.on(backend)
    known = not network.case.expect.compares_backends
    if known and whole.result.verdict is model.Verdict.BAD_CASE:
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
    judged = {one.part for one in search.judged}
    left = [part for part in chain.from_iterable(network.passes()) if part not in judged]
    found = Located(
        replace(whole.result, diagnoses=()) if known else None,
        tuple(sorted(search.judged, key=lambda one: one.part.place)),
        (*network.why_not.items(), *((part, _UNANSWERED) for part in left)),
        len(network.parts),
        tuple(_depths(network, search.seen, search.sample)) if known else (),
        taken=network.taken,
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
    beyond = found.wrong and any(
        one.problem == "values" and one.wrong for one in found.wrong.result.comparisons
    )
    # Alone, it is judged by the bound.
    if found.wrong and beyond and search.given.issuperset(search.network.names([found.wrong.part])):
        alone = yield from CaseEvaluation(found.wrong.result.case).on(backend)
        found = replace(found, right_alone=verdict.is_right(alone.result))
    notes = [note[:_LONGEST] for note in dict.fromkeys(search.notes)]
    return replace(found, exposed=few(notes) if notes else "")


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

    def ask(self, answer: model.Produced | None) -> Inquiry[None]:
        """Ask for the tensors of all nodes; `answer` is what the model gives as it is."""
        todo, patience = [*self.network.passes()], _PATIENCE
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

    def _judge(
        self, parts: Sequence[Part], names: Sequence[str], outcome: model.Produced
    ) -> list[Part]:
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
        judgement = verdict.judge(
            "must", network.evaluation.accepted_answers, own, network.case.tolerance
        )
        return judgement.failure is None


def _how(outcome: model.Outcome, count: int = 0) -> str:
    if isinstance(outcome, model.Produced):
        return f"it gave another number than {count}"
    if verdict.depends(outcome):
        return str(outcome)
    judgement = verdict.by_itself("must", outcome)
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
    node = Node(part.op, operands, case.attrs, places, constant, case.opset)
    try:
        wants = [replace(want, drawn=True) for want in answers_of(case, node)]
    except (WrongCase, MemoryError) as error:
        return JudgedNode(part, _unjudged(case, backend, f"unsupported by opcheck: {error}")), None
    if not any(want.values.size for want in wants):
        return JudgedNode(part, _unjudged(case, backend, "no output has an element")), None
    outcome = model.Produced(tuple(got), 0.0, once=True)
    like = next((x for x in operands if x is not None), None)
    judgement = verdict.judge(
        "must", [verdict.Answer(tuple(wants))], outcome, None, like, backend.accumulate
    )
    result = model.LiveResult(case, backend.address, **vars(judgement))
    if judgement.failure is None:
        return JudgedNode(part, result), None
    right = tuple(one.bound.rounded() if one.bound else one.values for one in wants)
    harm = max((_off(*pair) for pair in zip(right, got, strict=False)), default=np.inf)
    judged = JudgedNode(part, result, right, harm)
    return judged, Evidence(node, tuple(got), [tuple(wants)]) if judged.is_wrong else None


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
    """Floating tensors from the first to the last, with the nodes that give them."""
    floats = []
    for part in network.parts:
        dtype = network.whole.dtype(next(iter(part.outputs), ""))
        moves = (operator := operator_of(part.op)) is None or operator.exact
        if dtype and dtype.kind == "float" and not moves and part not in network.why_not:
            floats.append(part)
    places = np.linspace(0, len(floats) - 1, min(_DEPTHS, len(floats))).round().astype(int)
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
    except (InvalidNode, NotSupported, MemoryError):
        return
    for name, answer in zip(names, answers, strict=True):
        got = seen[name]
        if not isinstance(answer, Expected) or answer.values.shape != got.shape:
            continue
        want: Want = replace(outputs.computed_want(node.op, name, answer), drawn=True, whole=True)
        ratio, off = bounded.scatter(want, got), _off(answer.values, got.astype(np.float64))
        if ratio is not None and np.isfinite(off):
            yield Depth(sample[name], off, off / ratio if ratio else 0.0, ratio)
