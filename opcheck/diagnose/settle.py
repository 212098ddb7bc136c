"""Choose the causes of a backend's failures once all its results are there.

A mutant that any pass contradicts is dropped. Failures that no mutant explains are explained by
facts that their cases share, and no others.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import NamedTuple, TypeAlias

import numpy as np

from opcheck.analysis import UNJUDGED, WAYS
from opcheck.diagnose.suspects import NOT_CHECKED, Suspects, cell_of, spelt
from opcheck.engine.mutants import Mutant
from opcheck.grouping import group_by, sure
from opcheck.model import LOSSES, Case, Diagnosis, Failure, Record, Verdict
from opcheck.model.case import Given, Rejected, TensorSpec

#: Failures without an answer, and without values; of these and one more, only the message tells.
_SILENT = ("raised", *LOSSES)
_WITHOUT_VALUES = (*_SILENT, "count")
_TELLING = (*_WITHOUT_VALUES, "unstable")
#: opcheck's words in front of a backend's own message.
_OURS = re.compile(
    r"^(unlike oracle .*?: )?(takes the same model at opset (?P<opset>\d+), where .*? too; at opset"
    r" \d+: )?(raised on a legal model: |(?P<twin>(refuses )?its legal twin( too)?: ))?"
)
#: Parts that differ between messages of one kind: paths, addresses, numbers and lists of them.
PARTICULARS = re.compile(
    r"\S*/\S*|0x[0-9a-fA-F]+|\[[-+\d., e]*\]|(?<![\w.])[-+]?\d[\d.,]*(?:e[-+]?\d+)?"
)
#: What a backend does wrong that contradicts itself, by how the message begins.
_STATES = {
    "input": "writes into its inputs",
    "the first result": "reuses the memory of outputs that it has returned",
    "answered other data of the same shape with": "answers other data with the first answer",
}
#: Lengths to which a message is compared, and shown.
_LONGEST, _SHOWN = 4000, 60
#: The fewest failures that a rule needs; and the fewest different questions, whatever their type
#: and opset, if kernels do not branch on its facts.
FEWEST = 3
#: Facts, the likeliest cause first: those that kernels branch on, values, limits on sizes.
PLAIN, VALUE, LIMIT = range(3)
#: A fact in words, its rank, and the number if it is a size.
_Fact: TypeAlias = tuple[str, int, int | None]


@dataclass(frozen=True, eq=False)
class Seen:
    """A case and its result, to be diagnosed if it is `unexplained`."""

    case: Case
    record: Record
    unexplained: bool

    @cached_property
    def _ours(self) -> re.Match[str]:
        return sure(_OURS.match(self.record.reason))

    @cached_property
    def words(self) -> str:
        """The message without particulars; for an accepted model, why it is invalid."""
        if self.record.failure not in _TELLING:
            return invalid(self.case) if self.record.failure == "accepted" else ""
        message = self.record.reason[self._ours.end() :][:_LONGEST]
        return " ".join(PARTICULARS.sub("*", message).split())

    @cached_property
    def subject(self) -> Case:
        """The case that failed or passed; for an invalid model possibly its legal twin."""
        return (legal_twin(self.case) if self._ours["twin"] else None) or self.case

    @cached_property
    def accepted(self) -> Case | None:
        """Another model that the backend accepted on the way to this result."""
        if self._ours["opset"]:
            return replace(self.case, opset=int(self._ours["opset"]))
        return legal_twin(self.case) if self.record.refused else None

    def came_out(self, failure: Failure | None, words: str) -> bool:
        """Return True if the result rules out `failure` for its case."""
        way, refused = self.record.failure, self.record.refused
        passed = self.record.verdict in (Verdict.PASS, Verdict.UNEXPECTED_PASS)
        answered = not passed and way not in (failure, *_SILENT)
        if failure == "accepted":
            return passed and refused and invalid(self.case) == words
        if failure == "raised":
            return (passed and not refused) or answered
        return passed or (answered and failure in _WITHOUT_VALUES)


def settled(results: Sequence[Seen], suspects: Suspects) -> dict[str, tuple[Diagnosis, ...]]:
    """Return the final diagnoses of each case that is to be explained, its cause first."""
    judged = (one for one in results if one.record.verdict not in (*UNJUDGED, Verdict.DIFFER))
    by_op = group_by(judged, lambda one: (one.case.op.domain, one.case.op.name))
    chosen = [some for some in by_op.values() if any(one.unexplained for one in some)]
    parts = [_CellGroup(some, suspects) for some in chosen]
    standing = Counter(name for part in parts for names in part.names.values() for name in names)
    return {case: said for part in parts for case, said in part.explained(standing)}


class _CellGroup:
    def __init__(self, results: Sequence[Seen], suspects: Suspects) -> None:
        self.suspects, self.all = suspects, results
        beside = [one.accepted for one in results if one.accepted]
        # Their answers are wrong, but the models were accepted.
        unanswered = (None, "accepted", *_SILENT)
        answered = (one.subject for one in results if one.record.failure not in unanswered)
        for case in (*beside, *answered):
            suspects.accepted(case)
        #: Cases of the results, then others accepted; by identity, for ids of twins are not unique.
        self.cases = [*(one.subject for one in results), *beside]
        self.numbers = {id(case): number for number, case in enumerate(self.cases)}
        self.beside = self._bits(beside)
        self.cells = dict.fromkeys(cell_of(one.case) for one in results)
        self.failing = [one for one in results if one.unexplained and one.record.failure]
        # An operator that always raises looks like every mutant that refuses something.
        came_out = any(one.record.failure not in _SILENT for one in results)
        self.telling = self.failing if came_out else []
        self.fitting: dict[str, dict[str, Mutant]] = {one.case.id: {} for one in self.failing}
        for one in self.telling:
            self.fitting[one.case.id] = suspects.fitting(one.case, one.record.diagnoses)
        #: Mutants by case that give its answer and that no pass contradicts.
        self.names = {one.case.id: self._upheld(one) for one in self.failing}
        self.chosen: dict[str, Diagnosis] = {}

    def _upheld(self, one: Seen, *, everywhere: bool = True) -> list[str]:
        """Return mutants that no pass of the same kernel contradicts, or of any for refusals."""
        refused = one.record.failure == "raised" and everywhere
        cells = [*self.cells] if refused else [cell_of(one.case)]
        against, fitting = self.suspects.against, self.fitting[one.case.id]
        return [n for n, m in fitting.items() if not any(against(m, cell, 1) for cell in cells)]

    @cached_property
    def features(self) -> "list[Feature]":
        return features(self.cases)

    @cached_property
    def questions(self) -> list[tuple[object, ...]]:
        """The question of each case, whatever its type and opset."""
        return [
            (case.name, case.row, *map(str, case.attrs.items()), *(i.shape for i in case.inputs))
            for case in self.cases
        ]

    def explained(self, standing: Counter[str]) -> Iterator[tuple[str, tuple[Diagnosis, ...]]]:
        """Yield the diagnoses of each case: its cause, then other mutants that give its answer."""
        ways = group_by(self.failing, lambda one: one.record.failure)
        by_words = group_by(self.failing, lambda one: (one.record.failure, one.words))
        wavering = ways.get("unstable", [])
        for start, text in _STATES.items():
            those = [one for one in wavering if one.words.startswith(start)]
            self._choose(Diagnosis(None, text, (len(those), len(wavering), 0, 0)), those)
        for (failure, _), group in by_words.items():
            self._cover(group, standing, with_rules=failure in _TELLING)
        self._look_again()
        for group in ways.values():
            self._cover(group, standing, with_rules=False)
            self._mutants_in_places(group)
        for group in (*by_words.values(), *ways.values()):
            self._cover(group, standing, with_rules=True)
        for one in self._left(self.failing):
            self.names[one.case.id] = self._upheld(one, everywhere=False)
        for group in by_words.values():
            self._cover(group, standing, with_rules=False)
        self._numbers_alike()
        for one in self.failing:
            case = one.case.id
            said = [d for d in one.record.diagnoses if d.mistake is None and d.counts is None]
            if case in self.chosen:
                fitting = [spelt(self.fitting[case][name]) for name in self.names[case]]
                said = [self.chosen[case], *fitting, *said]
            yield case, tuple(dict.fromkeys(said))

    def _left(self, group: Iterable[Seen]) -> list[Seen]:
        return [one for one in group if one.case.id not in self.chosen]

    def _cover(self, group: Sequence[Seen], standing: Counter[str], *, with_rules: bool) -> None:
        """Repeatedly choose the cause that explains most of the rest of a group."""
        while left := self._left(group):
            rank: dict[str, list[int]] = defaultdict(list)
            for one in left:
                for place, name in enumerate(self.names[one.case.id]):
                    rank[name].append(place)
            best = max(rank, key=lambda n: (len(rank[n]), standing[n], -sum(rank[n])), default="")
            mine = [one for one in left if best in self.names[one.case.id]]
            # A mutant can fit a few of many failures by chance.
            asked = {self.questions[self.numbers[id(one.subject)]] for one in mine}
            # One that explains fewer questions than FEWEST must explain a quarter of what is left.
            if len(asked) < FEWEST and len(mine) * 4 < len(left):
                mine = []
            found = self._rule(left, group) if with_rules and len(mine) < len(left) else None
            if found and len(found[1]) > len(mine):
                self._choose(*found)
            elif mine:
                self._choose(spelt(self.fitting[mine[0].case.id][best]), mine)
            else:
                break

    def _choose(self, diagnosis: Diagnosis, those: Iterable[Seen]) -> None:
        self.chosen.update((one.case.id, diagnosis) for one in those)

    def _look_again(self) -> None:
        """Try the mutants that explain other failures, and pairs of them, on the rest."""
        named = {one.mistake for one in self.chosen.values()}
        known = {n: m for fits in self.fitting.values() for n, m in fits.items() if n in named}
        for one in self._left(self.telling):
            self.fitting[one.case.id].update(self.suspects.refit(one.case, [*known.values()]))
            self.names[one.case.id] = self._upheld(one)

    def _mutants_in_places(self, group: Sequence[Seen]) -> None:
        """Choose mutants that passes contradict, but only in cases unlike those that failed."""
        fitting: dict[str, list[Seen]] = defaultdict(list)
        for one in self._left(group):
            for name in self.fitting[one.case.id]:
                fitting[name].append(one)
        for name in sorted(fitting, key=lambda name: -len(fitting[name])):
            those = self._left(fitting[name])
            if not those:
                continue
            mutant = self.fitting[those[0].case.id][name]
            against = (case for cell in self.cells for case in self.suspects.against(mutant, cell))
            if found := self._learned(those, self._bits(against), those, few=False):
                # Without a condition, all of its kind failed alike.
                text = spelt(mutant).text + (f", where {found.text}" if found.text else "")
                self._choose(Diagnosis(name, text, found.counts), self._about(found, those))

    def _numbers_alike(self) -> None:
        """Choose patterns of wrong values where nothing else explains them."""
        wrong = [one for one in self.failing if one.record.failure == "values"]
        resemblance = self.suspects.resemblance
        found = group_by(self._left(wrong), lambda s: resemblance(s.case, s.record.diagnoses))
        for text, those in found.items():
            if text and len(those) >= FEWEST:
                self._choose(Diagnosis(None, text, (len(those), len(wrong), 0, 0)), those)

    def _rule(self, left: list[Seen], group: Sequence[Seen]) -> tuple[Diagnosis, list[Seen]] | None:
        """Return the rule that covers the most of those left, and these."""
        failure, words = left[0].record.failure, left[0].words
        if any(one.words != words for one in group):
            words = ""
        others = self._bits(one.subject for one in self.all if one.came_out(failure, words))
        others |= self.beside if failure in _WITHOUT_VALUES else 0
        found = self._learned(left, others, group) if others or failure != "accepted" else None
        where = f" where {found.text}" if found and found.text else " in every case" * bool(found)
        printable = "".join(letter if letter.isprintable() else "?" for letter in words)
        short = printable if len(printable) <= _SHOWN else f"{printable[:_SHOWN]} …"
        said = f" ({short})" if short else ""
        if failure != "accepted":
            diagnosis = found and Diagnosis(None, f"{WAYS[failure]}{said}{where}", found.counts)
        elif not words:
            return None
        else:
            what, counts = NOT_CHECKED.text, found.counts if found else None
            if others and not found:
                what = what.replace("was not checked", "was not always checked")
                counts = len(group), len(group) + others.bit_count(), 0, 0
            diagnosis = Diagnosis(NOT_CHECKED.mistake, f"{what}{said}{where}", counts)
        return (diagnosis, self._about(found, left) if found else [*left]) if diagnosis else None

    def _learned(
        self, left: Iterable[Seen], others: int, group: Iterable[Seen], *, few: bool = True
    ) -> "Condition | None":
        failing, alike = (self._bits(one.subject for one in those) for those in (left, group))
        return rule(self.features, failing, others, alike, self.questions, few=few)

    def _bits(self, cases: Iterable[Case]) -> int:
        return sum(1 << number for number in {self.numbers[id(case)] for case in cases})

    def _about(self, found: "Condition", those: Iterable[Seen]) -> list[Seen]:
        return [one for one in those if found.holds >> self.numbers[id(one.subject)] & 1]


class Feature(NamedTuple):
    """A fact; bit n of `holds` is set if it holds for case n."""

    text: str
    rank: int
    holds: int


def invalid(case: Case) -> str:
    """Return why a model must be refused, without numbers; "" for a legal model."""
    expect = case.expect
    return re.sub(r"\[[-\d, ]*\]|-?\d+", "#", expect.reason) if isinstance(expect, Rejected) else ""


def legal_twin(case: Case) -> Case | None:
    """The legal twin of a case that admits a refusal, at the opset of the case."""
    rejected = case.expect.rejection
    return replace(rejected.legal, opset=case.opset) if rejected else None


def features(cases: Sequence[Case]) -> list[Feature]:
    """Return features that distinguish `cases` of one operator, by rank."""
    attrs = dict.fromkeys(name for case in cases for name in case.attrs)
    found: dict[tuple[str, int], dict[int, int | None]] = defaultdict(dict)
    for number, case in enumerate(cases):
        facts = *_of_model(case, attrs), *_of_inputs(case), *_of_values(case), *_of_outputs(case)
        for text, rank, size in facts:
            found[text, rank][number] = size
    everything = (1 << len(cases)) - 1
    distinct: dict[int, Feature] = {}
    tests = (test for (text, rank), sizes in found.items() for test in _tests(text, rank, sizes))
    for text, rank, numbers in sorted(tests, key=lambda test: test[1]):
        if (holds := sum(1 << number for number in numbers)) != everything:
            distinct.setdefault(holds, Feature(text, rank, holds))
    return [*distinct.values()]


def _tests(
    text: str, rank: int, sizes: dict[int, int | None]
) -> Iterator[tuple[str, int, Sequence[int]]]:
    """Yield a fact, or the limits on a size, and its values if kernels branch on them."""
    if not (numbers := {number: size for number, size in sizes.items() if size is not None}):
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
    given = [(f"`{name}`", name in case.attrs) for name in attrs]
    given += [(f"input {number}", bool(slot)) for number, slot in enumerate(case.slots)]
    yield from ((f"{it} is {'given' if has else 'left out'}", PLAIN, None) for it, has in given)


def _of_inputs(case: Case) -> Iterator[_Fact]:
    for spec in case.inputs:
        the, shape = "the input" if len(case.inputs) == 1 else f"input {spec.name}", spec.shape
        yield from ((f"{the} {fact}", PLAIN, None) for fact in _of_tensor(spec))
        yield f"the rank of {the}", PLAIN, len(shape)
        if "kernel_shape" in case.attrs and spec is case.inputs[0]:
            yield "the number of spatial axes", PLAIN, max(0, len(shape) - 2)
        for n, size in enumerate(shape):
            yield f"the length of axis {n} of {the}", LIMIT, size
        yield from [(f"the length of the last axis of {the}", LIMIT, shape[-1])] if shape else ()
        yield f"the longest axis of {the}", LIMIT, max(shape, default=0)
        yield f"the number of elements of {the}", LIMIT, prod(shape)


def _of_outputs(case: Case) -> Iterator[_Fact]:
    for spec in (one for one in case.outputs if one.dtype):
        the = "the output" if len(case.outputs) == 1 else f"output {spec.name}"
        yield f"{the} is {spec.dtype}", PLAIN, None


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
    for name, value in ((n, v) for n, v in case.attrs.items() if not isinstance(v, np.ndarray)):
        values = value if isinstance(value, tuple) else (value,)
        is_list = values is value
        numbers = [number for number in values if isinstance(number, int | float)]
        whole = [number for number in numbers if isinstance(number, int)]
        negative = "has a negative value" if is_list else "is negative"
        facts = [
            (negative, PLAIN, any(number < 0 for number in numbers)),
            ("needs more than 32 bits", PLAIN, any(not -(1 << 31) <= n < 1 << 31 for n in whole)),
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
    rank = len(shape)
    yield from [(f"`{name}` is beyond the rank", PLAIN, None)] * any(abs(n) > rank for n in axes)
    if not all(-rank <= axis < rank for axis in axes):
        yield f"`{name}` is out of range", PLAIN, None
        return
    places = [axis % rank for axis in axes]
    yield from [(f"`{name}` is the last axis", VALUE, None)] * (places == [rank - 1])
    for where, part in {
        "along": [shape[axis] for axis in places],
        "across": [size for axis, size in enumerate(shape) if axis not in places],
        "before": shape[: min(places, default=0)],
        "from": shape[min(places, default=0) :],
    }.items():
        yield f"the number of elements {where} `{name}`", LIMIT, prod(part)


Terms: TypeAlias = tuple[Feature, ...]


class Condition(NamedTuple):
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
    # Each additional fact must explain so many times more.
    return _holds(terms, failing).bit_count() / 1.25 ** len(terms)


def _consistent(features: Sequence[Feature], failing: int, others: int) -> Iterable[Terms]:
    """Return single features and pairs that hold for no others, by how much they explain."""
    # In a pair, a limit must hold for all failures; what is enough by itself needs no other fact.
    useful = [one for one in features if one.rank < LIMIT or one.holds & failing == failing]
    pairs = combinations((one for one in useful if one.holds & others), 2)
    tried = (*((one,) for one in features), *pairs)
    found = [terms for terms in tried if not _holds(terms, others)]
    found.sort(key=lambda terms: (-_weight(terms, failing), sum(term.rank for term in terms)))
    return found


def _is_no_chance(
    terms: Terms, failing: int, others: int, tried: int, questions: Sequence[Hashable], few: bool
) -> bool:
    """Return True if a rule rests on enough cases; facts that kernels branch on need few."""

    def asked(cases: int) -> int:
        return len({questions[n] for n in range(cases.bit_length()) if cases >> n & 1})

    if few and all(term.rank == PLAIN for term in terms):
        return True
    about, fail, rest = asked(_holds(terms, failing)), asked(failing), asked(others)
    chances = comb(tried, len(terms)) * comb(fail, about)
    # The largest probability that a rule arises by chance.
    return about >= FEWEST and chances <= 0.1 * comb(fail + rest, about)
