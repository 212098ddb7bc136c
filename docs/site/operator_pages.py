"""A page for each operator, of what the product has: its sentences, rulings, cases and verdicts.

Nothing is run but the engine, for the answer of one small case. Functions take the cases of one
operator and return lines of Markdown, so that a test can make one page without all others.
"""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from rich.console import Console

from docs.site.markdown import code, escaped, fenced, folded
from opcheck import clauses, opset, situations
from opcheck.dtypes import BY_TEXT
from opcheck.engine.readings import Ruling
from opcheck.execution.show import shown
from opcheck.grouping import group_by
from opcheck.model import Case, OpVersion, Rejected, Values
from opcheck.report import shown as report
from opcheck.report.markdown import table
from opcheck.report.plain_text import plural
from opcheck.suite.entries import written_case
from opcheck.suite.load import Coverage, shipped_coverage
from reports.published import Published, State
from reports.results import Result

#: The folders of the pages, and how the domains are called in titles.
FOLDERS: Mapping[str, str] = {
    "": "onnx",
    opset.ML: "ml",
    opset.TRAINING: "training",
    opset.DML: "dml",
}
_TITLES: Mapping[str, str] = {
    "": "ONNX (`ai.onnx`)",
    opset.ML: f"`{opset.ML}`",
    opset.TRAINING: f"`{opset.TRAINING}`",
    opset.DML: "DirectML",
}
#: The width of what `opcheck show` prints.
_WIDTH = 92
#: The lines after the first of a folded one are indented by as much more.
_HANGING = 8
#: A worked example has no more elements than these, if a case of the operator is so small.
_SMALL = 24
_FEW_INPUTS = 4
#: So many elements show most.
_HANDY = 8
#: A sentence names no more cases than these.
_NAMES = 4


@dataclass(frozen=True)
class Operator:
    """An operator with its shipped cases of level core, and the rulings that they meet."""

    domain: str
    name: str
    cases: Sequence[Case]
    rulings: Sequence[Ruling] = ()

    @property
    def path(self) -> str:
        """The page's path in the folder of operators, without an ending."""
        return f"{FOLDERS[self.domain]}/{self.name}"

    @property
    def versions(self) -> Sequence[int]:
        """The versions that are not deprecated, the newest last."""
        return [one.op.since for one in _coverage(self.name) if one.op.domain == self.domain]


@dataclass(frozen=True, eq=False)
class Engine:
    """A released engine and its published run, by operator."""

    published: Published

    @cached_property
    def results(self) -> Mapping[tuple[str, str], Sequence[Result]]:
        """The results by domain and operator."""
        return group_by(self.published.results, lambda result: _operator_of(result.op))

    @cached_property
    def states(self) -> Mapping[tuple[str, str], Counter[State]]:
        """How many cells of an operator are in which state, by domain and operator."""
        cells = group_by(self.published.cells.items(), lambda cell: _operator_of(cell[0][0]))
        return {key: Counter(state for _, state in items) for key, items in cells.items()}


def _operator_of(op: OpVersion) -> tuple[str, str]:
    return op.domain, opset.plain(op.name)


def operators(cases: Iterable[Case], met: Mapping[Ruling, Collection[str]]) -> Sequence[Operator]:
    """Return the operators of the cases by domain and name; `met` has operators by ruling."""
    by_operator = group_by(cases, lambda case: _operator_of(case.op))
    order = [*FOLDERS]
    return [
        Operator(
            domain=domain,
            name=name,
            cases=of_operator,
            rulings=[ruling for ruling, names in met.items() if name in names],
        )
        for (domain, name), of_operator in sorted(
            by_operator.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
        )
    ]


# ── one operator ──────────────────────────────────────────────────────────────────────────────


def page(operator: Operator, engines: Sequence[Engine], has_page: Collection[str]) -> str:
    """Return the page of an operator.

    `has_page` are the paths of pages of defects, such as "reports/torch/Conv.md".
    """
    lines = [
        "---",
        "orphan: true",
        "---",
        f"# {escaped(operator.name)}",
        "",
        *_head(operator),
        *_cells(operator),
        *_example(operator.cases),
        *_engines(operator, engines, has_page),
        *_sentences(operator),
        *_rulings(operator.rulings),
        *_situations(operator),
    ]
    return "\n".join(lines) + "\n"


def _head(operator: Operator) -> Iterator[str]:
    """Yield where the page belongs, and how to judge a backend by its cases."""
    pages = clauses.pages_of(operator.domain, operator.name)
    versions = ", ".join(map(str, operator.versions))
    text = f" · [its specification]({pages.link})" if pages else ""
    yield f"[Operators](../index.md) / {_TITLES[operator.domain]} · versions {versions}{text}"
    yield from fenced(
        f"opcheck run --op {operator.name} -b onnxruntime    # judge a backend\n"
        f"opcheck list --op {operator.name}                  # the cases",
        "sh",
    )


@cache
def _coverage(name: str) -> Sequence[Coverage]:
    return [*shipped_coverage([name])]


