"""At the end of a run the causes of all failures are named: none that a pass contradicts."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

from opcheck import model
from opcheck.analysis import causes, is_failure, number_of, reds
from opcheck.diagnose.allowance import NoTimeLeft
from opcheck.diagnose.operator_failures import OperatorFailures
from opcheck.engine import Node
from opcheck.engine.mutants import causes_of, mutants_of
from opcheck.errors import InvalidNode
from opcheck.execution.expected import node_of
from opcheck.execution.scheduler import Scheduler
from opcheck.report.formatting import Recorder
from tests.asking import shipped_cases
from tests.computed import evaluate
from tests.inline import Inline
from tests.miniatures import Fake

#: Answers a node; raises InvalidNode to refuse it.
Answer = Callable[[Node], Any]


def failing(where: Callable[[Node], Any], error: Exception) -> Answer:
    """Right, but for nodes in which this is raised."""

    def answer(node: Node) -> Any:
        if where(node):
            raise error
        return right(node)

    return answer


def right(node: Node) -> Any:
    return evaluate(node.op, node.inputs, node.attrs)


def last_of_ties_in_float32(node: Node) -> Any:
    """The mistake, and an output of another type."""
    (one,) = (one for one in mutants_of(node.op) if one.name == "last_of_ties")
    return [np.asarray(out).astype(np.float32) for out in one.answer(node)]


@cache
def shipped(op: str) -> tuple[model.Case, ...]:
    """Cases of an operator that are quickly judged, of two of its versions and types."""
    cases = [case for case in shipped_cases(op) if case.level != "deep"]
    cases = [case for case in cases if sum(spec.nbytes for spec in case.inputs) <= 1 << 12]
    versions, types = sorted({case.op.since for case in cases})[-2:], ("float32", "float64")
    cases = [case for case in cases if case.op.since in versions]
    return tuple(case for case in cases if str(case.inputs[0].dtype) in types)


def final(stream: Scheduler, recorder: Recorder) -> list[model.Record]:
    """The records of a run with their final diagnoses."""
    records = [recorder.record(cast(model.LiveResult, result)) for result in stream]
    final = stream.with_causes(records)
    return [final.get(number, one) for number, one in enumerate(records)]


def judged(cases: Sequence[model.Case], answer: Answer) -> list[model.Record]:
    """The records of a run of a wrong backend, as they are in the end."""
    red, recorder = reds(), Recorder(cases, ["fake"])

    def prepared(task: Any) -> Any:
        return lambda inputs: answer(node_of(task, [*map(np.copy, inputs)]))

    backend = Inline(Fake(prepared, documented_errors=(InvalidNode,)))
    stream = Scheduler(cases, [backend], is_unexplained=lambda one: is_failure(one, red))
    return final(stream, recorder)


def asked(name: str) -> tuple[model.Case, ...]:
    """A third of the cases, which one of the `MINIATURES` is asked."""
    return shipped(MINIATURES[name][0])[::3]


@cache
def judged_as(name: str) -> list[model.Record]:
    """The records of a run of one of the `MINIATURES`."""
    _, answer, _ = MINIATURES[name]
    return judged(asked(name), answer)


def failures(records: Sequence[model.Record]) -> list[model.Record]:
    return [one for one in records if is_failure(one, reds())]


def rank(node: Node) -> int:
    return node.inputs[0].ndim


def two_refusals(node: Node) -> Any:
    if node.attrs.get("auto_pad") == "SAME_UPPER":
        raise InvalidNode("SAME_UPPER is not implemented")
    if rank(node) > 4:
        raise InvalidNode(f"only 1-D and 2-D pooling: rank {rank(node)}")
    return right(node)


IN_FLOAT32 = "the output was float32 whatever the input"
LAST = "the last of equal maxima won"

#: Backends that are wrong, and all that is to be said of each.
MINIATURES: dict[str, tuple[str, Answer, set[str]]] = {
    "a_choice_and_a_type": (
        "Hardmax",
        last_of_ties_in_float32,
        {LAST, IN_FLOAT32, f"{LAST}, and {IN_FLOAT32}"},
    ),
    "two_messages": (
        "LpPool",
        two_refusals,
        {
            "your backend raised InvalidNode: SAME_UPPER is not implemented,"
            " where `auto_pad` is SAME_UPPER",
            "your backend raised InvalidNode: only 1-D and 2-D pooling: rank 5;"
            " more than four axes were not supported",
        },
    ),
    "a_mistake_in_some_cases": (
        "Softmax",
        lambda node: [out * (2 if rank(node) == 5 else 1) for out in right(node)],
        {"every value was twice as large, where the rank of the input is 5"},
    ),
}


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
    unstable = [one for one in failures(final(stream, recorder)) if one.failure == "unstable"]
    named = [one for one in unstable if one.diagnoses and one.diagnoses[0].text == text]
    assert len(named) > len(unstable) / 2 > 2


def channels_apart_in_one_group(node: Node) -> Any:
    """One group is taken for as many as there are channels."""
    channels = node.given[0].shape[1]
    is_one = node.attrs["num_groups"] == 1
    return right(node.with_attrs(num_groups=channels) if is_one else node)


def test_a_mistake_at_one_value_of_an_attribute_is_not_about_the_attribute() -> None:
    wrong = failures(judged(shipped("GroupNormalization"), channels_apart_in_one_group))
    assert len(wrong) > 3
    assert {record.diagnoses[0].mistake for record in wrong} == {"instances"}


def squared_in_float32(node: Node) -> Any:
    """The root of the square and 1 divides a float32: of large numbers the square is infinite."""
    (x,) = node.given
    if x.dtype != np.float32:
        return right(node)
    with np.errstate(all="ignore"):
        sine = x / np.sqrt(x * x + np.float32(1))
        return [np.where(np.isinf(x * x), np.arcsin(sine), right(node)[0])]


def test_one_bound_for_all_failures_comes_before_two_parts(snapshot) -> None:
    wrong = failures(judged(shipped("Atan"), squared_in_float32))
    outcomes = {text_of(record) for record in wrong}
    assert len(wrong) > 2
    assert len(outcomes) == 1
    snapshot("one_bound_for_all", outcomes.pop())


def text_of(record: model.Record) -> str:
    return record.diagnoses[0].text if record.diagnoses else ""


def without_the_first(node: Node) -> Any:
    """The first element is 0."""
    (out,) = map(np.copy, right(node))
    out.reshape(-1)[:1] = 0
    return [out]


def test_values_that_are_first_in_few_cases_name_no_mistake_of_the_first_element() -> None:
    wrong = failures(judged(shipped("Sigmoid"), without_the_first))
    assert len(wrong) > 9
    assert not any(" has a" in text_of(record) for record in wrong)


def always_in_training(node: Node) -> Any:
    """The batch's own statistics normalize, but for a vector and statistics of each element."""
    (wrong,) = (one for one in causes_of(node.op) if one.name == "batch_statistics_always")
    is_vector = rank(node) == 1 or node.given[3].ndim != 1
    return right(node) if is_vector else wrong.answer(node)


@cache
def normalizations() -> list[model.Case]:
    """Small cases of BatchNormalization of two versions, in float32."""
    cases = [case for case in shipped_cases("BatchNormalization") if case.level != "deep"]
    cases = [case for case in cases if sum(spec.nbytes for spec in case.inputs) <= 1 << 10]
    cases = [case for case in cases if case.op.since in (6, 9)]
    return [case for case in cases if str(case.inputs[0].dtype) == "float32"]


def test_a_mutant_that_explains_others_comes_before_one_that_would_refuse_passes() -> None:
    wrong = failures(judged(normalizations(), always_in_training))
    assert len(wrong) > 9
    assert {record.diagnoses[0].mistake for record in wrong} == {"batch_statistics_always"}


def test_without_time_for_its_condition_no_other_mutant_is_named(monkeypatch) -> None:
    def against(self: Any, mutant: Any, **options: Any) -> Any:
        raise NoTimeLeft

    monkeypatch.setattr(OperatorFailures, "against", against)
    wrong = failures(judged(normalizations(), always_in_training))
    named = {diagnosis.mistake for record in wrong for diagnosis in record.diagnoses[:1]}
    assert "batch_statistics_always" in named
    assert "version_6_always" not in named
