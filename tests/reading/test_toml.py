from textwrap import dedent

import pytest

from opcheck.backends.profile_fields import parse_toml
from opcheck.reading import Problems
from tests.wording import Wording

TEXT = dedent("""\
    # a comment
    top = 1
    [a]
    b.c = "x"
    'd e' = [1,
      2]
    inline = { f = 3 }
    text = '''
    lost = no key
    '''
    [[a."g.h"]]
    i = 4
""")


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("top",), 2, 1),
        (("a",), 3, 2),
        (("a", "b"), 4, 1),
        (("a", "b", "c"), 4, 1),
        (("a", "d e"), 5, 1),
        (("a", "d e", 1), 5, 1),
        (("a", "inline", "f"), 7, 1),
        (("a", "g.h"), 11, 3),
        (("a", "g.h", 0, "i"), 12, 1),
    ],
)
def test_a_value_stands_where_its_key_does(path, line, column):
    problems = Problems()
    node = parse_toml(TEXT, "x.toml", problems)
    assert node is not None
    assert not problems
    mark = node.at(path)
    assert (mark.line, mark.column) == (line, column)


def test_the_values_are_those_of_the_document() -> None:
    node = parse_toml(TEXT, "x.toml", Problems())
    assert node is not None
    assert node.plain() == {
        "top": 1,
        "a": {
            "b": {"c": "x"},
            "d e": [1, 2],
            "inline": {"f": 3},
            "text": "lost = no key\n",
            "g.h": [{"i": 4}],
        },
    }


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\nb =",
        "a = 1\na = 2",
        "a = @",
    ],
)
def test_what_is_no_toml_is_a_problem_with_its_place(text: str, wording: Wording) -> None:
    problems = Problems()
    assert parse_toml(text, "x.toml", problems) is None
    assert [str(found) for found in problems] == [wording]
