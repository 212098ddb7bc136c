"""A profile's `operators` are what `opcheck run` and `support` are about."""

import json

import pytest

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


def test_a_scope_without_a_case_judges_nothing(run, scoped) -> None:
    scoped("Hardmax")
    run("run", "--level", "smoke", "--op", "Softmax", "-b", "mine", code=5)


def test_a_backend_without_a_scope_is_for_all_cases(run, scoped) -> None:
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


def test_a_part_of_no_operator_is_a_usage_error(run, scoped) -> None:
    scoped("Softmx")
    run("run", "--level", "smoke", "-b", "mine", code=2)


def test_a_scope_is_proposed_to_a_backend_that_lacks_most_operators(run, scoped) -> None:
    scoped()
    some = "Softmax,Hardmax,Reduce*,A*,S*"
    found = run("run", "--level", "smoke", "--op", some, "-b", "mine", code=0)
    assert 'operators = ["Hardmax", "Softmax"]' in found.stderr
