"""Workers of tests are forks of one process; they answer as the workers of users' runs do."""

import subprocess
import sys

import pytest

from opcheck.backends.isolation import process
from opcheck.model import Crashed, Produced, Raised, Reply, TimedOut
from tests.backends.isolation.asked import pool_of, questions, replies
from tests.shell import Workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="POSIX signals and terminals")

#: An answer, an exception, two ends of the process, and a hang that prints; an answer at last.
FAULTS = ("right", "a__odd", "b__exit_3", "c__sys_exit_3", "d__hang", "last")


def replies_by(starts: object, monkeypatch: pytest.MonkeyPatch) -> list[Reply]:
    monkeypatch.setattr(process, "subprocess", starts)
    with pool_of("Faulty", timeout=1.0) as pool:
        return replies(pool, questions(*FAULTS))


def comparable(reply: Reply) -> tuple[str, str]:
    """What a verdict depends on, and what was printed."""
    outcome = reply.outcome
    answer = outcome.outputs if isinstance(outcome, Produced) else outcome
    return repr(answer), reply.printed


@pytest.mark.gate
def test_forks_and_fresh_interpreters_give_the_same_replies(monkeypatch) -> None:
    forked = replies_by(Workers, monkeypatch)
    fresh = replies_by(subprocess, monkeypatch)
    assert [comparable(reply) for reply in forked] == [comparable(reply) for reply in fresh]
    kinds = {type(reply.outcome) for reply in fresh}
    assert kinds == {Produced, Raised, Crashed, TimedOut}
