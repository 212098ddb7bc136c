"""A ledger that is written anew keeps every word of the user's, and can be read."""

from typing import Any

import pytest

from opcheck.errors import UsageError
from opcheck.known import UserFields
from opcheck.known.writing import Revision, new_ledger, revised
from opcheck.reading import Problems, read_text, validation

TEXT = """\
# Ours.
backend: acme  # the board on the desk

known:
# Ties, see the wiki.
- verdict: fail
  failure: values
  cause: >-
    Ties go to the
    last maximum.
  link: 'https://example.org/1'
  where:
  # the first of them
  - {op: Hardmax, name: ties}   # both types
  - op: Hardmax
    name: [axes,   rank_1]
    # within the second

# Softmax.
- {verdict: error, cause: "None.", where: [{op: Softmax}, {op: LpPool}]}
# The end.
"""
WHERE = [{"op": "Relu"}]
NEW = {"verdict": "crash", "reason": "killed by *", "cause": "Not known yet.", "where": WHERE}


def rewritten(text, **revision):
    """The text after a revision, and what it says."""
    problems = Problems()
    node = read_text(text, "mine.yaml", problems)
    assert node is not None
    found = revised(text, node, "mine.yaml", Revision(**revision))
    again = read_text(found, "mine.yaml", problems)
    assert again is not None
    said, _ = validation.check(UserFields, again, "mine.yaml", problems)
    assert not problems, [*problems]
    assert said is not None
    return found, said


def test_entries_are_added_at_the_end_and_all_else_stays_to_the_letter():
    found, said = rewritten(TEXT, added=[NEW])
    (new,) = said.known[2:]
    assert (new.verdict, new.reason, new.cause) == (["crash"], "killed by *", "Not known yet.")
    before, end = TEXT[: TEXT.index("# The end.")], "# The end.\n"
    assert found.startswith(f"{before}- verdict: crash\n")
    assert found.endswith(f"\n{end}")


def test_a_new_ledger_lists_nothing_until_it_does():
    text = new_ledger("py:my.mod:Class")
    assert "\nbackend: py:my.mod:Class\nknown: []\n" in text
    found, said = rewritten(text, added=[NEW, NEW])
    assert said.backend == ["py:my.mod:Class"]
    assert len(said.known) == 2
    assert found.startswith(text.partition("known:")[0])


@pytest.mark.parametrize(
    "backend", ["acme", "cmd:./run {model} # x", "a: b", "- x", "'", "12", "a\nb", "\x1b"]
)
def test_any_backend_has_a_ledger(backend):
    assert rewritten(new_ledger(backend), added=[NEW])[1].backend == [backend]


def test_a_place_is_removed_and_comments_stay():
    found, said = rewritten(TEXT, replaced={(0, 0): []})
    assert len(said.known[0].where) == 1
    assert found == TEXT.replace("  - {op: Hardmax, name: ties}   # both types\n", "")


def test_a_place_of_several_lines_is_replaced_by_others(wording):
    others = [{"op": "Hardmax", "name": "axes"}, {"op": "Hardmax", "name": "rank_1", "opset": 13}]
    found, said = rewritten(TEXT, replaced={(0, 1): others})
    assert [place.name for place in said.known[0].where] == [["ties"], ["axes"], ["rank_1"]]
    assert found == wording


def test_an_entry_goes_with_its_last_place(wording):
    found, said = rewritten(TEXT, replaced={(0, 0): [], (0, 1): []})
    assert [entry.cause for entry in said.known] == ["None."]
    assert found == wording


def test_places_in_brackets_are_replaced_too():
    text = TEXT.replace(
        '- {verdict: error, cause: "None.", where:', "- verdict: error\n  cause: 'None.'\n  where:"
    )
    text = text.replace("{op: LpPool}]}", "{op: LpPool}]")
    _, said = rewritten(text, replaced={(1, 0): []})
    assert [place.op for place in said.known[1].where] == [["LpPool"]]


def test_when_all_is_removed_nothing_is_listed():
    gone: dict[tuple[int, int], list[Any]] = {(0, 0): [], (0, 1): [], (1, 0): [], (1, 1): []}
    found, said = rewritten(TEXT, replaced=gone)
    assert said.known == []
    assert "known: []\n" in found
    assert len(rewritten(found, added=[NEW])[1].known) == 1
    assert len(rewritten(TEXT, replaced=gone, added=[NEW])[1].known) == 1


