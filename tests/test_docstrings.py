"""The docstring of a function that raises says so.

A function raises if its own body has a `raise` statement with an exception, or calls one of the
functions that raise for bad or unspecified input. Its docstring must contain "Raise" or "Raises",
and the name of each exception that its own body shows, so that a reader learns of the error without
reading the body. A docstring also names each ruling whose reading its function asks for. Exempt are

- mutants: they are wrong on purpose, and their docstring is about what is wrong;
- nested functions: the docstring of the function around them speaks for them;
- a `raise` without an exception, which passes on what another function raised;
- an exception that the function itself catches, and AssertionError, which says that the code is
  wrong.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "opcheck"
FOLDERS = ("engine", "numbers", "diagnose", "compare", "execution", "graph", "known")
#: Functions that raise for bad or unspecified input, and what. So do those named `check` or
#: `check_…`, of which it is not known here.
RAISING = {
    "reject": "InvalidNode",
    "decline": "NotSupported",
    "raise_unspecified": "NotSupported",
    "leave_open": "NotSupported",
}

#: Files of `FOLDERS` whose docstrings do not say it yet. This list only shrinks.
NOT_YET: tuple[str, ...] = ()

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
NOTHING: frozenset[str] = frozenset()
_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Offence(NamedTuple):
    """A function whose docstring leaves out something that its body has."""

    file: str
    line: int
    function: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.reason}"


class Raising(NamedTuple):
    """A statement or call that raises: its source, and the exception, "" if it is not known."""

    source: str
    exception: str


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


class Own(NamedTuple):
    """A node of a function's own body, and the exceptions that the function catches there."""

    node: ast.AST
    caught: frozenset[str]


def _own_nodes(nodes: Iterable[ast.AST], caught: frozenset[str] = NOTHING) -> Iterator[Own]:
    """Yield the nodes of a body in the order of the source, without inner functions."""
    for node in nodes:
        if isinstance(node, _OWN_SCOPE):
            continue
        yield Own(node, caught)
        if isinstance(node, ast.Try):
            yield from _own_nodes(node.body, caught | _caught_by(node))
            yield from _own_nodes([*node.handlers, *node.orelse, *node.finalbody], caught)
        else:
            yield from _own_nodes(ast.iter_child_nodes(node), caught)


def _caught_by(statement: ast.Try) -> frozenset[str]:
    """Return the names of the exceptions that the handlers of a statement catch."""
    types = [handler.type for handler in statement.handlers if handler.type]
    of_tuples = [each.elts if isinstance(each, ast.Tuple) else [each] for each in types]
    return frozenset(map(_name_of, chain.from_iterable(of_tuples)))


def _raising(node: ast.AST) -> Raising | None:
    """Return how a statement or call raises; None for any other node."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = _name_of(raised)
        if name == "AssertionError":
            return None
        is_class = name[:1].isupper()
        return Raising(f"raise {ast.unparse(raised)}", name if is_class else "")
    if isinstance(node, ast.Call):
        name = _name_of(node.func)
        if name in RAISING or re.fullmatch(r"_?check(_\w+)?", name):
            return Raising(f"{name}(…)", RAISING.get(name, ""))
    return None


def _ruling(node: ast.AST) -> str:
    """Return the name of the ruling whose reading a node asks for; "" for any other node."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    name = _name_of(node.func.value)
    return name if node.func.attr == "reading" and name.isupper() else ""


def _reason(function: FunctionNode) -> str:
    """Return what the docstring of a function leaves out first, as a clause; "" for nothing."""
    doc = ast.get_docstring(function) or ""
    says_that_it_raises = re.search(r"\braises?\b", doc, re.IGNORECASE)
    for node, caught in _own_nodes(function.body):
        raising = _raising(node)
        if raising and raising.exception and raising.exception in caught:
            continue
        if raising and not says_that_it_raises:
            return f"has `{raising.source}`, and its docstring does not say that it raises"
        if raising and raising.exception not in doc:
            return f"has `{raising.source}`, and its docstring does not name {raising.exception}"
        if _ruling(node) not in doc:
            return f"asks for a reading of {_ruling(node)}, and its docstring does not name that"
    return ""


def offences(source: str, file: str) -> list[Offence]:
    """Return the functions of a source whose docstrings leave out an error or a ruling."""
    found = []
    for name, function in _functions(ast.parse(source)):
        reason = _reason(function)
        if reason and not _is_mutant(function):
            found.append(Offence(file, line=function.lineno, function=name, reason=reason))
    return found


