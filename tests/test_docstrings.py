"""The docstring of a function that raises says so.

A function raises if its own body has a `raise` statement with an exception, or calls one of the
functions that raise for bad or unspecified input. Its docstring must contain "Raise" or "Raises",
so that a reader learns of the error without reading the body. Exempt are

- mutants: they are wrong on purpose, and their docstring is about what is wrong;
- nested functions: the docstring of the function around them speaks for them;
- a `raise` without an exception, which passes on what another function raised.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "opcheck"
FOLDERS = ("engine", "numbers", "diagnose", "compare", "execution")
#: Functions that raise for bad or unspecified input, beside those named `check` or `check_…`.
RAISING = {"reject", "decline", "raise_unspecified", "leave_open"}

#: Files of `FOLDERS` whose docstrings do not say it yet. This list only shrinks.
NOT_YET: tuple[str, ...] = (
    "engine/mutants/__init__.py",
    "engine/mutants/elements.py",
    "engine/mutants/windows.py",
    "execution/bench.py",
    "execution/evaluation.py",
    "execution/expected.py",
    "execution/golden.py",
    "execution/saving.py",
    "execution/scheduler.py",
    "execution/support.py",
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Offence(NamedTuple):
    """A function that raises and whose docstring does not say so."""

    file: str
    line: int
    function: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: it has {self.reason}"


def _functions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, FunctionNode]]:
    """Yield every function and method with its qualified name, without nested functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FunctionNode):
            yield owner + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{owner}{node.name}.")
        else:
            yield from _functions(node, owner)


def _name_of(called: ast.expr) -> str:
    """Return the last name of what is called: `check` of `plan.check`; "" if it has none."""
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _is_mutant(function: FunctionNode) -> bool:
    """Return True if a decorator such as `@OP.mutant("…")` declares the function a mutant."""
    calls = [one.func for one in function.decorator_list if isinstance(one, ast.Call)]
    return any(_name_of(called).endswith("mutant") for called in calls)


def _own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body in the order of the source, without inner functions."""
    waiting: list[ast.AST] = [*reversed(function.body)]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, _OWN_SCOPE):
            yield node
            waiting += reversed([*ast.iter_child_nodes(node)])


def _raising(node: ast.AST) -> str:
    """Return the source of a statement or call that raises; "" for any other node."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return f"`raise {ast.unparse(raised)}`"
    if isinstance(node, ast.Call):
        name = _name_of(node.func)
        if name in RAISING or re.fullmatch(r"_?check(_\w+)?", name):
            return f"`{name}(…)`"
    return ""


def _first_raising(function: FunctionNode) -> str:
    """Return the source of the first node of a function's own body that raises; "" without any."""
    return next(filter(None, map(_raising, _own_nodes(function))), "")


def offences(source: str, file: str) -> list[Offence]:
    """Return the functions of a source that raise and whose docstrings do not say so."""
    found = []
    for name, function in _functions(ast.parse(source)):
        reason = _first_raising(function)
        says_so = re.search(r"\braises?\b", ast.get_docstring(function) or "", re.IGNORECASE)
        if reason and not says_so and not _is_mutant(function):
            found.append(Offence(file, line=function.lineno, function=name, reason=reason))
    return found


def _offences_of_package() -> list[Offence]:
    paths = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    return [
        offence
        for path in paths
        for offence in offences(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix())
    ]


def test_docstrings_say_what_a_function_raises():
    offending = [one for one in _offences_of_package() if one.file not in NOT_YET]
    listed = "\n".join(f"opcheck/{offence}" for offence in offending)
    assert not offending, f'docstrings without "Raise" or "Raises":\n{listed}'


def test_files_that_say_it_have_left_the_list():
    offending_files = {offence.file for offence in _offences_of_package()}
    stale = sorted({*NOT_YET} - offending_files)
    assert not stale, f"take these files off NOT_YET: {', '.join(stale)}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no')", "`raise ValueError`"),
        ("raise ValueError", "`raise ValueError`"),
        ("raise errors.InvalidNode('no') from None", "`raise errors.InvalidNode`"),
        ("for x in y:\n        reject(x, 'no')", "`reject(…)`"),
        ("return 1 if a else raise_unspecified('b')", "`raise_unspecified(…)`"),
        ("operators.leave_open('c')", "`leave_open(…)`"),
        ("check_scalar('d', d)", "`check_scalar(…)`"),
        ("plan.check()", "`check(…)`"),
    ],
)
def test_a_function_that_raises_without_a_word_offends(body, reason):
    source = f'def f(x):\n    """Return `x`, raised by one."""\n    {body}\n'
    expected = Offence("ops/f.py", line=1, function="f", reason=reason)
    assert offences(source, "ops/f.py") == [expected]
    said = source.replace('by one."""', 'by one; raises an error if not."""')
    assert offences(said, "ops/f.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return 1",
        "def f():\n    try:\n        g()\n    except OSError:\n        h()\n        raise",
        "def f():\n    def g():\n        raise ValueError\n    return g",
        "def f():\n    return lambda x: reject(x, 'no')",
        "@OP.mutant('it was refused', 13)\ndef f(x):\n    reject(x, 'no')",
        "def f():\n    recheck(1)\n    checked(2)",
    ],
)
def test_what_does_not_raise_itself_does_not_offend(source):
    assert offences(source, "ops/f.py") == []


def test_methods_and_functions_under_a_condition_are_looked_at():
    source = "if a:\n    class C:\n        def f(self):\n            raise ValueError\n"
    assert [str(one) for one in offences(source, "c.py")] == [
        "c.py:3 C.f: it has `raise ValueError`"
    ]
