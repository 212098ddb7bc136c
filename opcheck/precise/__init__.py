"""The second oracle: operators computed once more, correctly rounded, by code of its own.

It shares none with the engine, so that what both agree on rests on two derivations from the same
text. Every value is the exact real one, rounded once. Two methods reach it; which of them, the
operator's file decides by the input's shape and the attributes alone:

- `mpmath`, for small tensors: each element at a precision that is raised until only one number of
  the dtype can be nearest. Where an exact value may be a tie, that is decided in integers.
- double-double (`double_double/`), for large ones: about 100 bits, from IEEE 754's + − × ÷ and √
  on whole arrays, with a proven bound. An element that lies nearer to a midpoint than the bound is
  left to the first method.

Where the text is silent, nothing is chosen: `Undecided` says what it leaves open.
"""

from opcheck.precise.answer import DISTANCE_STEP, Precise, Undecided, UnsoundArithmetic
from opcheck.precise.evaluate import evaluate

__all__ = ["DISTANCE_STEP", "Precise", "Undecided", "UnsoundArithmetic", "evaluate"]
