import os
import signal
import sys
import time

import pytest

from opcheck.engine.mutants import Mutant, mutants_of
from opcheck.model import OpVersion
from tests.wording import lines_with

HEAD = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\ncases:\n"
TIES = "- {name: ties, inputs: {input: [[3, 3]]}, expect: {output: [[1, 0]]}}\n"
NO_TIES = "- {name: no_ties, inputs: {input: [[3, 1, 2]]}, expect: {output: [[1, 0, 0]]}}\n"


@pytest.fixture(autouse=True)
def cases(run, tmp_path):
    """Files of cases, in the folder where the commands run."""
    (tmp_path / "weak.yaml").write_text(HEAD + NO_TIES)
    (tmp_path / "strong.yaml").write_text(HEAD + NO_TIES + TIES)
    (tmp_path / "unknown.yaml").write_text(
        "domain: ai.onnx.ml\nop: SVMRegressor\nopset: 1\ndtype: float32\ntolerance: {ulp: 0}\n"
        "cases:\n- {name: a, inputs: {X: [1]}, expect: {Y: [1]}}\n"
    )


def lines_of(found):
    return found.stdout.splitlines()


def table(found):
    """The cells of the scores' first row."""
    rows = lines_of(found)
    return rows[next(i for i, line in enumerate(rows) if line.startswith("operator ")) + 2].split()


def test_a_mistake_that_is_killed_is_a_success(run, wording):
    found = run("mutate", "strong.yaml", "--mutant", "last_of_ties", "-j", "1", code=0)
    assert table(found) == ["Hardmax-13", "1", "1", "·", "·", "·", "100", "%"]
    assert lines_of(found)[-1] == wording


def test_a_survivor_is_a_failure_and_comes_with_a_case(run, wording):
    found = run("mutate", "weak.yaml", "--mutant", "last_of_ties", "-j", "1", code=1)
    first, _, third, *_ = lines_of(found)
    assert first == wording
    assert third.startswith("  shipped  Hardmax/")
    assert third.endswith(") kills it")
    assert table(found) == ["Hardmax-13", "1", "·", "·", "·", "1", "0", "%"]
    assert lines_of(found)[-1] == "exit 1: 1 survived"


def test_the_shipped_case_that_is_named_kills(run):
    words = ("--mutant", "last_of_ties", "-j", "1")
    shipped = lines_of(run("mutate", "weak.yaml", *words))[2].split()[1]
    assert table(run("mutate", "--case", shipped, *words))[1:3] == ["1", "1"]


def test_a_mutant_that_raises_is_named_and_the_others_are_tried(run, monkeypatch, wording):
    op = OpVersion("", "Hardmax", 13)
    broken = Mutant("broken", "it raises", lambda _: [][0])
    [sound] = [mutant for mutant in mutants_of(op) if mutant.name == "last_of_ties"]
    monkeypatch.setattr("opcheck.execution.mutate.mutants_in", lambda *_: (broken, sound))
    monkeypatch.setattr("opcheck.execution.conditioned.mutants_in", lambda *_: (broken, sound))
    found = run("mutate", "strong.yaml", "-j", "1", code=1)
    assert found.stderr == wording
    assert table(found) == ["Hardmax-13", "1", "1", "·", "·", "·", "100", "%"]
    assert lines_of(found)[-1] == "exit 1: 1 raised"


@pytest.mark.gate
def test_all_arguments_are_told_on_request(run):
    words = ("mutate", "strong.yaml", "-j", "1")
    plain, verbose = run(*words), run(*words, "-v")
    assert lines_of(verbose)[-1] == lines_of(plain)[-1]
    assert "Argued to be" not in plain.stdout
    assert "Argued to be" in verbose.stdout
    assert "last_of_ties" in verbose.stdout


def test_an_argument_that_a_case_refutes_is_a_failure(run, monkeypatch, wording):
    monkeypatch.setattr("opcheck.execution.mutate.why_harmless", lambda *_: "there are no ties")
    words = ("--mutant", "last_of_ties", "-j", "1")
    assert run("mutate", "weak.yaml", *words).exit_code == 0
    found = run("mutate", "strong.yaml", *words, code=1)
    assert lines_with(found.stdout, "argued  harmless in Hardmax-13 float32:") == wording
    assert lines_of(found)[-1] == wording


@pytest.mark.gate
def test_several_processes_say_the_same(run):
    words = ("mutate", "strong.yaml", "--opset", "13", "--mutant", "last_of_ties")
    one, two = (run(*words, "-j", jobs, "--mutant", "minimum").stdout for jobs in "12")
    assert one == two


