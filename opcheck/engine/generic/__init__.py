"""What can go wrong with any operator, whatever it computes: mistakes made of the right answer."""

from opcheck.engine.generic import places, refusals, values
from opcheck.engine.mistakes import Mistake

MISTAKES: tuple[Mistake, ...] = (*places.MISTAKES, *values.MISTAKES, *refusals.MISTAKES)

__all__ = ["MISTAKES"]
