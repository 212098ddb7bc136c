"""What can go wrong with any operator, whatever it computes: mistakes made of the right answer."""

from opcheck.engine.generic import places, refusals, sizes, values
from opcheck.engine.generic.attributes import of_attributes
from opcheck.engine.mistakes import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *places.MISTAKES,
    *values.MISTAKES,
    *refusals.MISTAKES,
    *sizes.MISTAKES,
)

__all__ = ["MISTAKES", "of_attributes"]
