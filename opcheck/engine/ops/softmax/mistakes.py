"""What is wrongly read of Softmax, the most specific first."""

from __future__ import annotations

from opcheck.engine.axis_mistakes import QUESTIONS
from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.softmax.wrong_exp import EXPONENTIALS
from opcheck.engine.ops.softmax.wrong_infinity import INFINITIES
from opcheck.engine.ops.softmax.wrong_rows import HIGH_RANKS, ROWS
from opcheck.engine.ops.softmax.wrong_shares import SHARES
from opcheck.engine.ops.softmax.wrong_shift import SHIFTS
from opcheck.engine.ops.softmax.wrong_sum import SUMS
from opcheck.engine.ops.softmax.wrong_types import TYPES

MISTAKES: tuple[Mistake, ...] = (
    *INFINITIES,
    *TYPES,
    *QUESTIONS,
    *ROWS,
    *HIGH_RANKS,
    *SHIFTS,
    *EXPONENTIALS,
    *SUMS,
    *SHARES,
)
