"""The results that are to be diagnosed, and what their messages have in common.

The *subject* of a result is its case, or the legal twin of that.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property

from opcheck.diagnose.facts import invalid
from opcheck.grouping import not_none
from opcheck.model import LOSSES, Case, Failure, Record, Verdict

#: Failures without an answer.
WITHOUT_ANSWER = ("raised", *LOSSES)
#: Failures of what an output holds: a model that is refused shows nothing about them.
OF_VALUES = ("values", "other_data", "distribution", "precision")
#: Failures without values.
WITHOUT_VALUES = (*WITHOUT_ANSWER, "count")
#: Failures whose messages, the backend's own, distinguish causes.
WITH_MESSAGE = (*WITHOUT_VALUES, "unstable")
#: opcheck's words in front of a backend's own message.
_OURS = re.compile(
    r"^(unlike oracle .*?: )?(takes the same model at opset (?P<opset>\d+), where .*? too; at opset"
    r" \d+: )?(raised on a legal model: |(?P<twin>(refuses )?its legal twin( too)?: ))?"
)
#: Parts that differ between messages of one kind: paths, addresses, numbers and lists of them.
_PARTICULARS = re.compile(
    r"\S*/\S*|0x[0-9a-fA-F]+|\[[-+\d., e]*\]|(?<![\w.])\d+(?:[x×]\d+)+"
    r"|(?<![\w.])[-+]?\d[\d.,]*(?:e[-+]?\d+)?"
)
#: Several of them in a row, such as the lengths of a shape.
_SEVERAL_PARTICULARS = re.compile(r"\*(?:[\s*,:;×x]*\*)+")
#: Length to which a message is compared.
_LONGEST = 4000
#: Failures of which the type and the place of the wrong elements say something.
OF_OUTPUTS: tuple[Failure | None, ...] = ("values", "shape", "dtype", "precision")


def without_particulars(message: str) -> str:
    """Return a message with "*" in place of paths, addresses and numbers, one for several."""
    return _SEVERAL_PARTICULARS.sub("*", _PARTICULARS.sub("*", message))


@dataclass(frozen=True, eq=False)
class DiagnosedResult:
    """A case and its result, to be diagnosed if it is `unexplained`: no ledger has its cause."""

    case: Case
    record: Record
    unexplained: bool

    @cached_property
    def _ours(self) -> re.Match[str]:
        """The match of opcheck's words in front of the backend's message; possibly empty."""
        return not_none(_OURS.match(self.record.reason))

    @property
    def own_message(self) -> str:
        """The backend's own message: of an exception, its type and text."""
        return self.record.reason[self._ours.end() :][:_LONGEST]

    @cached_property
    def message(self) -> str:
        """The message without particulars; for an accepted model, why it is invalid.

        Particulars, such as paths, numbers and lists of them, are "*". "" for failures with values,
        whose messages are opcheck's own, and for what does not fail.
        """
        if self.record.failure in WITH_MESSAGE:
            return " ".join(without_particulars(self.own_message).split())
        if self.record.failure == "accepted":
            return invalid(self.case)
        return ""

    @cached_property
    def subject(self) -> Case:
        """The case that failed or passed; the legal twin, if the reason is about that."""
        twin = legal_twin(self.case) if self._ours["twin"] else None
        return twin or self.case

    @cached_property
    def accepted(self) -> Case | None:
        """Another model that the backend accepted on the way to this result; None if there is none.

        It is the same model at a later opset, or the legal twin of one that it refuses.
        """
        if self._ours["opset"]:
            return replace(self.case, opset=int(self._ours["opset"]))
        return legal_twin(self.case) if self.record.refused else None

    def rules_out(self, failure: Failure | None, message: str) -> bool:
        """Return True if the case, by its result, does not fail in this way.

        `failure` is how others fail, with this `message`. What rules it out is

        - for an accepted invalid model, a refusal of one that is invalid for the same reason,
        - for an exception, a pass with an answer, or a failure with one,
        - for no answer otherwise, or a wrong number of outputs, a pass, or another failure with an
          answer,
        - for wrong values, a pass with an answer,
        - for any other failure, a pass.
        """
        own_failure = self.record.failure
        refused = self.record.refused
        passed = self.record.verdict in (Verdict.PASS, Verdict.UNEXPECTED_PASS)
        answered = not passed and own_failure not in (failure, *WITHOUT_ANSWER)
        if failure == "accepted":
            return passed and refused and invalid(self.case) == message
        if refused and failure in OF_VALUES:
            return False
        if failure == "raised":
            return (passed and not refused) or answered
        return passed or (answered and failure in WITHOUT_VALUES)


def size_of_inputs(result: DiagnosedResult) -> int:
    """Return the size of a case's inputs in bytes."""
    return sum(spec.nbytes for spec in result.subject.inputs)


def legal_twin(case: Case) -> Case | None:
    """Return the legal twin of a case that admits a refusal, at the opset of the case.

    That is the same model made valid; None for a case without one.
    """
    rejected = case.expect.rejection
    legal = rejected.legal if rejected else None
    return replace(legal, opset=case.opset) if legal else None
