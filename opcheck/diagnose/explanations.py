"""Conditions on single elements: where an output is wrong, by the values that meet there.

What is given there is an *outcome*, such as 0 or NaN; an element whose right value is just that
shows nothing. A *trait* explains an outcome if all wrong elements have it, and none that is right
and shows something. Elements of cases that fail and of cases that pass count alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import comb
from typing import NamedTuple

import numpy as np

from opcheck.compare.elements import Mask
from opcheck.diagnose.elements import ANY_VALUE, Elements
from opcheck.diagnose.traits import Shown, Trait, bounds, kinds, of_relation, of_single

#: The largest probability that one of all traits holds for wrong elements alone by chance.
_CHANCE = 0.1
#: So many failures at least have an outcome without a trait, with so many wrong elements.
_FEWEST = 3
_FEWEST_ELEMENTS = 6
#: What is given that few mistakes give.
NOT_FINITE = frozenset({"NaN", "infinity", "-infinity"})
#: Outcomes of integers that are one off.
_ONE_OFF = frozenset(
    {"what is one too small", "what is one too large", "what is one too small in size"}
)
#: Outcomes that name the mistake where no trait tells the elements apart.
_TELLING = _ONE_OFF | {"the right values with the opposite sign"}


class Explanation(NamedTuple):
    """What is given under which condition, "" for none, and the failures that this explains."""

    outcome: str
    condition: str
    explained: frozenset[int]

    @property
    def text(self) -> str:
        """What is given and where, in words."""
        return f"{self.outcome} where {self.condition}" if self.condition else self.outcome


def explanation(
    failing: Sequence[Elements],
    passing: Sequence[Elements],
    check: Callable[[], None],
) -> Explanation | None:
    """Return what is given where, for the most failing cases; None for nothing sure.

    All wrong elements of what is explained have the trait, and no right one of any case that shows
    something; one of its type, if the condition names that. It must not hold by chance. Calls
    `check` before each trait that is tried, and raises what that raises.
    """
    found: list[Explanation] = []
    for outcome, numbers in outcomes_of(failing).items():
        cases = (*failing, *passing)
        shown = [Shown(elements, showing(elements, outcome)) for elements in cases]
        for dtype in ("", *types_of(numbers, failing)):
            scope = [case for case in shown if not dtype or dtype in case.elements.types]
            explained = _by_trait([failing[number] for number in numbers], scope, check)
            if explained:
                condition = _with_type(explained.trait, dtype)
                numbers_of_cases = frozenset(n for n in numbers if explained.has(failing[n]))
                found.append(Explanation(outcome, condition, numbers_of_cases))
                break
    found += _without_trait(failing)
    # Of equal ones, the first has the likelier outcome.
    return max(found, key=lambda explanation: len(explanation.explained), default=None)


def outcomes_of(failing: Sequence[Elements]) -> dict[str, list[int]]:
    """Return the numbers of the cases whose wrong elements all have an outcome, by that.

    The outcome that says nothing comes last.
    """
    numbers: dict[str, list[int]] = {}
    for number, elements in enumerate(failing):
        for outcome, mask in elements.outcomes.items():
            if mask[elements.wrong].all():
                numbers.setdefault(outcome, []).append(number)
    return dict(sorted(numbers.items(), key=lambda item: item[0] == ANY_VALUE))


def showing(elements: Elements, outcome: str) -> Mask:
    """Mask the elements that are wrong, or would be if they had the outcome."""
    if outcome == ANY_VALUE or outcome not in elements.outcomes:
        return np.ones(elements.wrong.shape, np.bool_)
    return elements.wrong | ~elements.outcomes[outcome]


def types_of(numbers: Iterable[int], failing: Sequence[Elements]) -> list[str]:
    """Return the types, in words, that all cases of these numbers have."""
    return sorted(frozenset.intersection(*(failing[number].types for number in numbers)))


def _with_type(trait: str, dtype: str) -> str:
    """Return a trait with a type in words, "" for none: `input A of float16 has an infinity`."""
    label, _, name = dtype.partition(" is ")
    if label and trait.startswith(f"{label} has "):
        return f"{label} of {name}{trait.removeprefix(label)}"
    return f"{trait} and {dtype}" if dtype else trait


class _ExplainedByTrait(NamedTuple):
    """A trait, in words, and the cases whose wrong elements all have it."""

    trait: str
    cases: list[Elements]

    def has(self, elements: Elements) -> bool:
        """Return True for one of the cases, not for another one that equals it."""
        return any(elements is case for case in self.cases)


def _by_trait(
    cases: Sequence[Elements], scope: Sequence[Shown], check: Callable[[], None]
) -> _ExplainedByTrait | None:
    """Return the trait that explains the most cases, with these; None if none does surely.

    All wrong elements of the cases have one outcome; they and what contradicts a trait are in the
    `scope`. Calls `check` before each trait, and raises what that raises.
    """
    columns = [*dict.fromkeys(name for elements in cases for name in elements.columns)]
    singles = sorted({text for elements in cases for text in elements.single})
    traits = [*(Trait(text, partial(of_single, text)) for text in singles), *kinds(columns)]
    relations = dict.fromkeys(text for elements in cases for text in elements.relations)
    traits += (Trait(text, partial(of_relation, text)) for text in relations)
    traits += bounds(columns, cases, scope)
    best: _ExplainedByTrait | None = None
    for tried, trait in enumerate(traits, 1):
        check()
        explained = [elements for elements in cases if _has(trait, elements)]
        if len(explained) > len(best.cases if best else ()):
            count_cases = trait.text in singles
            if _is_sure(trait, explained, scope, tried, count_cases=count_cases):
                best = _ExplainedByTrait(trait.text, explained)
    return best


def _has(trait: Trait, elements: Elements) -> bool:
    """Return True if all wrong elements of a case have a trait."""
    return bool(trait.holds(elements)[elements.wrong].all())


def _is_sure(
    trait: Trait,
    explained: Sequence[Elements],
    scope: Sequence[Shown],
    tried: int,
    *,
    count_cases: bool,
) -> bool:
    """Return True if a trait has no right element that shows something, and that is no chance.

    `tried` is the number of traits up to this one, the likeliest first. Equal elements count once;
    with `count_cases`, all of a case count once, and three must be explained.
    """
    right = [(elements, mask & ~elements.wrong) for elements, mask in scope]
    if any((trait.holds(elements) & shows).any() for elements, shows in right):
        return False
    of_wrong: set[object]
    of_right: set[object]
    if count_cases:
        of_wrong = {id(elements) for elements in explained}
        of_right = {id(elements) for elements, shows in right if shows.any()}
        if len(of_wrong) < _FEWEST:
            return False
    else:
        of_wrong = set().union(*(_different(elements, elements.wrong) for elements in explained))
        of_right = set().union(*(_different(elements, shows) for elements, shows in right))
    beside = len(of_right - of_wrong)
    return tried <= _CHANCE * comb(len(of_wrong) + beside, len(of_wrong))


def _different(elements: Elements, mask: Mask) -> set[object]:
    """Return the different elements that are masked, by what meets there; NaN equals NaN."""
    columns = [elements.right, *elements.columns.values()]
    rows = np.stack([np.nan_to_num(column, nan=math.pi)[mask] for column in columns], axis=-1)
    return {row.tobytes() for row in rows}


def _without_trait(failing: Sequence[Elements]) -> Iterator[Explanation]:
    """Yield outcomes that name the mistake by themselves, with the types that all have.

    At least half of the cases have each, at least three, and six wrong elements: of less, the
    outcome is a coincidence. So is what is one off if it would mostly be 0 or 1, as small indices
    are: other wrong values are one off too.
    """
    for outcome, numbers in outcomes_of(failing).items():
        right = np.concat([failing[number].right[failing[number].wrong] for number in numbers])
        are_enough = len(numbers) >= max(_FEWEST, len(failing) / 2)
        if outcome in _ONE_OFF and 2 * np.count_nonzero(np.abs(right) > 1) < right.size:
            continue
        if outcome in _TELLING and are_enough and right.size >= _FEWEST_ELEMENTS:
            types = " and ".join(types_of(numbers, failing))
            yield Explanation(outcome, types, frozenset(numbers))
