"""The order of results, how far backends are asked ahead, and cases asked several times."""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck import model
from opcheck.backends.base import Defect
from opcheck.compare.verdict import Judgement
from opcheck.errors import NotSupported
from opcheck.execution.evaluation import EvaluatedCase, combine_repeats
from opcheck.execution.expected import question
from opcheck.known import load_ledgers
from opcheck.model import BackendInfo, Case, Crashed, Outcome, Produced, Question, Reply, Verdict
from opcheck.suite import materialize
from tests.asking import cases_in
from tests.execution.one import ENGINE, RIGHT, TWO, X, one
from tests.hardmax import Hardmax
from tests.inline import Inline, judge_all, judged
from tests.miniatures import Anew, Fake, Refused, answering, in_turn, refusing
from tests.report.made import result
from tests.wording import Wording

THREE = """
    op: Hardmax
    dtype: float32
    opset: 13
    inputs: {input: [[3, 3, 1], [3, 0, 3]]}
    cases:
    - {name: computed, attrs: {axis: 1}}
    - {name: stated, attrs: {axis: 1}, expect: {output: [[1, 0, 0], [1, 0, 0]]}}
    - name: refused
      attrs: {axis: 2}
      expect: {rejected: "axis is outside [-2, 1]", legal: {attrs.axis: 1}}
"""
WRONG = 1 - RIGHT
CONSTANT = "inputs: {input: {value: [[3, 3, 1], [3, 0, 3]], initializer: true}}"
STATED = "expect: {output: [[1, 0, 0], [1, 0, 0]]}"
NEARLY = np.abs(RIGHT - np.float32(0.01))
LENIENT = f"{{name: made, tolerance: {{atol: 0.1}}, {CONSTANT}, {STATED}}}"


def test_results_come_case_by_case_in_the_given_order(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, THREE)
    backends = [ENGINE, answering(lambda inputs: [RIGHT])]
    found = [(result.case.name, result.backend) for result in judged(cases[::-1], backends)]
    names = [case.name for case in cases[::-1]]
    assert found == [(name, backend.info.address) for name in names for backend in backends]


def test_nothing_is_asked_before_a_result_is_wanted(tmp_path: Path) -> None:
    asked = []

    def prepared(task: model.Task) -> Any:
        asked.append(task.case)
        return lambda inputs: [RIGHT]

    stream = judged(cases_in(tmp_path, THREE), [Fake(prepared)])
    assert asked == []
    assert next(stream).case.name == "computed"
    # The next is under way while this one is looked at, and no more, because one at a time is all
    # that this backend has room for.
    assert asked == ["Hardmax/computed", "Hardmax/stated"]


def test_nothing_comes_of_nothing(tmp_path: Path) -> None:
    assert list(judged([], [ENGINE])) == []
    assert list(judged(cases_in(tmp_path, THREE), [])) == []


def test_the_data_of_a_case_is_made_once_for_all_backends(tmp_path, monkeypatch):
    made = []

    def counted(spec: Any) -> Any:
        made.append(spec.name)
        return materialize(spec)

    monkeypatch.setitem(question.__globals__, "materialize", counted)
    cases = cases_in(tmp_path, THREE)
    assert len(list(judged(cases, [ENGINE, ENGINE, Hardmax(), refusing()]))) == 12
    # Once for each case, and once for the legal twin of the last.
    assert made == ["input"] * 4


def test_every_backend_gets_the_same_bits(tmp_path: Path) -> None:
    seen = []

    def run(inputs: Any) -> Any:
        seen.append(inputs[0].tobytes())
        inputs[0][...] = 0
        return [RIGHT]

    list(judged([one(tmp_path, "{name: made}")], [answering(run), answering(run)]))
    assert seen[:3] == seen[3:]
    assert seen[0] == X.tobytes()


def test_ledgers_are_asked_about_every_failure(tmp_path: Path) -> None:
    file = tmp_path / "fake.yaml"
    line = "{versions: '>=1', failure: raised, cause: So., where: [{op: Hardmax, name: stated}]}"
    file.write_text(f"backend: fake\nknown:\n- {line}\n")
    shipped = model.Source("cases/onnx/softmax.hardmax.yaml", 1, 1, shipped=True)
    cases = [replace(case, source=shipped) for case in cases_in(tmp_path, THREE)]
    found = judged(cases, [refusing()], load_ledgers([file]))
    assert [result.verdict for result in found] == [Verdict.ERROR, Verdict.KNOWN, Verdict.ERROR]


