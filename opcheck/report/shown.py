"""One case in a terminal: its text, its model, its inputs, and the right answers."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from rich.console import Console
from rich.text import Text

from opcheck import clauses, graph
from opcheck.compare.outputs import describe
from opcheck.dtypes import DType, of
from opcheck.errors import NotSupported
from opcheck.model import Array, Case, Computed, Expectation, Golden, Values
from opcheck.model.shown import RightAnswer, RightOutput, ShownCase
from opcheck.report import formatting, plain_text
from opcheck.report.rulings import concerning
from opcheck.report.style import Numbers, new_table, put
from opcheck.suite.entries import WrittenCase

#: The most elements of a tensor, and lines of a text, that are shown unless all are asked for.
_ELEMENTS = 32
_LINES = 40
#: The column in which the text after a label begins.
_INDENT = 10


def show(console: Console, shown: ShownCase, written: WrittenCase | None, *, full: bool) -> None:
    """Print a case; `written` is its text in a case file, `full` prints large parts whole."""
    _show_head(console, shown.case)
    if written:
        _show_written(console, written, full=full)
    if shown.question:
        _show_model(console, shown, full=full)
        if shown.question.inputs:
            _heading(console, "inputs")
        for spec, array in zip(shown.question.task.inputs, shown.question.inputs, strict=True):
            _show_tensor(console, spec.name, array, full=full)
    _show_answers(console, shown, full=full)


def _show_head(console: Console, case: Case) -> None:
    """Print the id of a case, what it asks, and the sentences that decide it."""
    console.print(Text(case.id, "bold"), soft_wrap=True)
    _line(console, "asked", formatting.question(case))
    _line(console, "rule", f"{case.rule}, level {case.level}")
    if case.clause:
        quotation = clauses.quotation(case.clause, case.op) or case.clause
        _line(console, "clause", f"“{quotation}”")
    for ruling in concerning(clauses.rulings(case.clause, case.op), case, ()):
        _line(console, "ruling", ruling)
    _line(console, "written", str(case.source))
    if case.beyond:
        _line(console, "beyond", case.beyond)


def _show_written(console: Console, written: WrittenCase, *, full: bool) -> None:
    """Print the head of a case file, and the entry that the case is made of."""
    _heading(console, f"text in {plain_text.one_line(str(written.file))}, line {written.line}")
    _show_lines(console, written.head, full=full)
    console.print("  …")
    _show_lines(console, written.entry, full=full)


def _show_model(console: Console, shown: ShownCase, *, full: bool) -> None:
    """Print the model that a backend is given, in ONNX's textual form."""
    assert shown.question is not None
    _heading(console, "model")
    try:
        text = graph.text_of(shown.question.task)
    except NotSupported as error:
        console.print(f"  none: {plain_text.one_line(str(error))}", soft_wrap=True)
    else:
        _show_lines(console, text.splitlines(), full=full)


def _show_answers(console: Console, shown: ShownCase, *, full: bool) -> None:
    """Print every answer that is right, or why none is known."""
    if shown.problem:
        _heading(console, f"answer: {plain_text.one_line(shown.problem)}")
        return
    several = len(shown.answers) > 1
    for number, answer in enumerate(shown.answers, 1):
        title = f"answer {number} of {len(shown.answers)}" if several else "answer"
        name = answer.name or _origin(shown.case.expect)
        _heading(console, f"{title} ({name})")
        _show_answer(console, shown.case, answer, full=full)


def _origin(expect: Expectation) -> str:
    """Return where the answer comes from."""
    match expect:
        case Values():
            return "stated in the case"
        case Golden(folder):
            return f"files in {folder.name}"
        case Computed():
            return "computed by opcheck"
    return "as the case states"


def _show_answer(console: Console, case: Case, answer: RightAnswer, *, full: bool) -> None:
    if answer.refusal:
        console.print(f"  the model is refused: {plain_text.one_line(answer.refusal)}")
        return
    if answer.mixed:
        readings = "; ".join(answer.mixed)
        console.print(f"  Each element may follow another reading instead: {readings}.")
    if case.tolerance:
        console.print(f"  tolerance of the case: {case.tolerance}")
    for output in answer.outputs:
        _show_output(console, output, full=full)
        if output.undefined is not None:
            text = f"{output.name} may be anything {describe(output.undefined)}"
            console.print(f"  {plain_text.one_line(text)}", soft_wrap=True)


def _show_output(console: Console, output: RightOutput, *, full: bool) -> None:
    """Print the elements of an output, each with the error that it may have."""
    if output.form != "tensor":
        console.print(f"  {output.name}: {output.form}")
        return
    exact = output.lowest is output.values and output.highest is output.values
    if exact or output.values.dtype.hasobject:
        _show_tensor(console, output.name, output.values, full=full)
        return
    _name_tensor(console, output.name, output.values)
    table = new_table("index", Numbers("value"), Numbers("right from"), Numbers("to"))
    dtype = of(output.values)
    for index in _indices(output.values, full=full):
        parts = (output.values.item(index), output.lowest.item(index), output.highest.item(index))
        table.add_row(str([*index]), *(formatting.number(part, dtype) for part in parts))
    put(console, table, indent=4)
    _show_rest(console, output.values, full=full)


def _show_tensor(console: Console, name: str, array: Array, *, full: bool) -> None:
    """Print a tensor; of a large one the first elements, in their order in memory."""
    dtype = of(array)
    if array.size <= _ELEMENTS or full:
        _name_tensor(console, name, array, _nested(array, dtype) if array.size else "")
        return
    first = [formatting.number(array.item(index), dtype) for index in _indices(array, full=full)]
    _name_tensor(console, name, array, f"begins with {', '.join(first)}")
    _show_rest(console, array, full=full)


def _name_tensor(console: Console, name: str, array: Array, values: str = "") -> None:
    shape = ", ".join(map(str, array.shape))
    text = plain_text.one_line(f"{name} {of(array) or array.dtype}[{shape}] {values}".rstrip())
    console.print(f"  {text}", soft_wrap=True)


def _indices(array: Array, *, full: bool) -> Iterator[tuple[int, ...]]:
    """Yield the indices of the elements that are shown."""
    return islice(np.ndindex(array.shape), None if full else _ELEMENTS)


def _show_rest(console: Console, array: Array, *, full: bool) -> None:
    if not full and array.size > _ELEMENTS:
        console.print(f"    … {array.size - _ELEMENTS:,} more elements (--full shows all)")


def _nested(array: Array, dtype: DType | None) -> str:
    """Return a tensor as nested lists of numbers as short as the dtype allows."""
    if array.ndim == 0:
        return formatting.number(array.item(), dtype)
    # A row of texts would give them themselves, without the dots.
    parts = (_nested(array[place, ...], dtype) for place in range(len(array)))
    return f"[{', '.join(parts)}]"


def _show_lines(console: Console, lines: Sequence[str], *, full: bool) -> None:
    for line in lines if full else lines[:_LINES]:
        console.print(f"  {plain_text.clean(line)}", soft_wrap=True)
    if not full and len(lines) > _LINES:
        console.print(f"  … {len(lines) - _LINES:,} more lines (--full shows all)")


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, "bold"), soft_wrap=True)


def _line(console: Console, label: str, text: str) -> None:
    block = plain_text.block(text).replace("\n", "\n" + " " * _INDENT)
    console.print(Text.assemble((f"  {label}".ljust(_INDENT), "dim"), block), soft_wrap=True)
