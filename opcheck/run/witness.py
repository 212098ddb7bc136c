"""The backends whose answers cases take for right: who they are, and what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opcheck.compare import Want
from opcheck.compare.agreement import misfit, steady, wants_of
from opcheck.compare.verdict import by_itself, depends, told, what_is_wrong
from opcheck.model import (
    Array,
    BackendInfo,
    Case,
    Foreign,
    Oracle,
    Outcome,
    OutputSpec,
    Produced,
    Raised,
)


class Silent(Exception):
    """An oracle gives no answer that anything can be held against; the message says why."""


@dataclass(frozen=True, eq=False)
class Testimony:
    """What an oracle did with the question of a case."""

    oracle: BackendInfo
    outcome: Outcome

    def wants(self, case: Case) -> tuple[Want, ...]:
        """Its answer, as what must come out; raises Silent where it is none."""
        return self._usable(self._answer(case).outputs, case)

    def wants_of_other_data(self, case: Case) -> tuple[Want, ...] | None:
        """What it answers the other data of the question, None where it refuses them."""
        between = self._answer(case).between
        return None if between is None else self._usable(between, case)

    def _answer(self, case: Case) -> Produced:
        outcome = steady(case.op, self.outcome, case.outputs, case.tolerance)
        if not depends(outcome):
            found = by_itself("must", outcome)
            raise self._silent(f"{found.verdict}: {found.reason}")
        if isinstance(outcome, Raised):
            raise self._silent(f"raised {told(outcome)}")
        return outcome

    def _usable(self, answer: tuple[Array | Foreign, ...], case: Case) -> tuple[Want, ...]:
        outputs: tuple[OutputSpec, ...] = case.outputs
        if wrong := misfit(answer, outputs):
            raise self._silent(f"its answer cannot be one: {what_is_wrong(wrong)}")
        arrays = [one for one in answer if not isinstance(one, Foreign)]
        return wants_of(case.op, arrays, outputs)

    def _silent(self, why: str) -> Silent:
        return Silent(f"oracle {self.oracle} gives no answer: {why}")


def oracle_of(case: Case) -> str | None:
    """The address of the backend whose answer a case takes for right, if it does so."""
    return case.expect.backend if isinstance(case.expect, Oracle) else None


def oracles_of(cases: Iterable[Case]) -> dict[str, Case]:
    """The oracles that cases name, each with the first of these cases."""
    found: dict[str, Case] = {}
    for case in cases:
        if address := oracle_of(case):
            found.setdefault(address, case)
    return found


def is_the_same(backend: BackendInfo, oracle: BackendInfo) -> bool:
    """Whether a backend is an oracle itself, so that its passing proves nothing.

    Two profiles of one address may be two builds, if they are made of other files or run with other
    settings; a profile and its address are taken for one.
    """
    if backend.address == oracle.address:
        return True
    names = backend.of or backend.address, oracle.of or oracle.address
    if names[0] != names[1] or backend.version != oracle.version:
        return False
    both = backend.of is not None and oracle.of is not None
    return not both or backend.made_of == oracle.made_of