@dataclass(eq=False)
class Patient:
    """A backend that takes `room` questions at once and answers one of them every `pause` looks.

    It answers the first asked, or the `last`; `answers` are outcomes by case, RIGHT where there is
    none.
    """

    name: str = "fake"
    room: int = 1
    pause: int = 1
    last: bool = False
    answers: dict[str, Outcome] = field(default_factory=dict)
    connections: list[Any] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    answered: int = 0
    most: int = 0
    _looks: int = 0
    _under_way: deque[tuple[int, Question]] = field(default_factory=deque)

    @property
    def info(self) -> BackendInfo:
        return BackendInfo(self.name, "fake", "1.0")

    @property
    def has_room(self) -> bool:
        return len(self._under_way) < self.room

    def ask(self, question: Question) -> int:
        self.asked.append(question.task.case)
        self._under_way.append((len(self.asked), question))
        self.most = max(self.most, len(self._under_way))
        return len(self.asked)

    def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
        self._looks += 1
        if self._under_way and self._looks % self.pause == 0:
            ticket, asked = self._under_way.pop() if self.last else self._under_way.popleft()
            self.answered += 1
            yield ticket, Reply(self.answers.get(asked.task.case, Produced((RIGHT,), 0.1)))


def many(folder: Path, count: int, **fields: Any) -> list[Case]:
    """So many cases, told apart by their ids alone."""
    case = one(folder, "{name: made}")
    return [replace(case, id=str(number), **fields) for number in range(count)]


def test_a_backend_is_asked_as_much_at_once_as_it_has_room_for(tmp_path: Path) -> None:
    backends = [Patient("one", room=1), Patient("four", room=4)]
    assert len(list(judge_all(many(tmp_path, 20), backends))) == 40
    assert [backend.most for backend in backends] == [1, 4]


def test_results_that_come_out_of_turn_are_held_back(tmp_path: Path) -> None:
    cases = many(tmp_path, 20)
    backends = [Patient("forwards", room=3, pause=3), Patient("backwards", room=8, last=True)]
    found = [(result.case.id, result.backend) for result in judge_all(cases, backends)]
    assert found == [(case.id, backend.name) for case in cases for backend in backends]


def test_each_gets_the_replies_to_its_own_questions(tmp_path: Path) -> None:
    # Odd ones are refused, and then their legal twins are asked for, while others are under way.
    text = "{name: made, attrs: {axis: 2}, expect: {rejected: why, legal: {attrs.axis: 1}}}"
    illegal = one(tmp_path, text)
    cases = many(tmp_path, 12)
    cases[1::2] = [replace(illegal, id=case.id) for case in cases[1::2]]
    no = model.Raised("prepare", "Refused", "no", documented=True)
    odd: dict[str, Outcome] = {case.id: no for case in cases[1::2]}
    odd["4"], odd["7"] = Crashed("killed by SIGSEGV"), Produced((RIGHT,), 0.1)
    backend = Patient(room=5, last=True, answers=odd)
    found = {result.case.id: result.verdict for result in judge_all(cases, [backend])}
    wanted = {case.id: Verdict.PASS for case in cases} | {"4": Verdict.CRASH, "7": Verdict.FAIL}
    assert found == wanted
    assert sorted(backend.asked) == sorted([*wanted, *["Hardmax/made~legal"] * 5])


def test_who_stops_at_the_first_failure_gets_that_of_the_first_case(tmp_path: Path) -> None:
    wrong = Produced((1 - RIGHT,), 0.1)
    backend = Patient(room=8, last=True, answers={"2": wrong, "5": wrong})
    stream = judge_all(many(tmp_path, 8), [backend])
    assert next(result for result in stream if result.verdict is Verdict.FAIL).case.id == "2"
    # Both answers were there: the later case's came first.
    assert backend.answered > 5


