"""Bugs that others reported, planted: are they red by default, and are their causes named rightly?

    python -m benchmarks.public_bugs [BUG ...] [--half working] [-j 2] [--texts]

Each bug is a backend of its own, right but for that bug (`benchmarks/planted/`). The cases of its
operator run on it at the default level, with the default time for causes. A line says how many
results are red, and what the causes at the end of the run are worth, by the names that were
written down beside the bug:

- right: what names the mistake, or its exact condition, explains two thirds of the failures
- wrong: what names another mistake, or an incidental condition, explains a third
- partly: what is right, or names a part of it, explains a third
- none: most failures are not explained

A bug without a red result is missed, unless the text admits it by another reading.

Without `--half`, the `first` list runs, and the half `working` of the sixty that were drawn by lot
(`benchmarks/planted/drawn.py`). The half `held_out`, the lists `second` and `third` of thirty other
reports each, and the list `fourth` of twenty-four, run only if they are named. Each was written,
and run once, before anything was mended by it. Since then the results of all but `fourth` have been
read: they say nothing about unseen bugs.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import chain
from typing import NamedTuple

from benchmarks.planted import Bug
from benchmarks.planted.every import LISTS
from opcheck import suite
from opcheck.analysis import RAISED, Cause
from opcheck.errors import Exit
from opcheck.grouping import not_none
from opcheck.model import Case, Records
from opcheck.report import totals
from opcheck.session import LiveRun, Request, Session

#: The lists that run only if they are named.
ONLY_IF_NAMED = frozenset({"held_out", "second", "third", "fourth"})
#: How a pattern of the wrong numbers begins: true, and no name of a mistake.
_PATTERN = "like "
#: What bugs are worth of which no result is red.
_MISSED = "MISSED"
_ADMITTED = "admitted"
#: A condition follows the last of these.
_WHERE = " where "
#: A condition that all cases meet.
_ALWAYS = "in every case"
#: Terms of a condition are joined so; a term begins with one of these.
_BETWEEN_TERMS = re.compile(r" and (?=`|inputs? |the |output )")


class Grade(StrEnum):
    """What a cause, or all causes of a bug, are worth."""

    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"
    NONE = "none"


def grade(cause: Cause, bug: Bug) -> Grade:
    """Return what one cause is worth as the name of a bug."""
    diagnosis = cause.diagnosis
    if diagnosis.mistake is not None:
        return _of_mistake(diagnosis.mistake, bug)
    if cause.folded or diagnosis.text.startswith(_PATTERN):
        return Grade.NONE
    condition = _condition(diagnosis.text)
    names_exception = _names_exception(diagnosis.text, bug)
    if not condition:
        return Grade.RIGHT if names_exception else Grade.NONE
    worth = _of_condition(condition, bug)
    if names_exception and worth is Grade.WRONG:
        return Grade.PARTLY
    return worth


def _names_exception(text: str, bug: Bug) -> bool:
    """Return True if a cause begins with the exception that a bug raises."""
    return bool(bug.right.raises) and text.startswith(f"{RAISED} {bug.right.raises}")


def _of_mistake(mistake: str, bug: Bug) -> Grade:
    """Return what the name of a mistake is worth, or the names of two, with `+` between them."""
    parts = mistake.split("+")
    if all(_fits(part, bug.right.mistakes) for part in parts):
        return Grade.RIGHT
    known = (*bug.right.mistakes, *bug.partly.mistakes)
    return Grade.PARTLY if any(_fits(part, known) for part in parts) else Grade.WRONG


def _of_condition(condition: str, bug: Bug) -> Grade:
    """Return what a condition is worth: right if each of its terms is."""
    terms = _BETWEEN_TERMS.split(condition)
    if all(_fits(term, bug.right.terms) for term in terms):
        return Grade.RIGHT
    known = (*bug.right.terms, *bug.partly.terms)
    if any(_fits(term, known) for term in terms):
        return Grade.PARTLY
    # That all cases fail is true, and names nothing.
    return Grade.NONE if condition == _ALWAYS else Grade.WRONG


def _condition(text: str) -> str:
    """Return the condition that a cause ends with, "" for none."""
    if text.endswith(_ALWAYS):
        return _ALWAYS
    return text.rpartition(_WHERE)[2] if _WHERE in text else ""


def _fits(name: str, patterns: Iterable[str]) -> bool:
    """Return True if a name, or a term, fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


class Named(NamedTuple):
    """A cause that a run ended with: the failures that it explains, and what it is worth."""

    failures: int
    grade: Grade
    text: str


