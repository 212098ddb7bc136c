"""Tests compare codes, fields and classes; the product's wording is in snapshots alone.

A sentence can then be written better without a change of any test: `pytest --update-snapshots`
writes it anew. What counts is a text of more than three words in a comparison, in `match=` of
`pytest.raises`, or in `startswith`, `endswith` and `re.search`, written there or given there by the
name of a local variable, of a constant of the module or of a parameter of the test.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wording import read, test_of as name_of_test

TESTS = Path(__file__).parent
MOST_WORDS = 3
#: Files with texts that are not the product's wording, each with the reason.
EXCEPTIONS = {
    "backends/test_missing.py": "messages of engines, of which a sentence is found",
    "numbers/test_machine.py": "names of ways to compute, by which a benchmark refers to them",
    "situations/test_families.py": "names of situations, by which arguments refer to them",
}
#: Methods and functions whose arguments are compared with a text.
_COMPARING = ("startswith", "endswith", "removeprefix", "removesuffix", "search", "fullmatch")
_WORD = re.compile(r"[(\"'`]*[A-Za-z][a-z]*(['-][a-z]+)?[)\"'`,.;:!?]*")

Names = dict[str, list[ast.expr]]


def words(text: str) -> int:
    """Return how many words of a text are words of a language: no numbers, codes or paths."""
    return sum(_WORD.fullmatch(word) is not None for word in text.replace("\\", "").split())


def _text(node: ast.AST) -> str | None:
    """Return the text of a literal, with `{}` for what an f-string computes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (str(one.value) if isinstance(one, ast.Constant) else " {} " for one in node.values)
        return "".join(parts)
    return None


def _texts(node: ast.AST, names: Names) -> Iterator[str]:
    """Yield the literals in a compared expression, but not what is given to functions there."""
    text = _text(node)
    if text is not None:
        yield text
    elif isinstance(node, ast.Name):
        for value in names.get(node.id, ()):
            yield from _texts(value, {})
    elif not isinstance(node, ast.Call | ast.Subscript):
        for child in ast.iter_child_nodes(node):
            yield from _texts(child, names)


def _name(function: ast.expr) -> str:
    """Return the name of a called function, without what it belongs to."""
    return ast.unparse(function).rpartition(".")[2]


def _compared(function: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that are compared in the assertions of a function."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            for part in ast.walk(node.test):
                if isinstance(part, ast.Compare):
                    yield from (part.left, *part.comparators)
                elif isinstance(part, ast.Call) and _name(part.func) in _COMPARING:
                    yield from part.args
        elif isinstance(node, ast.Call):
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "match")


def _assigned(node: ast.AST) -> Names:
    """Return what is assigned to each name directly in a module or function."""
    found: Names = {}
    for statement in ast.walk(node) if isinstance(node, ast.FunctionDef) else node.body:  # type: ignore[attr-defined]
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(statement.value)
    return found


def _parameters(function: ast.FunctionDef) -> Names:
    """Return what `pytest.mark.parametrize` gives to each parameter."""
    found: Names = {}
    for mark in function.decorator_list:
        if not isinstance(mark, ast.Call) or not ast.unparse(mark.func).endswith("parametrize"):
            continue
        stated, table = mark.args[:2]
        if isinstance(stated, ast.Constant):
            names = [name.strip() for name in str(stated.value).split(",")]
        else:
            names = [str(name.value) for name in ast.walk(stated) if isinstance(name, ast.Constant)]
        for row in getattr(table, "elts", ()):
            cells = _cells(row, len(names))
            for name, cell in zip(names, cells, strict=False):
                found.setdefault(name, []).append(cell)
    return found


def _cells(row: ast.expr, count: int) -> list[ast.expr]:
    """Return the values of a row of parameters."""
    if isinstance(row, ast.Call) and ast.unparse(row.func) == "pytest.param":
        return row.args
    if count > 1 and isinstance(row, ast.Tuple | ast.List):
        return row.elts
    return [row]


def wordy(source: str) -> dict[str, list[str]]:
    """Return the texts of too many words that each function of a file compares."""
    module = ast.parse(source)
    constants = _assigned(module)
    found: dict[str, list[str]] = {}
    for function in module.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        names = constants | _assigned(function) | _parameters(function)
        texts = [text for part in _compared(function) for text in _texts(part, names)]
        if long := [text for text in texts if words(text) > MOST_WORDS]:
            found[function.name] = long
    return found


@pytest.fixture(scope="module")
def wordy_files() -> dict[str, dict[str, list[str]]]:
    """Return `wordy` of each file of tests that has any."""
    found = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        if texts := wordy(file.read_text(encoding="utf-8")):
            found[file.relative_to(TESTS).as_posix()] = texts
    return found


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("assert 'no such file is there' in out", 1),
        ("assert 'no such file' in out", 0),
        ("assert out == ['a', 'no such file is there']", 1),
        ("assert (code, out) == (2, f'{name}: no such file is there')", 1),
        ("assert out.startswith('no such file is there')", 1),
        ("said = 'no such file is there'\n    assert out == said", 1),
        ("with pytest.raises(ValueError, match='no such file is there'):\n        pass", 1),
        ("assert out == CONSTANT", 1),
        ("assert out == given", 1),
        ("assert out == f('no such file is there')", 0),
        ("assert out == 'a.yaml:3:7: Hardmax/ties@opset=13 1 2 3 4'", 0),
        ("write('no such file is there')", 0),
    ],
)
def test_every_kind_of_comparison_counts(source, count):
    text = "CONSTANT = 'no such file is there'\n"
    text += "@pytest.mark.parametrize('given', ['no such file is there'])\n"
    text += f"def test_it():\n    {source}\n"
    assert len(wordy(text)) == count


def test_no_test_compares_wording(wordy_files):
    found = {name: texts for name, texts in wordy_files.items() if name not in EXCEPTIONS}
    assert found == {}, "compare these with the fixture `wording`"


def test_each_exception_is_needed(wordy_files):
    assert EXCEPTIONS.keys() - wordy_files.keys() == set()


def test_each_stored_text_is_of_a_test():
    for file in TESTS.rglob("snapshots/test_*.txt"):
        source = file.parent.parent / f"{file.stem}.py"
        tests = {
            node.name
            for node in ast.parse(source.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        assert {name_of_test(heading) for heading in read(file)} <= tests, file
