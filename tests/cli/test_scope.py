"""A profile's `operators` are what `opcheck run` and `support` are about."""

import json
import tomllib

import pytest

from opcheck.cli import list as listing, runs
from opcheck.model import Cell, OpVersion, Support, Verdict
from opcheck.report.support import Matrix
from tests.report.made import record

SETTINGS = """\
[backends.mine]
address = "py:mine"
operators = [{operators}]
"""


@pytest.fixture
def scoped(run, tmp_path):
    """A function that states the scope of a new backend, the profile `mine`."""
    run("new", "backend", "mine", code=0)

    def state(*operators: str) -> None:
        quoted = ", ".join(f'"{name}"' for name in operators)
        (tmp_path / "opcheck.toml").write_text(SETTINGS.format(operators=quoted))

    return state


def operators_of(run_output: str) -> set[str]:
    """Return the operators of the results in JSON lines."""
    records = map(json.loads, run_output.splitlines())
    return {record["op"] for record in records if record["type"] == "result"}


def test_a_run_judges_the_scope_alone(run, scoped) -> None:
    scoped("Softmax@13+:float32", "Hardmax")
    found = run("run", "--level", "smoke", "-b", "mine", "--format", "json", code=0)
    assert operators_of(found.stdout) == {"Softmax", "Hardmax"}
    head = json.loads(found.stdout.splitlines()[0])
    assert "scope of mine" in head["selection"]
    assert "Hardmax, Softmax@13+:float32" in head["selection"]


def test_a_run_of_a_smaller_scope_covers_less_also_by_another_release(run, scoped, tmp_path):
    """Releases may ask other cases by one command, and a profile that lost operators is another."""
    scoped("Softmax@13+:float32", "Hardmax")
    run("run", "--level", "smoke", "-b", "mine", "--report", "json=old.jsonl", code=0)
    old = tmp_path / "old.jsonl"
    head, *results = old.read_text().splitlines(keepends=True)
    old.write_text("".join([head.replace('"opcheck":"', '"opcheck":"0.0'), *results]))
    scoped("Hardmax")
    run("run", "--level", "smoke", "-b", "mine", "--report", "json=new.jsonl", code=0)
    run("diff", "old.jsonl", "new.jsonl", code=4)


@pytest.mark.parametrize("words", [("--op", "Softmax"), ("--case", "Softmax/worked_example*")])
def test_named_operators_and_cases_are_judged_whatever_the_scope(run, scoped, words) -> None:
    scoped("Hardmax")
    found = run("run", "--level", "smoke", *words, "-b", "mine", "--format", "json", code=0)
    assert operators_of(found.stdout) == {"Softmax"}


def test_named_files_are_judged_whatever_the_scope(run, scoped) -> None:
    scoped("Hardmax")
    run("new", "case", "Softmax", "mine.yaml", code=0)
    found = run("run", "mine.yaml", "-b", "mine", "--format", "json", code=0)
    assert operators_of(found.stdout) == {"Softmax"}


@pytest.mark.parametrize("command", ["run", "support"])
@pytest.mark.parametrize("other", ["numpy", "wider"])
def test_backends_of_different_scopes_are_not_asked_together(
    run, scoped, tmp_path, command: str, other: str
) -> None:
    scoped("Hardmax")
    with (tmp_path / "opcheck.toml").open("a") as settings:
        settings.write(SETTINGS.replace("mine]", "wider]").format(operators='"Hardmax", "Softmax"'))
    found = run(command, "-b", "mine", "-b", other, code=2)
    assert "--op" in found.stderr
    assert found.stdout == ""


def test_backends_of_one_scope_are_asked_together(run, scoped, tmp_path) -> None:
    scoped("Hardmax", "Softmax")
    with (tmp_path / "opcheck.toml").open("a") as settings:
        settings.write(SETTINGS.replace("mine]", "same]").format(operators='"Softmax", "Hardmax"'))
    words = ("run", "--level", "smoke", "--format", "json", "-b", "mine", "-b", "same")
    assert operators_of(run(*words, code=0).stdout) == {"Softmax", "Hardmax"}


def test_backends_of_different_scopes_are_asked_named_operators(run, scoped) -> None:
    scoped("Hardmax")
    words = ("run", "--level", "smoke", "--op", "Softmax,Hardmax", "--format", "json")
    found = run(*words, "-b", "mine", "-b", "numpy", code=0)
    assert operators_of(found.stdout) == {"Softmax", "Hardmax"}


