"""A run under a ledger: what failures looked like once is found in them again."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck import suite
from opcheck.analysis import is_red, reds
from opcheck.diagnose import names_of
from opcheck.engine.mutants import mutants_of
from opcheck.errors import BackendUnavailable
from opcheck.execution.ledger_update import pattern, update_ledger
from opcheck.known import Gate, load_user_ledgers
from opcheck.known.writing import new_ledger, revised
from opcheck.model import Diagnosis, LiveResult, OpVersion, Verdict
from opcheck.reading import Problems, read_text
from tests.asking import shipped_cases
from tests.execution.one import one
from tests.inline import Inline, diagnosed, judge_all, lying
from tests.known.ledgers import INFO, case, ledger
from tests.miniatures import Anew, Fake
from tests.report.made import recorded

HARDMAX, SOFTMAX = OpVersion("", "Hardmax", 13), OpVersion("", "Softmax", 13)
#: The first and the last of the maxima of [[3, 3, 1], [3, 0, 3]], and nonsense.
FIRST = np.array([[1, 0, 0], [1, 0, 0]], np.float32)
LAST = np.array([[0, 1, 0], [0, 0, 1]], np.float32)
NINES = np.full((2, 3), 9, np.float32)
LIES = [
    (HARDMAX, "last_of_ties"),
    (HARDMAX, "out_of_range_is_no_axis"),
    (SOFTMAX, "version_1_always"),
    (SOFTMAX, "refuses_float16"),
]


@pytest.fixture(scope="module")
def cases():
    return suite.select(shipped_cases("Hardmax", "Softmax"), suite.Selection(level="smoke"))


def mutant(op, name):
    (found,) = [one for one in mutants_of(op) if one.name == name]
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("op", "name"), LIES)
def test_a_ledger_of_a_run_is_green_in_any_order_and_selection(cases, tmp_path, op, name):
    backend = lying(mutant(op, name))
    mine = [case for case in cases if case.op.name == op.name]
    records = [recorded(result) for result in diagnosed(mine, backend)]
    failing = {record.case for record in records if is_red(record, reds())}
    revision, _ = update_ledger(None, records, mine, failing, "1.0", add=True, prune=False)
    assert all(entry["looks"] for entry in revision.added)
    path = tmp_path / "mine.yaml"
    empty = new_ledger(name)
    node = read_text(empty, "", Problems())
    assert node is not None
    path.write_text(revised(empty, node, "", revision))
    gate = Gate(load_user_ledgers([path]))
    for selection in (mine, mine[::-1], mine[1::3]):
        again = [*judge_all(selection, [Inline(backend)], gate=gate)]
        assert [result.case.id for result in again if is_red(result, reds())] == []
        known = {result.case.id for result in again if result.verdict is Verdict.KNOWN}
        assert known == failing & {case.id for case in selection}


def test_another_mistake_in_the_same_cases_is_red(cases, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "backend: doubled\nknown:\n- failure: values\n  looks: last_of_ties\n  cause: Ties.\n"
        "  where: [{op: Hardmax, name: first_of_ties}]\n"
    )
    gate = Gate(load_user_ledgers([tmp_path / "mine.yaml"]))
    mine = [case for case in cases if case.name == "first_of_ties"]
    backend = lying(mutant(HARDMAX, "doubled"))
    results = [*judge_all(mine, [Inline(backend)], is_unexplained=lambda _: True, gate=gate)]
    assert mine
    assert all(result.unexpected and is_red(result, reds()) for result in results)
    assert {result.diagnoses[0].mistake for result in results} == {"doubled"}


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([LAST, LAST, LAST], Verdict.KNOWN),
        ([LAST, NINES, LAST], Verdict.FAIL),
        ([NINES, LAST, LAST], Verdict.FAIL),
        ([LAST, LAST[:, :1], LAST], Verdict.UNSTABLE),
        ([LAST, FIRST, LAST], Verdict.UNSTABLE),
        ([LAST, BackendUnavailable("gone"), LAST], Verdict.NOT_RUN),
    ],
)
def test_what_is_listed_excuses_a_repeated_case_only_if_it_came_each_time(
    tmp_path, answers, verdict
):
    (tmp_path / "mine.yaml").write_text(
        "backend: fake\nknown:\n- verdict: fail\n  looks: last_of_ties\n  cause: Ties.\n"
        "  where: [{op: Hardmax, name: made}]\n"
    )
    gate = Gate(load_user_ledgers([tmp_path / "mine.yaml"]))
    # A constant has no other data, about which an answer of these would be wrong.
    constant = "{input: {value: [[3, 3, 1], [3, 0, 3]], initializer: true}}"
    stated = "{output: [[1, 0, 0], [1, 0, 0]]}"
    case = one(tmp_path, f"{{name: made, inputs: {constant}, expect: {stated}}}")
    times = len(answers)
    backend = Inline(Fake(Anew(*answers)))
    (found,) = judge_all([case], [backend], is_unexplained=lambda _: True, gate=gate, times=times)
    assert found.verdict is verdict
    assert sum(found.verdicts.values()) == times
    assert found.unexpected is (verdict in (Verdict.FAIL, Verdict.UNSTABLE))


def test_names_that_a_failure_may_look_like():
    assert {"last_of_ties", "not_checked", "computed_in_float16"} <= names_of(HARDMAX)
    assert names_of(OpVersion("ai.onnx.ml", "ZipMap", 1)) == set()


LOOKS = (Diagnosis("last_of_ties", "the last of equal maxima won"),)
CASES = [
    case(name, opset=opset, dtype=dtype)
    for name in ("ties", "axes", "nan")
    for opset in (11, 13)
    for dtype in ("float16", "float32")
]
RED = reds()


def outcomes(one):
    """What may come of a case: what it is worth, in what way it fails, why, and what it looks."""
    return st.sampled_from(
        [
            LiveResult(one, "acme", Verdict.PASS),
            LiveResult(one, "acme", Verdict.FAIL, "wrong", "values", diagnoses=LOOKS),
            LiveResult(one, "acme", Verdict.FAIL, "wrong", "values"),
            LiveResult(one, "acme", Verdict.FAIL, "accepts", "accepted"),
            LiveResult(one, "acme", Verdict.ERROR, f"no kernel at {one.opset}", "raised"),
            LiveResult(one, "acme", Verdict.CRASH, "killed by SIGSEGV", "crash"),
            LiveResult(one, "acme", Verdict.TIMEOUT, "no answer within 30 s", "timeout"),
            LiveResult(one, "acme", Verdict.UNSUPPORTED, "no float16"),
            LiveResult(one, "acme", Verdict.UNSUPPORTED, "no graph", inexpressible=True),
        ]
    )


RUNS = st.tuples(*map(outcomes, CASES))


def judged(run, gate):
    """The records of a run under a gate; what was diagnosed looks like that."""
    return [
        recorded(
            gate.apply(one, INFO, lambda name, one=one: name in {d.mistake for d in one.diagnoses})
            or one
        )
        for one in run
    ]


def red(records):
    return {record.case for record in records if is_red(record, RED)}


def written(folder, run, text=None, *, add=True, prune=True):
    """The ledger after a run, and what was said of it."""
    path = folder / "mine.yaml"
    path.write_text(text or new_ledger("acme"))
    (before,) = load_user_ledgers([path])
    records = judged(run, Gate([before]))
    revision, said = update_ledger(
        before, records, CASES, red(records), "1.5", add=add, prune=prune
    )
    text = path.read_text()
    node = read_text(text, "", Problems())
    assert node is not None
    path.write_text(revised(text, node, "", revision))
    (after,) = load_user_ledgers([path])
    return after, said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ledgers")


def entries(*results: LiveResult) -> list[dict[str, object]]:
    """The entries of the first ledger of a run with these failures."""
    records = [recorded(result) for result in results]
    ids = {record.case for record in records}
    return [*update_ledger(None, records, CASES, ids, "1.5", add=True, prune=False)[0].added]


def test_an_entry_has_the_condition_that_the_run_printed_with_its_counts(wording):
    text = "gives wrong values where input X is float16"
    condition = (Diagnosis(None, text, counts=(6, 6, 0, 9)),)
    failures = [
        LiveResult(one, "acme", Verdict.FAIL, "wrong", "values", diagnoses=condition)
        for one in CASES[:3]
    ]
    (entry,) = entries(*failures)
    assert condition[0].text in entry["cause"]
    assert entry["cause"] == wording


def test_an_entry_of_a_condition_of_several_messages_has_its_own(wording):
    text = "your backend raised ValueError: no (or another of 2 messages), in every case"
    condition = (Diagnosis(None, text, counts=(2, 2, 0, 0)),)
    messages = ["ValueError: no such axis", "TypeError: no such type"]
    failures = [
        LiveResult(one, "acme", Verdict.ERROR, message, "raised", diagnoses=condition)
        for one, message in zip(CASES, messages, strict=False)
    ]
    causes = [entry["cause"] for entry in entries(*failures)]
    assert causes == wording


@pytest.mark.parametrize("beyond", [False, True])
def test_an_entry_of_what_is_unsupported_has_the_words_of_who_lacks_it(beyond, wording):
    reason = "no float16 kernel"
    (entry,) = entries(LiveResult(CASES[0], "acme", Verdict.UNSUPPORTED, reason, beyond=beyond))
    assert entry["cause"] == wording


def test_an_entry_of_what_nothing_explains_has_its_case_reason_and_pattern(wording):
    pattern_of_one = (Diagnosis(None, "like the right values + 1"),)
    failure = LiveResult(
        CASES[0], "acme", Verdict.FAIL, "1 of 6 wrong", "values", diagnoses=pattern_of_one
    )
    (entry,) = entries(failure)
    assert CASES[0].id in entry["cause"]
    assert entry["cause"] == wording


@given(RUNS)
def test_a_first_ledger_makes_the_same_run_green(folder, run):
    ledger, _ = written(folder, run)
    again = judged(run, Gate([ledger]))
    assert red(again) == set()
    passes = sum(one.verdict is Verdict.PASS for one in run)
    assert sum(record.verdict is Verdict.PASS for record in again) == passes


@pytest.mark.gate
@given(RUNS, RUNS)
def test_a_ledger_that_was_brought_up_to_date_does_too(folder, before, now):
    ledger, _ = written(folder, before)
    ledger, _ = written(folder, now, ledger.path.read_text())
    assert red(judged(now, Gate([ledger]))) == set()


@pytest.mark.gate
@given(RUNS, RUNS)
def test_nothing_is_added_or_removed_unless_told(folder, before, now):
    ledger, _ = written(folder, before)
    text = ledger.path.read_text()
    was = red(judged(now, Gate([ledger])))
    same, said = written(folder, now, text, add=False, prune=False)
    assert same.path.read_text() == text
    counts = [line.split()[0] for line in said if line != "nothing to update"]
    assert sum(map(int, counts)) == len(was)
    pruned, _ = written(folder, now, text, add=False)
    passing = {one.case.id for one in now if one.verdict is Verdict.PASS}
    assert red(judged(now, Gate([pruned]))) == was - passing


def test_cases_that_were_not_run_stay_listed(folder, wording):
    failing = [LiveResult(one, "acme", Verdict.FAIL, "wrong", "values") for one in CASES]
    ledger, _ = written(folder, failing)
    now = [replace(failing[0], verdict=Verdict.PASS, failure=None)]
    ledger, said = written(folder, now, ledger.path.read_text())
    assert said == wording
    assert red(judged(failing, Gate([ledger]))) == {CASES[0].id}


def test_what_looks_alike_is_one_entry_with_a_cause_to_be_confirmed(folder, wording):
    run = [
        LiveResult(c, "acme", Verdict.FAIL, "wrong", "values", diagnoses=LOOKS) for c in CASES[:6]
    ]
    run += [LiveResult(c, "acme", Verdict.ERROR, f"no kernel: {c.id}", "raised") for c in CASES[6:]]
    ledger, said = written(folder, run)
    assert said == ["12 results listed"]
    ties, raised = ledger.fields.known
    assert ties.cause == wording
    assert ties.looks == ["last_of_ties"]
    assert raised.reason == "no kernel"
    assert raised.cause == wording


def test_entries_about_other_versions_stay_as_they_are(folder, wording):
    text = "backend: acme\nknown:\n- verdict: fail\n  versions: '<1'\n  cause: Old.\n"
    text += "  where:\n  - {op: Hardmax, name: [ties, gone]}\n"
    passing = [LiveResult(one, "acme", Verdict.PASS) for one in CASES]
    assert written(folder, passing, text)[0].path.read_text() == wording


def test_what_another_ledger_lists_otherwise_is_not_listed_twice(folder):
    other = ledger(folder, "{verdict: crash, cause: X., where: [{op: Hardmax}]}", name="other.yaml")
    run = [LiveResult(one, "acme", Verdict.FAIL, "wrong", "values") for one in CASES]
    records = judged(run, Gate([other]))
    revision, said = update_ledger(None, records, CASES, red(records), "1.5", add=True, prune=True)
    elsewhere = "listed otherwise in another ledger, and to be mended there"
    assert (bool(revision), said) == (False, [f"{len(CASES)} results {elsewhere}"])


def test_what_is_nowhere_is_pruned(folder, wording):
    where = "where: [{op: Hardmax, name: [ties, gone]}]"
    other = "verdict: fail\ncause: Two.\nwhere:\n- {op: LpPool}"
    said = ledger(folder, f"verdict: fail\ncause: One.\n{where}", other)
    run = [
        LiveResult(c, "acme", Verdict.FAIL, "wrong", "values") for c in CASES if c.name == "ties"
    ]
    after, told = written(folder, run, said.path.read_text())
    (left,) = after.fields.known
    assert [place.name for place in left.where] == [["ties"]]
    assert told[-1] == wording
    assert not any("no longer listed" in line for line in told[:-1])


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("killed by SIGSEGV", "killed by SIGSEGV"),
        ("raised: axis 3 of [1, 2]", "raised: axis * of"),
        ("no LpPool(22) at 0x7f00aa", "no LpPool(*) at"),
        ("cannot open /tmp/x1/model.onnx now", "cannot open * now"),
        ("no float16 kernel", "no float16 kernel"),
        ("no\x1b[2J \u202e kernel\x00 here", "no*[*J * kernel* here"),
        ("no\nkernel  here", "no kernel here"),
        ("took 1.5e-3 s, 2, 3 and 4", "took * s, * and"),
        ("a" * 500, "a" * 100),
        ("", None),
        ("12", None),
        ("code 7", None),
    ],
)
def test_what_differs_from_case_to_case_is_left_out_of_a_reason(reason, kept):
    assert pattern(reason) == kept


@given(st.text(max_size=300))
def test_whatever_a_backend_says_can_be_listed(folder, said):
    run = [LiveResult(CASES[0], "acme", Verdict.ERROR, said, "raised")]
    ledger, _ = written(folder, run)
    assert red(judged(run, Gate([ledger]))) == set()
