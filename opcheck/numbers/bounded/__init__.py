"""Bounded numbers: values, and how far a sound implementation may lie from them.

The rules, with u the unit roundoff of the arithmetic:

- +, −, × and √ propagate the errors of their operands and round once; ÷ rounds twice, for a
  reciprocal and a product.
- A library function gives its interval's image, and errs by k ULP (`arithmetic.LIBRARY`).
- Sums and contractions may be computed in any order, fused or not (`reductions`).
- Movement carries values and bounds along; minimum and maximum take those of all candidates.
- Comparisons know where they are not sure, selections then admit both sides (`choice`).
- The last rounding is kept apart from the error before it, so that an output is rounded to its own
  type once and not twice.
"""

from opcheck.numbers import NAMES
from opcheck.numbers.bounded import choice, elementwise, reductions
from opcheck.numbers.bounded.array import VALUES, Bounded, Common, bounded, is_finite, size_of
from opcheck.numbers.bounded.choice import Indices, Truth

_MODULES = (choice, elementwise, reductions)
globals().update({n: getattr(m, n) for m in _MODULES for n in NAMES if hasattr(m, n)})
