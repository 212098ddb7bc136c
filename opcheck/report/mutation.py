"""Report of mutation testing: score, survivors, and arguments."""

import math
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.grouping import group_by
from opcheck.model import Fate, MutantId, Mutation, Power, Score
from opcheck.report import plain_text
from opcheck.report.style import Numbers, new_table, put_all

_STYLES = {Fate.KILLED: "green", Fate.WARNED: "yellow", Fate.HARMLESS: "cyan", Fate.SURVIVED: "red"}


def show(console: Console, power: Power, *, verbose: bool) -> None:
    """Print arguments, then survivors, and last the scores, next to the prompt."""
    mutations = sorted(power.mutations, key=lambda mutation: mutation.mutant)
    if verbose:
        put_all(console, *_listings(mutations))
    by_mutant = group_by(mutations, lambda mutation: mutant_key(mutation.mutant)).values()
    for some in by_mutant:
        if those := [one for one in some if one.contradicts]:
            _head(console, "CONTRADICTION", those[0].mutant)
            for one in those:
                _line(console, "argued", f"harmless in {places([one.mutant])}: {one.harmless}")
                _line(console, "but", f"killed by {one.killers[0]}")
            console.print()
    for some in by_mutant:
        if those := [one for one in some if one.fate is Fate.SURVIVED]:
            _survivor(console, those, mutations, power)
    put_all(console, _scores(mutations))


def percent(score: Score) -> str:
    """A score rounded down, so that 100 % means all."""
    return "–" if score.share is None else f"{math.floor(1000 * score.share) / 10:g} %"


def _scores(mutations: Sequence[Mutation]) -> Table:
    table = new_table("operator", *map(Numbers, ("mutants", *Fate, "score")))
    by_op = group_by(mutations, lambda mutation: mutation.mutant.op)
    scores = [(str(op), Score(one.fate for one in some)) for op, some in by_op.items()]
    if len(scores) > 1:
        scores.append(("all", Score(one.fate for one in mutations)))
    for name, one in scores:
        counts = ((one[fate], _STYLES[fate]) for fate in Fate)
        cells = [Text(f"{n:,}", colour) if n else Text("·", "bright_black") for n, colour in counts]
        style = "green" if one.share in (1.0, None) else "red"
        # A line sets the sum apart.
        is_last = table.row_count + 2 == len(scores)
        cells.append(Text(percent(one), style))
        table.add_row(name, f"{one.total():,}", *cells, end_section=is_last)
    return table


def _listings(mutations: Sequence[Mutation]) -> Iterator[Table]:
    """A table for each fate but survival; mutants with the same text share a row."""
    sections = {
        Fate.KILLED: ("case", "Killed, each by the first case that fails"),
        Fate.HARMLESS: ("because", "Argued to be harmless: no input decides against them"),
        Fate.WARNED: ("case", "Only warned of, or failed only where the text does not decide"),
    }
    for fate, (last, title) in sections.items():
        table = new_table("mutant", "in", last, title=title)
        some = [one for one in mutations if one.fate is fate]
        whys = ((one.mutant, [*one.killers, *one.noticers, str(one.harmless)][0]) for one in some)
        rows = group_by(whys, lambda pair: (mutant_key(pair[0]), pair[1]))
        for (mutant, text), those in sorted(rows.items(), key=lambda row: row[0]):
            table.add_row(mutant[-1], places(one for one, _ in those), plain_text.clean(text))
        yield table


def mutant_key(mutant: MutantId) -> tuple[str, str, str]:
    """The operator and the name of a mutant, without version and dtype."""
    return mutant.op.domain, mutant.op.name, mutant.name


def places(mutants: Iterable[MutantId]) -> str:
    """`Hardmax-1 float16 float32, Hardmax-13 float16`."""
    types = {
        op: " ".join("of any type" if one.any_type else one.dtype for one in those)
        for op, those in group_by(mutants, lambda mutant: mutant.op).items()
    }
    return ", ".join(f"{op} {said}" for op, said in types.items())


def _survivor(
    console: Console, those: Sequence[Mutation], mutations: Sequence[Mutation], power: Power
) -> None:
    mutants = [one.mutant for one in those]
    _head(console, "SURVIVED", mutants[0])
    _line(console, "in", places(mutants))
    key = mutant_key(mutants[0])
    seen = [m for m in mutations if mutant_key(m.mutant) == key and (m.killers or m.noticers)]
    if seen:
        # Prefer a kill to a warning, and this version to another.
        best = min(seen, key=lambda m: (not m.killers, m.mutant.op != mutants[0].op))
        by = best.killers[0] if best.killers else f"{best.noticers[0]}, which decides nothing"
        _line(console, "seen", f"in {places([best.mutant])}, by {by}")
    found = group_by(mutants, lambda mutant: power.elsewhere.get(mutant))
    for case, those_ in found.items():
        where = f" in {places(those_)}" if len(found) > 1 else ""
        if case:
            _line(console, "shipped", f"{case.id} ({case.source}) kills it{where}")
        else:
            said = f"no case kills it{where}: argue that it is harmless, or write one"
            _line(console, "shipped", said)
    console.print()


def _head(console: Console, word: str, mutant: MutantId) -> None:
    text = Text.assemble((word, "bold red"), f"  {mutant.name}: as if {mutant.text}")
    console.print(text, soft_wrap=True)


def _line(console: Console, label: str, text: str) -> None:
    console.print(Text.assemble((f"  {label:<6}  ", "dim"), plain_text.clean(text)), soft_wrap=True)
