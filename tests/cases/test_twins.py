"""Two mutants that give the same answers wherever either shows are one, however worded."""

from collections import Counter, defaultdict
from functools import cache
from itertools import combinations, product

import pytest

from opcheck.engine.mutants import Mutant, mutants_of
from opcheck.errors import InvalidNode
from opcheck.execution.mutate import CaseKills, cells, digest
from opcheck.model.result import Cell
from tests.asking import WHOLE, elements, whole_suites

pytestmark = [pytest.mark.gate, pytest.mark.reads_all_suites]

CELLS = cells(whole_suites(*WHOLE))
OPS = sorted({(cell.op.domain, cell.op.name) for cell in CELLS})
#: From this share of agreement on two mutants are one.
SAME = 0.99
#: Two that are not one, though an operator's suite has no case that tells them apart: of
#: DML_ACTIVATION_HARDMAX1 one row has -inf, and nothing in it lies below -10,000.
APART = {("infinities_clamped", "minus_infinity_taken_for_minus_1e4"): "DML_ACTIVATION_HARDMAX1"}
RIGHT = Mutant("none", "all was well", lambda node: node.right)
#: What a mutant answers to each case, by its id; where it is right, it is left out.
Answers = dict[str, object]
#: Its name, and the function that is wrong: two functions may be wrong in the same words.
Identity = tuple[str, str]


def identity(mutant: Mutant) -> Identity:
    return mutant.name, mutant.primitive


def cells_of(op: tuple[str, str]) -> list[Cell]:
    """The versions and types of an operator: the newest in float32 first, where most cases are."""
    mine = [cell for cell in CELLS if (cell.op.domain, cell.op.name) == op]
    return sorted(mine, key=lambda cell: (cell.dtype != "float32", -cell.op.since, cell.dtype))


@cache
def kills_of_cases(cell: Cell, large: bool) -> list[CaseKills]:
    """The cases of a cell of up to 3,000 elements, or the others."""
    return [CaseKills(case, cell.dtype) for case in CELLS[cell] if large == (elements(case) > 3000)]


def given(case_kills: CaseKills, mutant: Mutant) -> object:
    """All that is to be seen of an answer, right where the formula calls nothing that is wrong."""
    if not mutant.concerns(case_kills.evaluation.node):
        mutant = RIGHT
    answer = mutant.made_on(case_kills.evaluation.node)
    if isinstance(answer, InvalidNode):
        return InvalidNode
    return digest(answer) or repr(answer)


def wrong(cell: Cell, large: bool, among: set[Identity]) -> dict[Identity, Answers]:
    """The wrong answers of these mutants to the cases of a cell.

    What a third of a sample of all mutants answer is right but for its rounding, in another
    arithmetic than the engine's.
    """
    every = mutants_of(cell.op)
    sample = every[::9]
    chosen = [mutant for mutant in every if identity(mutant) in among]
    found: dict[Identity, Answers] = defaultdict(dict)
    for case_kills in kills_of_cases(cell, large):
        right = given(case_kills, RIGHT)
        answers = {mutant: given(case_kills, mutant) for mutant in {*sample, *chosen}}
        counted = Counter(answers[mutant] for mutant in sample)
        usual = {answer for answer, count in counted.items() if 3 * count > len(sample)}
        for mutant in chosen:
            if answers[mutant] not in {right, *usual}:
                found[identity(mutant)][case_kills.case.id] = answers[mutant]
    return found


def agreement(one: Answers, other: Answers) -> tuple[int, int]:
    """In how many cases both answer the same, and in how many either is wrong."""
    both = one.keys() & other.keys()
    return sum(one[case] == other[case] for case in both), len(one.keys() | other.keys())


@pytest.mark.seconds(10)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op[1])
def test_no_two_mutants_are_one(op):
    first, *others = cells_of(op)
    seen = wrong(first, False, set(map(identity, mutants_of(first.op))))
    pairs = combinations(sorted(seen), 2)
    counts = {pair: agreement(*(seen[one] for one in pair)) for pair in pairs}
    # The few that are alike there may differ on large tensors, and in other versions or types.
    for cell, large in product((first, *others), (False, True)):
        if large or cell is not first:
            found = wrong(cell, large, {one for pair in counts for one in pair})
            for pair, (same, either) in counts.items():
                also, more = agreement(*(found.get(one, {}) for one in pair))
                counts[pair] = same + also, either + more
        counts = {pair: (a, b) for pair, (a, b) in counts.items() if a >= SAME * b}
    twins = [
        f"{one} = {other}: {same} cases"
        for ((one, _), (other, _)), (same, _) in counts.items()
        if APART.get((one, other)) != op[1]
    ]
    assert twins == []
