"""DirectML's operators, as their reference pages declare them.

Types are spelt as ONNX spells them, so that everything downstream reads both families alike.
"""

from collections.abc import Sequence

from opcheck.model import OpVersion
from opcheck.opset.schema import Attribute, Parameter, Schema

DOMAIN = "com.microsoft.dml"

_FLOAT32_AND_FLOAT16 = frozenset({"tensor(float)", "tensor(float16)"})
#: The largest DimensionCount of a tensor descriptor.
MAX_RANK = 8

HARDMAX1 = Schema(
    # Feature level 5.1; DirectML has no opsets, so the one version there is counts as 1.
    op=OpVersion(DOMAIN, "DML_ACTIVATION_HARDMAX1", 1),
    attributes={"Axes": Attribute("Axes", "ints", required=True, default=None)},
    inputs=(Parameter("InputTensor", "T", _FLOAT32_AND_FLOAT16, "single"),),
    outputs=(Parameter("OutputTensor", "T", _FLOAT32_AND_FLOAT16, "single"),),
)

SCHEMAS = (HARDMAX1,)


def reduced_last(axes: Sequence[int], rank: int) -> list[int]:
    """All `rank` dimensions, `axes` last; kept and reduced ones each in increasing order."""
    return [*(axis for axis in range(rank) if axis not in axes), *sorted(axes)]


def invalid_axes(axes: Sequence[int], rank: int) -> str | None:
    """Return why `axes` and `rank` make no valid descriptor, or None if they do.

    "The values must be in the range [0, InputTensor.DimensionCount - 1]"; dimension counts
    1 to 8. Repeated or empty axes have no defined answer and are invalid by our ruling.
    """
    if not 1 <= rank <= MAX_RANK:
        return f"InputTensor has {rank} dimensions; allowed: 1 to {MAX_RANK}"
    if outside := [axis for axis in axes if not 0 <= axis < rank]:
        return f"Axes {list(axes)} holds {outside[0]}; allowed: 0 to {rank - 1}"
    if not axes:
        return "Axes is empty; allowed: 1 or more axes"
    if len(set(axes)) < len(axes):
        return f"Axes {list(axes)} repeats an axis; allowed: each axis once"
    return None
