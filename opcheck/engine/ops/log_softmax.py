"""LogSoftmax (1, 11, 13): the logarithms of the shares that Softmax gives."""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import by_rows, rows_apart
from opcheck.engine.operators import operator
from opcheck.engine.ops import softmax

OP = operator("LogSoftmax", parts=rows_apart)


@OP.formula(by=by_rows)
def of_shares(x, axis):
    """The text's own words. Of shares that vanish, -inf may come, of which one is warned."""
    return xp.log(softmax.plain(x, axis))


@OP.also_honest("", by=by_rows)
def in_blocks(x, axis):
    d, _, total = softmax.terms_in_blocks(x, axis)
    return d - xp.log(total)


# As the function body says, and faster with one subtraction.
OP.also_honest("", by=by_rows)(softmax.logarithms)
OP.also_honest(softmax.RAW, by=by_rows)(softmax.raw_logarithms)


def of_wrong(shares):
    """The logarithm of wrong shares, which float64 holds where the tensor's type does not."""
    return lambda x, axis: np.log(shares(x.astype(np.float64), axis)).astype(x.dtype)


OP.mutant_table({
    **{name: (text, of_wrong(shares)) for name, (text, shares) in softmax.MUTANTS.items()
       if name not in ("no_exponential", "logarithms", "one_hot", "clamped_not_shifted")},
    "nothing_subtracted": ("e^x was taken without subtracting the maximum",
        lambda x, axis: x - xp.log(xp.sum(xp.exp(x), axis=axis, keepdims=True))),
    "shares": ("Softmax was computed, without a logarithm", softmax.plain),
    "maximum_lost": ("the maximum was subtracted in the sum, and not from the elements",
        lambda x, axis: softmax.logarithms(x, axis) + xp.max(x, axis=axis, keepdims=True)),
    "base_10": ("the decimal logarithm was taken",
        lambda x, axis: softmax.logarithms(x, axis) * np.log10(np.e, dtype=x.dtype)),
}, by=by_rows)  # fmt: skip
