"""The first wrong node of a model, each judged on the backend's own inputs to it.

The model is asked again with its tensors as outputs, in as many passes as memory needs, so that no
earlier error counts against a node. Where the backend is wrong and no node is, it computes several
together: then the tensors that have to be outputs for the answer to be right are searched for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from opcheck import model
from opcheck.backends import same_answers
from opcheck.compare import Want, verdict
from opcheck.compare.bounded import scatter
from opcheck.compare.outputs import computed_want
from opcheck.diagnose.suspects import Evidence, Suspects
from opcheck.engine import Expected, Node, operator_of
from opcheck.engine.evaluate import exactly
from opcheck.errors import InvalidNode, NotSupported, few
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.expected import WrongCase, answers_of, node_of
from opcheck.execution.network import Network, Values, case_of
from opcheck.execution.workers import Inquiry
from opcheck.model import Array, BackendInfo, Case, LiveResult, Verdict
from opcheck.model.located import Depth, JudgedNode, Located, Part

#: Passes that come to nothing, and are asked in halves, before it is left at that.
_PATIENCE = 40
#: Characters of what a backend says of a pass.
_LONGEST = 300
#: How many tensors are shown, from the first to the last, with their errors.
_DEPTHS = 16


def located(network: Network, backend: BackendInfo) -> Inquiry[Located]:
    """The inquiry of one backend about the nodes of a model."""
    whole = yield from network.evaluation.on(backend)
    known = not network.case.expect.compares_backends
    if known and whole.result.verdict is Verdict.BAD_CASE:
        return Located(whole.result, (), (), len(network.parts))
    judged: list[JudgedNode] = []
    seen: dict[str, Any] = {}
    notes: list[str] = []
    sample = _sample(network)
    todo = [*network.passes()]
    patience = _PATIENCE
    while todo:
        parts = todo.pop(0)
        names = network.names(parts)
        question = network.asking_for(names)
        outcome = (yield question).outcome
        whole_numbers: Values = {}
        if isinstance(outcome, model.Raised | model.Declined):
            notes.append(f"with tensors as outputs: {_how(outcome)}")
            # Some engines give out no sizes: opcheck's own are exact.
            whole_numbers = network.whole_numbers
            question = network.asking_for([one for one in names if one not in whole_numbers])
            outcome = (yield question).outcome
        given = [one.name for one in question.task.outputs]
        is_answer = isinstance(outcome, model.Produced)
        if not isinstance(outcome, model.Produced) or len(outcome.outputs) != len(given):
            said = f"it gave another number than {len(given)}" if is_answer else _how(outcome)
            notes.append(f"with tensors as outputs: {said}")
            patience -= 1
            if len(parts) > 1 and patience > 0 and not isinstance(outcome, model.TimedOut):
                todo[:0] = [parts[: len(parts) // 2], parts[len(parts) // 2 :]]
            continue
        fed = question.task.feed(question.inputs)
        runs = [outcome.outputs, *(run for run in (outcome.between, outcome.again) if run)]
        first = dict(zip(given, runs[0], strict=False))
        seen |= {name: first[name] for name in sample if name in first}
        for number, run in enumerate(runs):
            answered = dict(zip(given, run, strict=False))
            values = {**whole_numbers, **network.constants, **fed, **answered}
            for part in parts:
                if not number or _differs(network, part, first, values):
                    one, evidence = _judged(network, part, values, backend, number)
                    # To say what a node looks like takes long; the first wrong one is shown.
                    if evidence and not any(
                        it.is_wrong and it.part.place < part.place for it in judged
                    ):
                        looks = Suspects(lambda case: None).diagnose(evidence)
                        one = replace(one, result=replace(one.result, diagnoses=looks))
                    judged.append(one)
        own = runs[0][: len(network.case.outputs)]
        if whole.answer and not same_answers(whole.answer.outputs, own):
            notes.append("tensors as outputs change the answer: some nodes are computed together")
    found = Located(
        replace(whole.result, diagnoses=()) if known else None,
        tuple(sorted(judged, key=lambda one: one.part.place)),
        tuple((part, why) for part in network.parts if (why := network.why_not(part))),
        len(network.parts),
        tuple(_depths(network, seen, sample)) if known else (),
        few([note[:_LONGEST] for note in dict.fromkeys(notes)]) if notes else "",
        taken=network.taken,
    )
    wrong = found.by_itself
    if known and wrong and (before := network.up_to(wrong.part)).case.outputs:
        # What it reads may be wrong where it is no output.
        network, whole = before, (yield from before.evaluation.on(backend))
    if known and whole.result.failure in ("values", "precision"):
        together = yield from _together(network, backend)
        found = replace(found, together=together)
    if found.wrong and found.wrong.right:
        alone = yield from CaseEvaluation(found.wrong.result.case).on(backend)
        found = replace(found, hangs=verdict.is_right(alone.result))
    return found


def _how(outcome: model.Outcome) -> str:
    if verdict.depends(outcome):
        return str(outcome)
    judgement = verdict.by_itself("must", outcome)
    return f"{judgement.verdict}: {judgement.reason}"


def _differs(network: Network, part: Part, first: Values, values: Values) -> bool:
    """Return True if a later run gave a node other inputs or outputs."""
    names = [name for name in (*network.node(part).inputs, *part.outputs) if name in first]
    return not same_answers(*(tuple(some[name] for name in names) for some in (first, values)))


def _judged(
    network: Network, part: Part, values: Values, backend: BackendInfo, run: int
) -> tuple[JudgedNode, Evidence | None]:
    """Judge a node by what the backend fed it, and gave; then the evidence against a wrong one."""
    case = case_of(network, part, values, later=run > 0)
    got: list[Any] = [values.get(name) for name in part.outputs if name]
    operands = tuple(values.get(name) if name else None for name in network.node(part).inputs)
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
    result = LiveResult(case, backend.address, **vars(judgement))
    if judgement.failure is None:
        return JudgedNode(part, result), None
    right = tuple(one.bound.rounded() if one.bound else one.values for one in wants)
    harm = max((_off(*pair) for pair in zip(right, got, strict=False)), default=np.inf)
    judged = JudgedNode(part, result, right, harm)
    return judged, Evidence(node, tuple(got), [tuple(wants)]) if judged.is_wrong else None


def _off(right: Array, got: Any) -> float:
    """How far off an output is, relative to its size; infinity where that says nothing."""
    if isinstance(got, model.Foreign) or got.shape != right.shape or not right.size:
        return np.inf
    if got.dtype != right.dtype or right.dtype.kind not in "fiu":
        return np.inf
    with np.errstate(all="ignore"):
        y, x = right.astype(np.float64), got.astype(np.float64)
        found = float(np.sqrt(np.mean((x - y) ** 2)) / np.sqrt(np.mean(y**2)))
    return found if np.isfinite(found) else np.inf


def _unjudged(case: Case, backend: BackendInfo, reason: str) -> LiveResult:
    return LiveResult(case, backend.address, Verdict.UNSUPPORTED, reason, beyond=True)


def _together(network: Network, backend: BackendInfo) -> Inquiry[Part | None]:
    """The first node whose outputs, with those before it, make the answer right as outputs."""
    every = [*chain.from_iterable(network.passes())]
    # Where branches stand in place of Ifs, that alone may make it right.
    low, high = -1 if network.taken else 0, len(every)
    while low < high:
        middle = (low + high) // 2
        names = chain.from_iterable(part.outputs for part in every[: middle + 1])
        outcome = (yield network.asking_for([*filter(None, names)])).outcome
        if isinstance(outcome, model.Produced):
            own = outcome.outputs[: len(network.case.outputs)]
            outcome = model.Produced(own, 0.0, once=True)
        judgement = verdict.judge(
            "must", network.evaluation.accepted_answers, outcome, network.case.tolerance
        )
        low, high = (low, middle) if judgement.failure is None else (middle + 1, high)
    return every[low] if 0 <= low < len(every) else None


def _sample(network: Network) -> dict[str, Part]:
    """Floating tensors from the first to the last, with the nodes that give them."""
    floats: dict[str, Part] = {}
    for part in network.parts:
        dtype = network.whole.dtype(part.outputs[0])
        moves = (operator := operator_of(part.op)) is None or operator.exact
        if dtype and dtype.kind == "float" and not moves and not network.why_not(part):
            floats[part.outputs[0]] = part
    places = np.linspace(0, len(floats) - 1, min(_DEPTHS, len(floats))).round().astype(int)
    names = [*floats]
    return {names[n]: floats[names[n]] for n in places.tolist()}


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
        want: Want = replace(computed_want(node.op, name, answer), drawn=True, whole=True)
        if (ratio := scatter(want, got)) is None:
            continue
        if np.isfinite(off := _off(answer.values, got.astype(np.float64))):
            yield Depth(sample[name], off, off / ratio if ratio else 0.0, ratio)
