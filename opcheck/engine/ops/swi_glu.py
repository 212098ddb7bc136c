"""SwiGLU: a gated product of two tensors."""

from opcheck import numbers as xp
from opcheck.engine.operators import family
from opcheck.engine.ops.activations import sigmoid
from opcheck.engine.rulings import with_limit
from opcheck.errors import reject
from opcheck.numbers import Tensor

NAMES = """SwiGLU"""


def swi_glu(A: Tensor, B: Tensor, *, alpha: float) -> Tensor:
    """Return Swish(A) * B: A * sigmoid(alpha * A) * B, of two tensors of one shape.

    Where A is infinite and the formula makes NaN, Swish is NaN or its limit 0: LIMIT_AT_INFINITY.
    Raises InvalidNode if the shapes differ; they do not broadcast.
    """
    reject(A.shape != B.shape, f"shapes {list(A.shape)} and {list(B.shape)}; allowed: equal ones")
    swish = with_limit(A, A * sigmoid(alpha * A), xp.zeros_like(A))
    return swish * B


family({"SwiGLU": swi_glu})