def _cells(operator: Operator) -> Iterator[str]:
    """Yield how many cases each version has, and which of its types are not judged."""
    yield from ("## What is tested", "")
    counts = Counter(case.op.since for case in operator.cases)
    rows = []
    reasons = set()
    for one in _coverage(operator.name):
        if one.op.domain != operator.domain:
            continue
        left_out = one.types - one.judged
        rows.append(
            [
                str(one.op.since),
                f"{counts[one.op.since]:,}",
                f"{len(one.judged)} of {len(one.types)}",
                ", ".join(sorted(map(_dtype, left_out))) or "none",
            ]
        )
        if left_out:
            reasons.add(one.why)
    yield from table(["version", "cases", "types judged", "left out"], rows)
    yield ""
    for reason in sorted(filter(None, reasons)):
        yield from (f"Left out, since: {escaped(reason)}", "")


def _dtype(text: str) -> str:
    """Return ONNX's name of a type as opcheck writes it, in code."""
    known = BY_TEXT.get(text)
    return code(known.name if known else text)


# ── the worked example ────────────────────────────────────────────────────────────────────────


def example(cases: Iterable[Case]) -> Case:
    """Return the case that explains an operator best: small, binding, and stated by hand."""
    return min(cases, key=_rank)


def _rank(case: Case) -> tuple[bool | int | str, ...]:
    """Return a key that is least for the case to show."""
    elements = sum(_size(spec.shape) for spec in case.inputs)
    return (
        isinstance(case.expect, Rejected),
        case.rule != "must",
        not 0 < elements <= _SMALL,
        len(case.inputs) > _FEW_INPUTS,
        case.name != "worked_example",
        not isinstance(case.expect, Values),
        case.level != "smoke",
        -case.op.since,
        case.dtype is not None and case.dtype.name != "float32",
        abs(elements - _HANDY),
        case.id,
    )


def _size(shape: Iterable[int] | None) -> int:
    """Return the number of elements of a shape, 0 for one that is not known."""
    if shape is None:
        return 0
    size = 1
    for length in shape:
        size *= length
    return size


def _example(cases: Sequence[Case]) -> Iterator[str]:
    """Yield one case as `opcheck show` prints it."""
    case = example(cases)
    yield from ("## A worked example", "")
    yield f"`opcheck show '{case.id}'` prints this; long lines are folded here:"
    yield from fenced(_shown(case))


def _shown(case: Case) -> str:
    """Return what `opcheck show` prints of a case, with its file as the repository has it."""
    written = written_case(case.source)
    if written:
        written = replace(written, file=Path(case.source.file))
    screen = io.StringIO()
    console = Console(file=screen, width=_WIDTH, color_system=None, markup=False, emoji=False)
    report.show(console, shown(case), written, full=False)
    return "\n".join(_wrapped(line.rstrip()) for line in screen.getvalue().splitlines())


