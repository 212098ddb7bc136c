"""No function of opcheck branches more than a reader can follow, or takes too many parameters.

Ruff's C901 counts statements only. Here conditional expressions, `and`, `or` and the loops and
conditions of comprehensions count too: they are branches to a reader as well.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from opcheck import opset
from opcheck.engine.operators import OUTPUTS, USED, Operator, every

PACKAGE = Path(__file__).parent.parent / "opcheck"
MAX_COMPLEXITY = 15
MAX_PARAMETERS = 8
MAX_EXCEPTIONS = 10

#: Functions that may be more complex, as "file:function", each with the reason.
EXCEPTIONS: dict[str, str] = {}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_ONE_BRANCH = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.comprehension,
    ast.match_case,
)


class Function(NamedTuple):
    """A function of a file, methods and inner functions too."""

    path: Path
    node: FunctionNode

    @property
    def name(self) -> str:
        """The file, relative to the package, and the function."""
        return f"{self.path.relative_to(PACKAGE).as_posix()}:{self.node.name}"


def complexity(function: ast.AST) -> int:
    """Return one more than the number of branches in a function, with those of inner functions."""
    total = 1
    for node in ast.walk(function):
        if isinstance(node, _ONE_BRANCH):
            total += 1
        elif isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
    return total


def parameters(function: FunctionNode) -> list[str]:
    """Return the names of a function's parameters, without `self` and `cls`."""
    stated = function.args
    named = [*stated.posonlyargs, *stated.args, *stated.kwonlyargs]
    return [one.arg for one in named if one.arg not in ("self", "cls")]


@cache
def functions() -> list[Function]:
    """Return every function of the package."""
    return [
        Function(path, node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, FunctionNode)
    ]


@cache
def complex_functions() -> list[Function]:
    """Return the functions of the package that are too complex."""
    return [one for one in functions() if complexity(one.node) > MAX_COMPLEXITY]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("pass", 1),
        ("if a:\n  pass\nelif b:\n  pass\nelse:\n  pass", 3),
        ("x = 1 if a else 2", 2),
        ("x = a and b or c", 3),
        ("x = [i for i in a for j in b if c]", 3),
        ("for i in a:\n  while b:\n    pass", 3),
        ("try:\n  pass\nexcept A:\n  pass\nexcept B:\n  pass", 3),
        ("match a:\n  case 1:\n    pass\n  case _:\n    pass", 3),
        ("def inner():\n  if a:\n    pass", 2),
    ],
)
def test_every_kind_of_branch_counts(source, expected):
    assert complexity(ast.parse(source)) == expected


def test_no_function_is_too_complex():
    assert [
        f"{function.name}: {complexity(function.node)}"
        for function in complex_functions()
        if function.name not in EXCEPTIONS
    ] == []


def test_exceptions_are_few_and_needed():
    assert len(EXCEPTIONS) <= MAX_EXCEPTIONS
    assert all(EXCEPTIONS.values())
    assert EXCEPTIONS.keys() <= {function.name for function in complex_functions()}


def _schema_names(operator: Operator) -> Iterator[set[str]]:
    """Yield the names of inputs and attributes of each version, and those of all together."""
    of_versions = [
        {name.lower() for name in (*(one.name for one in schema.inputs), *schema.attributes)}
        for schema in opset.versions(operator.domain, operator.name).values()
    ]
    yield from of_versions
    yield set().union(*of_versions)


def _texts_in_decorators(function: FunctionNode) -> Iterator[str]:
    for decorator in function.decorator_list:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def _takes_what_a_schema_has(function: Function, operators: list[Operator]) -> bool:
    """Return True if the parameters are those of a schema.

    Before them a function may take what it is built from, and among its keywords the version and
    the options that its decorator `formulas_of_versions` names. It may leave out attributes that
    change nothing, or take them to refuse values that the text says nothing of.
    """
    names = [name.strip("_").lower() for name in parameters(function.node)]
    own_keywords = {OUTPUTS, USED, "since", *_texts_in_decorators(function.node)}
    for operator in operators:
        for schema in _schema_names(operator):
            first = next((n for n, name in enumerate(names) if name in schema), len(names))
            stated = {*names[first:]} - own_keywords
            needed = schema - {name.lower() for name in operator.ignores}
            if needed <= stated <= schema:
                return True
    return False


def _formulas_of_many_parameters() -> dict[str, bool]:
    """Return for each function of `engine/ops` if it takes what a schema has."""
    operators: dict[str, list[Operator]] = {}
    for operator in every():
        operators.setdefault(operator.module.rpartition(".")[2], []).append(operator)
    return {
        f"{function.path.stem}.{function.node.name}": _takes_what_a_schema_has(
            function, operators[function.path.stem]
        )
        for function in functions()
        if function.path.parent == PACKAGE / "engine" / "ops"
        if len(parameters(function.node)) > MAX_PARAMETERS
    }


def test_formulas_of_many_parameters_take_what_their_schema_has():
    formulas = _formulas_of_many_parameters()
    assert [name for name, is_of_schema in formulas.items() if not is_of_schema] == []
