from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opcheck import model
from opcheck.backends.base import Backend, Defect, ProcessDied, UnusableAnswer
from opcheck.backends.execute import attempt, second_data
from opcheck.errors import BackendUnavailable, InvalidNode, NotSupported
from opcheck.graph import NotExpressible
from tests.asking import asking, task_of
from tests.expecting import of_type
from tests.miniatures import HABITS, Fake, Refused, answering, in_turn, refusing, twice
from tests.wording import Wording

X = np.array([[1, 2, 3], [4, 5, 7]], np.float32)
PROBLEM = task_of("Neg", 13, {}, X)
WRONG = X + 1
TEXT = np.array(["a\n"], object)


def outcome_of(backend: Backend, x: Any = X) -> model.Outcome:
    return attempt(backend, asking(PROBLEM, x))


def produced_by(backend: Backend, x: Any = X) -> model.Produced:
    return of_type(model.Produced, outcome_of(backend, x))


def test_a_sound_backend_is_stable_and_not_stale() -> None:
    outcome = produced_by(answering(twice))
    assert (outcome.unstable, outcome.stale) == (None, False)
    assert outcome.outputs[0].tolist() == (X + X).tolist()  # type: ignore[union-attr]
    assert outcome.seconds >= 0


def test_a_backend_runs_on_a_then_b_then_a() -> None:
    seen = []
    prepared = []

    def run(inputs: Any) -> Any:
        seen.append(inputs[0].tolist())
        return [inputs[0].copy()]

    def prepare(problem: Any) -> Any:
        prepared.append(problem)
        return run

    outcome_of(answering(run))
    assert seen == [X.tolist(), X[::-1, ::-1].tolist(), X.tolist()]
    outcome_of(Fake(prepare))
    assert prepared == [PROBLEM]


@pytest.mark.parametrize(
    "habit",
    [
        "modifies_its_input",
        "returns_its_only_buffer",
    ],
)
def test_a_backend_that_contradicts_itself_is_unstable(habit: str, wording: Wording) -> None:
    outcome = produced_by(Fake(lambda _: HABITS[habit](twice)))
    assert outcome.unstable is not None
    assert outcome.unstable == wording
    # What is judged is the first answer as it was, before anything overwrote it.
    assert outcome.outputs[0].tolist() == (X + X).tolist()  # type: ignore[union-attr]


def test_a_backend_that_answers_old_data_is_stale() -> None:
    forever = HABITS["returns_the_first_answer_forever"]
    # Whether it had to change is for those to say who know the operator.
    for backend in (Fake(lambda _: forever(twice)), answering(lambda inputs: [np.zeros(3)])):
        outcome = produced_by(backend)
        assert (outcome.unstable, outcome.stale) == (None, True)


def test_without_other_data_nothing_is_stale() -> None:
    whole = np.array([1, 2, 3])
    outcome = produced_by(answering(lambda inputs: [whole]), whole)
    assert (outcome.unstable, outcome.stale) == (None, False)


def test_the_second_input_is_watched_as_well(wording: Wording) -> None:
    def ruin(inputs: Any) -> Any:
        inputs[1][0, 0] += 1
        return [X]

    question = asking(task_of("Add", 13, {}, X, X), X, X, second=[X, X])
    outcome = of_type(model.Produced, attempt(answering(ruin), question))
    assert outcome.unstable == wording


def test_an_input_that_comes_back_as_the_output_is_no_offence() -> None:
    outcome = produced_by(answering(lambda inputs: [inputs[0]]))
    assert (outcome.unstable, outcome.stale) == (None, False)


@pytest.mark.parametrize(
    "answers",
    [
        ([X], [X], [X.astype(np.float64)]),
        ([X], [X], [X.view(np.int32)]),
        ([X], [X], [X.reshape(-1)]),
        ([X], [X], [X, X]),
        ([X, X], [X], []),
        ([X], [X], [None]),
        ([X], [X], None),
        ([None], [None], [X]),
        ([None], [None], ["text"]),
        ([X, X], [X, X], [X, X[0]]),
    ],
)
def test_the_third_answer_must_have_the_form_of_the_first(answers: Any, wording: Wording) -> None:
    outcome = produced_by(in_turn(*answers))
    assert outcome.unstable == wording


