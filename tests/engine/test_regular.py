"""Automata of regular expressions, next to Python's `re` and on what takes `re` forever."""

import re
from collections.abc import Callable
from itertools import product

import pytest

from opcheck.engine import regular
from opcheck.engine.ops.regex_full_match import automaton
from opcheck.errors import NotSupported

#: Patterns that mean the same to RE2 and to Python, and no loops of nothing, which Perl leaves.
PATTERNS = r"""
    a|ab|abc (a|ab)(c|bcd)? (a*)(b|ab)* (a*?)b? a{2} a{1,2}b{0,2} (ab?){2,} a??b (a|b)+?
    ^a|b \bab\b a\Bb* (^|a)b a\b.* .*\b (?:a|(?:ab)){2}c? [^a]+ (?s:.)b (?i:a)b
""".split()
TEXTS = ["".join(text) for length in range(5) for text in product("abc\n", repeat=length)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_are_those_of_python(pattern: str) -> None:
    machine = automaton(pattern)
    program = re.compile(pattern, re.ASCII)
    for text in TEXTS:
        first = program.match(text)
        assert machine.matches_fully(text) == bool(program.fullmatch(text))
        assert machine.matches_anywhere(text) == bool(program.search(text))
        assert machine.matches_at_the_beginning(text) == bool(first)
        assert machine.end_of_preferred_match(text) == (first.end() if first else None)


@pytest.mark.parametrize(
    "pattern", ["(a+)+c", "(a|a)*c", "(.*)*(.*)*c", "(a|aa)+$c", r"(\w+\s?)*c"]
)
def test_what_takes_python_forever_takes_a_moment(pattern: str) -> None:
    text = "a" * 10_000
    assert not automaton(pattern).matches_fully(text)
    assert not automaton(pattern).matches_anywhere(text)
    assert automaton(pattern).end_of_preferred_match(text) is None
    assert automaton(pattern).matches_fully(text + "c") == ("$" not in pattern)


def test_a_loop_that_takes_no_character_ends() -> None:
    for pattern in ("(|a)*", "(a*)*", "(a*)+", r"(\b|^)*a", "((a?){3}){2,}"):
        assert automaton(pattern).matches_fully("a")
        assert not automaton(pattern).matches_fully("b")


METHODS: list[Callable[[regular.Automaton, str], object]] = [
    regular.Automaton.matches_fully,
    regular.Automaton.matches_anywhere,
    regular.Automaton.matches_at_the_beginning,
    regular.Automaton.end_of_preferred_match,
]


@pytest.mark.parametrize("method", METHODS)
def test_a_match_of_too_many_steps_is_unsupported(
    method: Callable[[regular.Automaton, str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = automaton("[ab]*c")
    monkeypatch.setattr(regular, "MOST_STEPS", 400)
    # The steps are those of each match, whatever is remembered of others.
    for _ in range(3):
        method(machine, "ab" * 10)
    for _ in range(3):
        with pytest.raises(NotSupported, match="400 steps"):
            method(machine, "ab" * 100)


def test_what_is_remembered_is_bounded_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular, "_MOST_KNOWN", 100)
    machine = automaton("(?:[ab]?){30}c")
    for text in TEXTS:
        machine.matches_fully(text)
        assert (
            sum(1 + len(step[0]) + len(known[0]) for step, known in machine._known.items()) <= 100
        )


def test_a_pattern_of_too_many_states_is_unsupported() -> None:
    with pytest.raises(NotSupported, match="states"):
        automaton("(a{20}){1000}b{1000}c{1000}" * 4)
