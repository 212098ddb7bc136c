"""The site's generators: each page has what the product has, and no link leads nowhere."""

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

import opcheck
from docs import rulings
from docs.site import (
    __main__ as site,
    api_pages,
    checks,
    command_pages,
    figures,
    flowchart,
    layout,
    operator_pages,
    schema_pages,
    sources,
)
from docs.site.markdown import code, escaped, folded, prose
from opcheck import clauses, opset
from opcheck.cli.group import COMMANDS, program
from opcheck.model import Case, Rejected, Verdict
from opcheck.situations import broadcasting
from opcheck.suite import Selection, load, select
from reports import results
from reports.published import Published
from tests.wording import lines_with

#: One operator of each domain, and one with several readings.
SOME = ("Adam", "DML_ACTIVATION_HARDMAX", "Hardmax", "Normalizer", "Where")
DOCS = sources.ROOT / "docs"


@pytest.fixture(scope="module")
def cases() -> Sequence[Case]:
    return select(load(ops=SOME), Selection())


@pytest.fixture(scope="module")
def pages(cases: Sequence[Case]) -> dict[str, str]:
    """Return the pages of some operators by name, without engines."""
    met = rulings.met_by(case for case in cases if case.rule == "open")
    every = operator_pages.operators(cases, met)
    return {one.name: operator_pages.page(one, (), ()) for one in every}


