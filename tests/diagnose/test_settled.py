"""What is said of all failures of an operator in the end, by which cases failed, and how."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from opcheck.diagnose import Suspects
from opcheck.diagnose.settle import Seen, settled
from opcheck.model import Case, Diagnosis, Expectation, Rejected, Verdict
from tests.report.made import CASE, record


class Contradicted(Suspects):
    """Some mutants are contradicted by each case whose `alpha` is 0 to 19."""

    def __init__(self, seen: Sequence[Seen], names: Sequence[str]) -> None:
        super().__init__(lambda case: None)
        self.seen, self.names = seen, names

    def against(self, mutant: Any, cell: Any, enough: int | None = None) -> list[Case]:
        passes = [one.case for one in self.seen if 0 <= one.case.attrs["alpha"] < 20]
        return passes if mutant.name in self.names else []


def some(
    start: int, stop: int, failure: Any = None, reason: str = "", *said: str,
    expect: Expectation = CASE.expect, **how: Any,
) -> Iterator[Seen]:  # fmt: skip
    """Cases with these values of `alpha`, and how all of them came out."""
    how = {"verdict": Verdict.FAIL if failure else Verdict.PASS, "reason": reason, **how}
    how["diagnoses"] = [Diagnosis(None if " " in one else one, one) for one in said]
    for alpha in range(start, stop):
        case = replace(CASE, id=str(alpha), attrs={"alpha": alpha}, expect=expect)
        yield Seen(case, record(failure=failure, id=case.id, **how), bool(failure))


WRONG, DIES, RAISED = ("values", ""), ("crash", "killed"), ("raised", "why")
INVALID: Any = {"expect": Rejected("axis 7 is over 2", replace(CASE, attrs={"alpha": 50}))}
REFUSED, ACCEPTED = {"refused": True, **INVALID}, ("accepted", "")
LAST, TWICE, FLOAT, THREE = "last_of_ties", "doubled", "refuses_float32", "like 3 times"
UNEXPECTED, DIFFER = {"verdict": Verdict.UNEXPECTED_PASS}, {"verdict": Verdict.DIFFER}
OLDER = "takes the same model at opset 12, where it passes too; at opset 13: no"
OTHER_DATA = "answered other data of the same shape with it"

#: How cases come out. What is said of those that fail is in `snapshots/settled.txt`.
RESULTS = {
    "some fail": [some(-3, 0, *DIES), some(0, 5)],
    "some fail, of which a ledger expects all": [some(-3, 0, *DIES), some(0, 5, **UNEXPECTED)],
    "two fail": [some(-2, 0, *DIES), some(0, 5)],
    "60 letters": [some(-3, 0, "raised", "a" * 60), some(0, 5)],
    "61 letters and a bell": [some(-3, 0, "raised", "\a\n  " + "a" * 59), some(0, 5)],
    "two messages": [some(-3, 0, "raised", "at 0x1"), some(0, 4, "raised", "in /a"), some(4, 8)],
    "an older opset is accepted": [some(-3, 0, "raised", OLDER)],
    "states": [
        some(-3, 0, "unstable", "input 0 was written"), some(0, 1, "unstable", OTHER_DATA),
        some(-7, -3, "unstable", "the first result changed"), some(1, 2, "unstable", "odd"),
    ],
    "no invalid model is asked that is refused": [some(-3, 0, *ACCEPTED, **INVALID), some(0, 5)],
    "some are": [some(-3, 0, *ACCEPTED, **INVALID), some(0, 5, **REFUSED)],
    "at random": [some(n, n + 1, *(ACCEPTED * (n % 2)), **(REFUSED, INVALID)[n % 2])
                  for n in range(8)],
    "a legal twin is refused": [
        some(-3, 0, "raised", "raised on a legal model: x", **INVALID), some(0, 5)
    ],
    "legal twins are accepted": [some(-3, 0, *RAISED), some(0, 3, **REFUSED)],
    "a mistake in a place": [some(-6, 0, *WRONG, FLOAT, THREE), some(0, 12)],
    "a mistake fits one of five": [some(-1, 0, *WRONG, LAST), some(0, 4, *WRONG), some(5, 9)],
    "a mistake fits one of four": [some(-1, 0, *WRONG, LAST), some(0, 3, *WRONG), some(5, 9)],
    "a mistake fits three": [some(-3, 0, *WRONG, LAST), some(0, 14, *WRONG), some(14, 20)],
    "two mistakes fit": [
        some(-3, 0, *WRONG, LAST, TWICE), some(0, 2, *WRONG, TWICE), some(2, 3, *WRONG, LAST)
    ],
    "the mistake explains all": [some(-3, 0, *RAISED, LAST), some(0, 5)],
    "the mistake explains less": [some(-3, 0, *RAISED, LAST), some(-6, -3, *RAISED), some(0, 5)],
    "everything is refused": [some(-3, 0, *RAISED, LAST)],
    "a wrong answer is no refusal": [some(-3, 0, *RAISED), some(0, 3, *WRONG, THREE)],
    "a wrong answer is no crash": [some(-3, 0, *DIES), some(0, 3, *WRONG)],
    "a wrong answer may be unstable": [some(-3, 0, "unstable", "odd"), some(0, 3, *WRONG)],
    "another crash says nothing": [some(-3, 0, *DIES), some(0, 3, "oom", "out")],
    "nobody knows the answer": [some(-3, 0, *RAISED), some(0, 3, **DIFFER)],
}  # fmt: skip


def test_what_is_said_of_all_failures_in_the_end(snapshot: Any) -> None:
    text = ""
    for name, results in RESULTS.items():
        seen = [*chain(*results)]
        said = settled(seen, Contradicted(seen, [FLOAT])).values()
        counted = Counter("; ".join(map(str, found)) for found in said)
        text += f"{name}\n" + "".join(
            f"{n:6} {what}".rstrip() + "\n" for what, n in counted.items()
        )
    snapshot("settled", text)
