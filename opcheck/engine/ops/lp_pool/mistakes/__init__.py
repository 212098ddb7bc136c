"""What is wrongly read of LpPool, the most specific first."""

from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.lp_pool.mistakes import (
    auto_pad,
    beyond,
    ceil_mode,
    geometry,
    memory,
    padding,
    powers,
    precision,
    refusals,
)

MISTAKES: tuple[Mistake, ...] = (
    *ceil_mode.MISTAKES,
    *auto_pad.MISTAKES,
    *geometry.MISTAKES,
    *memory.MISTAKES,
    *padding.MISTAKES,
    *powers.MISTAKES,
    *precision.MISTAKES,
    *refusals.MISTAKES,
    *beyond.MISTAKES,
)

__all__ = ["MISTAKES"]
