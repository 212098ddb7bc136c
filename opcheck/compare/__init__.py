"""Comparison of outputs with expected outputs, which `outputs` begins and `verdict` ends.

`elements` judges values against a tolerance, `bounded` against an error bound; `where` puts the
place of the wrong elements in words, and draws all of them.
"""

from opcheck.compare.elements import Want
from opcheck.compare.outputs import are_plainly_right, compare, compare_outputs, too_wide
