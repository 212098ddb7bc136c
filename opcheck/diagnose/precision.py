"""Whether a wrong answer would be right in a narrower type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opcheck.compare import Want, compare_outputs
from opcheck.diagnose.evidence import Evidence
from opcheck.dtypes import DTYPES, DType, of
from opcheck.engine import Exact, exactly, operator_of
from opcheck.errors import InvalidNode
from opcheck.model import Array, Diagnosis

#: The types that something may have gone through, the widest first.
_NARROWER = tuple(DTYPES[name] for name in ("float32", "float16", "bfloat16"))


def narrower(evidence: Evidence) -> Diagnosis | None:
    """The widest of the narrower types that the operator allows in which the answer is right.

    Input and output are rounded to it, and judged by the operator's bound for that type.
    """
    op, inputs = evidence.node.op, evidence.node.inputs
    operator = operator_of(op)
    own = of(inputs[0]) if inputs else None
    got = [array for array in evidence.got or () if isinstance(array, np.ndarray) and of(array)]
    whole = bool(evidence.admitted and got) and len(got) == len(evidence.got or ())
    if operator is None or own is None or not whole:
        return None
    if own.kind != "float" or any(array.dtype != inputs[0].dtype for array in got):
        return None
    for dtype in _NARROWER:
        allowed = dtype.name in operator.kernels[op.since].dtypes
        if dtype.precision < own.precision and allowed and _is_right(evidence, got, dtype):
            text = f"as if it was computed in {dtype}, by whose measure it is right"
            return Diagnosis(f"computed_in_{dtype}", text)
    return None


def _is_right(evidence: Evidence, got: Sequence[Array], dtype: DType) -> bool:
    node = evidence.node
    with np.errstate(all="ignore"):
        inputs = [array.astype(dtype.numpy) for array in node.inputs]
        outputs = [array.astype(dtype.numpy) for array in got]
    try:
        answers = exactly(node.op, inputs, node.attrs)
    except InvalidNode:
        return False
    wants = [
        Want("", answer.dtype, answer.values, bound=answer.bound, rest=answer.rest)
        if isinstance(answer, Exact)
        else Want("", dtype, answer)
        for answer in answers
    ]
    compared = compare_outputs(wants, outputs)
    return all(one.problem is None or one.tier == "range" for one in compared)
