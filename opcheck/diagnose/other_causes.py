"""Causes without a mutant or a condition, and remarks where there is no cause.

They are contradictions of a backend with itself, patterns of wrong values, and the causes of
smaller cases. "Chosen" is explained in `operator_failures`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress

from opcheck.analysis import NOT_EXPLAINED, WAYS
from opcheck.diagnose.allowance import NoTimeLeft
from opcheck.diagnose.operator_failures import SEVERAL, OperatorFailures
from opcheck.diagnose.positions import common_places
from opcheck.diagnose.results import OF_OUTPUTS, DiagnosedResult, size_of_inputs
from opcheck.diagnose.rules import FEWEST
from opcheck.diagnose.suspects import LARGEST, cell_of
from opcheck.diagnose.wording import PROBABLY
from opcheck.model import Diagnosis, Verdict, cause_counts

#: Mistakes by which a backend contradicts itself, by how the message begins.
_CONTRADICTIONS = {
    "input": "writes into its inputs",
    "the first result": "reuses the memory of outputs that it has returned",
    "answered other data of the same shape with": "answers other data with the first answer",
}


def note_what_is_known(failures: OperatorFailures, left: Sequence[DiagnosedResult]) -> None:
    """Note, in `known`, what failures of one way without a cause have in common.

    That is their types, if others pass, and the places of their wrong elements. Nothing is
    noted of exceptions, which say more, of accepted invalid models, and of single failures.
    """
    if len(left) < SEVERAL or left[0].record.failure not in OF_OUTPUTS:
        return
    parts = [*_common_types(failures, left), *_common_places(failures, left)]
    if parts:
        words = "; ".join([WAYS[left[0].record.failure], *parts])
        known = Diagnosis(None, f"{NOT_EXPLAINED}: {words}")
        failures.known.update((result.case.id, known) for result in left)


def _common_types(failures: OperatorFailures, left: Sequence[DiagnosedResult]) -> Iterator[str]:
    """Yield the one or two types of all failures in words, if a case of another type passes."""
    types = {cell_of(result.case).dtype for result in left}
    others = {
        cell_of(result.case).dtype
        for result in failures.results
        if result.record.verdict is Verdict.PASS
    }
    if len(types) <= SEVERAL and "" not in types and others - types:
        yield f"all are of {' or '.join(sorted(types))}"


def _common_places(failures: OperatorFailures, left: Sequence[DiagnosedResult]) -> Iterator[str]:
    """Yield the first place of all wrong elements of all failures, if these are known."""
    with suppress(NoTimeLeft):
        failing = failures.elements_of_failures(left)
        if len(failing) == len(left):
            for place in common_places([*failing.values()])[:1]:
                yield f"the wrong elements are {place}"


def choose_contradictions(failures: OperatorFailures, unstable: Sequence[DiagnosedResult]) -> None:
    """Choose the causes of unstable results by how their messages begin, in `chosen`.

    Those that begin otherwise stay without a cause.
    """
    for start, text in _CONTRADICTIONS.items():
        alike = [result for result in unstable if result.message.startswith(start)]
        counts = cause_counts(failing=len(alike), judged=len(unstable))
        failures.choose(Diagnosis(None, text, counts), alike)


def choose_patterns(failures: OperatorFailures) -> None:
    """Choose patterns of wrong values, in `chosen`, for results without a cause.

    A pattern is what `Suspects.resemblance` returns: for a result diagnosed elsewhere, or
    without a pattern of its numbers, its first remark. At least FEWEST results must share it;
    it is counted of all wrong values.
    """
    wrong = [result for result in failures.failing if result.record.failure == "values"]
    by_pattern: dict[str, list[DiagnosedResult]] = defaultdict(list)
    for result in failures.without_cause(wrong):
        pattern = failures.suspects.resemblance(result.case, result.record.diagnoses)
        by_pattern[pattern].append(result)
    for pattern, results in by_pattern.items():
        if pattern and len(results) >= FEWEST:
            counts = cause_counts(failing=len(results), judged=len(wrong))
            failures.choose(Diagnosis(None, pattern, counts), results)


def choose_causes_of_smaller_ones(failures: OperatorFailures) -> None:
    """Choose for failures on inputs beyond 1 MiB the cause that most of smaller ones have.

    That is in `chosen`, for those without a cause. Smaller ones are of the same version, type
    and kind of failure, or else of any type. Mutants are not tried on so large inputs, so that
    the cause is only probable, which its text says.
    """
    without_cause = failures.without_cause(failures.failing)
    too_large = [result for result in without_cause if size_of_inputs(result) > LARGEST]
    by_cause: dict[Diagnosis, list[DiagnosedResult]] = defaultdict(list)
    for result in too_large:
        cause = _cause_of_smaller_ones(failures, result)
        if cause:
            by_cause[cause].append(result)
    for cause, results in by_cause.items():
        text = f"{PROBABLY}{cause.text}"
        counts = cause_counts(failing=len(results), judged=len(too_large))
        failures.choose(Diagnosis(None, text, counts), results)


def _cause_of_smaller_ones(failures: OperatorFailures, large: DiagnosedResult) -> Diagnosis | None:
    """Return the cause of more than half of the smaller failures like a large one, or None.

    Those are up to 1 MiB, of its version and kind of failure: of its type, or else of any.
    """
    alike = [
        result
        for result in failures.failing
        if result.case.op == large.case.op
        and result.record.failure == large.record.failure
        and size_of_inputs(result) <= LARGEST
    ]
    cell = cell_of(large.case)
    of_its_type = [result for result in alike if cell_of(result.case) == cell]
    for group in (of_its_type, alike):
        with_cause = [result.case.id for result in group if result.case.id in failures.chosen]
        causes = Counter(failures.chosen[case] for case in with_cause)
        for cause, count in causes.most_common(1):
            if 2 * count > len(group):
                return cause
    return None
