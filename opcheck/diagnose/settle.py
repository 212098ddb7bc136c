"""Choose the causes of a backend's failures once all its results are there.

A mutant that any pass contradicts is dropped. Failures that no mutant explains are explained by
facts that their cases share, and no others.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from opcheck.analysis.causes import WAYS
from opcheck.diagnose import features as ft
from opcheck.diagnose.features import FEWEST, Condition, features, invalid, legal_twin, rule
from opcheck.diagnose.suspects import NOT_CHECKED, Suspects, cell_of, spelt
from opcheck.engine.mutants import Mutant
from opcheck.model import LOSSES, Case, Diagnosis, Failure, Record, Verdict

#: Failures without an answer; for these and some more, the message is the only evidence.
_SILENT = ("raised", *LOSSES)
_TELLING = (*_SILENT, "unstable", "count")
_UNDECIDED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE, Verdict.DIFFER)
#: opcheck's words in front of a backend's own message.
_OURS = re.compile(
    r"^(unlike oracle .*?: )?(takes the same model at opset (?P<opset>\d+), where .*? too; at opset"
    r" \d+: )?(raised on a legal model: |(?P<twin>(refuses )?its legal twin( too)?: ))?"
)
#: Parts that differ between messages of one kind: paths, addresses, numbers and lists of them.
PARTICULARS = re.compile(
    r"\S*/\S*|0x[0-9a-fA-F]+|\[[-+\d., e]*\]|(?<![\w.])[-+]?\d[\d.,]*(?:e[-+]?\d+)?"
)
#: Lengths to which a message is compared, and shown.
_LONGEST, _SHOWN = 4000, 60
#: A mutant that explains fewer questions than FEWEST must explain one in so many failures left.
_SHARE = 4


@dataclass(frozen=True, eq=False)
class Seen:
    """A case and its result, to be diagnosed if it is `unexplained`."""

    case: Case
    record: Record
    unexplained: bool

    @cached_property
    def _ours(self) -> re.Match[str]:
        found = _OURS.match(self.record.reason)
        assert found is not None
        return found

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
        return passed or (answered and failure in _TELLING and failure != "unstable")


def settled(results: Sequence[Seen], suspects: Suspects) -> dict[str, tuple[Diagnosis, ...]]:
    """Return the final diagnoses of each case that is to be explained, its cause first."""
    by_op: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in results:
        if one.record.verdict not in _UNDECIDED:
            by_op[one.case.op.domain, one.case.op.name].append(one)
    chosen = [some for some in by_op.values() if any(one.unexplained for one in some)]
    parts = [_CellGroup(some, suspects) for some in chosen]
    standing = Counter(name for part in parts for names in part.names.values() for name in names)
    return {case: said for part in parts for case, said in part.explained(standing)}


class _CellGroup:
    def __init__(self, results: Sequence[Seen], suspects: Suspects) -> None:
        self.suspects = suspects
        self.all = results
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
        self.telling = [s for s in self.failing if came_out or s.record.failure not in _SILENT]
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
    def features(self) -> list[ft.Feature]:
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
        alike: dict[tuple[Failure | None, str], list[Seen]] = defaultdict(list)
        ways: dict[Failure | None, list[Seen]] = defaultdict(list)
        for one in self.failing:
            alike[one.record.failure, one.words].append(one)
            ways[one.record.failure].append(one)
        groups = sorted(alike.values(), key=lambda group: -len(group))
        for group in groups:
            self._cover(group, standing, with_rules=group[0].record.failure in _TELLING)
        self._look_again()
        for group in ways.values():
            self._cover(group, standing, with_rules=False)
            self._mutants_in_places(group)
        for group in (*groups, *ways.values()):
            self._cover(group, standing, with_rules=True)
        for one in self._left(self.failing):
            self.names[one.case.id] = self._upheld(one, everywhere=False)
        for group in groups:
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
        """Repeatedly choose the cause that explains the most of what is left of a group."""
        while left := self._left(group):
            places: dict[str, list[int]] = defaultdict(list)
            for one in left:
                for place, name in enumerate(self.names[one.case.id]):
                    places[name].append(place)
            best = max(
                places, key=lambda n: (len(places[n]), standing[n], -sum(places[n])), default=""
            )
            mine = [one for one in left if best in self.names[one.case.id]]
            # A mutant can fit a few of many failures by chance.
            asked = {self.questions[self.numbers[id(one.subject)]] for one in mine}
            if len(asked) < FEWEST and len(mine) * _SHARE < len(left):
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
            if len(those) < FEWEST:
                continue
            mutant = self.fitting[those[0].case.id][name]
            against = (case for cell in self.cells for case in self.suspects.against(mutant, cell))
            if found := self._learned(those, self._bits(against), those, few=False):
                # Without a condition, all of its kind failed alike.
                text = spelt(mutant).text + (f", where {found.text}" if found.text else "")
                self._choose(Diagnosis(name, text, found.counts), self._about(found, those))

    def _numbers_alike(self) -> None:
        """Choose patterns of wrong values where nothing else explains them."""
        alike: dict[str, list[Seen]] = defaultdict(list)
        wrong = [one for one in self.failing if one.record.failure == "values"]
        for one in self._left(wrong):
            alike[self.suspects.resemblance(one.case, one.record.diagnoses)].append(one)
        for text, those in alike.items():
            if text and len(those) >= FEWEST:
                counts = len(those), len(wrong), 0, 0
                self._choose(Diagnosis(None, text, counts), those)

    def _rule(self, left: list[Seen], group: Sequence[Seen]) -> tuple[Diagnosis, list[Seen]] | None:
        """Return the rule that covers the most of those left, and these."""
        failure, words = left[0].record.failure, left[0].words
        if any(one.words != words for one in group):
            words = ""
        others = self._bits(one.subject for one in self.all if one.came_out(failure, words))
        others |= self.beside if failure in (*_SILENT, "count") else 0
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
    ) -> Condition | None:
        failing, alike = (self._bits(one.subject for one in those) for those in (left, group))
        return rule(self.features, failing, others, alike, self.questions, few=few)

    def _bits(self, cases: Iterable[Case]) -> int:
        return sum(1 << number for number in {self.numbers[id(case)] for case in cases})

    def _about(self, found: Condition, those: Iterable[Seen]) -> list[Seen]:
        return [one for one in those if found.holds >> self.numbers[id(one.subject)] & 1]