def _wrapped(line: str) -> str:
    """Return a line in several, if it is too long for the page."""
    indent = " " * (len(line) - len(line.lstrip()) + _HANGING)
    return textwrap.fill(
        line,
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


# ── engines ───────────────────────────────────────────────────────────────────────────────────


def _engines(
    operator: Operator, engines: Sequence[Engine], has_page: Collection[str]
) -> Iterator[str]:
    """Yield what came of the operator's cases in the published run of each engine."""
    yield from ("## Who passes it", "")
    rows = [row for engine in engines for row in _of_engine(operator, engine, has_page)]
    if not rows:
        yield from ("No run of a released engine has it.", "")
        return
    columns = ["engine", "versions and types", "right", "warned", "wrong", "not implemented"]
    yield from table(columns, rows, numbers=4)
    yield from (
        "",
        "Cases of the published runs, known defects included: "
        "[the scoreboard](../../reports/README.md). *Versions and types* counts those without a "
        "failure, of all that were judged.",
        "",
    )


def _of_engine(
    operator: Operator, engine: Engine, has_page: Collection[str]
) -> Iterator[Sequence[str]]:
    """Yield the row of an engine, if its run has cases of the operator."""
    key = (operator.domain, operator.name)
    verdicts = Counter(map(_outcome, engine.results.get(key, ())))
    if not verdicts:
        return
    states = engine.states.get(key, Counter())
    judged = states[State.RIGHT] + states[State.LEGAL] + states[State.WRONG]
    path = f"reports/{engine.published.address}/{operator.name}.md"
    name = str(engine.published)
    counts = [verdicts[kind] for kind in ("right", "warned", "wrong", "not implemented")]
    yield [
        f"[{name}](../../{path})" if path in has_page else name,
        f"{states[State.RIGHT]} of {judged}" if judged else "·",
        *(f"{count:,}" if count else "·" for count in counts),
    ]


def _outcome(result: Result) -> str:
    """Return the column in which a result counts."""
    match str(result.plain):
        case "pass" | "self":
            return "right"
        case "warn":
            return "warned"
        case "unsupported" | "not run":
            return "not implemented"
    return "wrong"


# ── the text ──────────────────────────────────────────────────────────────────────────────────


def _sentences(operator: Operator) -> Iterator[str]:
    """Yield the sentences of the newest version, and those that only earlier ones have."""
    surveys = sorted(clauses.survey(operator.cases), key=lambda one: -one.op.since)
    yield from ("## The text, sentence by sentence", "")
    if not any(one.sentences for one in surveys):
        yield from ("No package has a text of this operator.", "")
        return
    yield from (
        "Each sentence of the specification, with the cases that test it or why it requires "
        "nothing. A *ruling* is how opcheck reads a sentence that does not decide everything.",
        "",
    )
    seen: set[tuple[str, str]] = set()
    for survey in surveys:
        new = [one for one in survey.sentences if _key(one) not in seen]
        seen.update(map(_key, new))
        if not new:
            continue
        lines = [*_parts(new)]
        if survey is surveys[0]:
            yield from (f"### Version {survey.op.since}", "", *lines)
        else:
            count = plural(len(new), "sentence")
            title = f"Version {survey.op.since}: {count} that later versions lack"
            yield from folded(title, lines)


def _key(checked: clauses.CheckedSentence) -> tuple[str, str]:
    return checked.sentence.part, checked.sentence.text


def _parts(sentences: Sequence[clauses.CheckedSentence]) -> Iterator[str]:
    """Yield a table for the sentences of each part of a page; that of versions comes last."""
    in_order = sorted(sentences, key=lambda one: one.sentence.part == "Version")
    for part, of_part in groupby(in_order, key=attrgetter("sentence.part")):
        yield from (f"**{escaped(part)}**", "")
        rows = [[_said(one.sentence), _tested(one)] for one in of_part]
        yield from (*table(["sentence", "tested by"], rows), "")


def _said(sentence: clauses.Sentence) -> str:
    """Return a sentence, with the ruling on it."""
    ruling = f"<br>*Ruling: {escaped(sentence.ruling)}*" if sentence.ruling else ""
    return escaped(sentence.text) + ruling


def _tested(checked: clauses.CheckedSentence) -> str:
    """Return the names of the cases that test a sentence, or why it requires nothing."""
    if not checked.cases:
        return f"requires nothing: {escaped(checked.sentence.nothing or 'a ruling decides')}"
    names = [f"{code(name)} ×{count}" for name, count in [*checked.cases.items()][:_NAMES]]
    more = len(checked.cases) - len(names)
    return ", ".join(names) + (f" and {plural(more, 'more name')}" if more > 0 else "")


# ── rulings, situations ───────────────────────────────────────────────────────────────────────


def _rulings(rulings: Sequence[Ruling]) -> Iterator[str]:
    """Yield the points that the text leaves open, with the answers that are right."""
    if not rulings:
        return
    yield from ("## What the text leaves open", "")
    yield from (
        "Several answers are right there. The engine `numpy` follows the first reading. "
        "[All rulings](../../docs/rulings.md)",
        "",
    )
    rows = [
        [code(one.id), escaped(one.text), ", ".join(map(code, one.readings)), _scope(one)]
        for one in rulings
    ]
    yield from (*table(["ruling", "what is open", "readings", "one reading for"], rows), "")


def _scope(ruling: Ruling) -> str:
    return "each element" if ruling.by_element else "the whole node"


def _situations(operator: Operator) -> Iterator[str]:
    """Yield how many situations of each family the cases are in, and what is not enumerated."""
    surveys = situations.survey(operator.name, operator.cases) if not operator.domain else ()
    if not surveys:
        return
    left_out = {family.name: family.left_out for family in situations.FAMILIES}
    yield from ("## Situations", "")
    yield from (
        "[Situations](../../docs/situations.md) are enumerated by rule; the cases of the newest "
        "version are in all of them, unless an argument says why none can be.",
        "",
    )
    rows = [
        [
            one.family,
            f"{len(one.situations) - len(one.missing):,} of {len(one.situations):,}",
            f"{len(one.argued):,}" if one.argued else "·",
            escaped(left_out[one.family]),
        ]
        for one in surveys
    ]
    columns = ["family", "situations that a case is in", "argued away", "not enumerated"]
    yield from (*table(columns, rows), "")
    for survey in surveys:
        if survey.situations:
            names = ", ".join(code(name) for name in survey.situations)
            yield from folded(f"The situations: {survey.family}", [names])


# ── all operators ─────────────────────────────────────────────────────────────────────────────


def index(every: Sequence[Operator]) -> str:
    """Return the page that lists all operators."""
    lines = [
        "# Operators",
        "",
        f"{len(every)} operators have a suite. Each has a page with its text sentence by "
        "sentence, a worked example, what released engines make of it, and what is left out. "
        "[What is judged](../docs/operators.md) counts all others too, and says why.",
        "",
    ]
    for domain, of_domain in groupby(every, key=attrgetter("domain")):
        rows = [
            [
                f"[{escaped(one.name)}]({one.path}.md)",
                ", ".join(map(str, one.versions)),
                f"{len(one.cases):,}",
            ]
            for one in of_domain
        ]
        lines += [f"## {_TITLES[domain]}", ""]
        lines += [*table(["operator", "versions", "cases"], rows, numbers=1), ""]
    return "\n".join(lines)
