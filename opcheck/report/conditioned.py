"""The power of suites over mutants that are wrong in one situation only."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.grouping import group_by
from opcheck.model.conditions import ConditionedMutant, score_of
from opcheck.model.result import Fate
from opcheck.report import plain_text
from opcheck.report.listing import percent
from opcheck.report.style import Numbers, new_table, put

_HEADS = ("mutants", Fate.KILLED, Fate.SURVIVED, "score")


def show_conditioned(
    console: Console, conditioned: Sequence[ConditionedMutant], *, verbose: bool
) -> None:
    """Print the scores by operator and family, before them the survivors if `verbose`."""
    if not conditioned:
        return
    if verbose:
        for op, of_op in group_by(conditioned, lambda mutant: str(mutant.mutant.op)).items():
            _show_survivors(console, op, of_op)
    put(console, _scores(conditioned))
    if not verbose and any(mutant.survived for mutant in conditioned):
        console.print("-v lists the survivors by situation")
    console.print()


def _show_survivors(console: Console, op: str, conditioned: Sequence[ConditionedMutant]) -> None:
    """Print the mutants of an operator that survive in each situation, and a case to change."""
    survivors: dict[str, dict[str, str]] = {}
    for one in conditioned:
        for situation, case_id in one.survived.items():
            survivors.setdefault(situation, {})[one.mutant.name] = case_id
    for situation, case_ids in survivors.items():
        head = Text.assemble(("SURVIVED", "bold red"), f"  in {op}, {situation}")
        console.print(head, soft_wrap=True)
        case_id = plain_text.clean(next(iter(case_ids.values())))
        for label, text in (
            ("mutants", ", ".join(case_ids)),
            ("case", f"{case_id} would kill them on other data"),
        ):
            console.print(Text.assemble((f"  {label:<7}  ", "dim"), text), soft_wrap=True)
        console.print()


def _scores(conditioned: Sequence[ConditionedMutant]) -> Table:
    """Return the table of scores, with their total if there are several."""
    title = "Mutants that are wrong in one situation only"
    table = new_table("operator", "situations", *map(Numbers, _HEADS), title=title)
    groups = group_by(conditioned, lambda mutant: (str(mutant.mutant.op), mutant.family))
    rows = [(op, family, of_family) for (op, family), of_family in groups.items()]
    if len(rows) > 1:
        rows.append(("all", "", [*conditioned]))
    for number, (op, family, mutants) in enumerate(rows):
        score = score_of(mutants)
        counts = (score.total(), score[Fate.KILLED], score[Fate.SURVIVED])
        cells = [f"{count:,}" if count else "·" for count in counts]
        # A line sets the sum apart.
        table.add_row(op, family, *cells, percent(score), end_section=number + 2 == len(rows))
    return table
