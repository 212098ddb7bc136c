"""What a suite sees of mistakes: the score, the survivors with their proposals, the arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.model import OpVersion
from opcheck.model.mutation import Fate, Mutant, Mutation, Power, Score, Yardstick, score
from opcheck.report import survivors, words
from opcheck.report.look import add_numbers, new_table, put

_COLOURS = {
    Fate.KILLED: "green",
    Fate.WARNED: "yellow",
    Fate.HARMLESS: "cyan",
    Fate.SURVIVED: "red",
}


def show(console: Console, power: Power, *, verbose: bool) -> None:
    """Print what is argued, what is to be done, and the scores at the end, where they are seen."""
    mutations = sorted(power.mutations, key=lambda mutation: mutation.mutant)
    if verbose:
        _put(console, _killed(mutations))
        _put(console, _harmless(mutations))
        _put(console, _warned(mutations))
    survivors.show(console, power)
    _put(console, _scores(mutations))
    _put(console, _yardsticks(power.yardsticks))


def records(power: Power) -> Iterator[dict[str, Any]]:
    """The same as JSON: a record a mistake, version and dtype, then one a node test's cell."""
    texts = survivors.proposed(power.proposals)
    for mutation in sorted(power.mutations, key=lambda mutation: mutation.mutant):
        mutant = mutation.mutant
        yield {
            "type": "mutation",
            **_place(mutant.op, mutant.dtype),
            "mistake": mutant.name,
            "text": mutant.text,
            "fate": str(mutation.fate),
            "harmless": mutation.harmless,
            "contradicts": mutation.contradicts,
            "killers": [*mutation.killers],
            "noticers": [*mutation.noticers],
            "proposal": texts.get(mutant),
        }
    for one in power.yardsticks:
        place = _place(one.op, one.dtype)
        scores = {"node_tests": _counts(one.theirs), "suite": _counts(one.ours)}
        yield {"type": "node_tests", **place, "tests": one.tests, **scores}
    yield {"type": "score", **_counts(score(power.mutations))}


def percent(score: Score) -> str:
    """A score as people read it; 100 % is said only of all."""
    if score.share is None:
        return "–"
    return f"{math.floor(1000 * score.share) / 10:g} %"


def _put(console: Console, table: Table) -> None:
    if table.row_count:
        put(console, table)
        console.print()


def _place(op: OpVersion, dtype: str) -> dict[str, Any]:
    return {"op": op.name, "domain": op.domain, "since": op.since, "dtype": dtype}


def _counts(score: Score) -> dict[str, Any]:
    counts = {str(fate): getattr(score, fate) for fate in Fate}
    return {"mistakes": score.total, **counts, "score": score.share}


# ── tables ────────────────────────────────────────────────────────────────────────────────────


def _scores(mutations: Sequence[Mutation]) -> Table:
    table = new_table("operator")
    for column in ("mistakes", *Fate, "score"):
        add_numbers(table, column)
    ops = list(dict.fromkeys(mutation.mutant.op for mutation in mutations))
    for op in ops:
        _add_score(table, str(op), score(m for m in mutations if m.mutant.op == op))
    if len(ops) > 1:
        table.add_section()
        _add_score(table, "all", score(mutations))
    return table


def _add_score(table: Table, name: str, score: Score) -> None:
    cells = [_cell(getattr(score, fate), _COLOURS[fate]) for fate in Fate]
    whole = score.share in (1.0, None)
    table.add_row(
        name, f"{score.total:,}", *cells, Text(percent(score), "green" if whole else "red")
    )


def _cell(count: int, colour: str) -> Text:
    return Text(f"{count:,}", colour) if count else Text("·", "bright_black")


def _yardsticks(yardsticks: Sequence[Yardstick]) -> Table:
    table = new_table("operator", "type", title="ONNX's own node tests on the same mistakes")
    for column in ("tests", "mistakes", "killed", "survived", "score", "score of these cases"):
        add_numbers(table, column)
    for one in yardsticks:
        _add_yardstick(table, str(one.op), one.dtype, one)
    if len(yardsticks) > 1:
        theirs = [one.theirs for one in yardsticks]
        ours = [one.ours for one in yardsticks]
        tests = sum(one.tests for one in yardsticks)
        table.add_section()
        both = Yardstick(yardsticks[0].op, "", tests, _sum(theirs), _sum(ours))
        _add_yardstick(table, "all", "", both)
    return table


def _add_yardstick(table: Table, name: str, dtype: str, one: Yardstick) -> None:
    them = one.theirs
    counts = (one.tests, them.total, them.killed, them.survived)
    scores = percent(them), percent(one.ours)
    table.add_row(name, dtype, *(f"{count:,}" for count in counts), *scores)


def _sum(scores: Sequence[Score]) -> Score:
    return Score(*(sum(getattr(one, fate) for one in scores) for fate in Fate))


def _killed(mutations: Sequence[Mutation]) -> Table:
    return _listing(
        "Killed, each by the first case that fails",
        "case",
        mutations,
        lambda m: m.fate is Fate.KILLED,
        lambda m: m.killers[0],
    )


def _warned(mutations: Sequence[Mutation]) -> Table:
    return _listing(
        "Only warned of, or failed only where the text does not decide",
        "case",
        mutations,
        lambda m: m.fate is Fate.WARNED,
        lambda m: m.noticers[0],
    )


def _harmless(mutations: Sequence[Mutation]) -> Table:
    return _listing(
        "Argued to be harmless: no input decides against them",
        "because",
        mutations,
        lambda m: m.fate is Fate.HARMLESS,
        lambda m: str(m.harmless),
    )


def _listing(
    title: str,
    last: str,
    mutations: Iterable[Mutation],
    chosen: Callable[[Mutation], bool],
    said: Callable[[Mutation], str],
) -> Table:
    """Mistakes with what is to be said of them, which is said once for all places."""
    table = new_table("mistake", "in", last, title=title)
    rows: dict[tuple[survivors.Mistake, str], list[Mutant]] = {}
    for mutation in filter(chosen, mutations):
        key = survivors.mistake_of(mutation.mutant), said(mutation)
        rows.setdefault(key, []).append(mutation.mutant)
    for (mistake, text), mutants in sorted(rows.items()):
        table.add_row(mistake[-1], survivors.places(mutants), words.clean(text))
    return table
