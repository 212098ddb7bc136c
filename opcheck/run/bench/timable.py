"""Which cases have an answer that takes time."""

from __future__ import annotations

from opcheck.model import AnyOf, Case, Rejected


def why_not(case: Case) -> str:
    """Why a case cannot be timed, or nothing."""
    expect = case.expect
    answers = [one.expect for one in expect.alternatives] if isinstance(expect, AnyOf) else [expect]
    if any(isinstance(one, Rejected) for one in answers):
        return "it expects, or admits, a refusal"
    if any(0 in spec.shape for spec in case.inputs):
        return "a tensor of it has no element"
    return ""