def test_without_sphinx_no_site_is_said_to_be_whole(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(site, "generated", lambda *_: {})
    monkeypatch.setattr(site.sources, "write", lambda *_: 0)
    monkeypatch.setattr(site, "sphinx", lambda *_: 1)
    monkeypatch.setattr(site.sys, "argv", ["site", "--quick", "-o", str(tmp_path)])
    assert site.main() == 1
    said = capsys.readouterr()
    assert "wrong links" not in said.out
    assert "[site]" in said.err


# ── operators ─────────────────────────────────────────────────────────────────────────────────


def test_each_operator_has_a_page_in_the_folder_of_its_domain(cases):
    paths = [one.path for one in operator_pages.operators(cases, {})]
    assert paths == [
        "onnx/Hardmax",
        "onnx/Where",
        "ml/Normalizer",
        "training/Adam",
        "dml/DML_ACTIVATION_HARDMAX",
    ]


@pytest.mark.parametrize(("domain", "name"), [("", "Hardmax"), (opset.TRAINING, "Adam")])
def test_a_page_has_every_sentence_of_the_newest_version(pages, domain, name):
    text = clauses.pages_of(domain, name)
    assert text is not None
    newest = text.versions[max(text.versions)]
    assert [one.text for one in newest if escaped(one.text) not in pages[name]] == []
    assert [
        one.ruling for one in newest if one.ruling and escaped(one.ruling) not in pages[name]
    ] == []


def test_a_page_has_the_rulings_that_its_cases_meet(pages):
    assert "`nan-in-order`" in pages["Hardmax"]
    assert "`refused`, `from_the_back`" in pages["Hardmax"]


def test_a_page_has_its_situations(pages):
    (row,) = re.findall(r"^\| broadcasting \| (\d+) of (\d+) \|", pages["Where"], re.MULTILINE)
    assert row[0] == row[1]
    assert escaped(broadcasting.FAMILY.left_out) in pages["Where"]


def test_the_example_is_binding_and_has_the_answer_that_the_case_states(cases, pages, wording):
    hardmax = [case for case in cases if case.op.name == "Hardmax"]
    shown = operator_pages.example(hardmax)
    assert (shown.name, shown.rule, shown.op.since) == ("worked_example", "must", 13)
    assert f"opcheck show '{shown.id}'" in pages["Hardmax"]
    assert lines_with(pages["Hardmax"], "answer (stated") == wording


def test_no_example_is_a_refusal_if_there_is_an_answer(cases):
    for one in operator_pages.operators(cases, {}):
        assert not isinstance(operator_pages.example(one.cases).expect, Rejected), one.name


def test_no_page_names_a_folder_of_this_machine(pages):
    assert [name for name, text in pages.items() if str(sources.ROOT) in text] == []


def test_a_page_counts_what_engines_pass(cases):
    stored = results.read(results.FOLDER / "torch.json.gz")
    torch = Published(stored.head, stored.results, ledger=None, by_hand=())
    (operator,) = operator_pages.operators(
        [case for case in cases if case.op.name == "Hardmax"], {}
    )
    text = operator_pages.page(
        operator, [operator_pages.Engine(torch)], ["reports/torch/Hardmax.md"]
    )
    (row,) = re.findall(r"^\| \[torch .*$", text, re.MULTILINE)
    assert _right(torch, "Hardmax") > 0
    assert f"| {_right(torch, 'Hardmax'):,} |" in row
    assert "(../../reports/torch/Hardmax.md)" in row


def _right(engine: Published, name: str) -> int:
    own = (one for one in engine.results if one.op.name == name and not one.op.domain)
    return sum(one.plain is Verdict.PASS for one in own)


# ── reference ─────────────────────────────────────────────────────────────────────────────────


def test_each_command_has_a_page_with_all_its_options():
    pages = command_pages.pages()
    assert set(pages) == {"index", *COMMANDS}
    root = click.Context(program)
    for name in COMMANDS:
        command = program.get_command(root, name)
        assert command is not None
        names = [
            option
            for parameter in command.params
            if isinstance(parameter, click.Option) and not parameter.hidden
            for option in parameter.opts
        ]
        assert [one for one in names if one not in pages[name]] == [], name


def test_examples_of_a_command_keep_their_lines():
    assert "\nopcheck new backend " in command_pages.pages()["new"]


def test_everything_that_opcheck_offers_is_on_the_page_of_python(wording):
    page = api_pages.page()
    names = [name for name in opcheck.__all__ if name[0] != "_"]
    assert [name for name in names if f"### opcheck.{name}\n" not in page] == []
    assert lines_with(page, "| `keywords` |") == wording
    assert "'must', 'should', 'open'" in page


def test_a_docstring_is_paragraphs_code_and_tables():
    text = """\
First `line`.

    code(1)

Args:
    name: One,
        two.
    other: More."""
    assert [line for line in api_pages.docstring(text) if line] == [
        "First `line`.",
        "```python",
        "code(1)",
        "```",
        "| argument | meaning |",
        "| --- | --- |",
        "| `name` | One, two. |",
        "| `other` | More. |",
    ]


def test_each_format_has_its_fields_with_what_pages_say_of_them(wording):
    pages = schema_pages.pages()
    assert set(pages) == {"ledger", "protocol", "run", "settings"}
    assert lines_with(pages["settings"], "| `memory_limit` |") == wording
    assert "](../docs/backends.md#options)" in pages["settings"]
    assert lines_with(pages["ledger"], "| `where` (always)") == wording


# ── sources ───────────────────────────────────────────────────────────────────────────────────


def test_every_page_of_the_repository_is_in_one_section():
    pages = [page for section in layout.SECTIONS for page in section.pages]
    assert len(pages) == len({*pages})
    assert [file.name for file in DOCS.glob("*.md") if f"docs/{file.stem}" not in pages] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](bounds.md#top)", "[a](bounds.md#top)"),
        ("[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("[a](#top)", "[a](#top)"),
        ("[home](../README.md)", "[home](../index.md)"),
        ("[cases](../cases)", "[cases](../cases/README.md)"),
        ("[the engine](../opcheck/engine)", "the engine (`opcheck/engine`)"),
        ("[a](gate.md)", "a"),
        ("`[a](gate.md)`\n\n```sh\n[b](gate.md)\n```\n", "`a`\n\n```sh\n[b](gate.md)\n```\n"),
    ],
)
def test_links_lead_to_what_the_site_has(text, expected):
    pages = {"docs/bounds.md", "cases/README.md"}
    assert sources.converted(text, "docs/trust.md", pages, pytest.fail) == expected


def test_a_link_to_a_file_needs_a_copy_of_it():
    needed: list[str] = []
    text = "[it](../examples/my_backend.py), ![it](images/report.png)"
    assert sources.converted(text, "docs/trust.md", (), needed.append) == text
    assert needed == ["examples/my_backend.py", "docs/images/report.png"]


def test_a_link_to_nothing_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"docs/trust\.md.*absent\.md"):
        sources.converted("[a](absent.md)", "docs/trust.md", (), pytest.fail)


