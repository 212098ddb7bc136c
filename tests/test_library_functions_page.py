"""The budgets in docs/library-functions.md are those of the code."""

import re

from benchmarks.library_functions import PUBLISHED, budget
from opcheck.numbers.arithmetic import LIBRARY
from tests.numbers.machine import LIBRARY_FUNCTIONS
from tests.shell import ROOT

PAGE = (ROOT / "docs" / "library-functions.md").read_text(encoding="utf-8")


def test_the_page_has_the_budget_of_every_library_function() -> None:
    table = PAGE[PAGE.index("| function | opcheck |") : PAGE.index("## float16")]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| \d", table, re.MULTILINE))
    assert rows == {name: budget(name) for name in PUBLISHED}
    assert rows.keys() == {*LIBRARY_FUNCTIONS, "sqrt"} > LIBRARY.keys()


def test_a_budget_has_the_unit_of_the_page() -> None:
    assert (budget("tan"), budget("asin"), budget("tanh")) == ("4", "5", "4")
    assert (budget("exp"), budget("pow")) == ("4 + \\|x\\|", "4 + 3·\\|p·ln x\\|")
