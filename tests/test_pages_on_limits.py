"""Readers find what was not tried, and what else is called opcheck, from each place they start."""

import pytest

from docs.site import layout
from tests.shell import ROOT


@pytest.mark.parametrize("page", ["not-tried", "names"])
@pytest.mark.parametrize("start", ["README.md", "docs/site/home.md"])
def test_a_start_links_to_the_page(page: str, start: str) -> None:
    assert f"](docs/{page}.md)" in (ROOT / start).read_text(encoding="utf-8")
    assert (ROOT / "docs" / f"{page}.md").exists()
    assert [section.caption for section in layout.SECTIONS if f"docs/{page}" in section.pages]
