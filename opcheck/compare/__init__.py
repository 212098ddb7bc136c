"""Comparison of outputs with expected outputs: `elements` by tolerance, `bounded` by error bound.

`outputs` compares a node's outputs and locates wrong elements, `verdict` judges outcomes.
"""

from opcheck.compare.elements import Want
from opcheck.compare.outputs import are_plainly_right, compare, compare_outputs, too_wide