@pytest.mark.parametrize(
    ("answers", "place"),
    [
        (([X], [X], [WRONG]), 0),
        (([WRONG], [X], [X]), 0),
        (([X, X], [X, X], [X, WRONG]), 1),
        (([TEXT], [TEXT], [TEXT * 99]), 0),
    ],
)
def test_other_values_of_the_third_answer_are_for_those_to_judge_who_know_better(
    answers, place, wording
):
    outcome = produced_by(in_turn(*answers))
    assert outcome.unstable is None
    assert outcome.again is not None
    assert np.array_equal(outcome.again[place], answers[2][place])  # type: ignore[arg-type]
    assert outcome.differs == wording


def test_the_same_answer_again_is_not_kept_twice() -> None:
    outcome = produced_by(in_turn([X], [WRONG], [X]))
    assert (outcome.again, outcome.differs) == (None, "")


def test_values_and_shape_of_the_answer_to_other_data_may_be_any() -> None:
    for between in ([WRONG], [X.reshape(-1)]):
        outcome = produced_by(in_turn([X], between, [X]))
        assert (outcome.unstable, outcome.stale) == (None, False)


@pytest.mark.parametrize(
    "between",
    [
        [None],
        [X.astype(np.float64)],
        [],
        [X, X],
    ],
)
def test_number_and_dtypes_of_the_answer_do_not_depend_on_the_data(
    between: Any, wording: Wording
) -> None:
    assert produced_by(in_turn([X], between, [X])).unstable == wording


@pytest.mark.parametrize("run", [1, 2, 3])
def test_the_inputs_of_every_run_are_watched_to_the_end(run: int, wording: Wording) -> None:
    seen: list[Any] = []

    def later(inputs: Any) -> Any:
        seen.append(inputs[0])
        if len(seen) == 3:
            seen[run - 1][...] = 99
        return [X]

    assert produced_by(answering(later)).unstable == wording


def test_other_data_may_be_refused_where_nobody_knows_whether_they_are_legal() -> None:
    question = asking(PROBLEM, X, second_is_legal=False)
    for error in (ValueError("not in range"), NotSupported("not here"), MemoryError()):
        outcome = of_type(model.Produced, attempt(in_turn([X], error, [X]), question))
        assert (outcome.unstable, outcome.between, outcome.stale) == (None, None, False)
    fallen = in_turn([X], BackendUnavailable("fell back"), [X])
    assert attempt(fallen, question) == model.NotRun("fell back")
    died = in_turn([X], ProcessDied("killed by SIGSEGV"), [X])
    assert attempt(died, question) == model.Crashed("killed by SIGSEGV")


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_nan_of_any_bits_and_zero_of_any_sign_are_the_same_answer(dtype: Any) -> None:
    one = np.array([np.nan, 0.0, 1.0]).astype(dtype)
    other = np.array([-np.nan, -0.0, 1.0]).astype(dtype)
    assert one.tobytes() != other.tobytes()
    outcome = produced_by(in_turn([one], [one], [other]))
    assert (outcome.unstable, outcome.again) == (None, None)


class Liar(np.ndarray):
    """Equal to everything, whatever is asked of it."""

    def __eq__(self, other: object) -> Any:
        return True

    def __array_function__(self, *_: Any, **__: Any) -> Any:
        return True

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return True

    def tobytes(self, *_: Any) -> bytes:
        return b"always the same"

    __hash__ = None


def test_an_array_that_lies_about_comparison_is_stripped_of_its_class() -> None:
    outcome = produced_by(in_turn([X.view(Liar)], [X.view(Liar)], [WRONG.view(Liar)]))
    assert type(outcome.outputs[0]) is np.ndarray
    assert outcome.again is not None


