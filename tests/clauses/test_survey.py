from dataclasses import replace

import pytest

from opcheck.clauses import load_pages, survey
from opcheck.model import OpVersion, Source
from tests.asking import cases_in
from tests.report.made import CASE

FILE = """\
op: Hardmax
page: https://example.org/Hardmax
sentences:
- {part: Summary, text: One for the first maximum., cases: [ties, "nan#last", nan_13]}
- {part: Summary, text: Zero elsewhere., cases: [zeros]}
- {part: Summary, text: It is a remark., nothing: it is a remark}
- {part: Summary, text: It came with 13., versions: [13], cases: [new]}
"""


@pytest.fixture
def pages(tmp_path):
    file = tmp_path / "hardmax.yaml"
    file.write_text(FILE, encoding="utf-8")
    loaded = load_pages(file)
    return lambda domain, name: loaded if name == "Hardmax" else None


def case(name, row=None, *, since=13, clause="", shipped=True, number=0, op="Hardmax"):
    """A case whose id is made of these."""
    return replace(
        CASE,
        id=f"{op}/{name}@opset={since},n={number}#{row}",
        name=name,
        row=row,
        op=OpVersion("", op, since),
        clause=clause,
        source=Source("cases.yaml", 1, 1, shipped),
    )


def counts(pages, *cases):
    """What tests each sentence of the only page these cases are about."""
    [page] = survey(cases, pages)
    return [dict(checked.cases) for checked in page.sentences]


def test_a_sentence_is_tested_by_the_cases_that_its_file_names(pages):
    cases = [case("ties", number=n) for n in range(3)] + [case("zeros"), case("other")]
    assert counts(pages, *cases) == [{"ties": 3}, {"zeros": 1}, {}, {}]


def test_a_name_with_a_row_means_that_row(pages):
    assert counts(pages, case("nan", "first"), case("nan", "last"))[0] == {"nan#last": 1}
    assert counts(pages, case("nan", "last"), case("nan", "last", number=1))[0] == {"nan": 2}


def test_a_sentence_is_tested_by_the_cases_that_quote_it(pages):
    quoting = [case("mine", clause="the first maximum"), case("mine", clause="Zero", number=1)]
    assert counts(pages, *quoting)[:2] == [{"mine": 1}, {"mine": 1}]
    rows = [case("rows", "a", clause="the first maximum"), case("rows", "b", clause="Zero")]
    assert counts(pages, *rows)[:2] == [{"rows#a": 1}, {"rows#b": 1}]


def test_a_case_counts_once_and_those_named_come_first(pages):
    cases = [case("mine", clause="One for"), case("ties", clause="One for")]
    assert list(counts(pages, *cases)[0].items()) == [("ties", 1), ("mine", 1)]


def test_names_mean_cases_of_the_shipped_suites(pages):
    assert counts(pages, case("ties", shipped=False))[0] == {}
    mine = case("ties", shipped=False, clause="One for the first maximum.")
    assert counts(pages, mine)[0] == {"ties": 1}


def test_each_version_has_its_own_page(pages):
    old, new = survey([case("ties", since=13), case("ties", since=11)], pages)
    assert (old.op.since, new.op.since) == (11, 13)
    assert (len(old.sentences), len(new.sentences)) == (3, 4)
    assert old.sentences[0].cases == {"ties": 1}
    assert old.link == "https://example.org/Hardmax"


def test_a_quotation_that_is_not_on_the_page_is_a_stray(pages):
    cases = [
        case("a", clause="One for the last maximum."),
        case("b", clause="It came with 13.", since=11),
        case("c", clause="It came with 13."),
        case("d", clause=""),
        case("e", clause="Zero (Hardmax-11); One (Hardmax-13)"),
        case("f", clause="Zero (Hardmax-11)"),
    ]
    old, new = survey(cases, pages)
    assert [stray.name for stray in old.strays] == ["b"]
    assert [stray.name for stray in new.strays] == ["a", "f"]
    assert new.sentences[0].cases == {"e": 1}


@pytest.mark.parametrize("about", [{"op": "Concat"}, {"since": 12}])
def test_of_other_operators_and_versions_there_is_no_page(pages, about):
    [page] = survey([case("ties", clause="One for", **about)], pages)
    assert (page.link, page.sentences, page.strays) == (None, (), ())


def test_without_cases_there_is_nothing_to_tell(pages):
    assert survey([]) == ()


HEADINGS = """
op: LayerNormalization
opset: 17
inputs: {X: [[1, 2]], Scale: [1, 1]}
cases:
- name: narrow
  matrix: {dtype: [float16, bfloat16, float32]}
- name: wide
  dtype: float64
  attrs: {axis: 1}
  inputs: {B: [1, 2]}
  expect: {computed: [Y, Mean]}
- name: refused
  dtype: float64
  attrs: {axis: 7}
  expect: {rejected: axis is out of range, legal: {attrs.axis: 1}}
"""


@pytest.mark.parametrize(
    ("heading", "tested"),
    [
        ("since_version: 17", {"narrow": 3, "wide": 1}),
        ("axis - INT (default", {"narrow": 3}),
        ("epsilon - FLOAT (default", {"narrow": 3, "wide": 1}),
        ("B (optional", {"wide": 1}),
        ("Mean (optional", {"wide": 1}),
        ("InvStdDev (optional", {}),
        ("T in (", {"narrow": 3, "wide": 1}),
    ],
)
def test_a_heading_is_tested_by_the_cases_with_an_answer_that_have_what_it_announces(
    tmp_path, heading, tested
):
    assert cases_of(heading, cases_in(tmp_path, HEADINGS)) == tested


def test_a_list_of_types_is_tested_where_each_of_them_occurs(tmp_path):
    cases = [case for case in cases_in(tmp_path, HEADINGS) if case.dtype.name != "float16"]
    assert cases_of("T in (", cases) == {}
    assert cases_of("X (heterogeneous)", cases) == {"narrow": 2, "wide": 1}


def cases_of(beginning, cases):
    [page] = survey(cases)
    [found] = [c for c in page.sentences if c.sentence.text.startswith(beginning)]
    return dict(found.cases)
