import pytest
import yaml

from opcheck.clauses import Sentence, cited, cut, load_pages, pages_of, quotation
from opcheck.errors import CaseFileError
from opcheck.model import OpVersion, Source
from opcheck.reading import read_file
from tests.expecting import error_of
from tests.wording import lines_with

CODE = """
  A mean, i.e. sums. The formula:
  ```
  Mean = Sum(X) / N. Then:
  Y = [
    1.5,
  ]
  ```
  or
  ```
  Y = 2.
  ```
  where `N`
  counts. Example:

      X = [1., 2.]
      Y = [3.]

  * first item
    continues. It ends.
  * second

  | a | b |
  |---|---|
  | 1. | 2 |
"""


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" One\n  sentence.  Two\nsentences", ["One sentence.", "Two sentences"]),
        ("Range [-r, r-1]. Negative, e.g. -1.", ["Range [-r, r-1].", "Negative, e.g. -1."]),
        ("Any rank q. All D1 x ... x D2.", ["Any rank q.", "All D1 x ... x D2."]),
        ("(a, i.e., one of 2.5). `X` etc. ends.", ["(a, i.e., one of 2.5).", "`X` etc. ends."]),
        ("the first. if axis=1, more.", ["the first.", "if axis=1, more."]),
        ("the input.In case of torch.nn.Fold", ["the input.", "In case of torch.nn.Fold"]),
        ('(See it.) Is it "so." Or "not"?', ["(See it.)", 'Is it "so."', 'Or "not"?']),
        ("1) Count. Set it.\n2. Stop: yes.", ["1) Count.", "Set it.", "2. Stop: yes."]),
        (
            CODE,
            [
                *("A mean, i.e. sums.", "The formula:", "Mean = Sum(X) / N. Then:"),
                *("Y = [ 1.5, ]", "or Y = 2.", "where `N` counts.", "Example:"),
                *("X = [1., 2.]", "Y = [3.]", "* first item continues.", "It ends."),
                *("* second", "| a | b |", "| 1. | 2 |"),
            ],
        ),
    ],
)
def test_a_text_is_cut_into_sentences_items_and_lines_of_code(text, sentences):
    assert cut(text) == sentences


@pytest.mark.parametrize(
    ("op", "part"),
    [
        ("Hardmax", "Version"),
        ("Hardmax", "Attribute axis"),
        ("Hardmax", "Input input"),
        ("Neg", "Type constraint T"),
        ("LayerNormalization", "Attribute epsilon"),
        ("LayerNormalization", "Input B"),
        ("Loop", "Input v_initial"),
        ("Loop", "Attribute body"),
        ("LpPool", "Attribute kernel_shape"),
        ("LpPool", "Attribute strides"),
    ],
)
def test_a_part_of_a_page_has_a_heading_with_what_the_schema_declares(op, part, wording):
    page = list(pages_of("", op).versions.values())[-1]
    headings = [s.text for s in page if s.part == part and s.heading]
    # Before the version stands the key of its table.
    assert len(headings) == (2 if part == "Version" else 1)
    assert headings[-1] == wording


@pytest.mark.parametrize(
    ("op", "sentence", "obliges"),
    [
        ("Hardmax", "The operator computes the hardmax values for", False),
        ("Neg", "Input tensor", False),
        ("LayerNormalization", "All equations are in [this", False),
        ("Gather", "Constrain indices to integer types", False),
        ("Gather", "More generally, if `axis = 0`, let", True),  # ends with a colon
        ("Size", "Constrain output to int64 tensor, which should be a scalar", True),
        ("Add", "This operator supports **multidirectional", True),  # and a link
    ],
)
def test_sentences_of_some_kinds_oblige_to_nothing(op, sentence, obliges, wording):
    page = list(pages_of("", op).versions.values())[-1]
    [found] = [s for s in page if s.text.startswith(sentence)]
    assert found.nothing is None if obliges else found.nothing == wording


def test_an_operator_without_text_has_no_pages():
    assert pages_of("", "Hardmix") is None
    assert pages_of("com.example", "Hardmax") is None


def test_only_the_file_of_the_operator_is_read(monkeypatch):
    read = []

    def reading(path, problems):
        read.append(path.name)
        return read_file(path, problems)

    monkeypatch.setattr("opcheck.clauses.read_file", reading)
    load_pages.cache_clear()
    assert pages_of.__wrapped__("", "LpPool") == pages_of("", "LpPool")
    assert pages_of.__wrapped__("ai.onnx.ml", "ZipMap")
    assert read == ["lp_pool.clauses.yaml"]


FILE = """\
op: Hardmax
sentences:
- sentence: The operator
    computes the hardmax (1
  cases: [first_of_ties, "coerced_to_2d#axis_0"]
- sentence: Describes the
  versions: [11]
  ruling: It is 2-D.
- sentence: In this situation
  through: or else the operator
  nothing: it gives names
- text: It is old.
  part: Examples
  versions: [13]
"""


def load(folder, text=FILE, op=""):
    file = folder / "a" / "hardmax.clauses.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return load_pages.__wrapped__(file, op)


