"""The shipped pages: no sentence is missing, invented, or without what tests it."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

import onnx
import pytest
from onnx.defs import OpSchema, get_schema
from packaging.version import Version

from opcheck import opset
from opcheck.clauses import Pages, Sentence, Survey, shipped_pages, survey
from opcheck.model import Case
from opcheck.suite import Selection, select
from tests.asking import shipped_cases

#: The last release of onnx whose texts were compared with the pages here.
LAST_READ = Version("1.23.2")

CASES = shipped_cases()
PAGES = {pages.op: pages for pages in shipped_pages()}
ONNX = [(pages.op, version) for pages in PAGES.values() if not pages.domain
        for version in pages.versions]  # fmt: skip


def unspaced(text: str) -> str:
    """Without what a page loses when it is set: white space and the marks of code."""
    return re.sub(r"[\s`]+", "", text)


# ── the text: what onnx.defs says, sentence by sentence ─────────────────────────────────────────
def default(attribute: OpSchema.Attribute) -> str | None:
    """The value of an attribute left out, as the pages spell it."""
    value = onnx.helper.get_attribute_value(attribute.default_value)
    if attribute.default_value.type == onnx.AttributeProto.UNDEFINED:
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


def parts(schema: OpSchema) -> Iterator[tuple[str, str]]:
    """The parts of a page and their texts, made of the schema as ONNX's documentation is."""
    since = schema.since_version
    function = schema.has_function or schema.has_context_dependent_function
    yield (
        "Version",
        f"name: {schema.name} (GitHub) domain: main since_version: {since} function: {function} "
        f"support_level: {schema.support_level} "
        f"shape inference: {schema.has_type_and_shape_inference_function} "
        f"This version of the operator has been available since version {since}.",
    )
    yield "Summary", schema.doc
    for name, attribute in sorted(schema.attributes.items()):
        value = default(attribute)
        told = f" (default is '{value}')" if value is not None else ""
        told = " (required)" if attribute.required else told
        head = f"{name} - {attribute.type.name}{told}"
        yield f"Attribute {name}", f"{head} {attribute.description}"
    for word, formals in (("Input", schema.inputs), ("Output", schema.outputs)):
        for formal in formals:
            head = f"{formal.name} (heterogeneous) - {formal.type_str}"
            yield f"{word} {formal.name}", f"{head} {formal.description}"
    for constraint in schema.type_constraints:
        types = ", ".join(sorted(constraint.allowed_type_strs))
        head = f"{constraint.type_param_str} in ( {types} )"
        yield f"Type constraint {constraint.type_param_str}", f"{head} {constraint.description}"


def differences(pages: Pages, schema: OpSchema) -> list[str]:
    """What of the page of a version is not as its schema has it.

    The pages were also set with the default at the end of an attribute's text; where a page has
    that, it must be right. Examples are compared elsewhere.
    """
    wanted = list(parts(schema))
    page = [s for s in pages.page(schema.since_version) if s.part != "Examples"]
    found: list[tuple[str, list[str]]] = [
        (part, [sentence.text for sentence in group])
        for part, group in groupby(page, lambda sentence: sentence.part)
    ]
    if [part for part, _ in found] != [part for part, _ in wanted]:
        return [f"parts: {[part for part, _ in found]}"]
    wrong = []
    for (part, text), (_, sentences) in zip(wanted, found, strict=True):
        attribute = schema.attributes.get(part.removeprefix("Attribute "))
        if attribute and sentences[-1] == f"Default value is {default(attribute)}.":
            sentences.pop()
        if unspaced(" ".join(sentences)) != unspaced(text):
            wrong.append(f"{part}: {' | '.join(sentences)}")
    return wrong


@pytest.mark.parametrize(("op", "version"), ONNX)
def test_every_page_of_onnx_is_there_word_by_word_and_nothing_is_added(op, version):
    found = differences(PAGES[op], get_schema(op, version, ""))
    if found and Version(onnx.__version__) > LAST_READ:
        pytest.skip(f"onnx {onnx.__version__} words it differently: {found}")
    assert found == []


def test_the_examples_are_those_of_the_node_tests():
    module = importlib.import_module("onnx.backend.test.case.node.hardmax")
    source = re.sub(r"[\s#]+", "", inspect.getsource(module))
    page = [s for s in PAGES["Hardmax"].page(13) if s.part == "Examples"]
    assert len(page) == 9
    for sentence in page:
        # A line of the page may be set over several lines of the source, with a comma more.
        text = re.sub(r"[\s#]+", "", sentence.text)
        assert text in source.replace(",)", ")"), sentence.text


def test_one_entry_is_one_sentence():
    for pages in PAGES.values():
        for sentence in pages.sentences:
            if sentence.part != "Examples":
                assert not re.search(r"[a-z)\]][.!?] +[A-Z]", sentence.text), sentence


def test_every_version_of_every_tested_operator_has_its_page():
    for pages in PAGES.values():
        assert pages.versions == tuple(opset.versions(pages.domain, pages.op))
    assert {(case.op.domain, case.op.name) for case in CASES} == {
        (pages.domain, pages.op) for pages in PAGES.values()
    }


#: The headings of the page and, where they have members, how many sentences there must be.
DIRECTML = {
    "Summary": 8,
    "Important": 2,
    "Syntax": 5,
    "Member InputTensor": 2,
    "Member OutputTensor": 2,
    "Member AxisCount": 3,
    "Member Axes": 3,
    "Examples": 9,
    "Remarks": 1,
    "Availability": 1,
    "Tensor constraints": 1,
    "Tensor support": 6,
    "Requirements": 1,
}


