"""Find one or two facts that all failing cases share, and no other case."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, prod
from typing import TypeAlias

import numpy as np

from opcheck.model import Case, Given, Rejected, TensorSpec

#: The fewest failures that a rule needs; and the fewest different questions, whatever their type
#: and opset, if kernels do not branch on its facts.
FEWEST = 3
#: The largest probability that a rule arises by chance.
_CHANCE = 0.1
#: Each additional fact must explain so many times more.
_MUCH_MORE = 1.25
#: Facts, the likeliest cause first: those that kernels branch on, values, limits on sizes.
PLAIN, VALUE, LIMIT = range(3)
_INT32 = 1 << 31
_NUMBERS = re.compile(r"\[[-\d, ]*\]|-?\d+")
#: A fact in words, its rank, and the number if it is a size.
_Fact: TypeAlias = tuple[str, int, int | None]


@dataclass(frozen=True)
class Feature:
    """A fact; bit n of `holds` is set if it holds for case n."""

    text: str
    rank: int
    holds: int


def invalid(case: Case) -> str:
    """Return why a model must be refused, without numbers; "" for a legal model."""
    expect = case.expect
    return _NUMBERS.sub("#", expect.reason) if isinstance(expect, Rejected) else ""


def legal_twin(case: Case) -> Case | None:
    """The legal twin of a case that admits a refusal, at the opset of the case."""
    rejected = case.expect.rejection
    return replace(rejected.legal, opset=case.opset) if rejected else None


def features(cases: Sequence[Case]) -> list[Feature]:
    """Return features that distinguish `cases` of one operator, by rank."""
    attrs = dict.fromkeys(name for case in cases for name in case.attrs)
    found: dict[tuple[str, int], dict[int, int | None]] = defaultdict(dict)
    for number, case in enumerate(cases):
        for text, rank, size in (*_of_model(case, attrs), *_of_inputs(case), *_of_values(case)):
            found[text, rank][number] = size
    everything = (1 << len(cases)) - 1
    distinct: dict[int, Feature] = {}
    tests = (test for (text, rank), sizes in found.items() for test in _tests(text, rank, sizes))
    for text, rank, numbers in sorted(tests, key=lambda test: test[1]):
        holds = sum(1 << number for number in numbers)
        if holds != everything:
            distinct.setdefault(holds, Feature(text, rank, holds))
    return [*distinct.values()]


def _tests(
    text: str, rank: int, sizes: dict[int, int | None]
) -> Iterator[tuple[str, int, Sequence[int]]]:
    """Yield a fact, or the limits on a size, and its values if kernels branch on them."""
    numbers = {number: size for number, size in sizes.items() if size is not None}
    if not numbers:
        yield text, rank, [*sizes]
    levels = sorted({*numbers.values()})
    # Kernels treat loops over nothing apart.
    ranks = {level: min(rank, VALUE) if level < 2 else rank for level in levels}
    for level in levels:
        if ranks[level] < LIMIT:
            same = [n for n, size in numbers.items() if size == level]
            yield f"{text} is {level:,}", ranks[level], same
        below = [n for n, size in numbers.items() if size <= level]
        yield f"{text} is {level:,} or less", ranks[level], below
    # Nothing is known of sizes between: the tightest limit comes first.
    for level in reversed(levels):
        above = [n for n, size in numbers.items() if size >= level]
        yield f"{text} is {level:,} or more", ranks[level], above


def _of_model(case: Case, attrs: Iterable[str]) -> Iterator[_Fact]:
    yield f"the model is {f'invalid: {invalid(case)}' if invalid(case) else 'legal'}", PLAIN, None
    yield f"the version is {case.op.since}", VALUE, None
    yield "the opset", VALUE, case.opset
    for name in attrs:
        yield f"`{name}` is {'given' if name in case.attrs else 'left out'}", PLAIN, None
    for number, slot in enumerate(case.slots):
        yield f"input {number} is {'given' if slot else 'left out'}", PLAIN, None


def _of_inputs(case: Case) -> Iterator[_Fact]:
    for spec in case.inputs:
        the, shape = "the input" if len(case.inputs) == 1 else f"input {spec.name}", spec.shape
        yield from ((f"{the} {fact}", PLAIN, None) for fact in _of_tensor(spec))
        yield f"the rank of {the}", PLAIN, len(shape)
        if "kernel_shape" in case.attrs:
            yield "the number of spatial axes", PLAIN, max(0, len(shape) - 2)
        for axis, length in enumerate(shape):
            yield f"the length of axis {axis} of {the}", LIMIT, length
        yield from [(f"the length of the last axis of {the}", LIMIT, shape[-1])] if shape else ()
        yield f"the longest axis of {the}", LIMIT, max(shape, default=0)
        yield f"the number of elements of {the}", LIMIT, prod(shape)


def _of_tensor(spec: TensorSpec) -> Iterator[str]:
    yield f"is {spec.dtype}"
    yield "is a constant" if spec.initializer else "is fed"
    yield from (f"has an axis of length {n}" for n in (0, 1) if n in spec.shape)
    yield from (f"has length 0 along axis {n}" for n, size in enumerate(spec.shape) if not size)
    values = np.array([put.value for put in spec.put], np.float64)
    if isinstance(spec.content, Given) and spec.dtype.kind == "float":
        values = np.append(values, spec.content.values.astype(np.float64))
    yield from ["has a NaN"] * bool(np.isnan(values).any())
    yield from ["has an infinity"] * bool(np.isinf(values).any())


def _of_values(case: Case) -> Iterator[_Fact]:
    plain = ((n, v) for n, v in case.attrs.items() if not isinstance(v, np.ndarray))
    for name, value in plain:
        values = value if isinstance(value, tuple) else (value,)
        is_list = values is value
        numbers = [number for number in values if isinstance(number, int | float)]
        whole = [number for number in numbers if isinstance(number, int)]
        negative = "has a negative value" if is_list else "is negative"
        facts = [
            (negative, PLAIN, any(number < 0 for number in numbers)),
            ("needs more than 32 bits", PLAIN, any(not -_INT32 <= n < _INT32 for n in whole)),
            (f"is {value}", VALUE, isinstance(value, str | float)),
            ("has a 0", VALUE, is_list and 0 in numbers),
            ("has unequal values", VALUE, len({*values}) > 1),
        ]
        yield from ((f"`{name}` {fact}", rank, None) for fact, rank, holds in facts if holds)
        yield from [(f"the number of `{name}`", VALUE, len(values))] * is_list
        size = (f"the largest of `{name}`", LIMIT) if is_list else (f"`{name}`", VALUE)
        yield from [(*size, max(whole))] if whole else ()
        if case.inputs and name.lower() in ("axis", "axes"):
            yield from _of_axes(name, whole, case.inputs[0].shape)


def _of_axes(name: str, axes: Sequence[int], shape: Sequence[int]) -> Iterator[_Fact]:
    """Describe an attribute that names axes of a shape."""
    rank = len(shape)
    yield from [(f"`{name}` is beyond the rank", PLAIN, None)] * any(abs(n) > rank for n in axes)
    if not all(-rank <= axis < rank for axis in axes):
        yield f"`{name}` is out of range", PLAIN, None
        return
    places = [axis % rank for axis in axes]
    yield from [(f"`{name}` is the last axis", VALUE, None)] * (places == [rank - 1])
    parts = {
        "along": [shape[axis] for axis in places],
        "across": [size for axis, size in enumerate(shape) if axis not in places],
        "before": shape[: min(places, default=0)],
        "from": shape[min(places, default=0) :],
    }
    for where, part in parts.items():
        yield f"the number of elements {where} `{name}`", LIMIT, prod(part)


Terms: TypeAlias = tuple[Feature, ...]


@dataclass(frozen=True)
class Condition:
    """A condition in words, "" for none; bits of its cases, and `counts` as in `Diagnosis`."""

    text: str
    holds: int
    counts: tuple[int, int, int, int]


def rule(
    features: Sequence[Feature],
    failing: int,
    others: int,
    alike: int,
    questions: Sequence[Hashable],
    *,
    few: bool = True,
) -> Condition | None:
    """Return the condition that holds for the most `failing` cases and none of the `others`.

    Cases are bits; all that are `alike` fail in this way, explained or not. One or two facts are
    tried, in all versions and in each. Cases of equal `questions` differ in type or opset only;
    facts that kernels branch on may rest on a `few` of them.
    """
    found: list[Terms] = [] if others else [()]
    versions = [(one,) for one in features if one.text.startswith("the version is ")]
    for version in ((), *versions) if others else ():
        fail, rest = _holds(version, failing), _holds(version, others)
        # One feature for each set of cases, the likeliest, if enough of them fail.
        distinct: dict[int, Feature] = {}
        for one in sorted(features, key=lambda one: one.rank):
            distinct.setdefault(one.holds & (fail | rest), one)
        tried = [one for one in distinct.values() if (one.holds & fail).bit_count() >= FEWEST]
        for terms in _consistent(tried, fail, rest):
            if _is_no_chance(terms, fail, rest, len(tried), questions, few):
                found.append((*terms, *version))
                break
    best = max(found, key=lambda terms: _weight(terms, failing), default=None)
    if best is None or _holds(best, failing).bit_count() < FEWEST:
        return None
    holds = _holds(best, alike | others)
    here, elsewhere = (holds & alike).bit_count(), (alike & ~holds).bit_count()
    counts = here, here, elsewhere, elsewhere + others.bit_count()
    return Condition(" and ".join(one.text for one in best), holds, counts)


def _holds(terms: Terms, of: int) -> int:
    for term in terms:
        of &= term.holds
    return of


def _weight(terms: Terms, failing: int) -> float:
    return _holds(terms, failing).bit_count() / _MUCH_MORE ** len(terms)


def _consistent(features: Sequence[Feature], failing: int, others: int) -> Iterable[Terms]:
    """Return single features and pairs that hold for no others, by how much they explain."""
    # In a pair, a limit must hold for all failures.
    useful = [one for one in features if one.rank < LIMIT or one.holds & failing == failing]
    tried = (*((one,) for one in features), *combinations(useful, 2))
    found = [terms for terms in tried if not _holds(terms, others)]
    found.sort(key=lambda terms: (-_weight(terms, failing), sum(term.rank for term in terms)))
    return found


def _is_no_chance(
    terms: Terms, failing: int, others: int, tried: int, questions: Sequence[Hashable], few: bool
) -> bool:
    """Return True if a rule rests on enough cases; facts that kernels branch on need few."""

    def asked(cases: int) -> int:
        return len({questions[n] for n in range(cases.bit_length()) if cases >> n & 1})

    covered = _holds(terms, failing)
    if covered.bit_count() < FEWEST:
        return False
    if few and all(term.rank == PLAIN for term in terms):
        return True
    about, fail, rest = asked(covered), asked(failing), asked(others)
    chances = comb(tried, len(terms)) * comb(fail, about)
    return about >= FEWEST and chances <= _CHANCE * comb(fail + rest, about)