def whole_grade(causes: Iterable[Named]) -> Grade:
    """Return what all causes of a bug are worth; NONE without any."""
    counts: Counter[Grade] = Counter()
    for cause in causes:
        counts[cause.grade] += cause.failures
    total = counts.total()
    if 3 * counts[Grade.WRONG] >= total > 0:
        return Grade.WRONG
    if 3 * counts[Grade.RIGHT] >= 2 * total > 0:
        return Grade.RIGHT
    if 3 * (counts[Grade.RIGHT] + counts[Grade.PARTLY]) >= total > 0:
        return Grade.PARTLY
    return Grade.NONE


@dataclass(frozen=True)
class Finding:
    """What a run of a planted bug ended with.

    Attributes:
        cases: How many cases were run.
        red: How many results fail the run.
        code: The exit code.
        meaning: What the exit code means, in words.
        causes: The causes of the failures, as they are printed.
        seconds: How long the run took, with the search for causes.
    """

    bug: Bug
    cases: int
    red: int
    code: Exit
    meaning: str
    causes: Sequence[Named]
    seconds: float

    @property
    def grade(self) -> Grade:
        """What the causes are worth."""
        return whole_grade(self.causes)

    @property
    def worth(self) -> str:
        """What the causes are worth; of a bug that is not red, if it is missed or admitted."""
        if self.red:
            return self.grade
        return _ADMITTED if self.bug.admitted else _MISSED


def cases_of(bug: Bug) -> list[Case]:
    """Return the cases that a bug is run on by default."""
    selection = suite.Selection(ops=bug.operators)
    return [*suite.choose(suite.load_all((), selection=selection), selection)]


def run(bug: Bug, cases: Sequence[Case], *, jobs: int = 1) -> Finding:
    """Run cases on the backend with a bug, as `opcheck run` does, and grade the causes."""
    began = time.monotonic()
    with Session([f"py:benchmarks.planted.backend?bug={bug.name}"], jobs=jobs) as session:
        session.connect(cases)
        live = LiveRun(session, Request(cases=cases))
        records = Records()
        for record in live.results():
            records.append(record)
        whole, _ = live.end(records)
    ending = not_none(whole.ending)
    causes = [
        Named(len(cause.results), grade(cause, bug), cause.looks)
        for _, _, of_backend in totals.wrong(whole.header, records.light)
        for cause in of_backend
    ]
    return Finding(
        bug=bug,
        cases=len(cases),
        red=sum(cause.failures for cause in causes),
        code=Exit(ending.exit_code or 0),
        meaning=ending.meaning,
        causes=causes,
        seconds=time.monotonic() - began,
    )


def lines(finding: Finding, *, texts: bool) -> Iterator[str]:
    """Yield a line about a bug, and one for each of its causes if `texts`."""
    bug = finding.bug
    red = f"{finding.red:5,} of {finding.cases:6,}"
    yield (
        f"{finding.worth:8} {red}  {finding.seconds:4.0f} s  {bug.name}"
        f" ({', '.join(bug.operators)}; {', '.join(bug.reports) or 'seen in use'})"
    )
    if texts:
        yield f"        {bug.sentence}"
        for cause in finding.causes:
            yield f"        {cause.failures:6,} {cause.grade:7} {cause.text}"
        if "no time" in finding.meaning:
            yield f"        {finding.meaning}"


def total(findings: Sequence[Finding]) -> str:
    """Return the number of bugs of each kind in words."""
    counts = Counter(finding.worth for finding in findings)
    red = sum(counts[one] for one in Grade)
    parts = ", ".join(f"{counts[one]} {one}" for one in Grade)
    others = f"{counts[_MISSED]} {_MISSED}, {counts[_ADMITTED]} {_ADMITTED} by the text"
    return f"{len(findings)} bugs: {red} red ({parts}), {others}"


def chosen(names: Sequence[str], lists: Sequence[str]) -> list[Bug]:
    """Return the bugs of these names, of these lists; all of them if no name is given.

    Raises SystemExit for a name that is in none of the lists.
    """
    bugs = dict(chain.from_iterable(LISTS[one].items() for one in lists))
    unknown = [name for name in names if name not in bugs]
    if unknown:
        raise SystemExit(f"not in {', '.join(lists)}: {', '.join(unknown)}")
    return [bugs[name] for name in names or bugs]


def main() -> None:
    """Run the bugs, and print what came."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bugs", nargs="*", metavar="BUG")
    parser.add_argument(
        "--half", action="append", choices=[*LISTS], help="default: first and working"
    )
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--texts", action="store_true", help="print every cause")
    asked = parser.parse_args()
    lists = asked.half or [one for one in LISTS if one not in ONLY_IF_NAMED]
    findings = []
    for bug in chosen(asked.bugs, lists):
        finding = run(bug, cases_of(bug), jobs=asked.jobs)
        findings.append(finding)
        for line in lines(finding, texts=asked.texts):
            print(line, flush=True)
    print(total(findings))


if __name__ == "__main__":
    main()
