"""A list of cases, with their questions and expected answers, without running them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from rich.console import Console
from rich.text import Text

from opcheck import clauses, model
from opcheck.grouping import group_by
from opcheck.report import formatting, plain_text
from opcheck.report.style import Numbers, new_table, put, say
from opcheck.suite.coverage import Coverage

#: The most names of cases shown for a sentence.
_NAMES = 4


def show(console: Console, cases: Sequence[model.Case]) -> None:
    """Print a line for each case, under its file, and the totals."""
    file = None
    for case in cases:
        if case.source.file != file:
            file = case.source.file
            console.print(Text(plain_text.clean(file), "bold"), soft_wrap=True)
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
