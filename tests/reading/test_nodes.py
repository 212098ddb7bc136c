from opcheck.errors import CaseFileError, Problem
from opcheck.reading import FileNode, Mark, Problems, quoted
from tests.expecting import error_of
from tests.wording import Wording

leaf = FileNode(3, Mark(2, 6))
tree = FileNode(
    {"a": FileNode((leaf, FileNode("x", Mark(2, 9))), Mark(2, 5)), "b": FileNode(None, Mark(3, 4))},
    Mark(2, 1),
    {"a": Mark(2, 1), "b": Mark(3, 1)},
)


def test_plain_gives_fresh_lists_and_dicts() -> None:
    first, second = tree.plain(), tree.plain()
    assert first == {"a": [3, "x"], "b": None}
    first["a"].append(1)
    assert second == {"a": [3, "x"], "b": None}


def test_a_path_leads_to_the_value_it_names() -> None:
    assert tree.at([]) == Mark(2, 1)
    assert tree.at(["a"]) == Mark(2, 5)
    assert tree.at(["a", 1]) == Mark(2, 9)
    # And if there is none, to the deepest that there is.
    assert tree.at(["a", 7]) == tree.at(["a", -1]) == Mark(2, 5)
    assert tree.at(["a", 0, "deeper"]) == Mark(2, 6)
    assert tree.at(["none"]) == tree.at([0]) == Mark(2, 1)
    # Steps that lead nowhere are skipped.
    assert tree.at(["none", "a", "none", 0]) == Mark(2, 6)


def test_the_place_of_a_key_is_given_for_the_last_step_only() -> None:
    assert tree.at(["b"], key=True) == Mark(3, 1)
    assert tree.at(["a", 1], key=True) == Mark(2, 9)
    assert tree.at(["a", "none"], key=True) == Mark(2, 5)


def test_a_collection_is_false_until_something_is_found() -> None:
    problems = Problems()
    assert not problems
    assert len(problems) == 0
    problems.raise_if_any()
    problems.add("f.yaml", Mark(2, 5), "wrong")
    assert problems
    assert len(problems) == 1


def test_problems_come_out_in_the_order_they_were_found() -> None:
    problems = Problems()
    problems.add("b.yaml", Mark(9, 1), "second thing", "do this")
    problems.add("a.yaml", Mark(1, 2), "first thing")
    said = Problem("b.yaml", 9, 1, "second thing", "do this")
    assert list(problems) == [said, Problem("a.yaml", 1, 2, "first thing")]


def test_all_problems_are_raised_at_once_in_the_order_of_the_files(wording: Wording) -> None:
    problems = Problems()
    problems.add("b.yaml", Mark(9, 1), "late", "do this")
    problems.add("a.yaml", Mark(10, 1), "later")
    problems.add("a.yaml", Mark(9, 12), "early")
    assert error_of(CaseFileError, problems.raise_if_any).lines() == [
        "a.yaml:9:12: early",
        "a.yaml:10:1: later",
        "b.yaml:9:1: late (do this)",
        wording,
    ]


def test_text_from_a_file_is_shown_short_and_without_control_characters() -> None:
    assert quoted("axis") == "'axis'"
    assert quoted("\x1b[31m\n") == r"'\x1b[31m\n'"
    assert len(quoted("x" * 1000)) == 62
    assert quoted("x" * 1000).endswith("x…'")
