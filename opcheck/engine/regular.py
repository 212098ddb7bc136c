r"""Regular expressions that match in linear time, as those of RE2 do.

An expression becomes an automaton (Thompson 1968). A match goes through the text once, with all
states that the characters so far may lead to. The time grows with the length of the text times the
number of states, and never faster; Python's `re` may take twice as long for each character more.

The parts of the file: expressions; the automaton; matching.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from opcheck.errors import NotSupported

#: The most states of an automaton.
MOST_STATES = 50_000
#: The most states that a match goes through, and characters, which takes some seconds; or all
#: matches that are `counted_together`.
MOST_STEPS = 4_000_000
#: Steps between sets of states are remembered while the sets have so many states in all.
_MOST_KNOWN = 500_000

# ── expressions ───────────────────────────────────────────────────────────────────────────────

#: Returns True for characters that may stand at a place.
Test: TypeAlias = Callable[[str], bool]
#: What holds between two characters: the text begins or ends there, or a word does or does not.
Assertion: TypeAlias = Literal["begin", "end", "boundary", "no boundary"]


class Sequence(NamedTuple):
    """One expression after the other."""

    items: tuple["Expression", ...]


class Choice(NamedTuple):
    """Any of several expressions, the preferred one first."""

    options: tuple["Expression", ...]


class Repetition(NamedTuple):
    """An expression `least` to `most` times, None for any number; a lazy one prefers fewer."""

    item: "Expression"
    least: int
    most: int | None
    is_lazy: bool


Expression: TypeAlias = Test | Assertion | Sequence | Choice | Repetition

# ── the automaton ─────────────────────────────────────────────────────────────────────────────


class State(NamedTuple):
    """What a state needs, and the states that follow, the preferred one first.

    needs: a character, an assertion, or nothing. The state in which a match ends has none that
    follow.
    """

    needs: Test | Assertion | None
    following: tuple[int, ...]


#: The place of the state in which a match ends.
END = 0


def _states_of(expression: Expression) -> tuple[list[State], int]:
    """Return the states of an expression, and the place of the first; END is the last one.

    Raises NotSupported for more than MOST_STATES.
    """
    states = [State(None, ())]

    def add(state: State) -> int:
        if len(states) >= MOST_STATES:
            raise NotSupported(f"the engine follows patterns of at most {MOST_STATES:,} states")
        states.append(state)
        return len(states) - 1

    def before(part: Expression, following: int) -> int:
        """Add the states of a part, which go on to `following`; return the place of its first."""
        match part:
            case Sequence(items):
                for item in reversed(items):
                    following = before(item, following)
                return following
            case Choice(options):
                return add(State(None, tuple(before(option, following) for option in options)))
            case Repetition():
                return repeated(part, following)
        return add(State(part, (following,)))

    def repeated(part: Repetition, following: int) -> int:
        def either(again: int, done: int) -> State:
            return State(None, (done, again) if part.is_lazy else (again, done))

        done = following
        count = part.least
        if part.most is None:
            loop = add(State(None, ()))
            again = before(part.item, loop)
            states[loop] = either(again, done)
            # What is repeated once at least begins with the item of its own loop.
            following = again if count else loop
            count = max(0, count - 1)
        else:
            for _ in range(part.most - part.least):
                following = add(either(before(part.item, following), done))
        for _ in range(count):
            following = before(part.item, following)
        return following

    first = before(expression, END)
    return states, first


# ── matching ──────────────────────────────────────────────────────────────────────────────────


class Gap(NamedTuple):
    """What the place between two characters is."""

    is_begin: bool
    is_end: bool
    is_boundary: bool

    def holds(self, assertion: Assertion) -> bool:
        """Return True if the assertion holds here."""
        match assertion:
            case "begin":
                return self.is_begin
            case "end":
                return self.is_end
            case "boundary":
                return self.is_boundary
            case "no boundary":
                return not self.is_boundary


_ANY_GAP = Gap(is_begin=False, is_end=False, is_boundary=False)
#: Places of states that wait for a character, and END, the preferred ones first.
Waiting: TypeAlias = tuple[int, ...]


@dataclass
class _Steps:
    """Steps that one match has taken, or several that are counted together."""

    count: int = 0


_TOGETHER: ContextVar[_Steps | None] = ContextVar("_TOGETHER", default=None)


@contextmanager
def counted_together() -> Iterator[None]:
    """Have all matches of the block, by any automata, take MOST_STEPS together: a tensor's."""
    token = _TOGETHER.set(_Steps())
    try:
        yield
    finally:
        _TOGETHER.reset(token)


