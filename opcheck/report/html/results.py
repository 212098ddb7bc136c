"""All results of a run as data for the page's list of them: every text stands there once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from opcheck.model import Known, Record, Verdict
from opcheck.report import tally
from opcheck.report.html.look import counted, name_of
from opcheck.report.html.overview import NONE
from opcheck.report.html.page import said, shown

#: What stands for the case's id in a command.
PLACE = "\N{OBJECT REPLACEMENT CHARACTER}"
#: How many characters of a text the list has; failures are told in full elsewhere.
_SAID = 300


class _Texts:
    """Texts by their numbers, each once; 0 is the empty one."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def table(
    records: Sequence[Record], red: Collection[Verdict], known: Mapping[tuple[str, Known], int]
) -> dict[str, Any]:
    """What `report.js` lists: `results` are rows of the columns that `columns` names.

    A column whose name begins with `$` holds numbers of `texts`. `known` numbers the known defects.
    A command that repeats a case has PLACE in place of its id, for it is the same for many.
    """
    texts = _Texts()
    columns = (
        *("$case", "$backend", "$verdict", "$sign", "$tone", "$op", "$dtype"),
        *("$reason", "$asked", "$clause", "$written", "$repeat", "$alternative"),
        *("used", "ms", "known"),
    )
    rows = []
    for record in records:
        (count,) = counted([record], red)
        case = shown(record.case)
        # A pass needs no explanation; of others the list says what was asked.
        passed = record.verdict is Verdict.PASS
        found = (
            *(case, shown(record.backend), name_of(record), count.sign, count.tone),
            *(shown(str(record.op)), shown(record.dtype or NONE)),
            *(said(record.reason, _SAID), "" if passed else said(record.question, _SAID)),
            *(said(record.clause, _SAID), shown(str(record.source))),
            *(_repeat(record), said(record.alternative or "", _SAID)),
        )
        rows.append(
            [
                *map(texts, found),
                _used(record.used),
                round(record.seconds * 1e3, 2),
                _number_of(record, known),
            ]
        )
    return {"columns": columns, "texts": [*texts.numbers], "results": rows}


def _repeat(record: Record) -> str:
    # The sign itself, should a command have it, would be taken for the case.
    return shown(record.repeat).replace(PLACE, "\ufffd").replace(shown(record.case), PLACE)


def _used(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    if value is None:
        return None
    return "∞" if value == float("inf") else float(f"{value:.3g}")


def _number_of(record: Record, known: Mapping[tuple[str, Known], int]) -> int:
    """Which of the known defects explains a result; -1 for none."""
    if record.known is None:
        return -1
    return known.get((record.backend, tally.cause_of(record.known)), -1)
