"""A run as workflow commands of GitHub: annotations at the lines of failing cases.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from opcheck.analysis.status import is_failure, outcome, reds_of
from opcheck.errors import Exit
from opcheck.model import Run, Verdict
from opcheck.report import plain_text, summary

#: The most errors of a step that GitHub shows.
_SHOWN = 10


def lines(run: Run) -> Iterator[str]:
    """An error for each of the first ten failures, and a line on all."""
    red = reds_of(run.header)
    failures = [result for result in run.records if is_failure(result, red)]
    for result in failures[:_SHOWN]:
        source, known = result.source, result.known
        file, line, column = source.file, source.line, source.column
        if result.verdict is Verdict.UNEXPECTED_PASS and known and known.line is not None:
            # The ledger must be corrected.
            file, line, column = known.ledger, known.line, 1
        if Path(file).is_absolute() and Path(file).is_relative_to(Path.cwd()):
            file = os.path.relpath(file)  # as the workflow knows it
        title = f"{result.verdict.upper()} {result.backend}: {result.case}"
        place = {"file": file, "line": str(line), "col": str(column), "title": title}
        looks = [f"looks {said.text}" for said in result.diagnoses[:1]]
        text = [result.reason, *looks, summary.ledger_note(result), f"repeat: {result.repeat}"]
        message = "\n".join(map(plain_text.block, filter(None, text)))
        yield _command("error", place, message)
    code, meaning = outcome(run)
    if left := failures[_SHOWN:]:
        more = plain_text.plural(len(left), "more failure")
        meaning += f"; {more} without an annotation"
    # If nothing else is red, this line must be.
    kind = "notice" if failures or code is Exit.CONFORMS else "error"
    yield _command(kind, {"title": "opcheck"}, meaning)


def _command(kind: str, properties: dict[str, str], text: str) -> str:
    pairs = ((name, plain_text.one_line(value)) for name, value in properties.items())
    said = ",".join(f"{name}={_data(value, ':,')}" for name, value in pairs)
    return f"::{kind} {said}::{_data(text)}"


def _data(text: str, also: str = "") -> str:
    return re.sub(f"[%\r\n{also}]", lambda it: f"%{ord(it[0]):02X}", plain_text.clean(text))
