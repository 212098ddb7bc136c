"""Comparison of outputs with expected outputs.

`ulp` measures distances, `elements` judges values against a tolerance, `outputs` compares outputs
with what they must be, `where` puts the place of the wrong elements in words, and draws all of
them.
"""

from opcheck.compare.elements import Want
from opcheck.compare.outputs import are_plainly_right, compare, compare_outputs, too_wide
