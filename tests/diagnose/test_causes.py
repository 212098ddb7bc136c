"""At the end of a run the causes of all failures are named: none that a pass contradicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

from opcheck import model
from opcheck.analysis import causes, is_failure, number_of, reds
from opcheck.engine import Node
from opcheck.engine.mutants import mutants_of
from opcheck.errors import InvalidNode
from opcheck.execution.expected import node_of
from opcheck.execution.scheduler import Scheduler
from opcheck.report.formatting import Recorder
from tests.asking import shipped_cases
from tests.computed import evaluate
from tests.inline import Inline
from tests.miniatures import Fake

#: Answers a node; raises InvalidNode to refuse it, or `_Lost` for what becomes of the process.
Answer = Callable[[Node], Any]


@dataclass
class _Lost(Exception):
    outcome: model.Outcome


CRASH = model.Crashed("killed by SIGSEGV")


def failing(where: Callable[[Node], Any], error: Exception) -> Answer:
    """Right, but for nodes in which this is raised."""

    def answer(node: Node) -> Any:
        if where(node):
            raise error
        return right(node)

    return answer


def dies(where: Callable[[Node], Any], outcome: model.Outcome = CRASH) -> Answer:
    return failing(where, _Lost(outcome))


def right(node: Node) -> Any:
    return evaluate(node.op, node.inputs, node.attrs)


def mistaken(name: str) -> Answer:
    """The mistake of this name, where the operator has it."""

    def answer(node: Node) -> Any:
        found = [one for one in mutants_of(node.op) if one.name == name]
        return found[0].answer(node) if found else right(node)

    return answer


def in_type(dtype: Any, answer: Answer) -> Answer:
    """The outputs of `answer`, in another type."""
    return lambda node: [np.asarray(one).astype(dtype) for one in answer(node)]


def clipped_to_float32(node: Node) -> Any:
    """Everything is computed in float32, whose largest number stands for all that is larger."""
    if node.inputs[0].dtype != np.float64:
        return right(node)
    low, high = np.finfo(np.float32).min, np.finfo(np.float32).max
    narrow = tuple(np.clip(one, low, high).astype(np.float32) for one in node.inputs)
    outputs = right(replace(node, inputs=narrow))
    return [np.clip(one, low, high).astype(np.float64) for one in outputs]


class Miniature(Inline):
    """A backend that answers in this process, which a crash does not end."""

    def __init__(self, answer: Answer) -> None:
        self.lost: model.Outcome | None = None

        def prepared(task: Any) -> Any:
            return lambda inputs: self.answered(answer, node_of(task, [*map(np.copy, inputs)]))

        super().__init__(Fake(prepared, documented_errors=(InvalidNode,)))

    def answered(self, answer: Answer, node: Node) -> Any:
        try:
            return answer(node)
        except _Lost as lost:
            self.lost = lost.outcome
            raise

    def ask(self, question: model.Question) -> int:
        self.lost = None
        number = super().ask(question)
        if self.lost:
            self._done[-1] = number, model.Reply(self.lost)
        return number


@cache
def shipped(op: str) -> tuple[model.Case, ...]:
    """Cases of an operator that are quickly judged, of two of its versions and types."""
    cases = [case for case in shipped_cases(op) if case.level != "deep"]
    cases = [case for case in cases if sum(spec.nbytes for spec in case.inputs) <= 1 << 12]
    versions, types = sorted({case.op.since for case in cases})[-2:], ("float32", "float64")
    cases = [case for case in cases if case.op.since in versions]
    return tuple(case for case in cases if str(case.inputs[0].dtype) in types)


def judged(cases: Sequence[model.Case], answer: Answer) -> list[model.Record]:
    """The records of a run of a wrong backend, as they are in the end."""
    red, recorder = reds(), Recorder(cases, ["fake"])
    stream = Scheduler(cases, [Miniature(answer)], is_unexplained=lambda one: is_failure(one, red))
    return stream.settled([recorder.record(cast(model.LiveResult, result)) for result in stream])


def asked(name: str) -> tuple[model.Case, ...]:
    """The cases that one of the `MINIATURES` is asked: a third, or all where few of them tell."""
    op, *_ = MINIATURES[name]
    return shipped(op) if name in TOLD_BY_FEW else shipped(op)[::3]


@cache
def judged_as(name: str) -> list[model.Record]:
    """The records of a run of one of the `MINIATURES`."""
    _, answer, _ = MINIATURES[name]
    return judged(asked(name), answer)


def failures(records: Sequence[model.Record]) -> list[model.Record]:
    return [one for one in records if is_failure(one, reds())]


def rank(node: Node) -> int:
    return node.inputs[0].ndim


def length(node: Node, axis: int) -> int:
    shape = node.inputs[0].shape
    return shape[axis] if axis < len(shape) else 0


def is_float32(node: Node) -> bool:
    return node.inputs[0].dtype == np.float32


def attr(name: str, default: Any) -> Callable[[Node], Any]:
    return lambda node: node.attrs.get(name, default)


def two_refusals(node: Node) -> Any:
    if node.attrs.get("auto_pad") == "SAME_UPPER":
        raise InvalidNode("SAME_UPPER is not implemented")
    if rank(node) > 4:
        raise InvalidNode(f"only 1-D and 2-D pooling: rank {rank(node)}")
    return right(node)


def longer_than_32_along_axis_1(node: Node) -> Any:
    wrong = length(node, 1) > 32
    return [(out * np.float64(1.5)).astype(out.dtype) if wrong else out for out in right(node)]


def any_of_ties(node: Node) -> Any:
    """In rows of 9 or more another of equal maxima has the one; which depends on the length."""
    (x,) = node.inputs
    axis = attr("axis", -1)(node)
    if node.op.since < 13 or not x.size or x.shape[axis] < 9 or np.isnan(x).any():
        return right(node)
    ties = np.moveaxis(x == x.max(axis, keepdims=True), axis, -1)
    order = np.argsort(~ties, axis=-1, kind="stable")
    chosen = x.shape[axis] * 7 % ties.sum(axis=-1, keepdims=True)
    places = np.take_along_axis(order, chosen, -1)
    return [np.moveaxis(np.arange(x.shape[axis]) == places, -1, axis).astype(x.dtype)]


NO_COERCION = "as if version 13 was computed, whatever the model's opset"
IN_FLOAT32 = "the output was float32 whatever the input"
LAST = "as if the last of equal maxima won"

#: Backends that are wrong, and all that is to be said of each.
MINIATURES: dict[str, tuple[str, Answer, set[str]]] = {
    "attribute_left_out": (
        "LpPool",
        dies(lambda node: "strides" not in node.attrs),
        {"dies (killed by SIGSEGV) where `strides` is left out"},
    ),
    "empty_tensor": (
        "Hardmax",
        dies(lambda node: 0 in node.inputs[0].shape),
        {"dies (killed by SIGSEGV) where the input has an axis of length 0"},
    ),
    "size_beyond_a_limit": (
        "Softmax",
        dies(lambda node: max(node.inputs[0].shape, default=0) > 64, model.TimedOut(30.0)),
        {"hangs (no answer within * s) where the longest axis of the input is 65 or more"},
    ),
    "rank": (
        "Softmax",
        dies(lambda node: rank(node) > 5, model.OutOfMemory("took more than 2 GiB")),
        {"takes too much memory (took more than * GiB) where the rank of the input is 6 or more"},
    ),
    "type_and_attribute": (
        "Softmax",
        dies(lambda node: is_float32(node) and attr("axis", 0)(node) < 0),
        {"dies (killed by SIGSEGV) where the input is float32 and `axis` is negative"},
    ),
    "two_messages": (
        "LpPool",
        two_refusals,
        {
            "refuses the model (InvalidNode: SAME_UPPER is not implemented)"
            " where `auto_pad` is SAME_UPPER",
            "as if more than four axes were not supported",
        },
    ),
    "every_case_raises": (
        "Gather",
        lambda node: node.x,
        {"refuses the model (AttributeError: 'Node' object has no attribute 'x') in every case"},
    ),
    "another_number_of_outputs": (
        "Hardmax",
        lambda node: [*right(node), *right(node)],
        {"as if there were two outputs"},
    ),
    "saturated_float32": (
        "LpPool",
        clipped_to_float32,
        {"as if it was computed in float32, where what leaves its range became 3.4e+38"},
    ),
    "values_beyond_a_length": (
        "Softmax",
        longer_than_32_along_axis_1,
        {"gives wrong values where the length of axis 1 of the input is 33 or more"},
    ),
    "another_of_equal_maxima": (
        "Hardmax",
        any_of_ties,
        {"like the right values, swapped between equal elements of the input"},
    ),
    "a_mistake_in_some_cases": (
        "Softmax",
        lambda node: [out * (2 if rank(node) == 5 else 1) for out in right(node)],
        {"as if every value was twice as large, where the rank of the input is 5"},
    ),
    "a_mistake_and_a_type": (
        "Softmax",
        in_type(np.float32, mistaken("version_13_always")),
        {NO_COERCION, f"as if {IN_FLOAT32}", f"{NO_COERCION}, and {IN_FLOAT32}"},
    ),
    "a_choice_and_a_type": (
        "Hardmax",
        in_type(np.float32, mistaken("last_of_ties")),
        {LAST, f"as if {IN_FLOAT32}", f"{LAST}, and {IN_FLOAT32}"},
    ),
}

#: These are told by the few cases that are longer, or in which both mistakes show.
TOLD_BY_FEW = {"size_beyond_a_limit", "another_of_equal_maxima", "a_mistake_and_a_type"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", MINIATURES)
def test_what_is_wrong_is_named_and_nothing_else(name: str) -> None:
    expected = MINIATURES[name][2]
    wrong = failures(judged_as(name))
    found = causes(wrong)
    assert sum(len(cause.results) for cause in found) == len(wrong) > 5
    assert {cause.diagnosis.text for cause in found} == expected
    # Two mistakes at once are two, in however many rows they stand.
    assert number_of(found) == min(len(expected), 2)
    assert all(cause.explained for cause in found)


def test_how_often_a_cause_was_seen_is_told_and_that_nothing_speaks_against_it() -> None:
    records = judged_as("attribute_left_out")
    (cause,) = causes(failures(records))
    lost = len(failures(records))
    others = [one for one in asked("attribute_left_out") if "strides" in one.attrs]
    counts = cause.diagnosis.counts
    assert counts is not None
    here, such, elsewhere, rest = counts
    assert here == such == lost
    # Beside the cases with strides, the legal twins of those that must be refused.
    assert (elsewhere, rest > len(others) > 50) == (0, True)


def test_what_wrong_values_have_in_common_is_told_beside_their_cause() -> None:
    said = {d.text for one in judged_as("a_mistake_in_some_cases") for d in one.diagnoses[1:]}
    assert said == {"like 2 times the right values, where it is wrong"}


def test_a_pass_that_comes_later_counts_too() -> None:
    cases = shipped("LpPool")[::3]
    asymmetric = failing(lambda node: rank(node) > 5, InvalidNode("only three spatial axes"))
    for order in (cases, cases[::-1]):
        names = {d.mistake for one in failures(judged(order, asymmetric)) for d in one.diagnoses}
        assert "refuses_four_spatial_axes" in names
        assert "refuses_asymmetric_pads" not in names


@pytest.mark.gate
def test_a_type_that_is_answered_is_supported_though_the_answer_is_wrong() -> None:
    some = failing(lambda node: rank(node) > 2, InvalidNode("at most two axes"))
    cases = [case for case in shipped("Hardmax") if 0 not in case.inputs[0].shape]
    records = judged(cases, lambda node: [np.full_like(out, 7) for out in some(node)])
    raised = {d.mistake for one in records if one.failure == "raised" for d in one.diagnoses}
    assert raised - {"refuses_float32"} == raised != set()


@pytest.mark.gate
def test_the_order_of_results_does_not_matter() -> None:
    _, answer, _ = MINIATURES["two_messages"]
    one, other = (
        {r.case: r.diagnoses[:1] for r in failures(records)}
        for records in (judged_as("two_messages"), judged(asked("two_messages")[::-1], answer))
    )
    assert one == other


def writes(node: Node, kept: dict[str, Any]) -> Any:
    found = [one.copy() for one in right(node)]
    kept["inputs"][0][...] = 7
    return found


def reuses(node: Node, kept: dict[str, Any]) -> Any:
    out = kept["outputs"].setdefault(0, right(node)[0])
    out[...] = right(node)[0]
    return [out]


def remembers(node: Node, kept: dict[str, Any]) -> Any:
    return kept["outputs"].setdefault(0, right(node))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (writes, "writes into its inputs"),
        (reuses, "reuses the memory of outputs that it has returned"),
        (remembers, "answers other data with the first answer"),
    ],
)
def test_what_is_wrong_with_the_state_of_a_backend_is_named(answer, text):
    def prepared(task: Any) -> Any:
        outputs: dict[int, Any] = {}
        return lambda inputs: answer(
            node_of(task, [*map(np.copy, inputs)]), {"inputs": inputs, "outputs": outputs}
        )

    cases, red = shipped("Relu"), reds()
    recorder = Recorder(cases, ["fake"])
    stream = Scheduler(cases, [Inline(Fake(prepared))], is_unexplained=lambda r: is_failure(r, red))
    records = stream.settled([recorder.record(cast(model.LiveResult, one)) for one in stream])
    unstable = [one for one in failures(records) if one.failure == "unstable"]
    named = [one for one in unstable if one.diagnoses and one.diagnoses[0].text == text]
    assert len(named) > len(unstable) / 2 > 2