def test_the_page_of_directml_is_there_heading_by_heading():
    """No package holds its text: this cannot be compared word by word."""
    pages = PAGES["DML_ACTIVATION_HARDMAX1"]
    found = groupby(pages.page(1), lambda sentence: sentence.part)
    assert {part: len(list(group)) for part, group in found} == DIRECTML


# ── what tests each sentence ────────────────────────────────────────────────────────────────────
def unknown_names(pages: Pages, cases: tuple[Case, ...]) -> list[str]:
    """The names of cases that no version on whose page they stand has."""
    known = {
        (case.op.since, label)
        for case in cases
        if (case.op.domain, case.op.name) == (pages.domain, pages.op) and case.source.shipped
        for label in (case.name, f"{case.name}#{case.row}")
    }
    return [
        f"{sentence.source}: {label}"
        for sentence in pages.sentences
        for label in sentence.cases
        if not any((version, label) in known for version in sentence.versions)
    ]


def untested(page: Survey) -> list[str]:
    """The sentences of a page that oblige to something and are tested by none of its cases."""
    return [
        f"{page.op}: {checked.sentence.source}: {checked.sentence.text}"
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


SURVEYS = {str(page.op): page for page in survey(PAGES.values(), CASES)}


@pytest.mark.parametrize("op", PAGES)
def test_every_case_that_a_page_names_exists_in_its_version(op):
    assert unknown_names(PAGES[op], CASES) == []


@pytest.mark.parametrize("op", SURVEYS)
def test_every_sentence_is_tested_in_each_version_or_obliges_nothing(op):
    assert SURVEYS[op].sentences
    assert untested(SURVEYS[op]) == []
    assert idle_but_tested(SURVEYS[op]) == []


def test_no_sentence_is_tested_at_the_deep_level_alone():
    for page in survey(PAGES.values(), select(CASES, Selection())):
        assert untested(page) == []


@pytest.mark.parametrize("op", SURVEYS)
def test_every_clause_stands_on_the_page_of_its_version(op):
    assert misquoted(SURVEYS[op]) == []


# ── these checks can fail ───────────────────────────────────────────────────────────────────────
HARDMAX = PAGES["Hardmax"]


def changed(
    match: str, change: Callable[[Sentence], Sentence | None], pages: Pages = HARDMAX
) -> Pages:
    """`pages` with the first sentence that holds `match` changed, or gone."""
    at, found = next((i, s) for i, s in enumerate(pages.sentences) if match in s.text)
    new = change(found)
    sentences = (*pages.sentences[:at], *([new] if new else []), *pages.sentences[at + 1 :])
    return replace(pages, sentences=sentences)


def with_(**fields: Any) -> Callable[[Sentence], Sentence]:
    return lambda sentence: replace(sentence, **fields)


@pytest.mark.parametrize(
    ("match", "change"),
    [
        ("The output tensor has", lambda sentence: None),
        ("The output tensor has", with_(versions=(11,))),
        ("The output tensor has", with_(text="The output tensor has another shape.")),
        ("The output tensor has", with_(part="Output output")),
        ("since_version: 1", with_(text="since_version: 2")),
        ("function: False", with_(text="function: True")),
        ("default is '1'", with_(text="axis - INT (default is '2')")),
        ("default is '1'", with_(text="axis - INTS (default is '1')")),
        ("Default value is 1.", with_(text="Default value is 2.")),
        ("Default value is -1.", with_(versions=(1, 13))),
        ("tensor(double)", with_(versions=(11,))),
        ("Constrain input", lambda sentence: replace(sentence, text=f"{sentence.text} Always.")),
        ("batch_size x", lambda sentence: None),
    ],
)
def test_a_text_that_is_not_the_schemas_is_found(match, change):
    schema = get_schema("Hardmax", 1, "")
    assert differences(HARDMAX, schema) == []
    assert differences(changed(match, change), schema) != []


def test_sentences_out_of_order_are_found():
    first, *others = HARDMAX.sentences
    moved = replace(HARDMAX, sentences=(*others, first))
    assert differences(moved, get_schema("Hardmax", 13, "")) != []


@pytest.mark.parametrize(
    "names", [("first_of_tie",), ("nan#fourth",), ("negative_axis",), ("first_of_ties#", "nan")]
)
def test_a_name_that_no_case_of_these_versions_has_is_found(names):
    wrong = changed("The operator computes the hardmax (1", with_(cases=names))
    assert len(unknown_names(wrong, CASES)) == 1


def test_a_sentence_that_one_of_its_versions_does_not_test_is_found():
    cases = [case for case in CASES if re.match("Hardmax/opset_before_1[13]@?", case.id)]
    for version, other in ((1, "opset_before_13"), (11, "opset_before_11")):
        wrong = changed("input \\in [a_0", with_(cases=(other,)))
        found = {page.op.since: untested(page) for page in survey([wrong], cases)}
        assert [v for v in (1, 11) if any("input \\in" in line for line in found[v])] == [version]


def test_a_sentence_that_is_called_idle_and_quoted_is_found():
    wrong = changed('The "axis" attribute', with_(cases=(), nothing="it is a remark"))
    [page] = [page for page in survey([wrong], CASES) if str(page.op) == "Hardmax-13"]
    assert len(idle_but_tested(page)) == 1


def test_a_quotation_of_another_version_is_found():
    [case] = [case for case in CASES if case.id == "Hardmax/rank_1@opset=13,attrs.axis=-1"]
    for clause in (
        "Default value is 1.",
        "1 for the first maximum value, and 0 for all others",
        "1 for the first maximum value (Hardmax-1, 11)",
        "the last maximum value",
    ):
        [page] = survey([HARDMAX], [replace(case, clause=clause)])
        assert len(misquoted(page)) == 1, clause
