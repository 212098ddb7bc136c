"""The contents and the power of suites: cases, without running them, clauses, cells and mutants."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck import clauses, model
from opcheck.grouping import group_by
from opcheck.model import Fate, MutantId, Mutation, Power, Score
from opcheck.report import formatting, plain_text
from opcheck.report.style import Numbers, new_table, put, put_all, say
from opcheck.suite.load import Coverage

#: The most names of cases shown for a sentence.
_NAMES = 4
_FATES = {Fate.KILLED: "green", Fate.WARNED: "yellow", Fate.HARMLESS: "cyan", Fate.SURVIVED: "red"}


def show(console: Console, cases: Sequence[model.Case]) -> None:
    """Print a line for each case, under its file, and the totals."""
    for file, some in groupby(cases, lambda case: case.source.file):
        console.print(Text(plain_text.clean(file), "bold"), soft_wrap=True)
        for case in some:
            said = f"  {case.op}, {case.rule}, {case.level}, {expectation(case.expect)}"
            console.print(Text.assemble(f"  {case.id}", (said, "dim")), soft_wrap=True)
    names = {(case.op.domain, case.op.name, case.name) for case in cases}
    literal = sum(isinstance(case.expect, model.Values) for case in cases)
    total = f"{plain_text.plural(len(cases), 'case')} of {plain_text.plural(len(names), 'name')}"
    console.print(f"{total}, {literal:,} with literal expectations")


def record(case: model.Case) -> dict[str, Any]:
    """A case as JSON."""
    return {
        "case": case.id,
        **plain_text.op_record(case.op),
        "dtype": case.dtype.name if case.dtype else None,
        **plain_text.picked(case, "opset rule level clause"),
        "expect": expectation(case.expect),
        "question": formatting.question(case),
        "source": str(case.source),
    }


def expectation(expect: model.Expectation) -> str:
    """Summarize the expected answer in a word or two."""
    match expect:
        case model.Values():
            return "literal"
        case model.Golden(folder):
            return f"golden {folder.name}"
        case model.Oracle(backend):
            return f"oracle {backend}"
        case model.AnyOf(alternatives):
            return f"any of {', '.join(alternative.name for alternative in alternatives)}"
    return type(expect).__name__.lower()  # computed, agreement, rejected


def show_clauses(console: Console, surveys: Sequence[clauses.Survey]) -> None:
    """Print a table for each page, and clauses of its cases that are not on it."""
    for number, survey in enumerate(surveys):
        if number:
            console.print()
        if survey.link is None:
            console.print(f"{survey.op}: no text of it is known")
            continue
        sentences = survey.sentences
        idle = sum(checked.sentence.nothing is not None for checked in sentences)
        met = sum(bool(checked.cases) for checked in sentences if checked.sentence.nothing is None)
        left = len(sentences) - idle - met
        messages = [f"{met} tested", *[f"{left} not tested by these cases"] * bool(left)]
        messages.append(f"{idle} obliging nothing")
        console.print(Text.assemble((str(survey.op), "bold"), f"  {survey.link}"), soft_wrap=True)
        console.print(f"{plain_text.plural(len(sentences), 'sentence')}: {', '.join(messages)}")
        table = new_table("sentence", Numbers("cases"), "tested by")
        for part, group in groupby(sentences, lambda checked: checked.sentence.part):
            table.add_section()
            table.add_row(Text(part, "bold"))
            for checked in group:
                sentence = checked.sentence
                since = f" since {sentence.ruling_since}" if sentence.ruling_since else ""
                ruling = f"\nruling{since}: {sentence.ruling}" if sentence.ruling else ""
                table.add_row(Text.assemble(sentence.text, (ruling, "cyan")), *_cells(checked))
        put(console, table)
        for clause, cases in group_by(survey.strays, attrgetter("clause")).items():
            where = f"{cases[0].source}, {plain_text.plural(len(cases), 'case')}"
            said = f"not on this page: “{plain_text.brief(clause)}” ({plain_text.clean(where)})"
            console.print(Text(said, "yellow"), soft_wrap=True)
        for problem in survey.problems:
            console.print(Text(str(problem), "yellow"), soft_wrap=True)


def clause_records(survey: clauses.Survey) -> Iterator[dict[str, Any]]:
    """A page as JSON records: its sentences, then quotations and entries that are not on it."""
    op = plain_text.op_record(survey.op)
    for checked in survey.sentences:
        sentence = checked.sentence
        yield op | {
            **plain_text.picked(sentence, "part ruling ruling_since nothing"),
            "sentence": sentence.text,
            "cases": dict(checked.cases),
            "source": str(sentence.source),
        }
    for clause, cases in group_by(survey.strays, attrgetter("clause")).items():
        yield op | {"stray": clause, "cases": [case.id for case in cases]}
    yield from (op | {"problem": str(problem)} for problem in survey.problems)


def show_coverage(console: Console, found: Sequence[Coverage]) -> None:
    """Print a row for each operator with cells, and the totals, by domain."""
    for domain, rows in group_by(found, lambda row: row.op.domain).items():
        title = domain or "ai.onnx"
        table = new_table("operator", "versions", Numbers("judged"), "not judged", title=title)
        by_name = group_by(rows, lambda row: row.op.name)
        for name, some in by_name.items():
            since = ", ".join(str(row.op.since) for row in some)
            met, cells = _judged(some)
            style, why = ("green", "") if met == cells else ("yellow", _why_not(some))
            table.add_row(name, since, Text(f"{met:,}/{cells:,}", style), why)
        met, cells = _judged(rows)
        count = sum(any(row.judged for row in some) for some in by_name.values())
        total = (
            f"{title}: {plain_text.plural(len(by_name), 'operator')} in"
            f" {plain_text.plural(len(rows), 'version')}, {count:,} judged"
        )
        if met:
            put(console, table)
            say(console, f"{total}, in {met:,} of {cells:,} cells")
        else:
            say(console, f"{total}: {', '.join(by_name)}. {_why_not(rows)}")
        console.print()


def coverage_record(row: Coverage) -> dict[str, Any]:
    """A version of an operator as JSON, with its types as ONNX writes them."""
    left = row.types - row.judged
    return {
        **plain_text.op_record(row.op),
        "judged": sorted(row.judged),
        "not_judged": sorted(left),
        "computed": sorted(row.computed),
        "why": _why_not([row]) if left else None,
    }


def _judged(rows: Iterable[Coverage]) -> tuple[int, int]:
    return sum(len(row.judged) for row in rows), sum(len(row.types) for row in rows)


def _why_not(rows: Sequence[Coverage]) -> str:
    if rows[0].why:
        return rows[0].why
    if any(row.computed for row in rows):
        return "No shipped case asks for an answer."
    return "The engine has no formula: backends are compared with one another."


def _cells(checked: clauses.CheckedSentence) -> tuple[Text, Text]:
    """The number of cases that test a sentence, and their names."""
    nothing, total = checked.sentence.nothing, sum(checked.cases.values())
    count = Text("·", "bright_black") if nothing else Text("0", "yellow")
    if total:
        count = Text(f"{total:,}", "green")
    if nothing:
        return count, Text(f"obliges nothing: {nothing}", "bright_black")
    names = [f"{name} ×{number}" for name, number in checked.cases.items()]
    left = len(names) - _NAMES
    more = f" and {plain_text.plural(left, 'more name')}" if left > 0 else ""
    tests = Text(f"{', '.join(names[:_NAMES])}{more}")
    return count, tests if names else Text("none of these cases", "yellow")


def show_power(console: Console, power: Power, *, verbose: bool) -> None:
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
        counts = ((one[fate], _FATES[fate]) for fate in Fate)
        cells = [Text(f"{n:,}", colour) if n else Text("·", "bright_black") for n, colour in counts]
        # A line sets the sum apart.
        is_last = table.row_count + 2 == len(scores)
        cells.append(Text(percent(one), "green" if one.share in (1.0, None) else "red"))
        table.add_row(name, f"{one.total():,}", *cells, end_section=is_last)
    return table


def _listings(mutations: Sequence[Mutation]) -> Iterator[Table]:
    """A table for each fate but survival; mutants with the same text share a row."""
    for fate, (last, title) in {
        Fate.KILLED: ("case", "Killed, each by the first case that fails"),
        Fate.HARMLESS: ("because", "Argued to be harmless: no input decides against them"),
        Fate.WARNED: ("case", "Only warned of, or failed only where the text does not decide"),
    }.items():
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
