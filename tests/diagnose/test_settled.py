"""What is said of all failures of an operator in the end, by which cases failed, and how."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from opcheck.diagnose import Suspects
from opcheck.diagnose.settle import Seen, settled
from opcheck.model import Case, Diagnosis, Rejected, Verdict
from tests.report.made import CASE, record

SITUATIONS = yaml.safe_load(Path(__file__).with_name("settled.yaml").read_text("utf-8"))
INVALID = Rejected("axis 7 is over 2", replace(CASE, attrs={"alpha": 50}))


class Contradicted(Suspects):
    """Who takes float32 speaks against the mutant that refuses it."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        super().__init__(lambda case: None)
        self.seen = seen

    def against(self, mutant: Any, cell: Any, enough: int | None = None) -> list[Case]:
        passes = [one.case for one in self.seen if one.case.attrs["alpha"] >= 0]
        return passes if mutant.name == "refuses_float32" else []


def some(result: Mapping[str, Any]) -> Iterator[Seen]:
    """Cases that came out alike."""
    fields = {"verdict": "fail" if "failure" in result else "pass", **result}
    start, stop = fields.pop("alpha")
    expect = INVALID if fields.pop("invalid", False) else CASE.expect
    verdict, said = Verdict(fields.pop("verdict")), fields.pop("said", ())
    fields["diagnoses"] = [Diagnosis(None if " " in one else one, one) for one in said]
    for alpha in range(start, stop):
        case = replace(CASE, id=str(alpha), attrs={"alpha": alpha}, expect=expect)
        yield Seen(case, record(verdict, id=case.id, **fields), "failure" in result)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_said_of_all_failures_in_the_end(situation: str) -> None:
    results, expected = SITUATIONS[situation].values()
    seen = [*chain(*map(some, results))]
    said = settled(seen, Contradicted(seen)).values()
    assert Counter("; ".join(map(str, found)) for found in said) == {
        text: n for n, text in expected
    }
