"""A run as a page, read as GitHub reads Markdown: what comes from outside is shown and no more."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from opcheck.model import Verdict
from opcheck.report import markdown, plain_text
from opcheck.report.markdown import block, code, table, text
from tests.report.made import record
from tests.report.runs import HOSTILE, every_verdict, hostile, run_of
from tests.wording import lines_with

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
#: What a page of ours is made of.
TAGS = {
    *("h2", "h3", "p", "ul", "li", "details", "summary", "b", "code", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td", "strong"),
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(HOSTILE)


class _Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts, self.plain = [], [], []
        self._open = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if not {"code", "pre"} & {*self._open}:
            self.plain.append(data)


def seen(lines):
    """What a browser makes of Markdown: the tags, all texts, and those that are no code."""
    page = _Seen()
    page.feed(READER.render("\n".join(lines)))
    page.close()
    assert not page._open
    return page


def shown(said):
    """A text as a page shows it, without what nobody sees."""
    return "".join(seen([f"x {said} x"]).texts).replace("\u200b", "").strip()


@given(TEXTS)
def test_a_text_is_shown_as_it_is(said):
    want = f"x {plain_text.one_line(said)} x".split()
    for made in (text(said), code(said)):
        assert shown(made).split() == want


@given(TEXTS)
def test_a_text_makes_no_markup(said):
    assert seen([f"x {text(said)} x"]).tags == [("p", {})]
    page = seen(["| a | b |", "| --- | --- |", f"| {text(said)} | {code(said)} |"])
    assert [tag for tag, _ in page.tags].count("td") == 2
    assert {tag for tag, _ in page.tags} <= TAGS


@pytest.mark.parametrize("said", HOSTILE)
def test_no_link_mention_or_reference_begins(said):
    page = seen([f"x {text(said)} x"])
    for plain in page.plain:
        # As they are looked for in what is displayed.
        assert not re.search(r"@\w|(?<!&)#\d|:[a-z]+:", plain)
    # As they are looked for in what is written.
    for made in (text(said), code(said)):
        assert not re.search(r"https?://|www\.|\w@\w", made, re.IGNORECASE)


@pytest.mark.parametrize("said", [*HOSTILE, "```", "a\n````\nb", "~~~~", "    indented"])
def test_a_block_holds_what_is_said(said):
    page = seen(["before", "", *block(said), "", "after"])
    assert [tag for tag, _ in page.tags] == ["p", "pre", "code", "p"]
    rendered = READER.render("\n".join(block(said)))
    inside = html.unescape(re.fullmatch(r"<pre><code>(.*)</code></pre>\n", rendered, re.S)[1])
    assert inside.rstrip("\n") == plain_text.block(said).rstrip("\n")


def test_a_table_is_one():
    page = seen(table(["a", "b"], [["1", "2"], ["3", "4"]], numbers=1))
    assert [tag for tag, _ in page.tags].count("tr") == 3
    assert [attrs for tag, attrs in page.tags if tag == "td"][1] == {"style": "text-align:right"}


def page_of(run):
    return "\n".join(markdown.lines(run)) + "\n"


def test_every_verdict(snapshot):
    snapshot("markdown", page_of(run_of(*every_verdict(), *every_verdict("bolt:x?y=1"))))


def test_a_green_run_is_a_table(snapshot):
    snapshot("markdown_green", page_of(run_of(record(), record(Verdict.KNOWN, known=None))))


def test_each_failure_is_folded_and_explains_itself():
    page = seen(markdown.lines(run_of(*every_verdict())))
    tags = [tag for tag, _ in page.tags]
    # A failure, a difference, an error, a crash, a timeout, an oom, an unstable one, an
    # unexpected pass, a case that is wrong.
    assert tags.count("details") == tags.count("summary") == 9
    assert tags.count("table") == 6
    assert not any(attrs.get("open") for tag, attrs in page.tags if tag == "details")
    whole = "".join(page.texts)
    for said in (
        "clause: 1 if the element",
        "likely cause: the last",
        "opcheck run my/ties.yaml",
    ):
        assert said in whole
    assert "… and 7 more elements" in whole
    assert "last\nwords" in whole


def test_a_run_that_was_cut_short_says_so_first(wording):
    page = page_of(run_of(record(), cases=5))
    assert lines_with(page, "## opcheck: incomplete: 1 of 5") == wording
    assert ", exit code 4\n" in page


@pytest.mark.parametrize("said", HOSTILE)
def test_whatever_a_backend_says_is_shown_and_no_more(said):
    page = seen(markdown.lines(hostile(said)))
    assert {tag for tag, _ in page.tags} <= TAGS
    assert all(set(attrs) <= {"style", "class"} for _, attrs in page.tags)
    assert [tag for tag, _ in page.tags].count("details") == 9
    for character in "\x00\x1b\x08\u202e":
        assert character not in "".join(page.texts)


@pytest.mark.gate
@given(TEXTS.filter(bool))
def test_any_text_is_shown_and_no_more(said):
    page = seen(markdown.lines(hostile(said)))
    assert [tag for tag, _ in page.tags].count("details") == 9
    assert {tag for tag, _ in page.tags} <= TAGS


def test_a_page_is_never_longer_than_github_takes(wording):
    failure = record(Verdict.FAIL, reason="größer " * 400)
    whole = page_of(run_of(*(failure for _ in range(3000))))
    assert len(whole.encode()) < 1 << 20
    shown = whole.count("<details>")
    assert 100 < shown < 3000
    last = whole.strip().splitlines()[-1]
    assert last == wording
    assert whole.count("</details>") == shown


def test_even_tables_may_be_too_long(monkeypatch):
    monkeypatch.setattr(markdown, "LIMIT", 1 << 17)
    ops = [
        replace(record(), case=f"x{n}", op=replace(record().op, since=n + 1)) for n in range(2500)
    ]
    whole = page_of(run_of(*ops))
    assert (1 << 16) < len(whole.encode()) < (1 << 17) + (1 << 16)
    assert whole.strip().endswith("not be longer.")
