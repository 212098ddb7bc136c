"""Available backends, and what they have of each operator, version and type."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.backends.offers import Offer
from opcheck.dtypes import DTYPES
from opcheck.errors import OpcheckError
from opcheck.grouping import group_by
from opcheck.model import Floor, Support, Verdict
from opcheck.report import plain_text
from opcheck.report.style import COLOURS, Numbers, new_table, put_all, say
from opcheck.report.totals import SIGNS

#: Words for some verdicts; others have their own names.
_WORDS = {
    None: "not asked",
    Verdict.PASS: "right",
    Verdict.WARN: "warned",
    Verdict.FAIL: "wrong",
    Verdict.ERROR: "refuses",
}
#: The most kinds of reasons shown for a backend.
_REASONS = 12
#: Names of types, which differ between reasons of one kind as numbers do.
_TYPES = re.compile(r"b?float\d+|double|tensor\(\w+\)")
_LEGEND = (
    "An operator is right in so many of its cells: a cell is a version with a type. In brackets"
    " stand versions, unless it is all that have the type. A few small models are asked of each"
    " cell, and the worst answer counts; --require asks all core cases. refuses: an error on a"
    " legal model. unsupported: by the backend's own not-implemented signal. not asked: opcheck has"
    " no such model. !: it declares support. +: it is right, and declares none."
)


@dataclasses.dataclass(frozen=True)
class Matrix:
    """One backend, its name and version, how its kind `declares` support, and its cells."""

    address: str
    title: str
    declares: str
    cells: Sequence[Support]

    @property
    def heading(self) -> str:
        """The title, whether it declares anything, and how much it was asked."""
        says = any(cell.declared is not None for cell in self.cells)
        source = f"by {self.declares}" if says else "nothing"
        asked = f"{sum(c.count for c in self.cells):,} models of {len(self.cells):,} cells"
        return plain_text.clean(f"{self.title} (declares {source}): {asked}")


def show(console: Console, found: Sequence[Matrix]) -> None:
    """Print operators in which not all is right, with reasons, and name those that are right."""
    if len(found) > 1:
        put_all(console, _beside(found))
    for one in found:
        table = new_table("operator", Numbers("right"), "otherwise", title=one.heading)
        whole = []
        for op, cells in _by_operator(one.cells).items():
            right, otherwise = _summary(cells)
            if otherwise:
                lines = (Text(said, COLOURS[how] if how else "") for how, said in otherwise)
                table.add_row(op, right, Text("\n").join(lines))
            else:
                whole.append(op)
        if not table.row_count:
            console.print(Text(one.heading, "italic"), soft_wrap=True)
        put_all(console, table)
        sections = {
            "right in every version and type": ", ".join(whole),
            "! declared but failing": _listed(c for c in one.cells if c.is_declared_but_failing),
            "+ undeclared but working": _listed(
                c for c in one.cells if c.is_undeclared_but_working
            ),
        }
        for name, said in sections.items():
            if said:
                say(console, f"{name}: {said}")
        if any(sections.values()):
            console.print()
        put_all(console, _reasons(_kinds(one.cells)))
    say(console, _LEGEND)


def html_lines(found: Sequence[Matrix]) -> Iterator[str]:
    """A page with a row for each operator version and a column for each type."""
    from opcheck.report.html.run_page import document

    names = {cell.cell.dtype for one in found for cell in one.cells}
    matrices = []
    for one in found:
        by_op = group_by(one.cells, lambda cell: cell.cell.op).items()
        rows = [(op, {cell.cell.dtype: cell for cell in cells}) for op, cells in by_op]
        counts = Counter((cell.verdict, _word(cell)) for cell in one.cells)
        matrices.append((one, counts, rows, _kinds(one.cells)))
    yield from document(
        "support.html",
        drawings={},
        found=matrices,
        dtypes=[name for name in DTYPES if name in names],
        signs={None: ("·", "gap"), **SIGNS},
        word=_word,
        legend=_LEGEND,
    ).split("\n")


def record(backend: str, support: Support) -> dict[str, Any]:
    """A cell of a backend as JSON."""
    return {
        "type": "support",
        "backend": backend,
        **plain_text.op_record(support.cell.op),
        "dtype": support.cell.dtype,
        **plain_text.picked(support, "verdict declared case reason"),
        "models": support.count,
        "with_this_verdict": support.share,
        "declared_but_failing": support.is_declared_but_failing,
        "undeclared_but_working": support.is_undeclared_but_working,
    }


def missed(floor: Floor, one: Matrix, *, lenient: bool) -> str:
    """Describe which cells of a floor are not right, or were not asked, or ""."""
    required = [cell for cell in one.cells if cell.cell in floor.cells]
    some = [cell for cell in required if cell.verdict is None or cell.missed(lenient=lenient)]
    if not some:
        return ""
    of = _by_operator(required)
    parts = []
    for op, cells in _by_operator(some).items():
        text = ", ".join(text for _, text in _summary(cells, of[op])[1])
        wrong = sum(cell.missed(lenient=lenient) for cell in cells)
        asked = sum(cell.count for cell in of[op])
        parts.append(f"{op}: {text} ({wrong:,} of {plain_text.plural(asked, 'case')})")
    text = f"{one.address}: {floor.text} is required, but {'; '.join(parts)}"
    return plain_text.clean(text)


def required_of(floors: Iterable[Floor], found: Sequence[Matrix], *, lenient: bool) -> str:
    """Say how many cases were run of the cells that floors name, and how many are not right."""
    named = {cell for floor in floors for cell in floor.cells}
    cells = [cell for one in found for cell in one.cells if cell.cell in named]
    wrong = sum(cell.missed(lenient=lenient) for cell in cells)
    asked = plain_text.plural(sum(cell.count for cell in cells), "case")
    of = plain_text.plural(len(cells), "cell")
    if wrong:
        return f"{wrong:,} of {asked} of {of} that are required are not right"
    if any(cell.verdict is None for cell in cells):
        return f"not every cell that is required was asked: {asked} of {of} were run"
    return f"all that is required is right: {asked} of {of} were run"


def _by_operator(cells: Iterable[Support]) -> dict[str, list[Support]]:
    return group_by(cells, lambda cell: cell.cell.op.name)


def _beside(found: Sequence[Matrix]) -> Table:
    """Count the right cells of each operator on each backend, where one lacks some."""
    backends = (Numbers(plain_text.clean(one.address)) for one in found)
    table = new_table("operator", *backends, title="right, of all cells")
    by_op = [_by_operator(one.cells) for one in found]
    for op in by_op[0]:
        said = [_summary(of[op]) for of in by_op]
        if any(otherwise for _, otherwise in said):
            table.add_row(op, *(right for right, _ in said))
    totals = ([cell.verdict is Verdict.PASS for cell in one.cells] for one in found)
    table.add_row("all operators", *(f"{sum(some)}/{len(some)}" for some in totals))
    return table


def _summary(
    cells: Sequence[Support], among: Sequence[Support] = ()
) -> tuple[str, list[tuple[Verdict | None, str]]]:
    """`3/4`, and of each other verdict `refuses: float16 (1, 6), bfloat16`.

    Versions are named unless they are all that have the type in `among`, by default in `cells`.
    """
    right = 0
    otherwise: list[tuple[Verdict | None, str]] = []
    all_of = {d: {c.cell.op.since for c in some} for d, some in _by_dtype(among or cells).items()}
    for verdict, some in group_by(cells, lambda cell: cell.verdict).items():
        if verdict is Verdict.PASS:
            right = len(some)
            continue
        versions = {d: {c.cell.op.since for c in those} for d, those in _by_dtype(some).items()}
        # Types with the same versions stand together; all that have the type are not named.
        named = {d: () if of == all_of[d] else tuple(sorted(of)) for d, of in versions.items()}
        parts = []
        for since, names in group_by(named, named.__getitem__).items():
            parts.append(" ".join(names) + (f" ({', '.join(map(str, since))})" if since else ""))
        otherwise.append((verdict, f"{_word(some[0])}: {', '.join(parts)}"))
    return f"{right}/{len(cells)}", otherwise


def _by_dtype(cells: Iterable[Support]) -> dict[str, list[Support]]:
    return group_by(cells, lambda cell: cell.cell.dtype)


def _word(support: Support) -> str:
    return _WORDS.get(support.verdict, str(support.verdict))


def _listed(supports: Iterable[Support]) -> str:
    """`Softmax (float16, float64), Hardmax (float16)`."""
    by_op = _by_operator(supports)
    return ", ".join(f"{op} ({', '.join(_by_dtype(cells))})" for op, cells in by_op.items())


def _kinds(supports: Iterable[Support]) -> list[list[Support]]:
    """The cells that are not right, grouped by the kind of reason, the most frequent first."""
    wrong = [support for support in supports if support.verdict not in (None, Verdict.PASS)]
    return sorted(group_by(wrong, _kind).values(), key=len, reverse=True)


def _reasons(kinds: Sequence[Sequence[Support]]) -> Table:
    table = new_table("why", Numbers("cells"), "first of them")
    for alike in kinds[:_REASONS]:
        first = alike[0]
        said = f"{plain_text.brief(first.case)}\n{plain_text.brief(first.reason)}"
        assert first.verdict is not None
        table.add_row(Text(_word(first), COLOURS[first.verdict]), f"{len(alike):,}", Text(said))
    if left := kinds[_REASONS:]:
        table.add_row("", f"{sum(map(len, left)):,}", plain_text.plural(len(left), "other reason"))
    return table


def _kind(support: Support) -> tuple[str, str, str]:
    plain = support.reason.replace(support.cell.op.name, "#")
    # For a wrong answer, the case says more than the reason.
    case = re.split("[@#]", support.case)[0] if support.verdict is Verdict.FAIL else ""
    return _word(support), case, plain_text.kind(_TYPES.sub("#", plain))


def show_backends(
    console: Console, found: Sequence[Offer], problems: Sequence[OpcheckError] = ()
) -> None:
    """Print a table of backends for each state, and `problems` that concern none of them."""
    ready = new_table("backend", "version", Numbers("threads"), "devices", "what it is")
    absent = new_table("not installed", "what it is", "install it with")
    templates = new_table("needs a detail", "what it is")
    for one in found:
        name, info, about = plain_text.clean(one.name), one.info, one.about
        if info:
            threads = "?" if info.threads is None else f"{info.threads}"
            cells = info.version, threads, "\n".join(info.devices), about.summary
            ready.add_row(name, *map(plain_text.clean, cells))
        elif one.state == "not installed":
            absent.add_row(name, about.summary, about.install)
        elif one.state == "template":
            templates.add_row(name, about.summary)
    put_all(console, ready, absent, templates)
    unusable = [one for one in found if one.state == "unusable"]
    if unusable or problems:
        console.print(Text("Cannot be used", "bold red"))
    for one in unusable:
        name, summary = map(plain_text.clean, (one.name, one.about.summary))
        console.print(Text.assemble((name, "bold"), f": {summary}"), soft_wrap=True)
        _explain(console, one.error, "  ")
    for problem in problems:
        _explain(console, problem, "")


def backend_record(one: Offer) -> dict[str, Any]:
    """A backend as JSON."""
    info = one.info
    return {
        "type": "backend",
        "name": one.name,
        "address": info.address if info else str(one.profile.address),
        **plain_text.picked(one, "origin state"),
        **plain_text.picked(one.about, "summary distribution"),
        "distribution_version": one.version or None,
        "install": one.about.install or None,
        "backend": dataclasses.asdict(info) if info else None,
        "error": "\n".join(one.error.lines()) if one.error else None,
    }


def _explain(console: Console, error: OpcheckError | None, indent: str) -> None:
    for line in error.lines() if error else ():
        for part in plain_text.block(line).split("\n"):
            console.print(Text(f"{indent}{part}"), soft_wrap=True)