def test_a_bug_of_an_adapter_ends_the_run(tmp_path: Path, wording: Wording) -> None:
    class Broken(Patient):
        def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
            if self.answered == 2:
                raise Defect("a bug of ours")
            return super().replies(readable)

    stream = judge_all(many(tmp_path, 8), [Broken(room=4)])
    assert [next(stream).case.id, next(stream).case.id] == ["0", "1"]
    with pytest.raises(Defect) as raised:
        next(stream)
    assert raised.value == wording


MIB = 1 << 20


def lead(cases: list[Case]) -> int:
    """By how many cases one of two backends is ahead of the other, which is slower, at most."""
    slow = Patient("slow", pause=4)
    leads = []

    class Quick(Patient):
        def ask(self, question: Question) -> int:
            ticket = super().ask(question)
            leads.append(len(self.asked) - slow.answered)
            return ticket

    quick = Quick("quick", room=4)
    assert len(list(judge_all(cases, [quick, slow]))) == 2 * len(cases)
    assert quick.asked == slow.asked
    return max(leads)


def test_a_quick_backend_does_not_wait_for_a_slow_one_but_is_at_most_512_cases_ahead(tmp_path):
    assert lead(many(tmp_path, 800)) == 512


@pytest.fixture
def without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if inputs were as large as they say: none is made."""
    small = np.zeros(1, np.float32)
    monkeypatch.setitem(question.__globals__, "materialize", lambda spec: small)
    monkeypatch.setattr("opcheck.compare.verdict.judge", lambda *_, **__: Judgement(Verdict.PASS))
    monkeypatch.setattr("opcheck.execution.expected.accepted_answers", lambda *_: ())


def of_size(case: Case, mib: int) -> Case:
    """The same with an input of so many MiB."""
    spec = replace(case.inputs[0], shape=(mib, MIB // 4), content=model.Fill("constant", (0,)))
    return replace(case, inputs=(spec,))


@pytest.mark.usefixtures("without_data")
@pytest.mark.parametrize(("mib", "ahead"), [(50, 5), (300, 1)])
def test_nor_by_more_than_256_mib_of_inputs_and_what_is_larger_is_asked_alone(tmp_path, mib, ahead):
    assert lead([of_size(case, mib) for case in many(tmp_path, 40)]) == ahead


def asked(case: Any, *answers: Any, times: int | None = None, **options: Any) -> model.LiveResult:
    """What comes of a case that is asked as often as there are answers."""
    backend = Inline(Fake(Anew(*answers)))
    (found,) = judge_all([case], [backend], times=times or len(answers), **options)
    return found


@pytest.fixture
def case(tmp_path: Path) -> Any:
    # The stability on other data is another matter, and a constant has no other data.
    return one(tmp_path, f"{{name: made, {CONSTANT}, {STATED}}}")


def test_who_is_right_each_time_is_right(case: Any) -> None:
    found = asked(case, *[RIGHT] * 4)
    assert (found.verdict, found.reason) == (Verdict.PASS, "")
    assert found.verdicts == {Verdict.PASS: 4}


@pytest.mark.parametrize("wrong", [(0,), (9,), (2, 5, 7)])
def test_who_is_wrong_now_and_then_is_unstable(case: Any, wrong: tuple[int, ...]) -> None:
    found = asked(case, *(WRONG if number in wrong else RIGHT for number in range(10)))
    assert (found.verdict, found.failure) == (Verdict.UNSTABLE, "unstable")
    assert found.verdicts == {Verdict.FAIL: len(wrong), Verdict.PASS: 10 - len(wrong)}
    red = f"{len(wrong)} of 10: fail: output: 6 of 6 elements wrong"
    assert found.reason == f"{red}; {10 - len(wrong)} of 10: pass"
    # What was wrong is shown, and not what was right.
    assert found.comparisons[0].wrong == 6


def test_who_is_wrong_each_time_fails_as_ever(case: Any) -> None:
    found = asked(case, WRONG, WRONG, WRONG)
    assert (found.verdict, found.failure) == (Verdict.FAIL, "values")
    assert found.verdicts == {Verdict.FAIL: 3}
    assert asked(case, RIGHT).verdicts is None


@pytest.mark.parametrize(
    "answers",
    [
        [RIGHT, NotSupported("no kernel"), RIGHT],
        [RIGHT, Refused("busy")],
        [WRONG, Refused("busy"), WRONG],
    ],
)
def test_who_does_something_else_now_and_then_is_unstable(case, answers, wording):
    found = asked(case, *answers)
    assert found.verdict is Verdict.UNSTABLE
    assert found.reason == wording


def test_a_refusal_and_an_answer_contradict_each_other(wording: Wording) -> None:
    answers = [EvaluatedCase(result(refused=refused)) for refused in (True, False, True)]
    found = combine_repeats(answers).result
    assert found.verdict is Verdict.UNSTABLE
    assert found.reason == wording


def test_right_answers_that_differ_are_a_remark(tmp_path: Path) -> None:
    case = one(tmp_path, LENIENT)
    found = asked(case, RIGHT, RIGHT, NEARLY)
    assert (found.verdict, found.irreproducible) == (Verdict.PASS, True)
    assert found.verdicts == {Verdict.PASS: 3}
    assert not asked(case, RIGHT, RIGHT, RIGHT).irreproducible
    assert asked(case, RIGHT, NEARLY, WRONG).verdict is Verdict.UNSTABLE


def test_they_are_red_where_that_is_asked_for(tmp_path: Path, wording: Wording) -> None:
    case = one(tmp_path, LENIENT)
    found = asked(case, RIGHT, NEARLY, reproducible=True)
    assert (found.verdict, found.failure, found.reason) == (Verdict.UNSTABLE, "unstable", wording)
    assert asked(case, RIGHT, RIGHT, reproducible=True).verdict is Verdict.PASS
    # A wrong answer is that, whatever it was before.
    assert asked(case, WRONG, 2 * WRONG, reproducible=True).verdict is Verdict.FAIL
    runs = in_turn(*([answer] for answer in (RIGHT, RIGHT, NEARLY)))
    for reproducible, verdict in ((False, Verdict.PASS), (True, Verdict.UNSTABLE)):
        (found,) = judge_all([case], [Inline(runs)], reproducible=reproducible)
        assert (found.verdict, found.irreproducible) == (verdict, True)


def test_what_was_not_delivered_leaves_too_few_answers_but_excuses_no_wrong_one() -> None:
    gone = EvaluatedCase(result(Verdict.NOT_RUN, reason="it is gone"))
    right = EvaluatedCase(result())
    wrong = EvaluatedCase(result(Verdict.FAIL, failure="values", reason="bad"))
    found = [combine_repeats(all_).result for all_ in ([right, gone], [gone, wrong], [gone, gone])]
    assert [one.verdict for one in found] == [Verdict.NOT_RUN, Verdict.FAIL, Verdict.NOT_RUN]
    assert found[0].reason == "it is gone"
    assert combine_repeats([right, gone, wrong]).result.verdict is Verdict.UNSTABLE


def test_a_warning_each_time_is_one_and_now_and_then_a_contradiction(tmp_path: Path) -> None:
    case = one(tmp_path, f"{{name: made, rule: should, {CONSTANT}, {STATED}}}")
    assert asked(case, WRONG, WRONG).verdict is Verdict.WARN
    assert asked(case, RIGHT, WRONG).verdict is Verdict.UNSTABLE


def test_each_time_a_refusal_asks_for_its_legal_twin(tmp_path: Path, wording: Wording) -> None:
    _, refused = cases_in(tmp_path, TWO)
    found = asked(refused, Refused("axis"), RIGHT, Refused("axis"), RIGHT, times=2)
    assert (found.verdict, found.verdicts) == (Verdict.PASS, {Verdict.PASS: 2})
    found = asked(refused, Refused("axis"), RIGHT, RIGHT, times=2)
    assert found.reason == wording


def test_a_case_that_is_wrong_is_not_asked_again(tmp_path: Path) -> None:
    case = one(tmp_path, "{name: made, expect: {output: [[0, 1, 0], [1, 0, 0]]}}")
    found = asked(case, RIGHT, times=5)
    assert (found.verdict, found.verdicts) == (Verdict.BAD_CASE, None)
