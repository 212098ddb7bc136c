"""What is to be said of one mistake: where it survives, and the case that would kill it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from rich.console import Console
from rich.text import Text

from opcheck.model import OpVersion
from opcheck.model.mutation import Fate, Mutant, Mutation, Power, Proposal
from opcheck.report import words
from opcheck.report.case_yaml import combinations, name_of, written

#: A mistake, in whatever versions and dtypes: its operator and its name.
Mistake: TypeAlias = tuple[str, str, str]


def show(console: Console, power: Power) -> None:
    """Print every mistake that is wrongly argued to be harmless, then those that survive."""
    mutations = sorted(power.mutations, key=lambda mutation: mutation.mutant)
    for those in _by_mistake(m for m in mutations if m.contradicts):
        _contradiction(console, those)
    for those in _by_mistake(m for m in mutations if m.fate is Fate.SURVIVED):
        _survivor(console, those, mutations, power)


def proposed(proposals: Iterable[Proposal]) -> dict[Mutant, str]:
    """The text of the case that would kill each mutant."""
    texts: dict[Mutant, str] = {}
    names: set[str] = set()
    for proposal in proposals:
        at = {(mutant.op.since, mutant.dtype): mutant for mutant in proposal.mutants}
        for places in combinations(at):
            name = _new_name(proposal.mutants[0].name, names)
            text = "\n".join(written(proposal.case, name, places))
            texts |= {at[place]: text for place in places}
    return texts


def _new_name(mistake: str, taken: set[str]) -> str:
    first = name_of(f"proposal_{mistake}")
    names = (first, *(f"{first}_{number}" for number in range(2, len(taken) + 3)))
    name = next(one for one in names if one not in taken)
    taken.add(name)
    return name


def mistake_of(mutant: Mutant) -> Mistake:
    """The mistake, wherever it is made."""
    return mutant.op.domain, mutant.op.name, mutant.name


def places(mutants: Iterable[Mutant]) -> str:
    """`Hardmax-1 float16 float32, Hardmax-13 float16`."""
    by_op: dict[OpVersion, list[str]] = {}
    for mutant in mutants:
        by_op.setdefault(mutant.op, []).append(mutant.dtype)
    return ", ".join(f"{op} {' '.join(dtypes)}" for op, dtypes in by_op.items())


def _by_mistake(mutations: Iterable[Mutation]) -> Iterator[list[Mutation]]:
    found: dict[Mistake, list[Mutation]] = {}
    for mutation in mutations:
        found.setdefault(mistake_of(mutation.mutant), []).append(mutation)
    yield from found.values()


def _contradiction(console: Console, those: Sequence[Mutation]) -> None:
    _head(console, "CONTRADICTION", those[0].mutant)
    for one in those:
        place = f"{one.mutant.op} {one.mutant.dtype}"
        _line(console, "argued", f"harmless in {place}: {one.harmless}")
        _line(console, "but", f"killed by {one.killers[0]}")
    console.print()


def _survivor(
    console: Console, those: Sequence[Mutation], mutations: Sequence[Mutation], power: Power
) -> None:
    mutants = [one.mutant for one in those]
    _head(console, "SURVIVED", mutants[0])
    _line(console, "in", places(mutants))
    seen = next(_elsewhere(mutants[0], mutations), None)
    if seen:
        _line(console, "seen", seen)
    texts = proposed(
        p for p in power.proposals if mistake_of(p.mutants[0]) == mistake_of(mutants[0])
    )
    left = [mutant for mutant in mutants if mutant not in texts]
    if left and power.tries:
        where = f" in {places(left)}" if texts else ""
        said = f"no legal input found{where} in {power.tries:,} tries: argue that it is harmless, "
        _line(console, "sought", f"{said}or write a case for it")
    for text in dict.fromkeys(texts.values()):
        console.print()
        console.print(Text(text), soft_wrap=True)
    console.print()


def _elsewhere(mutant: Mutant, mutations: Iterable[Mutation]) -> Iterator[str]:
    """Where else the same mistake is killed, in this version if possible, else noticed."""
    same = [one for one in mutations if mistake_of(one.mutant) == mistake_of(mutant)]
    same.sort(key=lambda one: one.mutant.op != mutant.op)
    for one in same:
        if one.killers:
            yield f"in {one.mutant.op} {one.mutant.dtype}, by {one.killers[0]}"
    for one in same:
        if one.noticers:
            place = f"in {one.mutant.op} {one.mutant.dtype}"
            yield f"{place}, by {one.noticers[0]}, which decides nothing"


def _head(console: Console, word: str, mutant: Mutant) -> None:
    text = Text.assemble((word, "bold red"), f"  {mutant.name}: as if {mutant.text}")
    console.print(text, soft_wrap=True)


def _line(console: Console, label: str, text: str) -> None:
    console.print(Text.assemble((f"  {label:<6}  ", "dim"), words.clean(text)), soft_wrap=True)
