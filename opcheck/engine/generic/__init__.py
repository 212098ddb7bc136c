"""What can go wrong with any operator, whatever it computes: mistakes made of the right answer."""

from opcheck.engine.generic import attributes, places, refusals, values
from opcheck.engine.generic.attributes import of_attributes
from opcheck.engine.mistakes import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *places.MISTAKES,
    *values.MISTAKES,
    *refusals.MISTAKES,
    *attributes.MISTAKES,
)

__all__ = ["MISTAKES", "of_attributes"]
