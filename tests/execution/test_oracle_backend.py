"""Cases whose answer is that of a backend, and cases in which backends are compared."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.errors import NotSupported
from opcheck.execution.expected import is_the_same, oracles_of
from opcheck.model import BackendInfo, Case, LiveResult, Verdict
from tests.asking import cases_in
from tests.inline import Inline, judge_all
from tests.miniatures import Fake, Refused
from tests.wording import Wording

FILE = """
    op: Gemm
    opset: 13
    dtype: float32
    tolerance: {atol: 0.01}
    inputs: {A: [[1, 2]], B: [[3], [4]]}
    cases:
    - {name: by_oracle, expect: {oracle: wise}}
    - {name: together, expect: {agree: true}}
    """


def says(address: str, *values: float, dtype: Any = np.float32) -> Fake:
    """A backend that always gives one answer."""
    return acts(address, lambda inputs: [np.array([values], dtype)])


def acts(address: str, run: Callable[[Sequence[Any]], Any]) -> Fake:
    return Fake(lambda _: run, address)


def fails(address: str, error: Exception) -> Fake:
    def run(inputs: Sequence[Any]) -> Any:
        raise error

    return acts(address, run)


def gemm(address: str) -> Fake:
    return acts(address, lambda inputs: [inputs[0] @ inputs[1]])


def results(folder: Path, name: str, backends: Sequence[Fake], oracle=None) -> list[LiveResult]:
    cases = [case for case in cases_in(folder, FILE) if case.name == name]
    oracles = {"wise": Inline(oracle)} if oracle else {}
    return [*judge_all(cases, [Inline(backend) for backend in backends], oracles=oracles)]


def judged(folder: Path, oracle: Fake, *backends: Fake) -> list[LiveResult]:
    return results(folder, "by_oracle", backends, oracle)


def test_what_the_oracle_answers_must_come_out(tmp_path: Path, wording: Wording) -> None:
    right, wrong = judged(tmp_path, gemm("wise"), says("right", 11), says("wrong", 12))
    assert (right.verdict, right.oracle, right.self_check) == (Verdict.PASS, "wise 1.0", False)
    assert (wrong.verdict, wrong.failure) == (Verdict.FAIL, "values")
    assert wrong.reason == wording
    assert wrong.comparisons[0].worst[0].want == 11


def test_a_wrong_oracle_is_found_out_where_the_engine_knows_the_operator(
    tmp_path: Path, wording: Wording
) -> None:
    (right,) = judged(tmp_path, says("wise", 99), says("right", 11))
    assert right.verdict is Verdict.BAD_CASE
    assert right.reason == wording


def test_an_oracle_that_is_the_backend_itself_proves_nothing(tmp_path: Path) -> None:
    (itself,) = judged(tmp_path, gemm("wise"), gemm("wise"))
    assert (itself.verdict, itself.self_check) == (Verdict.PASS, True)


@pytest.mark.parametrize(
    "oracle",
    [
        fails("wise", NotSupported("no kernel")),
        fails("wise", Refused("no such axis")),
        says("wise", 1, dtype=np.float64),
        acts("wise", lambda inputs: []),
        acts("wise", lambda inputs: ["text"]),
    ],
    ids=["unsupported", "raises", "another type", "no output", "no tensor"],
)
def test_without_an_answer_of_the_oracle_nobody_is_judged(tmp_path, oracle, wording):
    found = judged(tmp_path, oracle, says("a", 11), fails("b", Refused("no")))
    found += judged(tmp_path, oracle, fails("c", NotSupported("no")))
    assert [result.verdict for result in found] == [Verdict.NOT_RUN] * 3
    [reason] = {result.reason for result in found}
    assert reason == wording


def test_an_oracle_whose_runs_contradict_each_other_gives_no_answer(tmp_path: Path) -> None:
    count = iter(range(99))
    oracle = acts("wise", lambda inputs: [np.array([[next(count)]], np.float32)])
    (found,) = judged(tmp_path, oracle, says("a", 0))
    assert found.verdict is Verdict.NOT_RUN
    assert "unstable" in found.reason


def test_a_backend_that_contradicts_itself_is_found_out_without_any_answer(tmp_path: Path) -> None:
    count = iter(range(99))
    unstable = acts("a", lambda inputs: [np.array([[next(count)]], np.float32)])
    (found,) = judged(tmp_path, fails("wise", Refused("no")), unstable)
    assert found.verdict is Verdict.UNSTABLE


def test_an_answer_to_other_data_must_be_the_oracle_s_too(tmp_path: Path) -> None:
    # The first answer, kept for good: right for the case's data, and stale for any other.
    (found,) = judged(tmp_path, gemm("wise"), says("stale", 11))
    assert found.verdict is Verdict.PASS  # reversed, a vector times its like is what it was

    file = FILE.replace("[[3], [4]]", "{value: [[3], [4]], initializer: true}")
    (case,) = [case for case in cases_in(tmp_path, file) if case.name == "by_oracle"]

    def prepared(task: Any) -> Any:
        return lambda inputs: [inputs[0] @ task.initializers["B"]]

    oracles = {"wise": Inline(Fake(prepared, "wise"))}
    (found,) = judge_all([case], [Inline(says("stale", 11))], oracles=oracles)
    assert found.verdict is Verdict.UNSTABLE
    assert "first run's answer" in found.reason


def test_every_oracle_is_named_once_with_its_first_case(tmp_path: Path) -> None:
    assert {name: case.name for name, case in oracles_of(cases_in(tmp_path, FILE) * 2).items()} == {
        "wise": "by_oracle"
    }


@pytest.mark.parametrize(
    ("backend", "oracle", "same"),
    [
        (("onnxruntime", "1", None), ("onnxruntime", "1", None), True),
        (("mine", "1", "onnxruntime"), ("onnxruntime", "1", None), True),
        (("onnxruntime", "1", None), ("mine", "1", "onnxruntime"), True),
        (("mine", "2", "onnxruntime"), ("onnxruntime", "1", None), False),
        (("old", "1", "onnxruntime"), ("new", "1", "onnxruntime"), True),
        (("onnxruntime:CUDA", "1", None), ("onnxruntime", "1", None), False),
        (("reference", "1", None), ("onnxruntime", "1", None), False),
        (("onnxruntime?threads=2", "1", None), ("onnxruntime", "1", None), True),
        (("onnxruntime?accumulate=float16", "1", None), ("onnxruntime", "1", None), True),
        (("two", "1", "onnxruntime?threads=2"), ("onnxruntime", "1", None), True),
        (("py:mine:A?fast=1", "1", None), ("py:mine:A", "1", None), True),
        (("py:mine:A", "1", None), ("py:mine:B", "1", None), False),
        (("cmd:./run a", "1", None), ("cmd:./run  a", "1", None), True),
        (("cmd:./run a", "1", None), ("cmd:./run b", "1", None), False),
        (("cmd:./run 'a", "1", None), ("cmd:./run b", "1", None), False),
        (("gone:a?x=1", "1", None), ("gone:a", "1", None), True),
    ],
)
def test_who_is_its_own_oracle(backend, oracle, same):
    one, other = (
        BackendInfo(address, "kind", version, of=of) for address, version, of in (backend, oracle)
    )
    assert is_the_same(one, other) is same
    assert is_the_same(other, one) is same
    settings = {"environment and limits": "5eed"}
    assert is_the_same(one, replace(other, made_of=settings)) is same
    # What is made of other files is another build.
    first = replace(one, made_of={"library": "abc", **settings})
    built = replace(other, made_of={"library": "5eed"})
    assert is_the_same(first, built) is (same and one.address == other.address)


def test_one_class_under_two_names_is_one_backend() -> None:
    one, other, third = (
        BackendInfo(address, "py", "1", made_of={"mine": "abc", "class": name})
        for address, name in [("py:mine:A", "mine.A"), ("py:far:B", "mine.A"), ("py:mine:C", "C")]
    )
    assert is_the_same(one, other)
    assert not is_the_same(one, third)


@pytest.mark.parametrize(
    ("files", "same"),
    [
        ({"copy": "abc", "library": "123", "class": "copy.A"}, True),
        ({"copy": "abc", "library": "123", "class": "copy.B"}, False),
        ({"copy": "5eed", "library": "123", "class": "copy.A"}, False),
        ({"copy": "abc", "library": "5eed", "class": "copy.A"}, False),
        ({"mine": "abc", "library": "123", "class": "library.A"}, False),
    ],
)
def test_a_class_in_a_copy_of_its_file_is_the_same_backend(files: dict[str, str], same: bool):
    made_of = {"mine": "abc", "library": "123", "class": "mine.A"}
    one = BackendInfo("py:mine:A", "py", "1", made_of=made_of)
    other = BackendInfo("py:copy:A", "py", "1", made_of=files)
    assert is_the_same(one, other) is same
    assert is_the_same(other, one) is same


@pytest.mark.parametrize(
    ("further", "same"),
    [
        ({"names": "456"}, True),
        ({"names": "456", "mine": "5eed"}, False),
        ({"names": "456", "class": "names.A"}, False),
    ],
)
def test_a_class_that_another_module_imports_is_the_same_backend(
    further: dict[str, str], same: bool
) -> None:
    made_of = {"mine": "abc", "class": "mine.A"}
    one = BackendInfo("py:mine:A", "py", "1", made_of=made_of)
    other = BackendInfo("py:names:B", "py", "1", made_of={**made_of, **further})
    assert is_the_same(one, other) is same
    assert is_the_same(other, one) is same


def together(folder: Path, *backends: Fake) -> list[LiveResult]:
    return results(folder, "together", backends)


def test_backends_are_compared_with_each_other(tmp_path: Path) -> None:
    a, b, c = together(tmp_path, gemm("a"), says("b", 12), says("c", 11.001))
    assert [a.verdict, b.verdict, c.verdict] == [Verdict.PASS, Verdict.DIFFER, Verdict.PASS]
    assert b.against == ("a", "c")
    assert (a.oracle, a.against) == ("", ("c",))
    assert not any(result.diagnoses for result in (a, b, c))


def test_one_alone_is_not_judged(tmp_path: Path) -> None:
    a, b = together(tmp_path, says("a", 11), fails("b", NotSupported("no kernel")))
    assert [a.verdict, b.verdict] == [Verdict.NOT_RUN, Verdict.UNSUPPORTED]
    (alone,) = together(tmp_path, says("a", 11))
    assert alone.verdict is Verdict.NOT_RUN


def test_who_agrees_with_itself_by_another_name_proves_nothing(tmp_path: Path) -> None:
    (case,) = [case for case in cases_in(tmp_path, FILE) if case.name == "together"]
    both = [Inline(gemm("a")), Inline(gemm("a"))]
    both[1].info = BackendInfo("mine", "fake", "1.0", of="a")
    assert [(r.verdict, r.self_check) for r in judge_all([case], both)] == [("pass", True)] * 2
    assert [r.self_check for r in judge_all([case], [*both, Inline(gemm("b"))])] == [False] * 3


def test_results_come_in_order_though_some_wait_for_others(tmp_path: Path) -> None:
    cases: list[Case] = [*cases_in(tmp_path, FILE)]
    backends = [gemm("a"), gemm("b"), says("c", 0)]
    oracles = {"wise": Inline(gemm("wise"))}
    found = [*judge_all(cases, [Inline(one) for one in backends], oracles=oracles)]
    assert [(result.case.name, result.backend) for result in found] == [
        (case.name, backend.address) for case in cases for backend in backends
    ]
