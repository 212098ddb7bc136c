"""The support of each operator by a backend, by small models of each version and dtype.

They are judged like any other case, but no ledger is asked: a known defect is a defect here. A
*cell* is one version of an operator on one dtype. A *floor* is a set of cells that a user requires
to be right.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from opcheck import model, opset
from opcheck.backends.connect import address_of, meant
from opcheck.backends.isolation.cleanup import guarded_folder
from opcheck.backends.isolation.process import BackendSettings
from opcheck.backends.offers import Offer
from opcheck.dtypes import DTYPES
from opcheck.errors import UsageError, did_you_mean
from opcheck.execution.expected import question
from opcheck.execution.scheduler import Scheduler
from opcheck.execution.workers import (
    AskableBackend,
    Counted,
    Driver,
    ask_once,
    connect,
    each,
    started,
)
from opcheck.model import Case, Cell, Floor, LiveResult, Record, Support, Verdict
from opcheck.suite.select import HUGE

#: Of several verdicts on one cell, the first of these counts.
_WORST = (
    "BAD_CASE CRASH TIMEOUT OOM FAIL DIFFER UNSTABLE ERROR NOT_RUN UNSUPPORTED WARN KNOWN PASS"
).split()
#: Cases to ask about each version and dtype.
Asked: TypeAlias = Mapping[Cell, Sequence[Case]]

#: An operator, a version that is in force at an opset, perhaps with all later ones, and a dtype.
_FLOOR = re.compile(r"(?P<op>\w+|\*)(@(?P<opset>[1-9]\d{0,3})(?P<later>\+)?)?(:(?P<dtype>\w+))?")


def floors(text: str, asked: Asked) -> list[Floor]:
    """Return the floors that a text states, with commas between them, in order.

    Raises UsageError with all that is wrong: one that is malformed, or names no cell of `asked`, an
    unknown dtype or an opset that is not known yet.
    """
    return each(partial(_floor, asked), map(str.strip, text.split(",")))


def named_in(text: str) -> list[str]:
    """Return the operators that a text of floors names, as they are written.

    A floor is as `Softmax@13+:float32`. Empty if one of them is about all operators (`*`), or is
    malformed. Raises UsageError if all are malformed.
    """
    matches = [_FLOOR.fullmatch(part.strip()) for part in text.split(",")]
    if not any(matches):
        floors(text, {})  # which raises
    names = [match["op"] for match in matches if match]
    if "*" in names or len(names) < len(matches):
        return []
    return names


def _floor(asked: Asked, text: str) -> Floor:
    """Return one floor, the cells that must be right, such as `Softmax@13+:float32`.

    It has the cells of `asked` of the operator, or of all for `*`, of the version in force at the
    opset, or with `+` of that and later ones, and of the dtype; without opset or dtype, of any.
    Raises UsageError if it is malformed, names an operator or a cell that is not in `asked`, an
    unknown dtype, or an opset above the newest.
    """
    parts = _FLOOR.fullmatch(text)
    if parts is None:
        raise UsageError(f"{text!r} names no cells", "write OP, OP@OPSET, OP@OPSET+ or *:DTYPE")
    cells = _cells_of_operator(asked, text, parts["op"])
    dtype = parts["dtype"]
    version = int(parts["opset"] or 0)
    newest = max((opset.newest(cell.op.domain) for cell in cells), default=0)
    if version > newest:
        raise UsageError(f"{text!r}: the newest opset that is known is {newest}")
    if dtype and dtype not in DTYPES:
        raise UsageError(f"{text!r}: unknown dtype {dtype!r}", did_you_mean(dtype, DTYPES))
    named = frozenset(
        cell
        for cell in cells
        if dtype in (None, cell.dtype)
        if opset.is_in_force(cell.op, version, or_later=bool(parts["later"]))
    )
    if not named:
        raise UsageError(f"{text!r} names no cells: there is no such version with that type")
    return Floor(text, named)


def _cells_of_operator(asked: Asked, text: str, operator: str) -> list[Cell]:
    """Return all cells of an operator, in any case of letters; of `*`, all that have a case.

    `text` is the floor in messages. Raises UsageError for an operator that is not in `asked`.
    """
    name = operator.lower()
    if name == "*":
        return [cell for cell, cases in asked.items() if cases]
    names = {cell.op.name.lower(): cell.op.name for cell in asked}
    if name not in names:
        hint = did_you_mean(name, names.values())
        raise UsageError(f"{text!r}: nothing is asked of operator {operator!r}", hint)
    return [cell for cell in asked if cell.op.name.lower() == name]


#: Cases of level core are added to cells of fewer cases than that.
_ENOUGH_CASES = 4


def matrix(cases: Sequence[Case]) -> dict[Cell, list[Case]]:
    """Return each version and dtype of the operators, with cases that decide, one of each name.

    These are literals, whose outputs are written out, with the rule `must`, at the first opset of
    their version: those of level smoke, in any version and dtype that the same case has, others of
    level core while a cell has fewer than four, and one of level deep if it has none. A cell may
    have none of these.
    """
    by_cell = _empty_cells(cases)
    smoke = {(case.op.name, case.name, case.row) for case in cases if case.level == "smoke"}

    def most(case: Case) -> float:
        """Return how many cases a cell may have already for this one to be added."""
        if case.level == "deep":
            return 0
        is_smoke = (case.op.name, case.name, case.row) in smoke
        return math.inf if is_smoke else _ENOUGH_CASES - 1

    for case in sorted(cases, key=most, reverse=True):
        cell = Cell(case.op, case.dtype.name) if case.dtype else None
        if cell in by_cell and _decides(case) and len(by_cell[cell]) <= most(case):
            by_cell[cell].setdefault(case.name, case)
    return {cell: [*by_name.values()] for cell, by_name in by_cell.items()}


def _empty_cells(cases: Iterable[Case]) -> dict[Cell, dict[str, Case]]:
    """Return a cell, still empty, for each version and allowed dtype of the operators of cases.

    They are all versions that onnx or DirectML has, those without a case too.
    """
    cells: dict[Cell, dict[str, Case]] = {}
    for domain, name in sorted({(case.op.domain, case.op.name) for case in cases}):
        for schema in opset.versions(domain, name).values():
            for dtype in DTYPES.values():
                if dtype.text in schema.typed.types:
                    cells[Cell(schema.op, dtype.name)] = {}
    return cells


def _decides(case: Case) -> bool:
    """Return True for a literal that must be right, at the first opset of its version."""
    if case.level == HUGE or case.rule != "must" or case.opset != case.op.since:
        return False
    return isinstance(case.expect, model.Values)


def cells_of(cases: Sequence[Case]) -> dict[Cell, list[Case]]:
    """Return the cases of the rule `must` by version and dtype, that of the first input if unsaid.

    Cases whose answer another backend states say nothing of this one alone, and are left out. So
    are cells all of whose cases expect a refusal, and cases without a dtype. Raises UsageError if
    no cell is left.
    """
    by_cell = _by_cell(case for case in cases if case.rule == "must" and not case.expect.oracle)
    for cell in [*by_cell]:
        if all(isinstance(case.expect, model.Rejected) for case in by_cell[cell]):
            del by_cell[cell]
    if not by_cell:
        raise UsageError(f"none of {len(cases):,} cases is a node that must be right by itself")
    return by_cell


def with_all_core(asked: Asked, cases: Sequence[Case]) -> dict[Cell, list[Case]]:
    """Return the cells that are `asked`, each with all its cases of levels smoke and core.

    Those that are asked already come first: the first case of a cell is the one whose support a
    backend declares. The others are of every rule and expectation, but for those whose answer a
    backend states.
    """
    core = _by_cell(case for case in cases if case.level != "deep" and case.expect.is_stated)
    by_cell: dict[Cell, list[Case]] = {}
    for cell, first in asked.items():
        ids = {case.id for case in first}
        by_cell[cell] = [*first, *(case for case in core.get(cell, []) if case.id not in ids)]
    return by_cell


def _by_cell(cases: Iterable[Case]) -> dict[Cell, list[Case]]:
    """Return the cases by version and dtype, that of the first input if they state none.

    Cases without either are left out.
    """
    by_cell: dict[Cell, list[Case]] = {}
    for case in cases:
        dtype = case.dtype or (case.inputs[0].dtype if case.inputs else None)
        if dtype:
            by_cell.setdefault(Cell(case.op, dtype.name), []).append(case)
    return by_cell


def settings_of(offer: Offer, folder: Path, timeout: float) -> BackendSettings:
    """Return the settings of a backend with files in `folder`; `timeout` is in seconds."""
    profile = offer.profile
    return BackendSettings(
        address=str(profile.address),
        scratch=folder,
        environment=profile.environment,
        timeout=timeout,
        memory_limit=profile.memory_limit,
        resources=profile.resources,
    )


def probe_in_processes(
    settings: BackendSettings, asked: Asked, counted: Counted[Any]
) -> list[Support]:
    """Probe each cell of a backend, by judging its models, in processes of its own.

    Return the support of each cell of `asked`, in order. `counted` passes results on and shows the
    progress. Raises BackendUnavailable and UsageError if the backend cannot be used,
    KeyboardInterrupt if the user interrupts the start, Defect if opcheck's own part of an adapter
    fails, ValueError or MemoryError if a case's data cannot be made, and what a formula raises for
    a bound.
    """
    with started([settings, declaring(settings)], 1) as (backend, other):
        connect([backend])
        return probe(asked, backend, other, counted)


def declaring(settings: BackendSettings) -> BackendSettings:
    """Return the settings of a backend that answers what that of `settings` declares."""
    return replace(settings, address=address_of(settings.address))


def declared_in_processes(
    settings: BackendSettings, asked: Asked
) -> Iterator[dict[Cell, bool | None]]:
    """Yield once what a backend declares of each cell, asked in processes of its own.

    The item has True or False for each cell, and None where there is no case or no usable answer.
    Raises BackendUnavailable if no process can be started, ValueError or MemoryError if a case's
    data cannot be made, Defect if opcheck's own part of an adapter fails.
    """
    with (
        guarded_folder() as here,
        started([replace(declaring(settings), scratch=here)], 1) as [pool],
    ):
        yield declared(asked, pool)


def probe(
    asked: Asked, backend: AskableBackend, declaring: AskableBackend, counted: Counted[Any] = iter
) -> list[Support]:
    """Return the support of each cell, by judging all its models on `backend`.

    `declaring` is the backend whose answers are the declarations of `backend`. `counted` passes
    results on and shows the progress. Raises Defect if opcheck's own part of an adapter fails,
    ValueError or MemoryError if a case's data cannot be made, BackendUnavailable if a backend in
    this process spoils its floating-point mode, and what a formula raises for a bound.
    """
    cases = [case for cases in asked.values() for case in cases]
    return support(asked, [*counted(Scheduler(cases, [backend]))], declared(asked, declaring))


def declared(asked: Asked, backend: AskableBackend) -> dict[Cell, bool | None]:
    """Return what a backend declares of each cell, by its first case: True if it supports it.

    None where there is no case, where the backend does not say, and where no usable answer comes;
    once it crashes, is too slow or takes too much memory, of all cells not asked yet. `backend`
    answers with declarations, as those of `opcheck.backends.connect` do. Raises ValueError or
    MemoryError if a case's data cannot be made, Defect if opcheck's own part of an adapter fails,
    and BackendUnavailable if a backend in this process spoils its floating-point mode.
    """
    declared_cells: dict[Cell, bool | None] = dict.fromkeys(asked)
    todo = [(cell, cases[0]) for cell, cases in asked.items() if cases]
    driver: Driver[Cell, model.Reply] = Driver()
    while todo or driver.is_busy:
        while todo and backend.has_room:
            cell, case = todo.pop(0)
            driver.start(backend, ask_once(question(case)), cell)
        for cell, reply in driver.collect():
            match reply.outcome:
                case model.Produced(outputs=(answer,)) if not isinstance(answer, model.Foreign):
                    declared_cells[cell] = meant(answer)
                case model.Crashed() | model.TimedOut() | model.OutOfMemory():
                    todo.clear()  # it is no use to wait for that again and again
    return declared_cells


def support(
    asked: Asked, results: Iterable[LiveResult | Record], declarations: Mapping[Cell, bool | None]
) -> list[Support]:
    """Return the support of each cell by the `results` of one backend and its declarations.

    `declarations` has True or False, or None where the backend declares nothing. Cases without a
    result are left out.
    """
    found = {one.case if isinstance(one, Record) else one.case.id: one for one in results}
    return [
        _support(
            cell,
            declarations.get(cell),
            [(case, found[case.id]) for case in cases if case.id in found],
        )
        for cell, cases in asked.items()
    ]


def _support(
    cell: Cell, declared: bool | None, pairs: Sequence[tuple[Case, LiveResult | Record]]
) -> Support:
    """Return the support of one cell by its cases and their results, of which the worst counts.

    Its verdict is None if no case has one that says anything of the backend: what no model can
    state does not. `declared` is what the backend declares of the cell, None if nothing.
    """
    judged = [(case, result) for case, result in pairs if not result.inexpressible or result.beyond]
    if not judged:
        return Support(cell, declared, None)
    results = [result for _, result in judged]
    case, worst = min(judged, key=_place_of_result)
    fine = (Verdict.PASS, Verdict.WARN)
    return Support(
        cell,
        declared,
        worst.verdict,
        count=len(results),
        share=sum(result.verdict is worst.verdict for result in results),
        case=case.id,
        reason=worst.reason,
        works=any(result.verdict in fine for result in results),
        failed=sum(result.verdict not in fine for result in results),
        warned=sum(map(_is_undeclared_warning, judged)),
    )


def _place_of_result(judged: tuple[Case, LiveResult | Record]) -> tuple[int, bool]:
    """Return the key by which results of a cell are ordered, the worst first.

    Of warnings, those that count as not right come first. Raises ValueError for an unexpected pass,
    which no result here is, as no ledger is asked.
    """
    _, result = judged
    return _WORST.index(result.verdict.name), not _is_undeclared_warning(judged)


def _is_undeclared_warning(judged: tuple[Case, LiveResult | Record]) -> bool:
    """Return True for a warning, of undeclared arithmetic, on a case that is not `should`."""
    case, result = judged
    return result.verdict is Verdict.WARN and case.rule != "should"