@cache
def _offences_of_package() -> tuple[Offence, ...]:
    paths = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    return tuple(
        offence
        for path in paths
        for offence in offences(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix())
    )


def test_docstrings_say_what_a_function_raises_and_which_rulings_it_reads():
    offending = [one for one in _offences_of_package() if one.file not in NOT_YET]
    listed = "\n".join(f"opcheck/{offence}" for offence in offending)
    assert not offending, f"docstrings that leave something out:\n{listed}"


def test_files_that_say_it_have_left_the_list():
    offending_files = {offence.file for offence in _offences_of_package()}
    stale = sorted({*NOT_YET} - offending_files)
    assert not stale, f"take these files off NOT_YET: {', '.join(stale)}"


RAISING_BODIES = [
    ("raise ValueError('no')", "raise ValueError", "ValueError"),
    ("raise ValueError", "raise ValueError", "ValueError"),
    ("raise errors.InvalidNode('no') from None", "raise errors.InvalidNode", "InvalidNode"),
    ("for x in y:\n        reject(x, 'no')", "reject(…)", "InvalidNode"),
    ("return 1 if a else raise_unspecified('b')", "raise_unspecified(…)", "NotSupported"),
    ("operators.leave_open('c')", "leave_open(…)", "NotSupported"),
    ("decline(x, 'c')", "decline(…)", "NotSupported"),
    ("check_scalar('d', d)", "check_scalar(…)", ""),
    ("plan.check()", "check(…)", ""),
    ("raise refusal", "raise refusal", ""),
]


@pytest.mark.parametrize(("body", "source", "exception"), RAISING_BODIES)
def test_a_function_that_raises_without_a_word_offends(body, source, exception):
    silent = f'def f(x):\n    """Return `x`, raised by one; {exception}."""\n    {body}\n'
    reason = f"has `{source}`, and its docstring does not say that it raises"
    expected = Offence("ops/f.py", line=1, function="f", reason=reason)
    assert offences(silent, "ops/f.py") == [expected]
    assert offences(silent.replace("raised by one", "raises"), "ops/f.py") == []


@pytest.mark.parametrize(("body", "source", "exception"), [row for row in RAISING_BODIES if row[2]])
def test_a_function_that_does_not_name_what_it_raises_offends(body, source, exception):
    unnamed = f'def f(x):\n    """Return `x`; raises an error if not."""\n    {body}\n'
    reason = f"has `{source}`, and its docstring does not name {exception}"
    expected = Offence("ops/f.py", line=1, function="f", reason=reason)
    assert offences(unnamed, "ops/f.py") == [expected]
    assert offences(unnamed.replace("an error", exception), "ops/f.py") == []


def test_a_function_that_does_not_name_a_ruling_that_it_reads_offends():
    unnamed = 'def f(x):\n    """Return `x`."""\n    return x if NAN.reading() == "nan" else 0\n'
    reason = "asks for a reading of NAN, and its docstring does not name that"
    assert offences(unnamed, "f.py") == [Offence("f.py", line=1, function="f", reason=reason)]
    assert offences(unnamed.replace("`x`", "`x`, or 0: NAN"), "f.py") == []
    assert offences(unnamed.replace("NAN.reading", "reader.reading"), "f.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return 1",
        "def f():\n    try:\n        g()\n    except OSError:\n        h()\n        raise",
        "def f():\n    def g():\n        raise ValueError\n    return g",
        "def f():\n    return lambda x: reject(x, 'no')",
        "@OP.mutant('it was refused', 13)\ndef f(x):\n    reject(x, 'no')",
        "def f():\n    recheck(1)\n    checked(2)",
        "def f():\n    raise AssertionError(1)",
        "def f():\n    try:\n        raise A\n    except A:\n        pass",
        "def f():\n    try:\n        reject(x, 'no')\n    except (A, InvalidNode):\n        pass",
    ],
)
def test_what_does_not_raise_itself_does_not_offend(source):
    assert offences(source, "ops/f.py") == []


def test_what_a_handler_raises_counts():
    source = "def f():\n    try:\n        g()\n    except A:\n        raise A from None\n"
    assert [one.line for one in offences(source, "f.py")] == [1]


def test_methods_and_functions_under_a_condition_are_looked_at():
    source = "if a:\n    class C:\n        def f(self):\n            raise ValueError\n"
    [offence] = offences(source, "c.py")
    assert (offence.file, offence.line, offence.function) == ("c.py", 3, "C.f")
    assert str(offence).startswith("c.py:3 C.f: ")
