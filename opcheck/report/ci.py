"""A run for CI systems: as JUnit's XML, a test suite a backend, and as GitHub's annotations.

The XML keeps to the schemas of Jenkins, https://github.com/jenkinsci/xunit-plugin (junit-10.xsd),
and of Ant's reports. A run that fails for no case has another suite, lest a reader shows it green.
"""

import os
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from opcheck.analysis import is_failure, is_red, outcome, reds_of
from opcheck.errors import Exit
from opcheck.model import WRONG, Record, Run, Verdict
from opcheck.report import markdown, plain_text, summary

#: Verdicts that are errors of a test, not failures.
_ERRORS = {*WRONG, Verdict.NOT_RUN, Verdict.BAD_CASE} - {Verdict.FAIL, Verdict.DIFFER}
#: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
#: The most errors of a step that GitHub shows.
_SHOWN = 10


class _Test(NamedTuple):
    """A test of an operator; `kind` is "error", "failure", "skipped", "warned" or ""."""

    of: str
    name: str
    seconds: float
    kind: str = ""
    about: str = ""
    message: str = ""
    text: str = ""


def junit_lines(run: Run) -> Iterator[str]:
    """Yield the file, line by line."""
    header = run.header
    red = reds_of(header)
    suites = [
        (str(one), [_test(result, red) for result in run.records if result.backend == one.address])
        for one in header.backends
    ]
    kinds = {test.kind for _, tests in suites for test in tests}
    of_run = _errors_of_run(run, has_failures=not kinds.isdisjoint(("failure", "error")))
    if of_run:
        suites.append(("opcheck", of_run))
    about = header.environment
    environment = markdown.templates(autoescape=True)
    environment.filters["name"] = lambda text: plain_text.one_line(text) or "?"
    text: str = environment.get_template("junit.xml").render(
        suites=suites,
        every=[test for _, tests in suites for test in tests],
        # Ant's readers want no time zone, and a host.
        started=f"{datetime.fromisoformat(header.started).astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
        seconds=run.ending.seconds if run.ending else 0.0,
        properties={
            **plain_text.picked(about, "opcheck python platform"),
            "selection": header.selection,
            **about.packages,
        },
    )
    yield from text.split("\n")


def _errors_of_run(run: Run, *, has_failures: bool) -> list[_Test]:
    """Return as tests what makes the run itself red: dead processes, a missing end, no result."""
    errors: list[tuple[str, str]] = []
    if run.ending:
        errors += [("a process died", accident) for accident in run.ending.accidents]
    code, meaning = outcome(run)
    if not run.complete:
        errors.append(("the run is incomplete", meaning))
    elif code is not Exit.CONFORMS and not errors and not has_failures:
        errors.append(("nothing was judged", meaning))
    return [_Test("opcheck", name, 0.0, "error", name, reason) for name, reason in errors]


def _test(result: Record, red: Collection[Verdict]) -> _Test:
    verdict = result.verdict
    test = (str(result.op), result.case, result.seconds)
    message = "; ".join(filter(None, (summary.ledger_note(result), result.reason)))
    if verdict in _ERRORS or is_red(result, red):
        kind = "error" if verdict in _ERRORS else "failure"
        return _Test(*test, kind, verdict, message, summary.failure_text(result))
    if verdict in (Verdict.KNOWN, Verdict.UNSUPPORTED):
        known = result.known if verdict is Verdict.KNOWN else None
        reason = known.cause if known else result.reason
        return _Test(*test, "skipped", verdict, f"{verdict}: {reason}")
    if verdict is Verdict.WARN:
        return _Test(*test, "warned", text=summary.failure_text(result))
    return _Test(*test)


def github_lines(run: Run) -> Iterator[str]:
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
        yield _command("error", place, "\n".join(map(plain_text.block, filter(None, text))))
    code, meaning = outcome(run)
    if left := failures[_SHOWN:]:
        meaning += f"; {plain_text.plural(len(left), 'more failure')} without an annotation"
    # If nothing else is red, this line must be.
    kind = "notice" if failures or code is Exit.CONFORMS else "error"
    yield _command(kind, {"title": "opcheck"}, meaning)


def _command(kind: str, properties: dict[str, str], text: str) -> str:
    pairs = ((name, plain_text.one_line(value)) for name, value in properties.items())
    said = ",".join(f"{name}={_data(value, ':,')}" for name, value in pairs)
    return f"::{kind} {said}::{_data(text)}"


def _data(text: str, also: str = "") -> str:
    return re.sub(f"[%\r\n{also}]", lambda it: f"%{ord(it[0]):02X}", plain_text.clean(text))
