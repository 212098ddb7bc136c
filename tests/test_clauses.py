"""Every sentence of the operators that opcheck tests is tested, or obliges to nothing."""

import re
from collections import defaultdict
from dataclasses import replace
from itertools import chain

import onnx
import pytest
from packaging.version import Version

from opcheck import load, opset
from opcheck.clauses import Pages, Survey, cut, pages_of, survey
from opcheck.reading import Kind, shipped_files, shipped_name
from opcheck.suite import Selection, select
from tests.asking import judged_operators, judged_versions, shipped_cases

pytestmark = pytest.mark.reads_all_suites

#: The last release of onnx whose texts the files are about.
LAST_READ = Version("1.23.2")

#: Under their names in ONNX.
OPS = [*dict.fromkeys((one.domain, opset.plain(one.name)) for one in judged_operators())]
of_every_operator = pytest.mark.parametrize(("domain", "name"), OPS, ids=lambda it: it)


@pytest.fixture(autouse=True, scope="module")
def _cases() -> None:
    """Read all cases at once, which is quicker than those of each operator for itself."""
    shipped_cases()


@pytest.mark.gate
@pytest.mark.usefixtures("each_gate")
def test_every_file_is_found_by_its_operator():
    named = {
        sentence.source.file
        for op in OPS
        for page in pages_of(*op).versions.values()
        for sentence in page
        if sentence.source.line
    }
    assert named == {*map(shipped_name, shipped_files(Kind.CLAUSES))}


@of_every_operator
def test_every_entry_names_one_sentence(domain, name):
    problems = pages_of(domain, name).problems
    if problems and not domain and Version(onnx.__version__) > LAST_READ:
        pytest.skip(f"onnx {onnx.__version__} words it differently: {[*map(str, problems)]}")
    assert [*map(str, problems)] == []


def test_cutting_a_text_into_sentences_loses_no_letter_of_any_operator():
    for name in opset.operators(""):
        for schema in opset.versions("", name).values():
            formals = [*schema.attributes.values(), *schema.inputs, *schema.outputs]
            for text in (schema.doc, *(formal.description for formal in formals)):
                letters = re.sub(r"\W", "", text.replace("```python", ""))
                assert re.sub(r"\W", "", "".join(cut(text))) == letters, schema.op


def test_no_sentence_of_directml_is_lost():
    """No package holds its text."""
    [page] = pages_of("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1").versions.values()
    assert (len(page), len({sentence.part for sentence in page})) == (44, 13)


def unknown_names(pages: Pages, domain: str, name: str) -> set[str]:
    """The names of cases that no version on whose page they stand has, nor a sibling's."""
    known, siblings = defaultdict(set), set[str]()
    for case in chain.from_iterable(map(shipped_cases, pages.ops)):
        if case.op.name == name:
            known[case.op.since] |= {case.name, f"{case.name}#{case.row}"}
        else:
            siblings |= {case.name, f"{case.name}#{case.row}"}
    unknown, found = set(), set()
    for since, page in pages.versions.items():
        for sentence in page:
            for label in sentence.cases:
                there = label in known[since] or label in siblings
                (found if there else unknown).add(f"{sentence.source}: {label}")
    return unknown - found


def untested(page: Survey) -> list[str]:
    """The sentences of a page that oblige to something and are tested by none of its cases."""
    return [
        f"{page.op}: {checked.sentence.part}: {checked.sentence.text}"
        for checked in page.sentences
        if not checked.cases and checked.sentence.nothing is None
    ]


def idle_but_tested(page: Survey) -> list[str]:
    """The sentences of a page that oblige to nothing, as their file says, but are quoted."""
    return [
        f"{checked.sentence.source}: {', '.join(checked.cases)}"
        for checked in page.sentences
        if checked.cases and checked.sentence.nothing is not None
    ]


def misquoted(page: Survey) -> list[str]:
    """The cases that quote what is not on the page of their version."""
    return [f"{case.source}: {case.id}: {case.clause}" for case in page.strays]


@of_every_operator
def test_every_case_that_a_page_names_exists_in_its_version(domain, name):
    assert unknown_names(pages_of(domain, name), domain, name) == set()


@of_every_operator
def test_every_sentence_is_tested_in_each_version_or_obliges_nothing(domain, name):
    """The deep cases may quote as the others do, and test no sentence that these do not."""
    mine = shipped_cases(name, *opset.on_forms(name))
    # Of deep ones of one name and quotation, one stands for all.
    deep = {(c.op, c.name, c.row, c.clause): c for c in mine if c.level == "deep"}
    pages = survey(select(mine, Selection()))
    assert {page.op for page in pages if page.sentences} == {
        op for op in judged_versions() if op.name == name
    }
    for page in pages:
        assert (untested(page), idle_but_tested(page), misquoted(page)) == ([], [], [])
    for page in survey(deep.values()):
        assert (idle_but_tested(page), misquoted(page)) == ([], [])


def surveyed(words: str, asked=None, **fields) -> dict[int, Survey]:
    """Hardmax's pages by version where an entry says something else of sentences with `words`."""
    pages = pages_of("", "Hardmax")
    said = {
        since: tuple(replace(s, **fields) if words in s.text else s for s in page)
        for since, page in pages.versions.items()
    }
    changed = replace(pages, versions=said)
    mine = shipped_cases("Hardmax") if asked is None else asked
    return {page.op.since: page for page in survey(mine, lambda *_: changed)}


@pytest.mark.parametrize("name", ["first_of_tie", "nan#fourth", "along_axes", "first_of_ties#"])
def test_a_name_that_no_case_of_these_versions_has_is_found(name):
    pages = pages_of("", "Hardmax")
    wrong = {13: (replace(pages.versions[13][2], cases=(name,)),)}
    assert len(unknown_names(replace(pages, versions=wrong), "", "Hardmax")) == 1


def test_a_sentence_that_one_of_its_versions_does_not_test_is_found():
    mine = shipped_cases("Hardmax")
    cases = [case for case in mine if re.match("Hardmax/opset_before_1[13]@?", case.id)]
    for version, other in ((1, "opset_before_13"), (11, "opset_before_11")):
        found = surveyed("input \\in [a_0", cases, cases=(other,))
        lines = {
            since: any("input \\in" in line for line in untested(found[since])) for since in found
        }
        assert [since for since, there in lines.items() if there] == [version]


def test_a_sentence_that_is_called_idle_and_quoted_is_found():
    found = surveyed('The "axis" attribute', cases=(), nothing="it is a remark")
    assert len(idle_but_tested(found[13])) == 1


def test_a_quotation_of_another_version_is_found():
    [case] = load(ids="Hardmax/rank_1@opset=13,attrs.axis=-1")
    for clause in (
        "axis - INT (default is '1')",
        "1 for the first maximum value, and 0 for all others",
        "1 for the first maximum value (Hardmax-1, 11)",
        "the last maximum value",
    ):
        [page] = survey([replace(case, clause=clause)])
        assert len(misquoted(page)) == 1, clause
