"""Whether backends answer a case rightly, which is asked before they are timed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait

import numpy as np

from opcheck.backends.isolation.pool import Pool
from opcheck.backends.observe import Outputs
from opcheck.compare import Want
from opcheck.compare.agreement import wants_of
from opcheck.model import Agreement, Case, Produced, Reply, Result
from opcheck.run.oracle import Testimony
from opcheck.run.repeating import settled
from opcheck.run.trial import Judged, Trial

#: How often, in seconds, it is looked whether a worker still lives.
_TICK = 0.05


class Stopped(Exception):
    """Somebody wants all of it to end."""


def testified(trial: Trial, oracle: Pool, stop: Callable[[], bool]) -> Testimony | None:
    """What the oracle of a case says, None where it cannot be asked. Raises Stopped."""
    question = trial.for_the_oracle
    if question is None:
        return None
    ticket = oracle.ask(question)
    while True:
        if stop():
            raise Stopped
        replies = dict(oracle.replies(wait(oracle.connections, _TICK)))
        if ticket in replies:
            return Testimony(oracle.info, replies[ticket].outcome)


def judged(trial: Trial, pools: Sequence[Pool], stop: Callable[[], bool]) -> list[Judged]:
    """What a run would say of each backend; all are asked at once. Raises Stopped."""
    inquiries = [trial.on(pool.info) for pool in pools]
    results: list[Judged | None] = [None] * len(pools)
    tickets: dict[int, int] = {}

    def go_on(number: int, reply: Reply | None) -> None:
        inquiry = inquiries[number]
        try:
            question = next(inquiry) if reply is None else inquiry.send(reply)
        except StopIteration as end:
            results[number] = end.value
        else:
            tickets[number] = pools[number].ask(question)

    for number in range(len(pools)):
        go_on(number, None)
    while tickets:
        if stop():
            raise Stopped
        readable = wait([one for pool in pools for one in pool.connections], _TICK)
        for number in [*tickets]:
            replies = dict(pools[number].replies(readable))
            if tickets[number] in replies:
                go_on(number, replies[tickets.pop(number)])
    found = [result for result in results if result]
    if isinstance(trial.case.expect, Agreement):
        return settled(trial, found, [pool.info for pool in pools])
    return found


def agreed(answer: Produced, case: Case) -> tuple[Want, ...]:
    """An answer on which backends agreed, as what must come out."""
    outputs = [one for one in answer.outputs if isinstance(one, np.ndarray)]
    return wants_of(case.op, outputs, case.outputs)


def told(result: Result) -> str:
    """Why a backend that is judged so is not timed."""
    return f"{result.verdict}: {result.reason}" if result.reason else str(result.verdict)


def digest(outputs: Outputs) -> bytes:
    """What tells an answer from any other."""
    found = hashlib.blake2b()
    for output in outputs:
        if isinstance(output, np.ndarray):
            found.update(f"{output.dtype.str} {output.shape} ".encode())
            found.update(np.ascontiguousarray(output).reshape(-1).view(np.uint8).data)
        else:
            found.update(output.description.encode())
    return found.digest()
