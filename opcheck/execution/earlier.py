"""Find failures that an earlier case of the run causes: alone in a fresh process, they pass.

One failing case of a cause is asked alone first. If it passes, the cases before it are asked in
front of it, and halved until one is left after which it fails. Without such a one, the cause that
was found before stays.

What asks the backend raises what `check` raises, Defect if opcheck's own part of an adapter fails,
and what `CaseEvaluation.judge` raises.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from opcheck.backends.isolation.pool import Pool
from opcheck.execution import workers
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.model import Case, Diagnosis, Failure, LiveResult, Record, Verdict, cause_counts

#: Ways to fail that may be the work of an earlier case, and that do not take long to see.
_ASKED_ALONE: tuple[Failure | None, ...] = (
    "count",
    "type",
    "dtype",
    "shape",
    "values",
    "other_data",
    "distribution",
    "raised",
    "crash",
)
#: So many of the cases just before a failing one are asked in front of it, then more.
_WINDOWS = (8, 64, 512, 4096)
#: So many failing cases of a cause are asked without what came before.
_MOST = 200
#: So many cases are asked at a time.
_AT_ONCE = 16


@dataclass(frozen=True)
class FailedCase:
    """A failing case at its place in the run."""

    place: int
    case: Case
    record: Record


class EarlierCases:
    """Asks the processes of a backend about cases of its run, and what came before them.

    Args:
        pool: The backend; each question goes to a fresh process of it.
        cases: The cases of the run, in order.
        check: Called while replies are awaited; what it raises ends the search.
    """

    def __init__(self, pool: Pool, cases: Sequence[Case], check: Callable[[], None]) -> None:
        """Begin without cases that cause failures of others."""
        self._pool = pool
        self._cases = cases
        self._check = check
        #: Cases after which other ones have failed.
        self._found: list[Case] = []
        #: Of failures that pass alone and that no one earlier case causes: what was seen, by id.
        self.remarks: dict[str, str] = {}

    def diagnoses(self, failures: Sequence[FailedCase]) -> dict[str, Diagnosis]:
        """Return the diagnoses of those failures of one cause that an earlier case causes, by id.

        `failures` are in the order of the run, and at least one; the first 200 are asked. Empty if
        the first one fails alone, too, or cannot be the work of an earlier case: it came first, its
        answer is stated nowhere, or it fails in a way that takes long. Empty, too, if it passes
        alone but fails after no one earlier case: `remarks` has that. Raises what `check` raises.
        """
        first = failures[0]
        is_asked = first.record.failure in _ASKED_ALONE and first.case.expect.is_stated
        if not is_asked or first.place == 0 or not self._passing_afresh([first]):
            return {}
        causing = self._causing(first)
        if len(causing) != 1:
            self.remarks[first.case.id] = _remark(first.case, len(causing))
            return {}
        (culprit,) = causing
        passing = [first, *self._passing_afresh(failures[1:_MOST])]
        count = len(passing)
        return {
            failed.case.id: Diagnosis(
                mistake=None,
                text=f"an earlier case: it passes alone in a fresh process, "
                f"and fails after {culprit.id}",
                counts=cause_counts(failing=count, judged=count),
                # Only the first was alone in its process: the others share one.
                asked=(_passes_alone(first.case),) if failed is first else (),
                repeat=_repeat(failed.record, culprit),
            )
            for failed in passing
        }

    def _passing_afresh(self, failures: Sequence[FailedCase]) -> list[FailedCase]:
        """Return the failures that pass in a fresh process without the cases between them.

        All are asked in this one process, one after the other in their order. Raises what `check`
        raises.
        """
        with closing(self._pool.copy(self._pool.settings.scratch)) as fresh:
            return [
                failed
                for failed in failures
                if self._judged(failed.case, fresh).verdict is Verdict.PASS
            ]

    def _judged(self, case: Case, pool: Pool) -> LiveResult:
        """Return the result of a case in a pool's process; raise what `check` raises."""
        questions = CaseEvaluation(case).judge(pool.info)
        (evaluated,) = workers.answers([(pool, questions)], self._check)
        return evaluated.result

    def _causing(self, failed: FailedCase) -> Sequence[Case]:
        """Return the fewest earlier cases found after which a case fails as in the run.

        They are one, or several of which neither half is enough; none if it does not fail after all
        earlier cases. Cases found for other failures are tried first, then the cases just before
        this one, more and more of them; a single one that is found is kept in `_found`. Raises what
        `check` raises.
        """
        earlier = self._cases[: failed.place]
        for case in self._found:
            if case in earlier and self._fails_after([case], failed):
                return [case]
        for window in self._windows(failed.place):
            if self._fails_after(window, failed):
                causing = self._halved(window, failed)
                if len(causing) == 1:
                    self._found += causing
                return causing
        return ()

    def _windows(self, place: int) -> Iterator[Sequence[Case]]:
        """Yield the cases just before a place in the run: 8 of them, then more, all at last."""
        sizes = [size for size in _WINDOWS if size < place]
        for size in (*sizes, place):
            yield self._cases[place - size : place]

    def _halved(self, window: Sequence[Case], failed: FailedCase) -> Sequence[Case]:
        """Return a part of a window after which a case fails, but after neither half of it.

        It is one case, if one is enough. The case fails after the whole window, which is not empty.
        The later half is asked first; a single case is returned without asking. Raises what `check`
        raises.
        """
        while len(window) > 1:
            middle = len(window) // 2
            halves = (window[middle:], window[:middle])
            failing = (half for half in halves if self._fails_after(half, failed))
            half = next(failing, None)
            if half is None:
                break
            window = half
        return window

    def _fails_after(self, window: Sequence[Case], failed: FailedCase) -> bool:
        """Return True if a case fails after the cases of a window, all asked in one fresh process.

        To fail as in the run is to have the same kind of failure. The window's cases are asked some
        at a time, and their results do not matter. Raises what `check` raises.
        """
        with closing(self._pool.copy(self._pool.settings.scratch)) as fresh:
            cases = iter(window)
            while some := [*islice(cases, _AT_ONCE)]:
                # Judged as in the run: what is asked depends on answers.
                judging = [(fresh, CaseEvaluation(case).judge(fresh.info)) for case in some]
                workers.answers(judging, self._check)
            return self._judged(failed.case, fresh).failure == failed.record.failure


def _passes_alone(case: Case) -> str:
    """Return that a case passes if it is asked alone, in words."""
    return f"asked alone in a fresh process: {case.id} passes"


def _remark(case: Case, causing: int) -> str:
    """Return what was seen of a case that passes alone, in words.

    It fails after `causing` earlier cases together, several; 0 if it does not even fail after all.
    """
    passes = _passes_alone(case)
    if causing:
        return f"{passes}, but fails after {causing} cases before it together"
    return f"{passes}, and does not fail so after the cases before it: not reproduced"


def _repeat(record: Record, culprit: Case) -> str:
    """Return the command that repeats a case after another one, `culprit`, in one process.

    `record` has the command that repeats the case alone, "opcheck run FILES --case ID …"; "" if
    that names no case. A case file of the culprit that is not in it is added.
    """
    words = shlex.split(record.repeat)
    if "--case" not in words:
        return ""
    place = words.index("--case")
    before = words[:place]
    if not culprit.source.shipped and culprit.source.file not in before:
        before.insert(2, culprit.source.file)
    return shlex.join([*before, "--case", culprit.id, *words[place:]])