def test_support_shows_the_cells_of_the_scope(run, scoped) -> None:
    scoped("Softmax@13:float32", "Softmax@13:float64")
    found = run("support", "-b", "mine", "--format", "json", code=0)
    cells = [json.loads(line) for line in found.stdout.splitlines()]
    assert {(cell["op"], cell["since"], cell["dtype"]) for cell in cells} == {
        ("Softmax", 13, "float32"),
        ("Softmax", 13, "float64"),
    }


@pytest.mark.parametrize("operators", [("Softmx",), ("Softmax@99",), ()])
def test_a_scope_of_nothing_is_a_usage_error(run, scoped, operators) -> None:
    scoped(*operators)
    run("run", "--level", "smoke", "-b", "mine", code=2)


def test_a_wrong_scope_is_told_though_operators_are_named(run, scoped) -> None:
    scoped("Conv@x")
    found = run("run", "-b", "mine", "--op", "Hardmax", "--level", "smoke", code=2)
    assert "Conv@x" in found.stderr
    assert "Conv@x" in run("support", "-b", "mine", "--op", "Hardmax", code=2).stderr


def test_a_scope_is_proposed_to_a_backend_that_lacks_most_operators(capsys) -> None:
    some = [OpVersion("", f"Op{number}", 1) for number in range(30)]
    answered = [record(Verdict.PASS, op=op, backend="mine") for op in some[:2]]
    lacking = [record(Verdict.UNSUPPORTED, op=op, backend="mine") for op in some]
    runs._propose_scopes([*answered, *lacking], ["mine"], "core")
    proposed = capsys.readouterr().err
    assert 'operators = ["Op0", "Op1"]' in proposed
    assert "opcheck support -b mine" not in proposed
    runs._propose_scopes([*answered, *lacking], ["mine"], "smoke")
    assert "opcheck support -b mine" in capsys.readouterr().err
    runs._propose_scopes([*answered, *lacking[:3]], ["mine"], "core")
    assert capsys.readouterr().err == ""


def cell_of(name: str, since: int, verdict: Verdict, share: int = 2) -> Support:
    """A cell of an operator's version, of whose two models `share` met the verdict."""
    cell = Cell(OpVersion("", name, since), "float32")
    return Support(cell, None, verdict, count=2, share=share)


def test_support_proposes_each_operator_from_its_first_version_that_is_there(capsys) -> None:
    """An operator of which some models are declined is there; one of which all are is not."""
    cells = [cell_of(f"Op{number}", 1, Verdict.UNSUPPORTED) for number in range(30)]
    cells += [cell_of("Op1", 13, Verdict.PASS), cell_of("Op2", 1, Verdict.FAIL)]
    cells += [cell_of("Op3", 7, Verdict.UNSUPPORTED, share=1)]
    cells += [cell_of("Op4", 7, Verdict.NOT_RUN)]
    listing._propose_scopes([Matrix("py:acme.runtime:Acme", "acme", "", cells)])
    proposed = capsys.readouterr().err.split("\n", 1)[1]
    profile = tomllib.loads(proposed)["backends"]["runtime"]
    assert profile == {
        "address": "py:acme.runtime:Acme",
        "operators": ["Op1@13+", "Op2", "Op3@7+"],
    }


def test_a_long_scope_is_an_array_of_short_lines(capsys) -> None:
    cells = [cell_of(f"Op{number}", 1, Verdict.UNSUPPORTED) for number in range(100)]
    cells += [cell_of(f"Op{number}", 1, Verdict.PASS) for number in range(40)]
    listing._propose_scopes([Matrix("cmd:./runner {model}", "acme", "", cells)])
    proposed = capsys.readouterr().err.split("\n", 1)[1]
    assert len(tomllib.loads(proposed)["backends"]["runner"]["operators"]) == 40
    assert max(map(len, proposed.splitlines())) <= 100


def test_a_scope_is_proposed_to_a_backend_whose_class_is_not_named(run) -> None:
    run("new", "backend", "mine3", code=0)
    found = run("run", "--level", "smoke", "-b", "py:mine3", code=0)
    assert '[backends.mine3]\n  address = "py:mine3:MyBackend"' in found.stderr
    assert 'operators = ["Hardmax", "Softmax"]' in found.stderr


def test_a_part_of_the_suite_proposes_no_scope(run, scoped) -> None:
    run("new", "backend", "mine2", code=0)
    some = "Softmax,Hardmax,Reduce*,A*,S*"
    found = run("run", "--level", "smoke", "--op", some, "-b", "py:mine2", code=0)
    assert "operators =" not in found.stderr
