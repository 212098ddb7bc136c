"""Backends that are compared with each other: what each is worth beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from opcheck.compare.agreement import Party, judge_among
from opcheck.compare.verdict import IRREPRODUCIBLE, Judgement
from opcheck.model import BackendInfo, Outcome, Produced, Verdict
from opcheck.run.oracle import is_the_same
from opcheck.run.trial import Judged, Trial, judged_so


def settled(trial: Trial, told: Sequence[Judged], backends: Sequence[BackendInfo]) -> list[Judged]:
    """What all `backends` are worth where only each other's answers tell, in their order.

    Who agrees with nobody but itself by another name is marked so.
    """
    parties = [one for one in told if one.open]
    infos = {backend.address: backend for backend in backends}
    judgements = judge_among(
        trial.case.op,
        trial.case.rule,
        [Party(one.result.backend, one.open) for one in parties if one.open],
        trial.case.outputs,
        trial.case.tolerance,
        trial.like if parties else None,
    )
    found = dict(zip(parties, judgements, strict=True))
    return [_settled(one, found[one], infos) if one in found else one for one in told]


def _settled(one: Judged, judgement: Judgement, infos: Mapping[str, BackendInfo]) -> Judged:
    """What comes of one backend beside the others."""
    differs = one.open.differs if isinstance(one.open, Produced) else ""
    other = one.result.irreproducible or bool(differs)
    result = replace(judged_so(one.result, judgement), irreproducible=other)
    if judgement.verdict is Verdict.PASS:
        mine = infos[result.backend]
        itself = all(is_the_same(mine, infos[other]) for other in judgement.against)
        told = f"{IRREPRODUCIBLE}: {differs}" if differs else ""
        reason = result.reason or told or (_unchecked_alone(one.open) if one.open else "")
        result = replace(result, self_check=itself, reason=reason)
    return replace(one, result=result)


def _unchecked_alone(outcome: Outcome) -> str:
    """What a pass beside others does not show; answers to other data are not compared."""
    once = isinstance(outcome, Produced) and outcome.once
    return "stability not checked: it is asked once" if once else ""
