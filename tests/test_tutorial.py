"""The commands of the tutorial, and of the site's first page, print what the pages show."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.node_tests import needs_known_releases
from tests.shell import ROOT, numberless, shell

TUTORIAL = ROOT / "docs" / "tutorial.md"
HOME = ROOT / "docs" / "site" / "home.md"
#: A test installs nothing.
INSTALLS = "pip install"
WIDTH = 80


class Step(NamedTuple):
    """Commands of a page, and the output that it shows of them, "" if it shows none."""

    commands: str
    shown: str


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block of code, in order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def steps(page: Path) -> Iterator[Step]:
    """Yield the commands of a page; a block of YAML is a file that its first line names."""
    found = blocks(page)
    for (language, text), (after, shown) in zip(found, [*found[1:], ("", "")], strict=True):
        if language == "yaml":
            name = text.splitlines()[0].removeprefix("# ")
            yield Step(f"cat >{name} <<'END'\n{text}END\n", "")
        elif language == "sh" and INSTALLS not in text:
            yield Step(f"export COLUMNS={WIDTH}\n{text}", shown if after == "text" else "")


def missing(shown: str, printed: str) -> Sequence[str]:
    """Return the lines of a page that are not printed in their order, whatever their numbers."""
    left = iter(numberless(printed).splitlines())
    lines = numberless(shown).splitlines()
    return [line for line in lines if line != "…" and line not in left]


@needs_known_releases
@pytest.mark.parametrize(
    "page",
    [pytest.param(TUTORIAL, id="tutorial", marks=pytest.mark.gate), pytest.param(HOME, id="home")],
)
def test_every_step_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    for commands, shown in steps(page):
        status, printed = shell(tmp_path, commands)
        assert missing(shown, printed) == [], f"{commands}\n{printed}"
        ending = re.search(r"^exit (\d+):", shown, re.MULTILINE)
        assert not ending or status == int(ending[1]), commands


def test_a_step_that_prints_something_else_is_noticed():
    assert missing("a 1\n…\nc", "a 2\nb\nc\n") == []
    assert missing("a\nc\nb", "a\nb\nc\n") == ["b"]


def test_the_pages_have_steps_and_outputs():
    assert [len([*steps(page)]) for page in (TUTORIAL, HOME)] == [10, 1]
    assert all(step.shown for step in steps(HOME))
