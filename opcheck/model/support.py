"""What a backend does with one version of an operator on one dtype, and what it declares of it."""

from __future__ import annotations

from dataclasses import dataclass

from opcheck.model.case import OpVersion
from opcheck.model.result import Verdict

#: A poorer arithmetic than expected is no reason to say that a backend lacks an operator.
_WORKING = (Verdict.PASS, Verdict.WARN)


@dataclass(frozen=True)
class Cell:
    """One version of an operator on one dtype."""

    op: OpVersion
    dtype: str


@dataclass(frozen=True)
class Support:
    """One cell of one backend.

    `verdict` is the worst that its models met, None where there are none; `share` of `count` met
    it, `case` first, for this `reason`. `works` tells whether any of them came out right.
    `declared` is None where the backend says nothing.
    """

    cell: Cell
    declared: bool | None
    verdict: Verdict | None
    count: int = 0
    share: int = 0
    case: str = ""
    reason: str = ""
    works: bool = False

    @property
    def is_declared_but_failing(self) -> bool:
        """Whether the backend declares more than it does."""
        nothing_said = (None, Verdict.NOT_RUN, Verdict.BAD_CASE, *_WORKING)
        return self.declared is True and self.verdict not in nothing_said

    @property
    def is_undeclared_but_working(self) -> bool:
        """Whether the backend does more than it declares."""
        return self.declared is False and self.works
