"""The ledgers that ship with opcheck: defects of released backends, each with its cause.

A result that fails in the way and in the place that a line of the ledger says is `known` and
green. Places are fields of cases; a field left out says nothing, a list means any of its items.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from opcheck.known.fields import FAILING, LedgerFields, Line, keys, within
from opcheck.model import BackendInfo, Known, Result, Verdict
from opcheck.reading import Node, Problems, form, quoted, read_file, shipped_folder


@dataclass(frozen=True)
class Ledger:
    """The known defects of one backend."""

    file: str
    fields: LedgerFields

    def line_for(self, result: Result, backend: BackendInfo) -> Line | None:
        """The first line that explains a failure or, of a pass, the first that denies it.

        Names of cases mean what the shipped suites mean by them: other cases are never explained.
        """
        address = (backend.of or backend.address).partition("?")[0]
        if address not in self.fields.backend or not result.case.source.shipped:
            return None
        passed = result.verdict is Verdict.PASS
        if passed and backend.accumulate:
            return None  # Declared, what fails otherwise may pass.
        for line in self.fields.known:
            fails = result.verdict in FAILING and result.failure in line.failure
            fits = fails or (passed and not line.sometimes)
            if fits and within(backend.version, line.versions) and line.is_about(result.case):
                return line
        return None


def load_ledgers(paths: Iterable[Path]) -> tuple[Ledger, ...]:
    """The ledgers in `paths`; raises CaseFileError with every problem of every file."""
    problems = Problems()
    ledgers = []
    for path in paths:
        node = read_file(path, problems)
        fields = form.validate(LedgerFields, node, str(path), problems, keys) if node else None
        if node and fields:
            _check_same_as(fields, node, str(path), problems)
            ledgers.append(Ledger(path.name, fields))
    problems.raise_if_any()
    return tuple(ledgers)


def _check_same_as(fields: LedgerFields, node: Node, file: str, problems: Problems) -> None:
    """Report each `same_as` that does not begin the cause of exactly one independent line."""
    causes = [line.cause for line in fields.known if line.same_as is None]
    for number, begin in enumerate(line.same_as for line in fields.known):
        if begin and (count := sum(cause.startswith(begin) for cause in causes)) != 1:
            told = f"{quoted(begin)} begins {count} causes of other lines, not 1"
            problems.add(file, node.at(("known", number, "same_as")), told)


def shipped_ledgers() -> tuple[Ledger, ...]:
    """The ledgers that ship with opcheck."""
    return load_ledgers(sorted(shipped_folder("_known", "reports/known").glob("*.yaml")))


def explain(ledgers: Iterable[Ledger], result: Result, backend: BackendInfo) -> Result:
    """`result` with what the ledgers know of it.

    A failure that a line names becomes `known`; a pass that a line names stays one, with the
    line beside it, so that reports can say that the line is out of date.
    """
    for ledger in ledgers:
        line = ledger.line_for(result, backend)
        if line is not None:
            known = Known(line.cause, line.link, ledger.file)
            passed = result.verdict is Verdict.PASS
            verdict = Verdict.PASS if passed else Verdict.KNOWN
            return replace(result, verdict=verdict, found=result.verdict, known=known)
    return result
