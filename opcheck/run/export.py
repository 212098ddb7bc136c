"""Questions as folders, for a machine that computes the outputs without opcheck."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from opcheck.errors import UsageError
from opcheck.graph import NotExpressible, model_of
from opcheck.graph.folders import folder_name, write_question
from opcheck.model import AnyOf, Case, Rejected
from opcheck.run.question import question
from opcheck.run.saving import begin


def write_questions(folder: Path, cases: Iterable[Case]) -> int:
    """Write each case's model and inputs, and those of its legal twin; the number of folders.

    What ONNX cannot state is left out. Raises UsageError where `folder` holds anything but
    questions written before, and for a case whose data cannot be made.
    """
    begin(folder, None)
    count = 0
    for case in cases:
        try:
            asked = [question(one) for one in (case, *_twins(case))]
        except ValueError as error:
            raise UsageError(f"{case.id}: {error}") from None
        for one in asked:
            with suppress(NotExpressible):
                model = model_of(one.task)
                write_question(folder / folder_name(one.task.case), model, one.task, one.inputs)
                count += 1
    return count


def _twins(case: Case) -> list[Case]:
    """The legal twin that may be asked about, if there is one."""
    expected: list[Any] = [case.expect]
    if isinstance(case.expect, AnyOf):
        expected = [alternative.expect for alternative in case.expect.alternatives]
    return [expect.legal for expect in expected if isinstance(expect, Rejected)][:1]