def test_a_mistake_that_there_is_not_is_refused(run):
    found = run("mutate", "weak.yaml", "--mutant", "last_of_tie", code=2)
    assert found.stderr.splitlines()[0] == "opcheck: no mutant 'last_of_tie'"
    assert "'last_of_ties'" in found.stderr


def test_operators_without_mistakes_judge_nothing(run, wording):
    found = run("mutate", "unknown.yaml", code=5)
    assert found.stderr == wording


def test_a_wrong_case_is_wrong_usage(run, tmp_path, wording):
    (tmp_path / "wrong.yaml").write_text(HEAD + TIES.replace("[[1, 0]]", "[[0, 1]]"))
    found = run("mutate", "wrong.yaml", "-j", "1", code=2)
    assert found.stderr == wording


@pytest.mark.sampled(1)
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals")
@pytest.mark.parametrize("after", [0.3, 1.0])
def test_an_interrupt_ends_it_and_its_processes_without_a_traceback(start, after):
    process = start("mutate", "--op", "Softmax", "-j", "2")
    time.sleep(after)  # while its processes start, and while they are at work
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "opcheck: interrupted\n")


def rows_of(found, title):
    """The names of rows in a table, by its title."""
    lines = lines_of(found)
    if title not in [line.strip() for line in lines]:
        return []
    first = [line.strip() for line in lines].index(title) + 3
    length = [*lines[first:], ""].index("")
    # Folded cells go on in lines without a place.
    return [line.split()[1] for line in lines[first : first + length] if line[0] != " "]


def test_rows_that_core_lacks_and_does_not_need_are_shown(run, tmp_path, wording):
    deep = TIES.replace("name: ties", "name: ties, level: deep")
    twice = NO_TIES.replace("no_ties,", "no_ties, rows: [{label: a}, {label: b}],")
    (tmp_path / "levels.yaml").write_text(HEAD + twice + deep)
    found = run("mutate", "levels.yaml", "--levels", "-j", "1", code=1)
    assert rows_of(found, "Core lacks") == ["ties"]
    assert rows_of(found, "Core does not need") == ["no_ties#b"]
    assert lines_of(found)[-1] == wording
    cells = table(found)
    assert cells[:3] == ["Hardmax", "2", "2"]
    assert float(cells[3].rstrip("%")) < 99 <= float(cells[4].rstrip("%"))


def test_core_that_is_as_proposed_is_a_success_and_reasons_are_told_on_request(run, tmp_path):
    (tmp_path / "levels.yaml").write_text(HEAD + NO_TIES + TIES)
    words = ("mutate", "levels.yaml", "--levels", "-j", "1")
    found = run(*words, code=0)
    assert rows_of(found, "Core needs") == []
    assert rows_of(run(*words, "-v"), "Core needs") == ["no_ties", "ties"]


@pytest.mark.parametrize(
    "words",
    ["--mutant last_of_ties", "--opset 13", "--dtype float32", "--case Hardmax/ties", "-k a"],
)
def test_levels_are_weighed_for_whole_operators_alone(run, words):
    found = run("mutate", "strong.yaml", "--levels", *words.split(), code=2)
    assert "--levels" in found.stderr


def test_levels_of_cases_without_mutants_are_not_judged(run):
    assert run("mutate", "unknown.yaml", "--levels", "-j", "1", code=5).stdout == ""


SITUATIONS = """\
op: Add
dtype: float32
opset: 14
cases:
- {name: row, inputs: {A: [[1, 2], [3, 4]], B: [[5, 6]]}}
- {name: matrices, inputs: {A: [[0.1, 2], [3, 4]], B: [[5, 6], [8, 7]]}}
"""


@pytest.fixture
def situations(tmp_path):
    """A file of two cases, of which one does not show what rounds to whole numbers."""
    (tmp_path / "situations.yaml").write_text(SITUATIONS)
    return "mutate", "situations.yaml", "--mutant", "whole_numbers", "-j", "1"


def test_mutants_that_are_wrong_in_one_situation_have_a_score_of_their_own(run, situations):
    rows = lines_of(run(*situations, code=0))
    assert ["Add-14", "broadcasting", "2", "1", "1", "50", "%"] in map(str.split, rows)


def test_they_are_listed_by_situation_on_request(run, situations, wording):
    rows = lines_of(run(*situations, "-v", code=0))
    first = next(number for number, row in enumerate(rows) if row.startswith("SURVIVED"))
    assert rows[first : first + 3] == wording


def test_operators_without_situations_have_no_such_score(run):
    found = run("mutate", "--op", "Det", "--level", "smoke", "--dtype", "float32", "-j", "1")
    assert found.exit_code in (0, 1)
    assert "situation" not in found.stdout