class OtherTensor:
    """What another library may return: it can be made an array, and claims to be one."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    def __array__(self, *_: Any, **__: Any) -> Any:
        return X


def test_what_only_claims_to_be_an_array_is_named_by_its_type() -> None:
    (out,) = produced_by(answering(lambda inputs: [OtherTensor()])).outputs
    assert of_type(model.Foreign, out).description.endswith(".OtherTensor")


@pytest.mark.parametrize("stage", ["prepare", "run"])
def test_an_exception_is_raised_documented_or_not(stage: str) -> None:
    worse = type("Worse", (Refused,), {})("no")
    for error, documented in ((Refused("no"), True), (worse, True), (ValueError("no"), False)):
        outcome = outcome_of(refusing(error, stage))
        assert outcome == model.Raised(stage, type(error).__name__, "no", documented)


@pytest.mark.parametrize(
    "error", [GeneratorExit(), RecursionError(), OSError(5), BaseException("x")]
)
def test_no_exception_of_a_backend_ends_the_run(error: BaseException) -> None:
    for stage in ("prepare", "run"):
        outcome = of_type(model.Raised, outcome_of(refusing(error, stage)))
        assert (outcome.kind, outcome.documented) == (type(error).__name__, False)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), Defect("a bug of ours"), type("Worse", (Defect,), {})("mine")]
)
def test_an_interrupt_and_a_bug_of_opcheck_pass_through(error: BaseException) -> None:
    for backend in (
        refusing(error),
        refusing(error, "run"),
        in_turn([X], error),
        in_turn([X], [X], error),
    ):
        with pytest.raises((KeyboardInterrupt, Defect)) as caught:
            outcome_of(backend)
        assert str(caught.value) == str(error)


def test_who_leaves_has_refused_nothing() -> None:
    for error, status in ((SystemExit(3), 3), (SystemExit(), 0)):
        outcome = model.Crashed(f"would have left with status {status}")
        for backend in (refusing(error), refusing(error, "run"), in_turn([X], error)):
            assert outcome_of(backend) == outcome


def test_an_answer_that_cannot_be_used_is_no_refusal() -> None:
    outcome = outcome_of(refusing(UnusableAnswer("no tensors"), "run"))
    assert outcome == model.Raised("run", "UnusableAnswer", "no tensors", False, unusable=True)


@pytest.mark.parametrize("kind", [NotSupported, NotExpressible, NotImplementedError])
def test_only_the_signals_for_it_are_a_decline(kind: type[Exception]) -> None:
    inexpressible = kind is NotExpressible
    for stage in ("prepare", "run"):
        declined = model.Declined("not here", inexpressible)
        assert outcome_of(refusing(kind("not here"), stage)) == declined
    for other in (RuntimeError("not implemented"), InvalidNode("not here")):
        assert isinstance(outcome_of(refusing(other)), model.Raised)


@pytest.mark.parametrize("error", [ValueError("later"), NotSupported("later")])
def test_who_has_answered_once_may_not_refuse_or_decline_afterwards(error: BaseException) -> None:
    stages = {"second run": in_turn([X], error), "third run": in_turn([X], [X], error)}
    for stage, backend in stages.items():
        assert outcome_of(backend) == model.Raised(stage, type(error).__name__, "later", False)


def test_a_backend_that_turns_out_to_be_another_is_not_run() -> None:
    error = BackendUnavailable("asked for the accelerator, got the CPU")
    for stage in ("prepare", "run"):
        assert outcome_of(refusing(error, stage)) == model.NotRun(error.message)


def test_memory_that_runs_out_is_told_by_where_it_did() -> None:
    stages = {
        "prepare": refusing(MemoryError("4 GiB")),
        "run": refusing(MemoryError("4 GiB"), "run"),
        "second run": in_turn([X], MemoryError("4 GiB")),
        "third run": in_turn([X], [X], MemoryError("4 GiB")),
    }
    for stage, backend in stages.items():
        assert outcome_of(backend) == model.OutOfMemory(f"MemoryError in {stage}: 4 GiB")
    assert outcome_of(refusing(MemoryError())) == model.OutOfMemory("MemoryError in prepare")


def test_data_that_do_not_fit_into_memory_are_nobody_s_failure() -> None:
    class TooLarge(np.ndarray):
        def copy(self, *_: Any) -> Any:
            raise MemoryError

    asked = []

    def prepare(task: Any) -> Any:
        asked.append(task)
        return twice

    outcome = outcome_of(Fake(prepare), X.view(TooLarge))
    assert outcome == model.NotRun("the case's data do not fit into memory")
    assert asked == []


@pytest.mark.parametrize("stage", ["prepare", "run"])
def test_a_program_that_died_is_a_crash(stage: str) -> None:
    died = ProcessDied("killed by SIGSEGV")
    assert outcome_of(refusing(died, stage)) == model.Crashed("killed by SIGSEGV")
    for backend in (in_turn([X], died), in_turn([X], [X], died)):
        assert outcome_of(backend) == model.Crashed("killed by SIGSEGV")


def test_an_object_without_run_is_a_backend_s_own_failure() -> None:
    class Half:
        info = answering(lambda inputs: []).info
        documented_errors = (Refused,)

        def prepare(self, problem: Any) -> Any:
            return None

    assert isinstance(outcome_of(Half()), model.Raised)


class OnceOnly(Fake):
    @property
    def info(self) -> model.BackendInfo:
        return replace(super().info, repeatable=False)


def test_who_cannot_run_again_is_asked_once(wording: Wording) -> None:
    seen = []

    def run(inputs: Any) -> Any:
        seen.append(inputs[0].tolist())
        return twice(inputs)

    outcome = outcome_of(OnceOnly(lambda _: run))
    assert seen == [X.tolist()]
    assert isinstance(outcome, model.Produced)
    told = outcome.once, outcome.unstable, outcome.between, outcome.stale
    assert told == (True, None, None, False)
    assert not produced_by(answering(twice)).once
    ruined = outcome_of(OnceOnly(lambda _: HABITS["modifies_its_input"](twice)))
    assert isinstance(ruined, model.Produced)
    assert ruined.unstable == wording


def test_and_what_it_raises_is_judged_as_of_anybody() -> None:
    for error, wanted in (
        (Refused("no"), model.Raised("run", "Refused", "no", True)),
        (NotSupported("no"), model.Declined("no")),
        (MemoryError(), model.OutOfMemory("MemoryError in run")),
    ):
        assert outcome_of(OnceOnly(refusing(error, "run").prepared)) == wanted


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_floats_are_reversed_in_memory_order(dtype: Any) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    (other,) = second_data([x])
    assert other.astype(float).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert (other.dtype, other.shape) == (x.dtype, x.shape)
    assert not np.shares_memory(other, x)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("x", [[1, 2, 1], [3, 3, 3], [0], 5, [[1, 2], [2, 1]], [np.inf]])
def test_what_reads_the_same_backwards_is_negated(x: Any, dtype: Any) -> None:
    x = np.array(x).astype(dtype)
    (other,) = second_data([x])
    assert isinstance(other, np.ndarray)
    assert (other.dtype, other.shape) == (x.dtype, x.shape)
    assert other.tobytes() != x.tobytes()
    assert (other.astype(float) == -x.astype(float)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.bool_])
def test_integers_and_truth_values_stay(dtype: Any) -> None:
    x = np.array([[0, 1, 1], [1, 0, 0]]).astype(dtype)
    (other,) = second_data([x])
    assert other.tobytes() == x.tobytes()
    assert not np.shares_memory(other, x)


def test_each_input_gets_its_own() -> None:
    first, second, third = second_data([np.array([1.0, 2.0]), np.array([1, 2]), np.array([5.0])])
    assert (first.tolist(), second.tolist(), third.tolist()) == ([2, 1], [1, 2], [-5])
    assert second_data([]) == []
    texts, numbers = np.array(["a", "b"], object), np.array([1, 2], np.uint8)
    moved = second_data([texts, numbers, numbers], moved=[0, 1])
    assert [one.tolist() for one in moved] == [["b", "a"], [2, 1], [1, 2]]


@given(arrays(np.float32, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)))
def test_the_values_stay_within_the_range_of_the_case(x: Any) -> None:
    (other,) = second_data([x])
    assert (other.dtype, other.shape) == (x.dtype, x.shape)
    finite = np.abs(x[np.isfinite(x)])
    assert sorted(np.abs(other[np.isfinite(other)]).tolist()) == sorted(finite.tolist())


@given(st.lists(st.floats(width=32), min_size=1, max_size=5))
def test_other_data_is_always_other(values: list[float]) -> None:
    x = np.array(values, np.float32)
    assert second_data([x])[0].tobytes() != x.tobytes()
