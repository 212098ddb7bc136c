import pytest

from opcheck.reading import Problems, read_text

pytestmark = pytest.mark.usefixtures("parser")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a:\n\t- 1\n", 2, 1),
        ("\ta: 1", 1, 1),
        ("a: >\n\tx\n", 2, 1),
        ("a: @x\n", 1, 4),
        ("a: `x`\n", 1, 4),
        ("a: [1, 2\nb: 3\n", 2, 2),
        ("a: {x: 1 y: 2}\n", 1, 11),
        ("a: [1\n", 2, 1),
        ("a: [1, 2] is legal\n", 1, 11),
        ("a: 'it's'\n", 1, 8),
        ("a:\n  b: 1\n c: 2\n", 3, 2),
        ("- a\nb: 1\n", 2, 1),
        ("a: axis: 1\n", 1, 8),
        ("a: 1\n  b: 2\n", 2, 4),
        ("a: - b\n", 1, 4),
        ("a: ]\n", 1, 4),
        ("[1,, 2]", 1, 4),
        ('a: 1\nb: "x\n', 2, 4),
        ("a:\n- b\n-c\n", 3, 1),
        ("a: 'x\n--- y'", 2, 1),
        ("[1]]", 1, 4),
        ("{a: 1}\n{b: 2}\n", 2, 1),
        ("a: *\n", 1, 5),
        ("a: !x!y z\n", 1, 4),
        ("a: !<x y", 1, 7),
        ("a: |x\n b", 1, 5),
    ],
)
def test_a_syntax_error_is_one_sentence_with_its_place_and_help(text, line, column, wording):
    problems = Problems()
    assert read_text(text, "f.yaml", problems) is None
    (problem,) = problems
    assert (problem.line, problem.column) == (line, column), str(problem)
    assert problem.message == wording
    assert problem.hint == wording
    assert "\n" not in str(problem)


NO_CHARACTER = "an escape here stands for no character"


@pytest.mark.parametrize(
    ("escape", "message"),
    [
        (r"\q", None),
        (r"\xg", None),
        (r"\UFFFFFFFF", NO_CHARACTER),
        (r"\U00110000", NO_CHARACTER),
    ],
)
def test_a_wrong_escape_is_one_problem_of_its_line(escape: str, message: str | None) -> None:
    for before, first, last in (("", 1, 1), ("b: 1\nc: [\na: ", 2, 3)):
        problems = Problems()
        assert read_text(f'{before}"{escape}"{"]" * bool(before)}\n', "f.yaml", problems) is None
        (problem,) = problems
        assert first <= problem.line <= last
        assert problem.message == (message or problem.message)
        assert "\n" not in str(problem)


def test_a_very_long_name_does_not_make_a_very_long_message() -> None:
    problems = Problems()
    handle = "x" * 100_000
    read_text(f"%TAG !{handle}! a\n%TAG !{handle}! b\n--- 1", "f.yaml", problems)
    (problem,) = problems
    assert len(str(problem)) < 300
