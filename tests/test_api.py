"""opcheck from Python: the functions that `import opcheck` offers."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

import opcheck
from opcheck import interrupt
from opcheck.errors import BackendUnavailable, CaseFileError, UsageError
from opcheck.model import Agreement, Verdict
from opcheck.report import store
from tests.cli import fakes
from tests.expecting import error_of
from tests.report.made import record
from tests.report.runs import run_of
from tests.wording import Wording

TIES = "Hardmax/worked_example_of_ties@dtype=float32,attrs.axis=1"
LARGE = "Softmax/node_test_large_number@opset=13,dtype=float32"
CASES = """
op: Softmax
cases:
- name: one_row
  opset: 13
  inputs: {input: {dtype: float32, value: [[0, 0]]}}
  expect: {output: [[0.5, 0.5]]}
- name: agreed
  opset: 13
  inputs: {input: {dtype: float32, value: [[0, 0]]}}
  tolerance: {ulp: 0}
  expect: {agree: true}
"""


def softmax(x: Any, *, axis: int = -1) -> Any:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def overflowing(x: Any, *, axis: int = -1) -> Any:
    with np.errstate(all="ignore"):
        powers = np.exp(x)
        return powers / powers.sum(axis, keepdims=True)


def nothing(*inputs: Any, **attrs: Any) -> Any:
    raise NotImplementedError("no kernel yet")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(CASES)
    return path


def test_import_alone_imports_nothing_heavy() -> None:
    code = "import opcheck, sys; print([m for m in ('numpy', 'onnx', 'click') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


@pytest.mark.parametrize("name", opcheck.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert name == "__version__" or getattr(opcheck, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        opcheck.runs  # type: ignore[attr-defined] # noqa: B018


def test_each_case_has_a_result_of_each_backend_in_order() -> None:
    cases = opcheck.load(ops=["Softmax"], opsets=[13], dtypes=["float32"], level="smoke")
    found = [*opcheck.run(cases, [softmax, "numpy"])]
    pairs = [(case.id, backend) for case in cases for backend in ("object:softmax", "numpy")]
    assert [(one.case, one.backend) for one in found] == pairs
    assert {one.verdict for one in found if one.backend == "numpy"} == {Verdict.PASS}


def test_a_failure_explains_itself_in_text_and_in_html() -> None:
    (wrong,) = opcheck.run(opcheck.load(ids=[LARGE]), overflowing)
    assert wrong.failed
    assert wrong.verdict is Verdict.FAIL
    text = str(wrong)
    assert "(nothing_subtracted)" in text
    assert wrong.clause in text
    assert "nothing_subtracted" in wrong._repr_html_()
    assert wrong.repeat == f"print(*opcheck.run(opcheck.load(ids=['{LARGE}']), overflowing))"


def test_right_functions_do_not_fail() -> None:
    found = opcheck.run(
        opcheck.load(ids=[LARGE]), [softmax, lambda x, axis=-1: softmax(x, axis=axis)]
    )
    assert [(right.failed, right.verdict) for right in found] == [(False, Verdict.PASS)] * 2


def test_right_answers_that_differ_fail_where_bits_are_required() -> None:
    factors = map(np.float32, [1, 1, 1 + 2**-23])
    unsteady = fakes.Fake(lambda task, x: [softmax(x) * next(factors)], "unsteady")
    (result,) = opcheck.run(opcheck.load(ids=[LARGE]), unsteady, require_reproducible=True)
    assert (result.failed, result.verdict) == (True, Verdict.UNSTABLE)


def test_a_function_that_implements_nothing_is_unsupported() -> None:
    (result,) = opcheck.run(opcheck.load(ids=[LARGE]), nothing)
    assert (result.verdict, result.reason) == (Verdict.UNSUPPORTED, "no kernel yet")


@pytest.mark.parametrize(
    ("backends", "code"),
    [
        ([softmax], 0),
        ([overflowing], 1),
        ([nothing], 5),
        # Each backend that is named has to be judged, be it a function or an address.
        ([softmax, nothing], 5),
        (["saved:."], 4),
        ([], 0),
    ],
)
def test_the_status_of_a_run_is_the_exit_code_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backends: list[Any], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    results = opcheck.run(opcheck.load(ids=[LARGE]), *([backends] if backends else []), save="run")
    failed = [result.failed for result in results]
    assert any(failed) is (code in (1, 4))
    assert opcheck.status(results).code == code
    assert opcheck.status("run") == opcheck.status(opcheck.read("run"))
    assert opcheck.status("run").code == code


def test_what_was_not_run_failed(tmp_path: Path) -> None:
    (result,) = opcheck.run(opcheck.load(ids=[LARGE]), f"saved:{tmp_path}")
    assert (result.verdict, result.failed) == (Verdict.NOT_RUN, True)


def test_a_run_is_incomplete_until_its_last_result_was_taken(file: Path) -> None:
    cases = opcheck.load(file)[:1]
    results = opcheck.run(cases, [softmax, "numpy"])
    assert opcheck.status(results).code == 4
    next(results)
    assert opcheck.status(results) == (4, "incomplete: 1 of 2 results")
    next(results)
    assert opcheck.status(results).code == 0


def test_each_run_of_a_session_has_its_own_status(file: Path) -> None:
    right, _ = opcheck.load(file)
    with opcheck.Session([softmax, overflowing]) as session:
        first, second = session.run([right]), session.run(opcheck.load(ids=[LARGE]))
        assert [one.failed for one in (*first, *second)] == [False, False, False, True]
        assert [opcheck.status(run).code for run in (first, second)] == [0, 1]


def test_an_object_with_prepare_is_a_backend() -> None:
    (result,) = opcheck.run(opcheck.load(ids=[TIES]), fakes.Fake(fakes.right, "right"))
    assert result.verdict is Verdict.PASS


def test_backends_that_are_compared_may_be_functions_and_addresses(file: Path) -> None:
    cases = [case for case in opcheck.load(file) if isinstance(case.expect, Agreement)]
    found = [*opcheck.run(cases, [softmax, "numpy"])]
    assert Counter(one.verdict for one in found) == {Verdict.PASS: 2}
    assert found[0].against == ("numpy",)


@pytest.mark.parametrize(
    ("backends", "error"),
    [
        ("onnxruntme", UsageError),
        ("py:no_such_module", (UsageError, BackendUnavailable)),
        ([softmax, softmax], UsageError),
        ([3], UsageError),
        ([], UsageError),
    ],
    ids=["misspelled", "no module", "twice", "a number", "none"],
)
def test_a_backend_that_cannot_be_meant_is_an_error(
    backends: Any, error: Any, wording: Wording
) -> None:
    with pytest.raises(error) as raised:
        [*opcheck.run(opcheck.load(ids=[LARGE]), backends)]
    assert raised.value == wording


def test_no_case_is_an_error_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="no case"):
        opcheck.run([], softmax)


def test_a_ledger_is_a_gate(tmp_path: Path) -> None:
    ledger = tmp_path / "known.yaml"
    ledger.write_text(
        "backend: object:overflowing\nknown:\n- verdict: fail\n  cause: overflows\n"
        "  where:\n  - {op: Softmax, name: node_test_large_number}\n"
    )
    cases = opcheck.load(ids=[LARGE])
    (known,) = opcheck.run(cases, overflowing, known=ledger)
    assert (known.verdict, known.failed) == (Verdict.KNOWN, False)
    ledger.write_text(ledger.read_text().replace("overflowing", "softmax"))
    (mended,) = opcheck.run(cases, softmax, known=ledger)
    assert (mended.verdict, mended.failed) == (Verdict.UNEXPECTED_PASS, True)


def test_a_listed_case_may_pass_if_that_is_allowed(tmp_path: Path) -> None:
    ledger = tmp_path / "known.yaml"
    ledger.write_text(
        "backend: object:softmax\nknown:\n- verdict: fail\n  cause: overflows\n"
        "  where:\n  - {op: Softmax, name: node_test_large_number}\n"
    )
    cases = opcheck.load(ids=[LARGE])
    stored = tmp_path / "run.jsonl"
    allowing = opcheck.run(cases, softmax, known=ledger, allow_unexpected_passes=True, save=stored)
    (passed,) = allowing
    assert (passed.verdict, passed.failed) == (Verdict.UNEXPECTED_PASS, False)
    assert opcheck.status(allowing).code == 0
    # A stored run goes by what it was told.
    assert opcheck.status(stored).code == 0
    assert [record.failed for record in opcheck.read(stored).records] == [False]
    strict = opcheck.run(cases, softmax, known=ledger)
    assert [result.failed for result in strict] == [True]
    assert opcheck.status(strict).code == 1


def test_a_damaged_file_reports_all_its_problems(file: Path, wording: Wording) -> None:
    file.write_text(CASES.replace("opset: 13", "opsett: 13"))
    error = error_of(CaseFileError, opcheck.load, file)
    assert len(error.problems) == 2
    assert error == wording


def test_a_session_keeps_its_backends_between_runs(file: Path) -> None:
    cases = opcheck.load(file)
    with opcheck.Session(["numpy", softmax]) as session:
        for case in cases:
            found = [one.verdict for one in session.run([case])]
            assert found == [Verdict.PASS, Verdict.PASS]


def test_a_run_that_is_left_early_leaves_the_session_usable(file: Path, wording: Wording) -> None:
    cases = opcheck.load(file)
    with opcheck.Session(["numpy", softmax]) as session:
        left = session.run(cases)
        next(left)
        assert [one.verdict for one in session.run(cases)] == [Verdict.PASS] * 4
        assert error_of(UsageError, next, left) == wording


def test_a_case_that_cannot_be_asked_here_leaves_the_session_usable(
    file: Path, wording: Wording
) -> None:
    right, agreed = opcheck.load(file)
    with opcheck.Session([softmax]) as session:
        with pytest.raises(UsageError) as raised:
            [*session.run([agreed])]
        assert raised.value == wording
        (result,) = session.run([right])
    assert result.verdict is Verdict.PASS


def _come_to_safe_places() -> None:
    """Do what takes a minute, unless something ends it."""
    until = monotonic() + 60
    while monotonic() < until:
        interrupt.safe_place()


def test_a_backend_that_cannot_start_ends_what_is_done_meanwhile() -> None:
    with opcheck.Session(["py:no_such_module", "numpy?nope=1"]) as session:
        caught = error_of(opcheck.UsageError, _come_to_safe_places)
        # The errors of all, as where they are waited for.
        waited = error_of(opcheck.UsageError, session.connect)
    assert caught.lines() == waited.lines()
    assert "no_such_module" in str(caught)
    assert "nope" in str(caught)
    # After the session nothing is looked after.
    interrupt.safe_place()


def test_a_backend_that_cannot_be_used_says_so_each_time() -> None:
    cases = opcheck.load(ids=LARGE)
    with opcheck.Session(["py:no_such_module"]) as session:
        said = []
        for _ in range(2):
            with pytest.raises((UsageError, BackendUnavailable)) as error:
                [*session.run(cases)]
            said.append(str(error.value))
    assert said[0] == said[1]
    assert "no_such_module" in said[0]


def test_bench_times_the_right_and_says_why_others_have_no_time() -> None:
    cases = opcheck.load(ids=[TIES])
    backends = ["numpy", "py:tests.cli.fakes:LAST_OF_TIES"]
    (row,) = opcheck.bench(cases, backends, quick=True, seconds=0.05)
    right, wrong = row.timings
    assert right.samples
    assert all(sample.seconds > 0 for sample in right.samples)
    assert not wrong.samples
    assert wrong.why_not.startswith("fail: ")


def test_a_run_that_was_saved_can_be_read_and_compared(tmp_path: Path, monkeypatch: Any) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    for kernel, path in ((softmax, old), (overflowing, new)):
        monkeypatch.setattr(kernel, "__name__", "mine")
        [*opcheck.run(opcheck.load(ids=[LARGE]), kernel, save=path)]
    (wrong,) = opcheck.read(new).records
    assert isinstance(wrong, opcheck.Result)
    assert wrong.failed
    assert opcheck.diff(old, new).regressions == 1


def test_a_run_that_is_left_early_leaves_no_earlier_run_in_its_place(tmp_path: Path) -> None:
    path, cases = tmp_path / "run.jsonl", opcheck.load(ids=[LARGE])
    [*opcheck.run(cases, softmax, save=path)]
    next(opcheck.run(cases, [overflowing, softmax], save=path))
    assert [one.name for one in tmp_path.iterdir()] == ["run.jsonl.stale"]
    [*opcheck.run(cases, overflowing, save=path)]
    assert [one.name for one in tmp_path.iterdir()] == ["run.jsonl"]
    assert opcheck.status(path).code == 1


def test_diff_counts_what_became_worse(tmp_path: Path) -> None:
    for name, verdict in (("old", Verdict.PASS), ("new", Verdict.FAIL)):
        run = run_of(record(verdict=verdict))
        (tmp_path / name).write_text("\n".join(store.lines(run)), encoding="utf-8")
    found = opcheck.diff(tmp_path / "old", opcheck.read(tmp_path / "new"))
    assert (found.regressions, found.compared) == (1, 1)
    assert found.status.code == 1
    assert opcheck.diff(tmp_path / "old", tmp_path / "old").changes == ()


def test_a_difference_to_a_run_that_was_cut_short_has_no_regression_and_is_no_pass(
    tmp_path: Path,
) -> None:
    whole = [*store.lines(run_of(record(Verdict.PASS), record(Verdict.PASS)))]
    (tmp_path / "old").write_text("\n".join(whole), encoding="utf-8")
    (tmp_path / "new").write_text("\n".join(whole[:2]), encoding="utf-8")
    found = opcheck.diff(tmp_path / "old", tmp_path / "new")
    assert (found.regressions, found.status.code) == (0, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda cases: opcheck.load(level="vast"),  # type: ignore[arg-type]
        lambda cases: opcheck.load(ops=["Hardmax"], dtypes=np.float32),  # type: ignore[arg-type]
        lambda cases: opcheck.run([LARGE], softmax),  # type: ignore[list-item]
        lambda cases: opcheck.run(cases[0], softmax),
        lambda cases: opcheck.run(None, softmax),  # type: ignore[arg-type]
        lambda cases: opcheck.load(opsets="13"),  # type: ignore[arg-type]
        lambda cases: opcheck.load(ops=["Hardmax"], keywords="zzz"),
        lambda cases: opcheck.run(cases, softmax, memory_limit="1B"),
        lambda cases: opcheck.run(cases, softmax, save="no/run.jsonl"),
        lambda cases: opcheck.run(cases, softmax, save="a.yaml"),
        lambda cases: [*opcheck.Session(["numpy"]).run(cases)],
        lambda cases: opcheck.run(cases, softmax, jobs=0),
        lambda cases: opcheck.run(cases, softmax, repeat=0),
        lambda cases: opcheck.run(cases, softmax, timeout=-1),
        lambda cases: opcheck.bench(cases, [softmax]),  # type: ignore[list-item]
    ],
    ids=[
        "level",
        "dtypes",
        "id for a case",
        "case for a list",
        "None",
        "opsets",
        "keywords",
        "memory_limit",
        "folder",
        "format",
        "not open",
        "jobs",
        "repeat",
        "timeout",
        "function for a benchmark",
    ],
)
def test_an_argument_that_makes_no_sense_is_a_usage_error(call: Any, wording: Wording) -> None:
    error = error_of(UsageError, call, opcheck.load(ids=LARGE))
    # The number of shipped cases of an operator grows, and a function lies anywhere.
    assert re.sub(r"\d,\d{3}|\b\d{3}\b|0x[0-9a-f]+", "#", "\n".join(error.lines())) == wording


def test_outputs_that_nobody_asked_for_are_dropped() -> None:
    def layer_normalization(x: Any, scale: Any, bias: Any = None, *, axis: int = -1) -> Any:
        axes = tuple(range(axis % x.ndim, x.ndim))
        mean = x.mean(axes, keepdims=True, dtype=np.float64)
        scatter = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)
        y = (x - mean) * scatter * scale + (0 if bias is None else bias)
        return tuple(one.astype(x.dtype) for one in (y, mean, scatter))

    cases = opcheck.load(ops="LayerNormalization", dtypes="float32", keywords="ranks")
    found = Counter(one.verdict for one in opcheck.run(cases, layer_normalization))
    assert {*found} == {Verdict.PASS}


@pytest.mark.parametrize(
    ("backend", "name"),
    [("object:softmax", "node_test_large_numbr"), ("onnxruntime", "node_test_large_number")],
)
def test_a_ledger_that_lists_in_vain_is_refused(tmp_path, backend, name, wording):
    ledger = tmp_path / "known.yaml"
    where = f"  where:\n  - {{op: Softmax, name: {name}}}\n"
    ledger.write_text(f"backend: {backend}\nknown:\n- verdict: fail\n  cause: none\n{where}")
    with pytest.raises(CaseFileError) as error:
        [*opcheck.run(opcheck.load(ids=LARGE), softmax, known=ledger)]
    assert error.value == wording
