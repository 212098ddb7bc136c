"""Comparison of outputs with expected ones: `elements` by tolerance, `bounded` by error bound."""

from opcheck.compare.elements import Want
from opcheck.compare.outputs import are_plainly_right, compare, compare_outputs, too_wide