def test_indented_lists_stay_so():
    entry = "    - verdict: fail\n      cause: X.\n      where:\n        - {op: Relu}\n"
    text = f"backend: acme\nknown:\n{entry}"
    found, said = rewritten(text, added=[NEW], replaced={(0, 0): [{"op": "Relu", "opset": 13}]})
    assert found.startswith(text.replace("{op: Relu}", "{op: Relu, opset: 13}"))
    assert len(said.known) == 2


def test_entries_in_brackets_cannot_be_revised():
    text = "backend: acme\nknown: [{verdict: fail, cause: X., where: [{op: Relu}]}]\n"
    with pytest.raises(UsageError, match="written in brackets"):
        rewritten(text, added=[NEW])


def test_a_long_place_has_a_line_for_each_name_and_a_long_cause_is_folded():
    names = [f"case_number_{number}" for number in range(12)]
    cause = "It was " + "very " * 40 + "wrong."
    where = [{"op": "Relu", "name": names}]
    new = {"verdict": "fail", "looks": "doubled", "cause": cause, "where": where}
    found, said = rewritten(new_ledger("acme"), added=[new])
    assert said.known[0].cause == cause
    assert said.known[0].where[0].name == names
    assert max(map(len, found.splitlines())) <= 100
    assert found.count("    - case_number_") == 12


@pytest.mark.parametrize(
    ("place", "written"),
    [
        # In all 96 characters, and one more.
        ({"name": "x" * 74}, "  - {op: Relu, name: " + "x" * 74 + "}\n"),
        ({"name": "x" * 75}, "  - op: Relu\n    name: " + "x" * 75 + "\n"),
        # A list of 48 characters stays in a line.
        (
            {"row": "x" * 60, "name": ["a" * 20, "b" * 20]},
            f"    row: {'x' * 60}\n    name: [{'a' * 20}, {'b' * 20}]\n",
        ),
        (
            {"row": "x" * 60, "name": ["a" * 20, "b" * 21]},
            f"    row: {'x' * 60}\n    name:\n    - {'a' * 20}\n    - {'b' * 21}\n",
        ),
        ({"attrs": {"mode": "x" * 80}}, "    attrs: {mode: " + "x" * 80 + "}\n"),
    ],
)
def test_a_place_has_one_line_if_it_fits(place, written):
    new = {"verdict": "fail", "cause": "Why.", "where": [{"op": "Relu", **place}]}
    assert rewritten(new_ledger("acme"), added=[new])[0].endswith(written)


@pytest.mark.parametrize(
    ("cause", "written"),
    [
        # At 96 characters a line ends, between words only, unless that would change the text.
        ("x" * 96, f"  cause: {'x' * 96}\n"),
        (f"{'x' * 94} a bc", f"  cause: >-\n    {'x' * 94} a\n    bc\n"),
        (f"{'x' * 97} a-{'b' * 96}", f"  cause: >-\n    {'x' * 97}\n    a-{'b' * 96}\n"),
        (f"{'x' * 94}  {'y' * 9}", f"  cause: {'x' * 94}  {'y' * 9}\n"),
    ],
)
def test_a_long_cause_is_folded(cause, written):
    found, said = rewritten(new_ledger("acme"), added=[{**NEW, "cause": cause}])
    assert said.known[0].cause == cause
    assert written in found


@pytest.mark.parametrize("names", [["ties"], [f"case_number_{n}" for n in range(12)]])
def test_attributes_are_written_as_they_are_read(names):
    attrs = {"axis": [0, None], "pads": [[1, 1]], "mode": "SAME", "alpha": 0.1, "beta": 1e-7}
    place = {"op": "Relu", "name": names, "attrs": attrs}
    new = {"verdict": "fail", "cause": "Why.", "where": [place]}
    _, said = rewritten(new_ledger("acme"), added=[new])
    found = said.known[0].where[0].attrs
    assert found == {k: v if isinstance(v, list) else [v] for k, v in attrs.items()}
