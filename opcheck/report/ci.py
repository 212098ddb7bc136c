"""A run for CI systems: as JUnit's XML, a test suite a backend, and as GitHub's annotations.

The XML keeps to the schemas of Jenkins, https://github.com/jenkinsci/xunit-plugin (junit-10.xsd),
and of Ant's reports. A run that fails for no case has another suite, lest a reader shows it green.
"""

import os
import re
import shlex
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
    suites = []
    for info in header.backends:
        mine = [result for result in run.records if result.backend == info.address]
        suites.append((str(info), [_test(result, red) for result in mine]))
    kinds = {test.kind for _, tests in suites for test in tests}
    of_run = _errors_of_run(run, has_failures=not kinds.isdisjoint(("failure", "error")))
    if of_run:
        suites.append(("opcheck", of_run))
    about = header.environment
    environment = markdown.templates(autoescape=True)
    environment.filters["name"] = _name
    text: str = environment.get_template("junit.xml").render(
        suites=suites,
        every=[test for _, tests in suites for test in tests],
        # Ant's readers want no time zone, and a host.
        started=f"{datetime.fromisoformat(header.started).astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
        seconds=run.ending.seconds if run.ending else 0.0,
        properties={
            **plain_text.attributes_of(about, "opcheck python platform"),
            "selection": header.selection,
            **about.packages,
        },
    )
    yield from text.split("\n")


def _name(text: str) -> str:
    """Return a name in one line; readers do not take an empty one."""
    return plain_text.one_line(text) or "?"


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
    """Return a result as a test."""
    verdict = result.verdict
    test = _Test(of=str(result.op), name=result.case, seconds=result.seconds)
    if verdict in _ERRORS or is_red(result, red):
        return test._replace(
            kind="error" if verdict in _ERRORS else "failure",
            about=verdict,
            message="; ".join(filter(None, (summary.ledger_note(result), result.reason))),
            text=summary.failure_text(result),
        )
    if verdict in (Verdict.KNOWN, Verdict.UNSUPPORTED):
        known = result.known if verdict is Verdict.KNOWN else None
        reason = known.cause if known else result.reason
        return test._replace(kind="skipped", about=verdict, message=f"{verdict}: {reason}")
    if verdict is Verdict.WARN:
        return test._replace(kind="warned", text=summary.failure_text(result))
    return test


def github_lines(run: Run) -> Iterator[str]:
    """Yield an error for each of ten failures, and a line on all.

    The first failure of each cause comes before the second of any.
    """
    red = reds_of(run.header)
    failures = summary.cause_first(result for result in run.records if is_failure(result, red))
    for result in failures[:_SHOWN]:
        source = result.source
        known = result.known
        file = source.file
        line = source.line
        column = source.column
        if result.verdict is Verdict.UNEXPECTED_PASS and known and known.line is not None:
            # The ledger must be corrected.
            file = known.ledger
            line = known.line
            column = 1
        if Path(file).is_absolute() and Path(file).is_relative_to(Path.cwd()):
            file = os.path.relpath(file)  # as the workflow knows it
        title = f"{result.verdict.upper()} {result.backend}: {result.case}"
        place = {"file": file, "line": str(line), "col": str(column), "title": title}
        shown = ""
        if source.shipped and file == source.file:
            # The repository of the workflow has no such file.
            place = {"title": title}
            shown = f"show: opcheck show {shlex.quote(result.case)}"
        looks = [f"likely cause: {diagnosis.text}" for diagnosis in result.diagnoses[:1]]
        repeat = f"repeat: {result.repeat}"
        text = [result.reason, *looks, summary.ledger_note(result), shown, repeat]
        yield _command("error", place, "\n".join(map(plain_text.block, filter(None, text))))
    code, meaning = outcome(run)
    left = failures[_SHOWN:]
    if left:
        meaning += f"; {plain_text.plural(len(left), 'more failure')} without an annotation"
    # If nothing else is red, this line must be.
    kind = "notice" if failures or code is Exit.CONFORMS else "error"
    yield _command(kind, {"title": "opcheck"}, meaning)


def _command(kind: str, properties: dict[str, str], text: str) -> str:
    """Return a workflow command, as `::error file=my.yaml,line=3::text`."""
    pairs = ((name, plain_text.one_line(value)) for name, value in properties.items())
    fields = ",".join(f"{name}={_data(value, ':,')}" for name, value in pairs)
    return f"::{kind} {fields}::{_data(text)}"


def _data(text: str, also: str = "") -> str:
    """Escape the text of a command: `%`, ends of lines, and the characters in `also`."""
    return re.sub(f"[%\r\n{also}]", _percent_escape, plain_text.clean(text))


def _percent_escape(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"
