"""A run under a ledger: what failures looked like once is found in them again."""

import numpy as np
import pytest

from opcheck import suite
from opcheck.analysis.status import is_red, reds
from opcheck.diagnose import names_of
from opcheck.engine.mutants import mutants_of
from opcheck.errors import BackendUnavailable
from opcheck.execution import judge_all
from opcheck.execution.ledger_update import update_ledger
from opcheck.known import Gate, load_user_ledgers
from opcheck.known.writing import new_ledger, revised
from opcheck.model import OpVersion, Verdict
from opcheck.reading import Problems, read_text
from tests.asking import shipped_cases
from tests.execution.one import one
from tests.inline import Inline, diagnosed, lying
from tests.miniatures import Fake
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
    return suite.select(shipped_cases(), suite.Selection(ops=("Hardmax", "Softmax"), level="smoke"))


def mutant(op, name):
    (found,) = [one for one in mutants_of(op) if one.name == name]
    return found


@pytest.mark.parametrize(("op", "name"), LIES)
def test_a_ledger_of_a_run_is_green_in_any_order_and_selection(cases, tmp_path, op, name):
    backend = lying(mutant(op, name))
    mine = [case for case in cases if case.op.name == op.name]
    records = [recorded(result) for result in diagnosed(mine, backend)]
    failing = {record.case for record in records if is_red(record, reds())}
    found = update_ledger(None, records, mine, failing, "1.0", add=True, prune=False)
    assert all(entry["looks"] for entry in found.revision.added)
    path = tmp_path / "mine.yaml"
    empty = new_ledger(name)
    node = read_text(empty, "", Problems())
    assert node is not None
    path.write_text(revised(empty, node, "", found.revision))
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
    results = [*judge_all(mine, [Inline(backend)], is_puzzling=lambda _: True, gate=gate)]
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
    coming = iter(answers)

    def prepared(task):
        answer = next(coming)

        def run(inputs):
            if isinstance(answer, Exception):
                raise answer
            return [answer.copy()]

        return run

    times = len(answers)
    backend = Inline(Fake(prepared))
    (found,) = judge_all([case], [backend], is_puzzling=lambda _: True, gate=gate, times=times)
    assert found.verdict is verdict
    assert sum(found.verdicts.values()) == times
    assert found.unexpected is (verdict in (Verdict.FAIL, Verdict.UNSTABLE))


def test_names_that_a_failure_may_look_like():
    assert {"last_of_ties", "not_checked", "computed_in_float16"} <= names_of(HARDMAX)
    assert names_of(OpVersion("", "LpNormalization", 22)) == set()
