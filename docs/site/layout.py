"""Which pages the site has, and in which section of its navigation.

Pages keep their paths in the repository, so that links between them stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.published import ENGINES

#: The page that everything begins with, at the top of the site.
HOME = "index"


@dataclass(frozen=True)
class Section:
    """A part of the navigation: its caption, and its pages without their endings, in order."""

    caption: str
    pages: Sequence[str]


SECTIONS = (
    Section("Start", ["docs/tutorial"]),
    Section(
        "How to",
        [
            "docs/writing-a-backend",
            "cases/README",
            "docs/backends",
            "docs/gate",
            "docs/known-failures",
            "docs/stored-runs",
            "docs/html-report",
            "docs/accelerators",
            "docs/models",
            "docs/golden-files",
            "docs/onnx-tests",
            "docs/any-operator",
            "docs/timings",
            "docs/python",
            "docs/completion",
            "docs/scale",
            "docs/huge",
            "docs/adding-an-operator",
        ],
    ),
    Section(
        "Reference",
        [
            "reference/commands/index",
            "reference/python",
            "docs/case-files",
            "reference/settings",
            "reference/ledger",
            "reference/run",
            "reference/protocol",
            "docs/rulings",
            "docs/suggestions",
            "docs/errata",
            "CHANGELOG",
        ],
    ),
    Section(
        "Explanation",
        [
            "docs/explanation",
            "docs/verdicts",
            "docs/bounds",
            "docs/library-functions",
            "docs/situations",
            "docs/trust",
            "docs/not-tried",
            "docs/names",
            "docs/architecture",
            "CONTRIBUTING",
        ],
    ),
    Section("Operators", ["operators/index", "docs/operators"]),
    Section(
        "Scoreboard",
        [
            "reports/README",
            "reports/operators",
            *(f"reports/{name}/README" for name in ENGINES),
            "reports/timings",
        ],
    ),
)
#: Titles in the navigation, where the page's own would not tell it from others.
TITLES: Mapping[str, str] = {
    "operators/index": "All operators",
    "docs/operators": "What is judged",
    "reports/operators": "Operators and engines",
    "reports/timings": "Timings of engines",
}
#: What lies elsewhere in the repository and is another page here.
MOVED: Mapping[str, str] = {"README.md": f"{HOME}.md"}


def navigation() -> Iterator[str]:
    """Yield the directives that Sphinx makes the navigation of."""
    for section in SECTIONS:
        yield from ("", "```{toctree}", ":hidden:", f":caption: {section.caption}", "")
        yield from (*map(_entry, section.pages), "```")


def _entry(page: str) -> str:
    return f"{TITLES[page]} <{page}>" if page in TITLES else page
