"""The contents and the power of suites: cases, without running them, clauses, cells and mutants."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck import clauses, model
from opcheck.grouping import group_by
from opcheck.model import Fate, MutantId, Mutation, Power, Score
from opcheck.model.explained import FATES
from opcheck.report import formatting, plain_text
from opcheck.report.style import Numbers, new_table, put, put_all, say
from opcheck.suite.load import Coverage

#: The most names of cases shown for a sentence.
_NAMES = 4
_FATES = {Fate.KILLED: "green", Fate.WARNED: "yellow", Fate.HARMLESS: "cyan", Fate.SURVIVED: "red"}


def show(console: Console, cases: Sequence[model.Case]) -> None:
    """Print a line for each case, under its file, and the totals."""
    for file, of_file in groupby(cases, attrgetter("source.file")):
        console.print(Text(plain_text.clean(file), "bold"), soft_wrap=True)
        for case in of_file:
            fields = f"  {case.op}, {case.rule}, {case.level}, {expectation(case.expect)}"
            console.print(Text.assemble(f"  {case.id}", (fields, "dim")), soft_wrap=True)
    templates = {(case.op.domain, case.op.name, case.name) for case in cases}
    literal = sum(isinstance(case.expect, model.Values) for case in cases)
    from_templates = plain_text.plural(len(templates), "template")
    total = f"{plain_text.plural(len(cases), 'case')} from {from_templates}"
    console.print(f"{total}, {literal:,} with hand-written answers")


def record(case: model.Case) -> dict[str, Any]:
    """Return a case as JSON."""
    return {
        "case": case.id,
        **plain_text.op_record(case.op),
        "dtype": case.dtype.name if case.dtype else None,
        **plain_text.attributes_of(case, "opset rule level clause"),
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
        else:
            _show_survey(console, survey)


def _show_survey(console: Console, survey: clauses.Survey) -> None:
    """Print the sentences of a page with their cases, then what is not on the page."""
    sentences = survey.sentences
    idle = sum(checked.sentence.nothing is not None for checked in sentences)
    tested = sum(bool(checked.cases) for checked in sentences if checked.sentence.nothing is None)
    untested = len(sentences) - idle - tested
    counts = [f"{tested} tested"]
    if untested:
        counts.append(f"{untested} not tested by these cases")
    counts.append(f"{idle} obliging nothing")
    console.print(Text.assemble((str(survey.op), "bold"), f"  {survey.link}"), soft_wrap=True)
    console.print(f"{plain_text.plural(len(sentences), 'sentence')}: {', '.join(counts)}")
    put(console, _table_of(sentences))
    for clause, cases in group_by(survey.strays, attrgetter("clause")).items():
        where = f"{cases[0].source}, {plain_text.plural(len(cases), 'case')}"
        message = f"not on this page: “{plain_text.brief(clause)}” ({plain_text.clean(where)})"
        console.print(Text(message, "yellow"), soft_wrap=True)
    for problem in survey.problems:
        console.print(Text(str(problem), "yellow"), soft_wrap=True)


def _table_of(sentences: Iterable[clauses.CheckedSentence]) -> Table:
    """Return a table of sentences and their cases, with a section for each part of the page."""
    table = new_table("sentence", Numbers("cases"), "tested by")
    for part, of_part in groupby(sentences, attrgetter("sentence.part")):
        table.add_section()
        table.add_row(Text(part, "bold"))
        for checked in of_part:
            sentence = checked.sentence
            since = f" since {sentence.ruling_since}" if sentence.ruling_since else ""
            ruling = f"\nruling{since}: {sentence.ruling}" if sentence.ruling else ""
            table.add_row(Text.assemble(sentence.text, (ruling, "cyan")), *_cells(checked))
    return table


def clause_records(survey: clauses.Survey) -> Iterator[dict[str, Any]]:
    """Yield a page as JSON: its sentences, then quotations and entries that are not on it."""
    op = plain_text.op_record(survey.op)
    for checked in survey.sentences:
        sentence = checked.sentence
        yield op | {
            **plain_text.attributes_of(sentence, "part ruling ruling_since nothing"),
            "sentence": sentence.text,
            "cases": dict(checked.cases),
            "source": str(sentence.source),
        }
    for clause, cases in group_by(survey.strays, attrgetter("clause")).items():
        yield op | {"stray": clause, "cases": [case.id for case in cases]}
    yield from (op | {"problem": str(problem)} for problem in survey.problems)


def show_coverage(console: Console, coverage: Sequence[Coverage]) -> None:
    """Print a row for each operator with cells, and the totals, by domain."""
    for domain, rows in group_by(coverage, lambda row: row.op.domain).items():
        title = domain or "ai.onnx"
        by_name = group_by(rows, lambda row: row.op.name)
        judged_cells, cells = _judged(rows)
        operators = sum(any(row.judged for row in versions) for versions in by_name.values())
        total = (
            f"{title}: {plain_text.plural(len(by_name), 'operator')} in"
            f" {plain_text.plural(len(rows), 'version')}, {operators:,} judged"
        )
        if judged_cells:
            put(console, _coverage_table(title, by_name))
            say(console, f"{total}, in {judged_cells:,} of {cells:,} cells")
        else:
            say(console, f"{total}: {', '.join(by_name)}. {_why_not(rows)}")
        console.print()


def _coverage_table(title: str, by_name: Mapping[str, Sequence[Coverage]]) -> Table:
    """Return a table of operators, each with its versions and the cells that are judged."""
    table = new_table("operator", "versions", Numbers("judged"), "not judged", title=title)
    for name, versions in by_name.items():
        since = ", ".join(str(row.op.since) for row in versions)
        judged_cells, cells = _judged(versions)
        is_whole = judged_cells == cells
        share = Text(f"{judged_cells:,}/{cells:,}", "green" if is_whole else "yellow")
        table.add_row(name, since, share, "" if is_whole else _why_not(versions))
    return table


def coverage_record(row: Coverage) -> dict[str, Any]:
    """Return a version of an operator as JSON, with its types as ONNX writes them."""
    left = row.types - row.judged
    return {
        **plain_text.op_record(row.op),
        "judged": sorted(row.judged),
        "not_judged": sorted(left),
        "computed": sorted(row.computed),
        "why": _why_not([row]) if left else None,
    }


def _judged(rows: Iterable[Coverage]) -> tuple[int, int]:
    """Return the number of cells that are judged, and of all cells."""
    return sum(len(row.judged) for row in rows), sum(len(row.types) for row in rows)


def _why_not(rows: Sequence[Coverage]) -> str:
    if rows[0].why:
        return rows[0].why
    if any(row.computed for row in rows):
        return "No shipped case expects an answer."
    return "The engine has no formula: backends are compared with one another."


def _cells(checked: clauses.CheckedSentence) -> tuple[Text, Text]:
    """Return the number of cases that test a sentence, and their names."""
    nothing = checked.sentence.nothing
    total = sum(checked.cases.values())
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


#: The last part of the legend below the table of mutants.
_SCORE = "score: killed and warned, of all that are not harmless"


def show_power(console: Console, power: Power, *, verbose: bool) -> None:
    """Print arguments, then survivors, and last the scores, next to the prompt."""
    mutations = sorted(power.mutations, key=attrgetter("mutant"))
    if verbose:
        put_all(console, *_listings(mutations))
    by_mutant = group_by(mutations, _key_of).values()
    for alike in by_mutant:
        contradicting = [mutation for mutation in alike if mutation.contradicts]
        if contradicting:
            _show_contradiction(console, contradicting)
    for alike in by_mutant:
        survivors = [mutation for mutation in alike if mutation.fate is Fate.SURVIVED]
        if survivors:
            _show_survivor(console, survivors, mutations, power)
    put_all(console, _scores(mutations))
    fates = {mutation.fate for mutation in mutations}
    legend = [f"{fate}: {text}" for fate, text in FATES.items() if fate in fates]
    say(console, "; ".join([*legend, _SCORE]), "dim")
    console.print()


def _show_contradiction(console: Console, mutations: Sequence[Mutation]) -> None:
    """Print a mutant that is argued to be harmless, and killed nevertheless."""
    _head(console, "CONTRADICTION", mutations[0].mutant)
    for mutation in mutations:
        argued = f"harmless in {places([mutation.mutant])}: {mutation.harmless}"
        _line(console, "argued", argued)
        _line(console, "but", f"killed by {mutation.killers[0]}")
    console.print()


def percent(score: Score) -> str:
    """Return a score rounded down, so that 100 % means all."""
    return "–" if score.share is None else f"{math.floor(1000 * score.share) / 10:g} %"


def _scores(mutations: Sequence[Mutation]) -> Table:
    """Return the table of scores by operator, with their total if there are several."""
    table = new_table("operator", *map(Numbers, ("mutants", *Fate, "score")))
    by_op = group_by(mutations, lambda mutation: mutation.mutant.op)
    scores = [(str(op), Score(mutation.fate for mutation in of_op)) for op, of_op in by_op.items()]
    if len(scores) > 1:
        scores.append(("all", Score(mutation.fate for mutation in mutations)))
    for name, score in scores:
        cells = []
        for fate in Fate:
            count = score[fate]
            cells.append(Text(f"{count:,}", _FATES[fate]) if count else Text("·", "bright_black"))
        cells.append(Text(percent(score), "green" if score.share in (1.0, None) else "red"))
        # A line sets the sum apart.
        is_last = table.row_count + 2 == len(scores)
        table.add_row(name, f"{score.total():,}", *cells, end_section=is_last)
    return table


def _listings(mutations: Sequence[Mutation]) -> Iterator[Table]:
    """Yield a table for each fate but survival; mutants with the same text share a row."""
    for fate, (last, title) in {
        Fate.KILLED: ("case", "Killed, each by the first case that fails"),
        Fate.HARMLESS: ("because", "Argued to be harmless: no input decides against them"),
        Fate.WARNED: ("case", "Only warned of, or failed only where the text does not decide"),
    }.items():
        table = new_table("mutant", "in", last, title=title)
        rows: dict[tuple[tuple[str, str, str], str], list[MutantId]] = {}
        for mutation in mutations:
            if mutation.fate is fate:
                key = (_key_of(mutation), _why(mutation))
                rows.setdefault(key, []).append(mutation.mutant)
        for ((*_, name), text), mutants in sorted(rows.items(), key=itemgetter(0)):
            table.add_row(name, places(mutants), plain_text.clean(text))
        yield table


def _why(mutation: Mutation) -> str:
    """Return the case that kills or notices a mutant, or else why it is harmless."""
    cases = [*mutation.killers, *mutation.noticers]
    return cases[0] if cases else str(mutation.harmless)


def mutant_key(mutant: MutantId) -> tuple[str, str, str]:
    """Return the domain, the operator and the name of a mutant, without version and dtype."""
    return mutant.op.domain, mutant.op.name, mutant.name


def _key_of(mutation: Mutation) -> tuple[str, str, str]:
    return mutant_key(mutation.mutant)


def places(mutants: Iterable[MutantId]) -> str:
    """Return where mutants are: `Hardmax-1 float16 float32, Hardmax-13 float16`."""
    parts = []
    for op, of_op in group_by(mutants, lambda mutant: mutant.op).items():
        types = ("of any type" if mutant.any_type else mutant.dtype for mutant in of_op)
        parts.append(f"{op} {' '.join(types)}")
    return ", ".join(parts)


def _show_survivor(
    console: Console, survivors: Sequence[Mutation], mutations: Sequence[Mutation], power: Power
) -> None:
    """Print where a mutant survives, where it is seen, and the shipped case that kills it."""
    mutants = [mutation.mutant for mutation in survivors]
    _head(console, "SURVIVED", mutants[0])
    _line(console, "in", places(mutants))
    seen_by = _seen_by(mutants[0], mutations)
    if seen_by:
        _line(console, "seen", seen_by)
    by_case = group_by(mutants, power.elsewhere.get)
    for case, its_mutants in by_case.items():
        where = f" in {places(its_mutants)}" if len(by_case) > 1 else ""
        if case:
            _line(console, "shipped", f"{case.id} ({case.source}) kills it{where}")
        else:
            advice = "argue that it is harmless, or write one"
            _line(console, "shipped", f"no case kills it{where}: {advice}")
    console.print()


def _seen_by(survivor: MutantId, mutations: Sequence[Mutation]) -> str:
    """Return where the same mutant is killed or noticed, and by which case; "" if nowhere."""
    key = mutant_key(survivor)
    alike = [mutation for mutation in mutations if _key_of(mutation) == key]
    seen = [mutation for mutation in alike if mutation.killers or mutation.noticers]
    if not seen:
        return ""

    def preference(mutation: Mutation) -> tuple[bool, bool]:
        # A kill before a warning, and this version before another.
        return not mutation.killers, mutation.mutant.op != survivor.op

    best = min(seen, key=preference)
    case = best.killers[0] if best.killers else f"{best.noticers[0]}, which decides nothing"
    return f"in {places([best.mutant])}, by {case}"


def _head(console: Console, word: str, mutant: MutantId) -> None:
    text = Text.assemble((word, "bold red"), f"  {mutant.name}: as if {mutant.text}")
    console.print(text, soft_wrap=True)


def _line(console: Console, label: str, text: str) -> None:
    console.print(Text.assemble((f"  {label:<6}  ", "dim"), plain_text.clean(text)), soft_wrap=True)
