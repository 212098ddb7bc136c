"""The page that derives the error bounds: its examples are run, and its bounds tried."""

import doctest
import re
from fractions import Fraction
from typing import Any

import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.numbers import bounded as xp
from opcheck.numbers.arithmetic import narrow
from opcheck.numbers.bounded.array import bounded
from tests.shell import ROOT

PAGE = (ROOT / "docs" / "bounds.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```pycon\n(.*?)```", PAGE, re.DOTALL)


def run_examples() -> tuple[dict[str, Any], doctest.TestResults, str]:
    """Run the page's examples: the names that they define, the counts, and what differs."""
    names: dict[str, Any] = {}
    examples = doctest.DocTestParser().get_doctest("".join(EXAMPLES), names, "bounds.md", None, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    counts = runner.run(examples, out=told.append, clear_globs=False)
    return examples.globs, counts, "".join(told)


def test_the_examples_print_what_the_page_shows() -> None:
    _, counts, differences = run_examples()
    assert counts.failed == 0, differences
    assert counts.attempted > 30


def test_the_table_of_rules_links_to_each_section() -> None:
    links = set(re.findall(r"\]\(#([\w-]+)\)", PAGE))
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    assert anchors - links == {"what-is-carried-along"}
    assert links <= anchors


def test_no_order_of_adding_up_exceeds_the_bound_of_a_sum() -> None:
    names, _, _ = run_examples()
    half = narrow(DTYPES["float16"])
    rng = np.random.default_rng(7)
    for spread in (1, 4, 8):
        sizes = 2.0 ** rng.uniform(-spread, spread, (20, 5))
        terms = (sizes * rng.choice([-1, 1], sizes.shape)).astype(np.float16)
        allowed = xp.sum(bounded(terms, half), axis=1).with_rounding().e
        for row, most in zip(terms, allowed, strict=True):
            exact = sum(Fraction(float(term)) for term in row)
            totals = names["each_order"](list(row))
            worst = max(abs(Fraction(float(total)) - exact) for total in totals)
            assert worst <= most, row
