import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from opcheck.errors import CaseFileError
from opcheck.model import Case
from opcheck.suite import load
from tests.expecting import error_of

Cases = Callable[[str], tuple[Case, ...]]
Mistake = Callable[[str, str], None]
ProblemsOf = Callable[[str], list[str]]


@pytest.fixture
def cases(tmp_path: Path) -> Cases:
    """The cases of a text, as of a file in `tmp_path`."""

    def loaded(text: str) -> tuple[Case, ...]:
        path = tmp_path / "f.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return load([path])

    return loaded


@pytest.fixture
def problems(tmp_path: Path, cases: Cases) -> ProblemsOf:
    """What is wrong with a text: each problem as "line:column: message (hint)"."""

    def found(text: str) -> list[str]:
        return [
            str(problem).removeprefix(f"{tmp_path / 'f.yaml'}:")
            for problem in error_of(CaseFileError, cases, text).problems
        ]

    return found


@pytest.fixture
def mistake(problems: ProblemsOf) -> Mistake:
    """Checks that a text has one problem: this message, at the place marked with »."""

    def check(text: str, message: str) -> None:
        text = textwrap.dedent(text)
        before, marked, _ = text.partition("»")
        assert marked, "the place is marked"
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        assert problems(text.replace("»", "")) == [f"{line}:{column}: {message}"]

    return check