@dataclass
class Automaton:
    """An expression, ready to match. `is_of_word` tests the characters of words.

    Raises NotSupported for an expression of more than MOST_STATES; methods raise it after
    MOST_STEPS.
    """

    expression: Expression
    is_of_word: Test
    _known: dict[tuple[Waiting, str, Gap], tuple[Waiting, int]] = field(
        default_factory=dict, init=False, repr=False
    )
    #: The states in all sets of `_known`.
    _size: int = field(default=0, init=False, repr=False)
    _steps: _Steps = field(default_factory=_Steps, init=False, repr=False)

    def __post_init__(self) -> None:
        self._states, self._first = _states_of(self.expression)
        self._asserts = any(isinstance(state.needs, str) for state in self._states)

    def matches_fully(self, text: str) -> bool:
        """Return True if the whole text matches."""
        *_, last = self._each(text)
        return END in last

    def matches_at_the_beginning(self, text: str) -> bool:
        """Return True if the text begins with a match."""
        return any(END in waiting for waiting in self._each(text))

    def matches_anywhere(self, text: str) -> bool:
        """Return True if a part of the text matches."""
        return any(END in waiting for waiting in self._each(text, anywhere=True))

    def end_of_preferred_match(self, text: str) -> int | None:
        """Return where the preferred match at the beginning ends, as Perl finds it; None of none.

        Of several matches it is the one that takes the first options, and repeats as often as it
        may, or as rarely if it is lazy.
        """
        self._steps = _TOGETHER.get() or _Steps()
        gaps = self._gaps(text)
        waiting = self._reached([self._first], gaps[0])
        end: int | None = None
        for place, character in enumerate([*text, ""]):
            if END in waiting:
                end = place
                waiting = waiting[: waiting.index(END)]
            if not waiting or not character:
                break
            waiting = self._after(waiting, character, gaps[place + 1])
        return end

    def _each(self, text: str, *, anywhere: bool = False) -> Iterator[Waiting]:
        """Yield what waits before each character and at the end.

        anywhere: a match may begin at any place.
        """
        self._steps = _TOGETHER.get() or _Steps()
        gaps = self._gaps(text)
        waiting = self._reached([self._first], gaps[0])
        yield waiting
        for character, gap in zip(text, gaps[1:], strict=True):
            waiting = self._after(waiting, character, gap)
            if anywhere:
                begun = self._reached([self._first], gap)
                waiting = tuple(dict.fromkeys([*waiting, *begun]))
            yield waiting

    def _gaps(self, text: str) -> list[Gap]:
        """Return what each place is, before the first character to behind the last one.

        All are alike for an expression without assertions.
        """
        if not self._asserts:
            return [_ANY_GAP] * (len(text) + 1)
        of_words = [False, *map(self.is_of_word, text), False]
        return [
            Gap(place == 0, place == len(text), of_words[place] != of_words[place + 1])
            for place in range(len(text) + 1)
        ]

    def _after(self, waiting: Waiting, character: str, gap: Gap) -> Waiting:
        """Return what waits at a gap after a character, by what waited before."""
        step = (waiting, character, gap)
        known = self._known.get(step)
        if known is not None:
            # A match takes as many steps as it did without what is remembered.
            reached, steps = known
            self._count(steps)
            return reached
        before = self._steps.count
        self._count()
        entered: list[int] = []
        for place in waiting:
            needs, following = self._states[place]
            self._count()
            if callable(needs) and needs(character):
                entered += following
        reached = self._reached(entered, gap)
        size = 1 + len(waiting) + len(reached)
        if self._size + size > _MOST_KNOWN:
            self._known.clear()
            self._size = 0
        self._size += size
        self._known[step] = reached, self._steps.count - before
        return reached

    def _reached(self, entered: Iterable[int], gap: Gap) -> Waiting:
        """Return the states to which the entered ones lead without a character."""
        seen: set[int] = set()
        waiting = []
        left = [*entered][::-1]
        while left:
            place = left.pop()
            if place in seen:
                continue
            seen.add(place)
            self._count()
            needs, following = self._states[place]
            if callable(needs) or place == END:
                waiting.append(place)
            elif needs is None or gap.holds(needs):
                left += following[::-1]
        return tuple(waiting)

    def _count(self, steps: int = 1) -> None:
        """Count steps; raises NotSupported after MOST_STEPS."""
        self._steps.count += steps
        if self._steps.count > MOST_STEPS:
            raise NotSupported(f"the engine goes {MOST_STEPS:,} steps to match texts, no more")