FAMILY = """\
op: [Floor, Neg]
sentences:
- {sentence: Neg takes one, cases: [negated]}
- {sentence: Floor takes one, nothing: it names it}
- {sentence: Output tensor, op: Neg, ruling: A new one., ruling_since: 2026-06-20}
- {sentence: Ceil takes one, nothing: no operator here has it}
"""


def test_an_entry_counts_for_all_operators_of_the_file_that_have_the_sentence(tmp_path, wording):
    floor, neg = load(tmp_path, FAMILY), load(tmp_path, FAMILY, "Neg")
    assert {s.text[:5] for s in floor.versions[13] if s.source.line} == {"Floor"}
    found = [s.cases or s.ruling for s in neg.versions[6] if s.source.line]
    assert found == [("negated",), "A new one."]
    assert {s.ruling_since for s in neg.versions[6] if s.ruling} == {"2026-06-20"}
    assert neg.problems == ()
    assert [(problem.line, str(problem)) for problem in floor.problems] == [(6, wording)]


def test_an_entry_says_something_of_the_sentence_that_it_names(tmp_path):
    pages = load(tmp_path)
    assert pages.problems == ()
    assert [*pages.versions] == [1, 11, 13]
    first, second, *others = [s for s in pages.versions[11] if s.source.line]
    stated = [entry.get("sentence") for entry in yaml.safe_load(FILE)["sentences"]]
    assert first.text.startswith(stated[0])
    assert first.cases == ("first_of_ties", "coerced_to_2d#axis_0")
    assert (first.part, str(first.source)) == ("Summary", "cases/a/hardmax.clauses.yaml:3:3")
    assert [s.nothing for s in (second, *others[:1])] == ["it gives names"] * 2
    assert others[1].text.startswith(stated[1])
    assert (others[1].ruling, others[1].cases, others[1].nothing) == ("It is 2-D.", (), None)
    assert [s.source.line for s in pages.versions[1] if s.source.line] == [3, 9, 9]
    last = pages.versions[13][-1]
    assert (last.text, last.part, last.nothing) == ("It is old.", "Examples", None)


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("Describes the", "Described the", 1),
        ("Describes the", "tensor", 1),
        ("  versions: [11]\n", "", 0),
        ("[11]", "[11, 12]", 1),
        ("Describes the", "The operator computes", 1),
        ("through: or else", "through: or more", 1),
        ("In this situation", "axis", 1),
        ("Describes the", "tensor\n  part: Summary", 1),
    ],
)
def test_an_entry_that_names_no_sentence_or_several_is_found(tmp_path, old, new, count, wording):
    assert FILE.count(old) == 1
    found = [str(problem) for problem in load(tmp_path, FILE.replace(old, new)).problems]
    assert all(line.startswith("cases/a/hardmax.clauses.yaml:") for line in found)
    assert (len(found), found) == (count, wording)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("  ruling: It is 2-D.\n", "", "6:3"),
        ("nothing: it", "cases: [nan]\n  nothing: it", "9:3"),
        ("nothing: it gives names", "nothing: ''", "11:12"),
        ("2-D.\n", "2-D.\n  ruling_since: 2026-06-31\n", "9:17"),
        ("nothing: ", "ruling_since: 2026-06-20\n  nothing: ", "9:3"),
        ("  part: Examples\n", "", "12:3"),
        ("text: It", "sentence: A\n  text: It", "12:3"),
        ("[first_of_ties", "[First Of Ties", "5:11"),
        ("text: It", "texts: It", "12:3"),
        ("op: Hardmax", "op: Hardmex", "1:5"),
        ("op: Hardmax\n", "op: Hardmax\npage: gopher://x\n", "2:7"),
    ],
)
def test_a_mistake_of_form_is_an_error_with_its_place(tmp_path, old, new, place, wording):
    said = error_of(CaseFileError, load, tmp_path, FILE.replace(old, new, 1)).lines()
    assert lines_with(said, f"cases/a/hardmax.clauses.yaml:{place}: ") == wording


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
        ("One for all.", 1, "One for all."),
        ("old (Hardmax-1, 11); new (Hardmax-13)", 1, "old"),
        ("old (Hardmax-1, 11); new (Hardmax-13)", 11, "old"),
        ("old (Hardmax-1, 11); new (Hardmax-13)", 13, "new"),
        ("old (Hardmax-1,\n 11);\n  new (Hardmax-13)  ", 13, "new"),
        ("old; older (Hardmax-1); new (Hardmax-13)", 1, "old; older"),
        ("old (Hardmax-1)", 13, ""),
        ("old (Softmax-1); new (Hardmax-13)", 1, ""),
        ("a (Hardmax-1); b (Hardmax-1, 11)", 1, "a … b"),
        # No labels, or not to the end: quoted as it stands.
        ("(1 for one, 0 otherwise)", 1, "(1 for one, 0 otherwise)"),
        ("as in Hardmax-13", 13, "as in Hardmax-13"),
        ("old (Hardmax-1); new", 1, "old (Hardmax-1); new"),
        ("old (Hardmax-1) new (Hardmax-13)", 13, "old (Hardmax-1) new"),
        ("", 13, ""),
    ],
)
def test_a_clause_may_quote_each_version_apart(clause, version, quote):
    assert quotation(clause, OpVersion("", "Hardmax", version)) == quote
