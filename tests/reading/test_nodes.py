from opcheck.reading import FileNode, Mark

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


def test_a_path_ends_at_the_deepest_value_there_is() -> None:
    assert tree.at(["a", 7]) == Mark(2, 5)
    assert tree.at(["a", -1]) == Mark(2, 5)
    assert tree.at(["a", 0, "deeper"]) == Mark(2, 6)
    assert tree.at(["none"]) == Mark(2, 1)
    assert tree.at([0]) == Mark(2, 1)


def test_steps_that_lead_nowhere_are_skipped() -> None:
    assert tree.at(["none", "a", "none", 0]) == Mark(2, 6)


def test_the_place_of_a_key_is_given_for_the_last_step_only() -> None:
    assert tree.at(["b"], key=True) == Mark(3, 1)
    assert tree.at(["a", 1], key=True) == Mark(2, 9)
    assert tree.at(["a", "none"], key=True) == Mark(2, 5)
