"""Available backends: their requirements, and a matrix of what they support."""

import dataclasses
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.backends.offers import Offer
from opcheck.errors import OpcheckError
from opcheck.model import Support, Verdict
from opcheck.report import plain_text
from opcheck.report.style import COLOURS, Numbers, new_table, put_all

#: Words for some verdicts; others have their own names.
_WORDS = {None: "no model", Verdict.PASS: "right", Verdict.FAIL: "wrong", Verdict.ERROR: "refuses"}
#: The most kinds of reasons shown for a backend.
_REASONS = 12
#: Names of types, which differ between reasons of one kind as numbers do.
_TYPES = re.compile(r"b?float\d+|double|tensor\(\w+\)")


def show(console: Console, found: Sequence[Offer], problems: Sequence[OpcheckError] = ()) -> None:
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


def record(one: Offer) -> dict[str, Any]:
    """A backend as JSON."""
    info = one.info
    return {
        "type": "backend",
        "name": one.name,
        "address": info.address if info else str(one.profile.address),
        "origin": one.origin,
        "state": one.state,
        "summary": one.about.summary,
        "distribution": one.about.distribution,
        "distribution_version": one.version or None,
        "install": one.about.install or None,
        "backend": dataclasses.asdict(info) if info else None,
        "error": "\n".join(one.error.lines()) if one.error else None,
    }


def _explain(console: Console, error: OpcheckError | None, indent: str) -> None:
    for line in error.lines() if error else ():
        for part in plain_text.block(line).split("\n"):
            console.print(Text(f"{indent}{part}"), soft_wrap=True)


def show_support(console: Console, name: str, supports: Sequence[Support], declares: str) -> None:
    """Print the matrix of one backend, where it `declares` support, and reasons of failures."""
    says = any(support.declared is not None for support in supports)
    title = f"{name} (declares {f'by {declares}' if says else 'nothing'})"
    put_all(console, _matrix(supports, plain_text.clean(title)))
    sections = {
        "! declared but failing": [s for s in supports if s.is_declared_but_failing],
        "+ undeclared but working": [s for s in supports if s.is_undeclared_but_working],
    }
    for section, listed in sections.items():
        if listed:
            _fill(console, f"{section}: {_listed(listed)}")
    if any(sections.values()):
        console.print()
    put_all(console, _reasons(supports))


def legend(console: Console) -> None:
    """Print the meaning of the words in a matrix."""
    _fill(
        console,
        "n/m: n of the m small models for this version and dtype, where the others fare better."
        " +: it declares no support; !: it declares support. refuses: an error on a legal model."
        " unsupported: by the backend's own not-implemented signal. The models are smoke cases of"
        " the shipped suites; opcheck run asks all cases.",
    )


def _fill(console: Console, text: str) -> None:
    """Print a paragraph; Rich would leave blanks at ends of lines."""
    console.print(Text(textwrap.fill(plain_text.clean(text), console.width)), soft_wrap=True)


def support_record(backend: str, support: Support) -> dict[str, Any]:
    """A cell of a backend as JSON."""
    return {
        "type": "support",
        "backend": backend,
        "op": support.cell.op.name,
        "domain": support.cell.op.domain,
        "since": support.cell.op.since,
        "dtype": support.cell.dtype,
        "verdict": support.verdict,
        "models": support.count,
        "with_this_verdict": support.share,
        "declared": support.declared,
        "declared_but_failing": support.is_declared_but_failing,
        "undeclared_but_working": support.is_undeclared_but_working,
        "case": support.case,
        "reason": support.reason,
    }


def _matrix(supports: Sequence[Support], title: str) -> Table:
    """Table of the dtypes of each version, by verdict."""
    table = new_table("operator", "right", "otherwise", title=title)
    previous = None
    for op, some in plain_text.alike(supports, lambda support: support.cell.op).items():
        if previous not in (None, op.name):
            table.add_section()
        previous = op.name
        by_word = plain_text.alike(some, _word)
        right = by_word.pop("right", [])
        otherwise = [Text.assemble(f"{word}: ", _dtypes(those)) for word, those in by_word.items()]
        table.add_row(str(op), _dtypes(right), Text("\n").join(otherwise))
    return table


def _dtypes(supports: Iterable[Support]) -> Text:
    """`float16+ float32 3/4`, not folded before a share."""
    return Text(" ").join(_dtype(support) for support in supports)


def _dtype(support: Support) -> Text:
    if support.verdict is None:
        return Text(support.cell.dtype, "bright_black")
    mark = "!" if support.is_declared_but_failing else ""
    mark = "+" if support.is_undeclared_but_working else mark
    some = f"\N{NO-BREAK SPACE}{support.share}/{support.count}"
    said = f"{support.cell.dtype}{mark}{some if support.share < support.count else ''}"
    return Text(said, COLOURS[support.verdict])


def _word(support: Support) -> str:
    return _WORDS.get(support.verdict, str(support.verdict))


def _listed(supports: Iterable[Support]) -> str:
    """`Softmax-1 (float16, float64), Softmax-13 (float16)`."""
    by_op = plain_text.alike((support.cell for support in supports), lambda cell: cell.op)
    return ", ".join(f"{op} ({', '.join(cell.dtype for cell in c)})" for op, c in by_op.items())


def _reasons(supports: Iterable[Support]) -> Table:
    """Table of the reasons of failures, grouped by kind, in the matrix's order."""
    wrong = [support for support in supports if support.verdict not in (None, Verdict.PASS)]
    kinds = [*plain_text.alike(wrong, _kind).values()]
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
