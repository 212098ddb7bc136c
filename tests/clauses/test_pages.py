import pytest

from opcheck.clauses import load_pages, shipped_pages
from opcheck.errors import CaseFileError

FILE = """\
domain: ""
op: Hardmax
page: https://example.org/Hardmax
versions: [1, 11, 13]
parts:
- part: Summary
  sentences:
  - text: The operator
      computes.
    cases: [first_of_ties, "coerced_to_2d#axis_0"]
  - text: It is old.
    versions: [1, 11]
    nothing: it is a remark
    ruling: Old is before 13.
- part: Attribute axis
  sentences:
  - text: axis - INT
    versions: [13]
    cases: [along_one_axis]
"""


def load(folder, text=FILE):
    file = folder / "hardmax.yaml"
    file.write_text(text, encoding="utf-8")
    return load_pages([(file, str(file))])


def problems(folder, text) -> list[str]:
    with pytest.raises(CaseFileError) as caught:
        load(folder, text)
    return [line.removeprefix(f"{folder}/") for line in caught.value.lines()]


def test_a_file_is_read_into_sentences_that_know_their_place(tmp_path):
    [pages] = load(tmp_path)
    assert (pages.domain, pages.op, pages.versions) == ("", "Hardmax", (1, 11, 13))
    assert pages.link == "https://example.org/Hardmax"
    first, second, third = pages.sentences
    assert (first.text, first.part) == ("The operator computes.", "Summary")
    assert (first.versions, first.ruling) == ((1, 11, 13), None)
    assert (first.cases, first.nothing) == (("first_of_ties", "coerced_to_2d#axis_0"), None)
    assert (second.versions, second.ruling) == ((1, 11), "Old is before 13.")
    assert (second.cases, second.nothing) == ((), "it is a remark")
    assert third.part == "Attribute axis"
    assert str(second.source) == f"{tmp_path / 'hardmax.yaml'}:11:5"


def test_the_page_of_a_version_has_its_sentences_in_order(tmp_path):
    [pages] = load(tmp_path)
    assert [s.text for s in pages.page(1)] == ["The operator computes.", "It is old."]
    assert [s.text for s in pages.page(13)] == ["The operator computes.", "axis - INT"]
    assert pages.page(12) == ()


def test_shipped_pages_are_called_by_their_place_in_the_repository():
    files = {sentence.source.file for pages in shipped_pages() for sentence in pages.sentences}
    assert {"clauses/onnx/hardmax.yaml", "clauses/dml/activation_hardmax1.yaml"} <= files


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("    cases: [along_one_axis]\n", "", "17:5", "this one has neither"),
        ("nothing: it", "cases: [nan]\n    nothing: it", "11:5", "this one has both"),
        ("cases: [along_one_axis]", "cases: []", "19:12", "must hold at least 1"),
        ("nothing: it is a remark", "nothing: ''", "13:14", "must not be empty"),
        ("text: axis - INT", "text: ''", "17:11", "must not be empty"),
        ("[along_one_axis]", "[Along One Axis]", "19:13", "must match"),
        ("[along_one_axis]", "along_one_axis", "19:12", "must be a list"),
        ("versions: [13]", "versions: [14]", "18:15", "must be some of 1, 11, 13"),
        ("versions: [13]", "versions: ['13']", "18:16", "must be a whole number"),
        ("versions: [13]", "versions: []", "18:15", "must hold at least 1"),
        ("versions: [1, 11]", "versions: [11, 1]", "12:15", "in order, each once"),
        ("versions: [1, 11]", "versions: [1, 1]", "12:15", "in order, each once"),
        ("versions: [1, 11, 13]", "versions: [11, 1, 13]", "4:11", "in order, each once"),
        ("versions: [1, 11, 13]", "versions: [1, 11, 11, 13]", "4:11", "in order, each once"),
        ("text: axis", "texts: axis", "17:5", "did you mean 'text'?"),
        ("- part: Attr", "- parts: Attr", "15:3", "did you mean 'part'?"),
        ("domain", "domains", "1:1", "did you mean 'domain'?"),
        ("https", "gopher", "3:7", "must match"),
        ("op: Hardmax\n", "", "1:1", "'op' is missing"),
        ("nothing:", "nothing", "13:5", "want 'key: value' here"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, old, new, place, words):
    assert FILE.count(old) >= 1
    said = problems(tmp_path, FILE.replace(old, new, 1))
    assert any(line.startswith(f"hardmax.yaml:{place}") and words in line for line in said), said


def test_every_mistake_of_every_file_is_told(tmp_path):
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(FILE.replace("    cases: [along_one_axis]\n", ""), encoding="utf-8")
    other.write_text(FILE.replace("[13]", "[12]").replace("[1, 11]", "[2]"), encoding="utf-8")
    with pytest.raises(CaseFileError) as caught:
        load_pages((path, str(path)) for path in (one, other, tmp_path / "gone.yaml"))
    assert len(caught.value.problems) == 4
