"""What came out against what had to come out.

`ulp` measures distances, `elements` judges values against a tolerance, `tensors` compares one
output with its expectation, which `outputs` makes, `where` puts the place of the wrong elements in
words, and `picture` draws all of them.
"""

from opcheck.compare.outputs import compare_outputs, too_wide
from opcheck.compare.tensors import Want, compare