def test_markup_in_texts_is_shown_as_it_is():
    assert escaped("a_b *c* | <d> [e]") == r"a\_b \*c\* \| \<d\> \[e\]"
    assert prose("Give `a|b` for *x*") == r"Give `a\|b` for \*x\*"
    assert code("a`b") == "`` a`b ``"
    assert [*folded("More", ["line"])][1:4:2] == ["<details><summary>More</summary>", "line"]


# ── checks of the built site ──────────────────────────────────────────────────────────────────


def problems_of(body: str, folder: Path) -> list[str]:
    """Return the problems of a site of two pages, the first with this body."""
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    (folder / "other.html").write_text('<p id="there">x</p>', encoding="utf-8")
    return [*checks.problems(folder)]


@pytest.mark.parametrize("address", ["other.html#there", "https://example.org/"])
def test_right_links_are_no_problem(tmp_path: Path, address: str):
    assert problems_of(f'<a href="{address}">x</a>', tmp_path) == []


@pytest.mark.parametrize("address", ["other.html#absent", "absent.html", "#absent"])
def test_wrong_links_are_found(tmp_path: Path, address: str, wording):
    assert problems_of(f'<a href="{address}">x</a>', tmp_path) == wording


def test_foreign_files_are_found(tmp_path: Path, wording):
    body = '<script src="https://example.org/x.js"></script>'
    assert problems_of(body, tmp_path) == wording


def test_a_style_that_loads_a_font_from_elsewhere_is_found(tmp_path: Path, wording):
    (tmp_path / "a.css").write_text("@import 'https://example.org/font.css';", encoding="utf-8")
    assert [*checks.problems(tmp_path)] == wording


# ── pictures ──────────────────────────────────────────────────────────────────────────────────


def test_pages_have_each_picture_once():
    texts = [file.read_text(encoding="utf-8") for file in DOCS.glob("*.md")]
    named = re.findall(r"<!-- picture: (\w+) -->", "\n".join(texts))
    assert sorted(named) == sorted(figures.names())


@pytest.mark.parametrize("name", [*figures.names()])
def test_a_picture_is_sound_markup_in_one_block(name):
    drawn = figures.picture(name)
    root = ElementTree.fromstring(drawn)
    assert "\n\n" not in drawn
    (image,) = root.iter("svg")
    assert len(image.attrib["aria-label"]) > 40


def test_the_picture_of_bounds_shows_right_answers_within_them():
    elements = figures.bounds()
    assert [one.input for one in elements] == [0, -10, -20]
    assert all(abs(one.off) < one.allowed for one in elements)
    assert elements[0].allowed < elements[1].allowed < elements[2].allowed


def test_the_picture_of_scatter_shows_what_a_bound_cannot_see():
    used = {name: (share, scatter) for name, share, scatter in figures.scatters()}
    assert used["bfloat16"][0] < 1 < used["bfloat16"][1] / 60


def test_each_level_includes_the_one_before():
    smoke, core, deep = figures.levels().values()
    assert 0 < smoke < core < deep


def test_a_chart_has_every_box_and_arrow():
    text = 'flowchart TD\n a[("first<br>more")] --> b["second"]\n b -- words --> c["third"]\n'
    text += " a --> c\n"
    drawn = flowchart.flowchart(text)
    words = [one.text for one in ElementTree.fromstring(drawn).iter("text")]
    assert words == ["first", "more", "second", "third", "words"]
    assert drawn.count("marker-end") == 3
