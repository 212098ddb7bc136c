"""Report of one failure: the sentence tested, the answer, its mistakes, and how to repeat it."""

import io
from collections.abc import Sequence
from itertools import chain

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.model import ComparisonRecord, Diagnosis, Record, Verdict
from opcheck.report import plain_text
from opcheck.report.style import COLOURS, least, new_table, put

#: Column at which the text of a line begins, after its label.
_INDENT = 10
#: The most diagnoses shown, and the most others named.
LIKELIEST, _NAMED = 3, 6


def show(console: Console, result: Record) -> None:
    """Print one result that is no pass."""
    title = Text.assemble(
        (result.verdict.upper(), f"bold {COLOURS[result.verdict]}"),
        (f" {plain_text.one_line(result.backend)}", "bold"),
        f"  {plain_text.one_line(result.case)}",
    )
    # Never folded: ids and commands are to be copied.
    console.print(title, soft_wrap=True)
    _line(console, "asked", result.question)
    if result.clause or result.verdict is not Verdict.BAD_CASE:
        _line(console, "clause", f"“{result.clause}”" if result.clause else "none quoted")
    for ruling in result.rulings:
        _line(console, "ruling", ruling)
    if result.rule != "must":
        _line(console, "rule", result.rule)
    _line(console, "found", finding(result))
    if result.oracle and (result.comparisons or result.failure == "raised"):
        _line(console, "oracle", f"{result.oracle}, whose answer the case takes for right")
    if counts := result.verdicts:
        # `10: 7 pass, 3 fail`
        came = ", ".join(f"{counts[one]:,} {one}" for one in Verdict if one in counts)
        _line(console, "times", f"{sum(counts.values()):,}: {came}")
    _diagnoses(console, result.diagnoses)
    if said := ledger_note(result):
        _line(console, "ledger", said)
    if result.known:
        _line(console, "cause", result.known.cause)
    for comparison in result.comparisons:
        if comparison.worst:
            _line(console, "where", f"{comparison.output}: {comparison.where}")
            table = _worst(comparison, wanted(result))
            is_narrow = console.file.isatty() and least(table) + _INDENT > console.width
            put(console, table, indent=2 if is_narrow else _INDENT)
            left = comparison.wrong - len(comparison.worst)
            if left > 0:
                _line(console, "", f"… and {plain_text.plural(left, 'more element')}")
        if comparison.unjudged:
            part = f"{comparison.unjudged:,} of {plain_text.plural(comparison.total, 'element')}"
            _line(console, "doubt", f"{comparison.output}: {part} unjudged")
    if result.printed.strip():
        _line(console, "printed", plain_text.ending(result.printed))
    _line(console, "written", str(result.source))
    _line(console, "repeat", result.repeat)
    console.print()


def text(result: Record) -> str:
    """Return the report as plain text."""
    file = io.StringIO()
    console = Console(
        file=file, width=100, color_system=None, highlight=False, markup=False, emoji=False
    )
    show(console, result)
    return file.getvalue().rstrip()


def _diagnoses(console: Console, diagnoses: Sequence[Diagnosis]) -> None:
    for number, said in enumerate(diagnoses[:LIKELIEST]):
        _line(console, "or" if number else "looks", str(said))
    left = len(diagnoses) - LIKELIEST
    if left > 0:
        verb = "gives" if left == 1 else "give"
        more = plain_text.plural(left, "more mistake")
        names = [said.mistake or said.text for said in diagnoses[LIKELIEST:]][:_NAMED]
        listed = ", ".join([*names, *["…"] * (left > _NAMED)])
        _line(console, "", f"… and {more} that {verb} the same here: {listed}")


def _line(console: Console, label: str, text: str) -> None:
    said = plain_text.block(text)
    # A pipe has no width: its lines stay whole, for grep. Some are copied, or their blanks matter.
    if console.file.isatty() and label not in ("printed", "written", "repeat"):
        width = max(console.width - _INDENT, _INDENT)
        folded = (plain_text.folded(line, width) or [""] for line in said.split("\n"))
        said = "\n".join(chain.from_iterable(folded))
    # Further lines are indented, so that none can pass for one of opcheck's.
    said = said.replace("\n", "\n" + " " * _INDENT)
    console.print(Text.assemble((f"  {label}".ljust(_INDENT), "dim"), said), soft_wrap=True)


def wanted(result: Record) -> str:
    """Return the heading of the expected values, or of another backend's values."""
    return "oracle" if result.oracle else "theirs" if result.against else "want"


def _worst(comparison: ComparisonRecord, wanted: str) -> Table:
    beside_input = any(element.input for element in comparison.worst)
    table = new_table()
    table.add_column("index", no_wrap=True)
    for column in (*["input"] * beside_input, wanted, "got", "ULP", "allowed"):
        table.add_column(column, justify="right", no_wrap=True)
    for element in comparison.worst:
        table.add_row(
            plain_text.index(element.index),
            *([plain_text.brief(element.input)] if beside_input else []),
            Text(plain_text.brief(element.want), "green"),
            Text(plain_text.brief(element.got), "red"),
            "" if element.ulp is None else f"{element.ulp:,}",
            plain_text.brief(element.allowed),
        )
    return table


def ledger_note(result: Record) -> str:
    """Explain a result made red by a ledger and how to fix it, or ""."""
    if not result.unexpected:
        return ""
    known = result.known
    if known is None:
        return "no ledger lists it as unsupported, and a backend that drops a case does not pass"
    listed = f"listed in {known.at} as {known.expected}"
    if result.verdict is Verdict.UNEXPECTED_PASS:
        return f"{listed}, but it passes: delete `{known.text}`, or leave there what still fails"
    has_way = result.failure and result.failure != str(result.verdict)
    came = f"{result.verdict} ({result.failure})" if has_way else f"{result.verdict}"
    if " that looks like " in known.expected:
        mistakes = [one.mistake for one in result.diagnoses if one.mistake]
        came += f" that looks like {next(iter(mistakes), 'no known mistake')}"
    return f"{listed}, but it fails otherwise: {came}"


def finding(result: Record) -> str:
    """The reason of a verdict, also of an unexpected pass."""
    passed = result.verdict is Verdict.UNEXPECTED_PASS and not result.reason
    return "the right answer" if passed else result.reason
