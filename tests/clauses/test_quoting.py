import pytest

from opcheck.clauses import Sentence, cited, quotation
from opcheck.model import OpVersion, Source

TEXTS = (
    ("Summary", "The operator computes (1 for the first maximum, and 0 for all others)."),
    ("Summary", 'The "axis" attribute tells the dimension of [a_0, ..., a_{k-1}].'),
    ("Summary", r"Input \in [a_0] may have any rank; it isn't copied. `pads` too."),
    ("Attribute axis", "Negative value means counting from the back."),
    ("Attribute axis", "Accepted range is [-r, r-1]."),
    ("Attribute axis", "Default value is -1."),
    ("Output output", "Default value is -1, or none."),
)
PAGE = tuple(
    Sentence(text, part, ("ties",), None, None, Source("x.yaml", line, 1))
    for line, (part, text) in enumerate(TEXTS)
)


def found(quote: str) -> list[int]:
    """The numbers of the sentences that a quotation cites."""
    return [sentence.source.line for sentence in cited(quote, PAGE)]


@pytest.mark.parametrize(
    ("quote", "sentences"),
    [
        (TEXTS[0][1], [0]),
        ("1 for the first maximum", [0]),
        ("  1 for\n the   first maximum", [0]),
        ("1 … 0 for all", [0]),
        ("1 … the first ... 0", [0]),
        ("… 0 for all others …", [0]),
        ("The “axis” attribute", [1]),
        ("dimension of [a_0, …, a_{k-1}]", [1]),
        ("dimension of [a_0, ..., a_{k-1}]", [1]),
        ("it isn\u2019t copied", [2]),
        ("it isn\u2018t copied", [2]),
        ("Input in [a_0]", [2]),
        ("pads too", [2]),
        ("`pads` too", [2]),
        # Over two sentences.
        ("from the back. Accepted range", [3, 4]),
        ("from the back. Accepted range is [-r, r-1].", [3, 4]),
        ("Negative value … Accepted range is [-r, r-1]. Default", [3, 4, 5]),
        # What is left out is not cited.
        ("Negative value … Default value", [3, 5]),
        # Twice on the page.
        ("Default value is -1", [5, 6]),
    ],
)
def test_a_quotation_cites_the_sentences_it_is_from(quote, sentences):
    assert found(quote) == sentences


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "…",
        "1 for the last maximum",
        "1 for the first maximum and 0",  # a comma is missing
        "the First maximum",
        "first max",  # cuts a word in two
        "irst maximum",
        "0 for all others … 1 for the first",  # the wrong order
        "or none. Negative value",
        "The operator … Default value",  # two parts of the page
    ],
)
def test_what_is_not_on_the_page_cites_nothing(quote):
    assert found(quote) == []


@pytest.mark.parametrize(
    ("clause", "version", "quote"),
    [
        ("One text for all.", 1, "One text for all."),
        ("old (Hardmax-1, 11); new (Hardmax-13)", 1, "old"),
        ("old (Hardmax-1, 11); new (Hardmax-13)", 11, "old"),
        ("old (Hardmax-1, 11); new (Hardmax-13)", 13, "new"),
        ("old (Hardmax-1,\n 11);\n  new (Hardmax-13)  ", 13, "new"),
        ("old; older (Hardmax-1); new (Hardmax-13)", 1, "old; older"),
        ("old (Hardmax-1)", 13, ""),
        ("old (Softmax-1); new (Hardmax-13)", 1, ""),
        ("a (Hardmax-1); b (Hardmax-1, 11)", 1, "a … b"),
        # No labels, or not to the end: quoted as it stands.
        ("(1 for the first, 0 for others)", 1, "(1 for the first, 0 for others)"),
        ("as in Hardmax-13", 13, "as in Hardmax-13"),
        ("old (Hardmax-1); new", 1, "old (Hardmax-1); new"),
        ("old (Hardmax-1) new (Hardmax-13)", 13, "old (Hardmax-1) new"),
        ("", 13, ""),
    ],
)
def test_a_clause_may_quote_each_version_apart(clause, version, quote):
    assert quotation(clause, OpVersion("", "Hardmax", version)) == quote
