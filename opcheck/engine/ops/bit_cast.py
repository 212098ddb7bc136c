"""BitCast: the bits of a tensor as another type of the same width."""

from opcheck import dtypes
from opcheck.engine.operators import operator
from opcheck.errors import NotSupported, reject
from opcheck.grouping import not_none
from opcheck.numbers import Tensor
from opcheck.numbers.faulty import bare

OP = operator("BitCast", exact=True)


@OP.formula(26)
def bit_cast(input: Tensor, *, to: int) -> Tensor:
    """Return the bits of `input` in the type `to`, an ONNX code, in the same shape.

    It may be a view of the input, or the input itself if it has that type. Raises InvalidNode for a
    type of another width, NotSupported from or to booleans and texts.
    """
    dtype = not_none(dtypes.named(to))
    own = not_none(dtypes.of(bare(input)))
    if dtype == own:
        return input
    if not (dtype.bits and own.bits):
        raise NotSupported(f"unsupported by opcheck: the bits of {own} as {dtype}")
    reject(dtype.bits != own.bits, f"{own} as {dtype}, which has another width")
    # In a byte of NumPy's, narrower types have the lowest bits.
    viewed: Tensor = bare(input).view(dtype.numpy)
    return viewed
