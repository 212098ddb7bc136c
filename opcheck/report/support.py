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
from opcheck.model import WRONG, Floor, OpVersion, Support, Verdict
from opcheck.report import plain_text
from opcheck.report.style import COLOURS, Numbers, new_table, put_all, say
from opcheck.report.totals import SIGNS

#: Words for some verdicts; others have their own names.
_WORDS = {
    None: "not tested",
    Verdict.PASS: "right",
    Verdict.WARN: "warned",
    Verdict.FAIL: "wrong",
    Verdict.ERROR: "refuses",
}
#: The most kinds of reasons shown for a backend.
_REASONS = 12
#: The most operators that have rows though a backend has none of their versions and types.
_SHOWN = 10
#: Names of types, which differ between reasons of one kind as numbers do.
_TYPES = re.compile(r"b?float\d+|double|tensor\(\w+\)")
_LEGEND = (
    "right: right cells / all cells of an operator; a cell is a version with a type. Versions are"
    " in brackets where only some of those with the type are meant. Each cell is tested by a few"
    " small models, and the worst answer counts; --require tests it by all core cases. refuses: an"
    " error on a valid model. unsupported: by the backend's own not-implemented signal, partly: for"
    " some of these models. not tested:"
    " opcheck has no model for it. !: declared as supported, but not right. +: right, though not"
    " declared."
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
        """Return the title, how the backend declares support, and how many models tested it."""
        declares = "no list of what it supports"
        if any(cell.declared is not None for cell in self.cells):
            declares = f"support by {self.declares}"
        models = plain_text.plural(sum(cell.count for cell in self.cells), "model")
        tested = f"{models} in {plain_text.plural(len(self.cells), 'cell')}"
        return plain_text.clean(f"{self.title} (declares {declares}): {tested}")


def show(console: Console, matrices: Sequence[Matrix]) -> None:
    """Print operators in which not all is right, with reasons, and name those that are right."""
    if len(matrices) > 1:
        put_all(console, _side_by_side(matrices))
    for matrix in matrices:
        _show_matrix(console, matrix)
    say(console, _LEGEND)


def _show_matrix(console: Console, matrix: Matrix) -> None:
    """Print what is not right on one backend, then what is, and reasons."""
    table = new_table("operator", Numbers("right"), "otherwise", title=matrix.heading)
    right_everywhere = []
    folded = _folded([matrix])
    for op, cells in _worst_first(matrix.cells).items():
        if op in folded:
            continue
        right, otherwise = _summary(cells)
        if otherwise:
            lines = (Text(text, COLOURS[verdict] if verdict else "") for verdict, text in otherwise)
            table.add_row(op, right, Text("\n").join(lines))
        else:
            right_everywhere.append(op)
    if not table.row_count:
        console.print(Text(matrix.heading, "italic"), soft_wrap=True)
    put_all(console, table)
    failing = [cell for cell in matrix.cells if cell.is_declared_but_failing]
    undeclared = [cell for cell in matrix.cells if cell.is_undeclared_but_working]
    sections = {
        "right in every version and type": ", ".join(right_everywhere),
        "! declared but failing": _listed(failing),
        "+ undeclared but working": _listed(undeclared),
        "in no version and type": _count_of_folded(folded),
    }
    for name, operators in sections.items():
        if operators:
            say(console, f"{name}: {operators}")
    if any(sections.values()):
        console.print()
    put_all(console, _reasons(_kinds(matrix.cells)))


def _folded(matrices: Sequence[Matrix]) -> list[str]:
    """Return the operators that no backend has in any version and type, [] if they are few."""
    lacking: dict[str, None] = {}
    for matrix in matrices:
        lacking |= dict.fromkeys(_by_operator(matrix.cells))
    for matrix in matrices:
        for op, cells in _by_operator(matrix.cells).items():
            if any(cell.is_supported for cell in cells):
                lacking.pop(op, None)
    return [*lacking] if len(lacking) > _SHOWN else []


def _count_of_folded(operators: Sequence[str]) -> str:
    """Return how many operators have no row, and where they are named, "" without any."""
    if not operators:
        return ""
    count = plain_text.plural(len(operators), "operator")
    return f"{count} (--format html names them)"


def html_lines(matrices: Sequence[Matrix]) -> Iterator[str]:
    """Yield a page with a row for each operator version and a column for each type.

    What is not right comes first: its reasons, then its operators.
    """
    from opcheck.report.html.run_page import document

    names = {cell.cell.dtype for matrix in matrices for cell in matrix.cells}
    tables = []
    for matrix in matrices:
        rows = [
            (op, {cell.cell.dtype: cell for cell in of_version})
            for cells in _worst_first(matrix.cells).values()
            for op, of_version in group_by(cells, _op_of).items()
        ]
        counts = Counter((cell.verdict, _word(cell)) for cell in matrix.cells)
        tables.append((matrix, counts, rows, _kinds(matrix.cells)))
    yield from document(
        "support.html",
        drawings={},
        found=tables,
        dtypes=[name for name in DTYPES if name in names],
        signs={None: ("·", "gap"), **SIGNS},
        word=_word,
        legend=_LEGEND,
    ).split("\n")


def record(backend: str, support: Support) -> dict[str, Any]:
    """Return a cell of a backend as JSON."""
    return {
        "type": "support",
        "backend": backend,
        **plain_text.op_record(support.cell.op),
        "dtype": support.cell.dtype,
        **plain_text.attributes_of(support, "verdict declared case reason"),
        "models": support.count,
        "with_this_verdict": support.share,
        "declared_but_failing": support.is_declared_but_failing,
        "undeclared_but_working": support.is_undeclared_but_working,
    }


def missed(floor: Floor, matrix: Matrix, *, lenient: bool) -> str:
    """Describe which cells of a floor are not right, or were not tested, or ""."""
    required = [cell for cell in matrix.cells if cell.cell in floor.cells]
    not_right = _not_right(required, lenient=lenient)
    if not not_right:
        return ""
    of = _by_operator(required)
    parts = []
    for op, cells in _by_operator(not_right).items():
        text = ", ".join(text for _, text in _summary(cells, of[op])[1])
        wrong = sum(cell.missed(lenient=lenient) for cell in cells)
        cases = plain_text.plural(sum(cell.count for cell in of[op]), "case")
        parts.append(f"{op}: {text} ({wrong:,} of {cases})")
    text = f"{matrix.address}: {floor.text} is required, but {'; '.join(parts)}"
    return plain_text.clean(text)


def _not_right(cells: Iterable[Support], *, lenient: bool) -> list[Support]:
    """Return the cells that are not right, or were not tested."""
    return [cell for cell in cells if cell.verdict is None or cell.missed(lenient=lenient)]


def first_missed(floor: Floor, matrix: Matrix, *, lenient: bool) -> Support | None:
    """Return the first cell of a floor that names a case that is not right; None without one."""
    required = (cell for cell in matrix.cells if cell.cell in floor.cells)
    return next((cell for cell in _not_right(required, lenient=lenient) if cell.case), None)


def required_of(floors: Iterable[Floor], matrices: Sequence[Matrix], *, lenient: bool) -> str:
    """Say how many cases were run of the cells that floors name, and how many are not right."""
    named = {cell for floor in floors for cell in floor.cells}
    cells = [cell for matrix in matrices for cell in matrix.cells if cell.cell in named]
    wrong = sum(cell.missed(lenient=lenient) for cell in cells)
    cases = plain_text.plural(sum(cell.count for cell in cells), "case")
    of = plain_text.plural(len(cells), "cell")
    if wrong:
        return f"{wrong:,} of {cases} of {of} that are required are not right"
    if any(cell.verdict is None for cell in cells):
        return f"not every required cell was tested: {cases} of {of} were run"
    return f"all that is required is right: {cases} of {of} were run"


def _op_of(support: Support) -> OpVersion:
    return support.cell.op


def _dtype_of(support: Support) -> str:
    return support.cell.dtype


def _by_operator(cells: Iterable[Support]) -> dict[str, list[Support]]:
    return group_by(cells, lambda support: support.cell.op.name)


def _worst_first(cells: Iterable[Support]) -> dict[str, list[Support]]:
    """Return the cells by operator: first operators that are wrong, then those that lack some."""
    return dict(sorted(_by_operator(cells).items(), key=lambda item: _rank(item[1])))


def _rank(cells: Sequence[Support]) -> int:
    """Return the place of an operator, by its worst cell.

    0 if a cell is wrong or refused, 1 if one is not right, 2 if all are, 3 if none is supported.
    """
    verdicts = {cell.verdict for cell in cells}
    if verdicts & {*WRONG}:
        return 0
    if not any(cell.is_supported for cell in cells):
        return 3
    return 1 if verdicts - {None, Verdict.PASS} else 2


def _side_by_side(matrices: Sequence[Matrix]) -> Table:
    """Count the right cells of each operator on each backend, where one lacks some."""
    backends = (Numbers(plain_text.clean(matrix.address)) for matrix in matrices)
    table = new_table("operator", *backends, title="right, of all cells")
    by_op = [_by_operator(matrix.cells) for matrix in matrices]
    folded = _folded(matrices)
    for op in by_op[0]:
        if op in folded:
            continue
        summaries = [_summary(cells_of[op]) for cells_of in by_op]
        if any(otherwise for _, otherwise in summaries):
            table.add_row(op, *(right for right, _ in summaries))
    if folded:
        table.add_row(plain_text.plural(len(folded), "other"), *("0" for _ in matrices))
    totals = []
    for matrix in matrices:
        right = sum(cell.verdict is Verdict.PASS for cell in matrix.cells)
        totals.append(f"{right}/{len(matrix.cells)}")
    table.add_row("all operators", *totals)
    return table


def _summary(
    cells: Sequence[Support], among: Sequence[Support] = ()
) -> tuple[str, list[tuple[Verdict | None, str]]]:
    """Return `3/4`, and of each other verdict `refuses: float16 (1, 6), bfloat16`.

    Versions are named unless they are all that have the type in `among`, by default in `cells`.
    """
    right = 0
    otherwise: list[tuple[Verdict | None, str]] = []
    all_versions = _versions_by_dtype(among or cells)
    for word, alike in group_by(cells, _word).items():
        verdict = alike[0].verdict
        if verdict is Verdict.PASS:
            right = len(alike)
            continue
        # Types with the same versions stand together; all that have the type are not named.
        named = {
            dtype: () if versions == all_versions[dtype] else versions
            for dtype, versions in _versions_by_dtype(alike).items()
        }
        parts = []
        for versions, dtypes in group_by(named, named.__getitem__).items():
            brackets = f" ({', '.join(map(str, versions))})" if versions else ""
            parts.append(f"{' '.join(dtypes)}{brackets}")
        otherwise.append((verdict, f"{word}: {', '.join(parts)}"))
    return f"{right}/{len(cells)}", otherwise


def _versions_by_dtype(cells: Iterable[Support]) -> dict[str, tuple[int, ...]]:
    """Return the versions of the cells of each type, in ascending order."""
    return {
        dtype: tuple(sorted({cell.cell.op.since for cell in of_dtype}))
        for dtype, of_dtype in group_by(cells, _dtype_of).items()
    }


def _word(support: Support) -> str:
    if support.verdict is Verdict.UNSUPPORTED and support.is_supported:
        return "partly unsupported"
    return _WORDS.get(support.verdict, str(support.verdict))


def _listed(supports: Iterable[Support]) -> str:
    """Return operators with their types: `Softmax (float16, float64), Hardmax (float16)`."""
    parts = []
    for op, cells in _by_operator(supports).items():
        dtypes = dict.fromkeys(map(_dtype_of, cells))
        parts.append(f"{op} ({', '.join(dtypes)})")
    return ", ".join(parts)


def _kinds(supports: Iterable[Support]) -> list[list[Support]]:
    """Return the cells that are not right, by the kind of reason, the most frequent first."""
    wrong = [support for support in supports if support.verdict not in (None, Verdict.PASS)]
    return sorted(group_by(wrong, _kind).values(), key=len, reverse=True)


def _reasons(kinds: Sequence[Sequence[Support]]) -> Table:
    table = new_table("why", Numbers("cells"), "first of them")
    for alike in kinds[:_REASONS]:
        first = alike[0]
        assert first.verdict is not None
        word = Text(_word(first), COLOURS[first.verdict])
        reason = f"{plain_text.brief(first.case)}\n{plain_text.brief(first.reason)}"
        table.add_row(word, f"{len(alike):,}", Text(reason))
    left = kinds[_REASONS:]
    if left:
        table.add_row("", f"{sum(map(len, left)):,}", plain_text.plural(len(left), "other reason"))
    return table


def _kind(support: Support) -> tuple[str, str, str]:
    """Return a key that similar reasons share."""
    plain = support.reason.replace(support.cell.op.name, "#")
    # For a wrong answer, the case says more than the reason.
    case = re.split("[@#]", support.case)[0] if support.verdict is Verdict.FAIL else ""
    return _word(support), case, plain_text.kind(_TYPES.sub("#", plain))


def show_backends(
    console: Console, offers: Sequence[Offer], problems: Sequence[OpcheckError] = ()
) -> None:
    """Print a table of backends for each state, and `problems` that concern none of them."""
    ready = new_table("backend", "version", Numbers("threads"), "devices", "what it is")
    absent = new_table("not installed", "what it is", "install it with")
    templates = new_table("needs a detail", "what it is")
    for offer in offers:
        name = plain_text.clean(offer.name)
        info = offer.info
        about = offer.about
        if info:
            threads = "?" if info.threads is None else f"{info.threads}"
            cells = (info.version, threads, "\n".join(info.devices), about.summary)
            ready.add_row(name, *map(plain_text.clean, cells))
        elif offer.state == "not installed":
            absent.add_row(name, about.summary, about.install)
        elif offer.state == "template":
            templates.add_row(name, about.summary)
    put_all(console, ready, absent, templates)
    unusable = [offer for offer in offers if offer.state == "unusable"]
    if unusable or problems:
        console.print(Text("Cannot be used", "bold red"))
    for offer in unusable:
        name = plain_text.clean(offer.name)
        summary = plain_text.clean(offer.about.summary)
        console.print(Text.assemble((name, "bold"), f": {summary}"), soft_wrap=True)
        _explain(console, offer.error, "  ")
    for problem in problems:
        _explain(console, problem, "")


def backend_record(offer: Offer) -> dict[str, Any]:
    """Return a backend as JSON."""
    info = offer.info
    return {
        "type": "backend",
        "name": offer.name,
        "address": info.address if info else str(offer.profile.address),
        **plain_text.attributes_of(offer, "origin state"),
        **plain_text.attributes_of(offer.about, "summary distribution"),
        "distribution_version": offer.version or None,
        "install": offer.about.install or None,
        "backend": dataclasses.asdict(info) if info else None,
        "error": "\n".join(offer.error.lines()) if offer.error else None,
    }


def _explain(console: Console, error: OpcheckError | None, indent: str) -> None:
    for line in error.lines() if error else ():
        for part in plain_text.block(line).split("\n"):
            console.print(Text(f"{indent}{part}"), soft_wrap=True)
