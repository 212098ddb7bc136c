"""DirectML's operators that are one of ONNX under other names: its formulas, and its mutants.

`opcheck.opset.direct_ml` states which operator of ONNX each one is, how its members become
attributes and constant inputs, and what only DirectML forbids. Here its tensors become those of
ONNX's formula, and the result one of DirectML. Where the two pages define different things, this
declines, or the page of DirectML decides what ONNX's text leaves open. What looks up an operator of
ONNX raises WrongOperator if the file that declares it is wrong.

The parts of the file: what the pages do not define; the tensors of ONNX's operator; the formulas;
the operators.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.node import Node, attributes_for
from opcheck.engine.operators import (
    DECIDED,
    Formula,
    Operator,
    find,
    operator,
    raise_unspecified,
    signature_of,
)
from opcheck.engine.ops.lp_pool import ODD_POWERS_ARE_OPEN
from opcheck.engine.ops.pools import COUNTED_WINDOW, DROPPED_WINDOW, ENDS, INDEX_OF_TIES, TIES
from opcheck.engine.ops.quantization import LONG_ZERO
from opcheck.engine.readings import deciding
from opcheck.engine.rulings import has_nan
from opcheck.engine.undefined import marking, reshaped, undefined_where
from opcheck.numbers import Array
from opcheck.numbers.faulty import seen
from opcheck.opset import DML
from opcheck.opset.direct_ml import LOWERED, Lowered

#: Members of an operator, by name.
Members: TypeAlias = Mapping[str, Any]
#: Sizes that ONNX's operator has in place of DirectML's: by input, and of the output, -1.
Sizes: TypeAlias = Mapping[int, Sequence[int]]

#: ONNX's names of operators whose pages say nothing of NaN; see also Clip.
UNDEFINED_OF_NAN = frozenset({"Elu", "Max", "Min", "Relu", "Sign"})
#: Rulings of ONNX's operators that the pages of pools decide, by the first reading of each.
DECIDED_RULINGS = (COUNTED_WINDOW, DROPPED_WINDOW, INDEX_OF_TIES)
#: Reasons to decline ONNX's operators that the pages of pools, and of quantized numbers, decide.
DECIDED_REASONS = (ENDS, TIES, LONG_ZERO)


# ── what the pages do not define ──────────────────────────────────────────────────────────────


def check_scale(lowered: Lowered, inputs: Sequence[Array]) -> None:
    """Raise NotSupported for a scale of 0 of DequantizeLinear; inputs: those of DirectML.

    lowered: the operator of ONNX that DirectML's is; all other operators pass.
    """
    if lowered.name == "DequantizeLinear" and not seen(inputs[1]).all():
        raise_unspecified("a scale of 0")


def with_undefined_elements(lowered: Lowered, tensors: Sequence[Array], result: Any) -> Any:
    """Return the result of ONNX's operator, of which some elements may be anything.

    Those are of NaN in a tensor of Elu, Max, Min, Relu or Sign, and 0 to the power of 0, of which
    the operator's page says nothing. lowered: the operator of ONNX that DirectML's is; tensors:
    those of ONNX's operator, which broadcast. Raises NotSupported, while judging, if there are no
    others, and in graphs.
    """
    if lowered.name in UNDEFINED_OF_NAN and has_nan(*tensors):
        are_nan = [seen(x) != seen(x) for x in tensors]
        return undefined_where(result, reduce(np.logical_or, are_nan), "NaN")
    if lowered.name == "Pow":
        base, exponent = map(seen, tensors)
        return undefined_where(result, (base == 0) & (exponent == 0), "0 to the power of 0")
    return result


# ── the tensors of ONNX's operator ────────────────────────────────────────────────────────────


def tensors_of_onnx(
    lowered: Lowered, inputs: Sequence[Array], members: Members, sizes: Sizes
) -> list[Array]:
    """Return the inputs of ONNX's operator: those of DirectML's, then those that are members there.

    lowered: that operator of ONNX; `sizes`: the shapes of inputs that ONNX has otherwise. Raises
    NotSupported where the page does not define the result: indices out of range, and a scale of 0.
    Raises it too for members that no number of the tensor's type can be, and a minimum above the
    maximum.
    """
    check_scale(lowered, inputs)
    tensors = [xp.reshape(x, sizes[n]) if n in sizes else x for n, x in enumerate(inputs)]
    if members.get("Mode") == "CONVOLUTION":
        tensors[1] = mirrored(tensors[1])
    tensors += map(xp.lifted, lowered.constants(inputs, members).values())
    rounding = members.get("RoundingMode", "")
    if rounding.startswith("TOWARD"):
        tensors[0] = rounded_toward(rounding, tensors[0])
    if lowered.fits == "indices":
        tensors[1] = whole_indices(tensors[1], inputs[0].shape[members["Axis"]])
    return tensors


def mirrored(filters: Array) -> Array:
    """Return the filters of a convolution as those of a cross-correlation, which ONNX's Conv is.

    filters: [M, C, *kernel], of which each axis of the kernel is flipped.
    """
    spatial_axes = range(2, filters.ndim)
    return xp.flip(filters, axis=tuple(spatial_axes))


def rounded_toward(rounding: str, x: Array) -> Array:
    """Return `x` in whole numbers, which ONNX's Round then leaves as they are.

    Infinity and NaN stay. TOWARD_ZERO leaves out the fraction; TOWARD_INFINITY rounds to nearest,
    and halves away from 0.
    """
    cut = xp.trunc(x)
    # A comparison with NaN is false, and the truncation of NaN is NaN.
    is_away = rounding == "TOWARD_INFINITY" and xp.greater_equal(xp.abs(x - cut), 0.5)
    return xp.where(is_away, cut + xp.sign(x), cut)


def whole_indices(indices: Array, length: int) -> Array:
    """Return indices as int64; those below 0 are left as they are.

    Raises NotSupported for those outside of [-length, length-1] on an axis of `length`.
    """
    is_outside = (indices >= length) | (indices < 0) & (indices + length < 0)
    if is_outside.any():
        raise_unspecified("what an index out of range reads")
    return indices.astype(np.int64)


# ── the formulas ──────────────────────────────────────────────────────────────────────────────


def renamed(lowered: Lowered, formulas: Mapping[str, Formula]) -> Formula:
    """Return a formula with DirectML's tensors and members, from ONNX's formulas by operator.

    A member may decide which operator of ONNX is meant. The formula raises InvalidNode for sizes,
    types and members that the page forbids; NotSupported for what it does not define; and what
    ONNX's formula raises.
    """

    def formula(*inputs: Array, outputs: int = 1, **members: Any) -> Any:
        """Return the output, or several, of DirectML's tensors and members.

        Raises InvalidNode for what the page forbids, NotSupported for what it does not define, and
        what ONNX's formula raises.
        """
        chosen = lowered.chosen(members)
        stated, sizes = chosen.checked(inputs, members)
        tensors = tensors_of_onnx(chosen, inputs, members, sizes)
        function = formulas[chosen.name]
        node = Node(chosen.onnx.op, (), stated, [outputs - 1])
        attributes = attributes_for(function, chosen.onnx, node)
        with (
            deciding(*DECIDED_RULINGS),
            xp.setting(DECIDED, DECIDED_REASONS),
            xp.setting(ODD_POWERS_ARE_OPEN, True),
        ):
            if chosen.fits == "matrices" and inputs[0].ndim > 2:
                with marking(allowed=False):
                    return of_each_matrix(function, inputs, attributes)
            result = function(*tensors, **attributes)
        result = with_undefined_elements(chosen, tensors, result)
        return reshaped(result, tuple(sizes[-1])) if -1 in sizes else result

    schema = lowered.schema
    keywords = [*schema.attributes]
    if len(schema.outputs) > 1:
        keywords.append("outputs")
    formula.__signature__ = signature_of(schema, keywords)  # type: ignore[attr-defined]
    return formula


def of_each_matrix(
    function: Formula, inputs: Sequence[Array | None], attributes: Mapping[str, Any]
) -> Array:
    """Return what a function of matrices gives for each of stacks of them.

    inputs: [..., rows, columns], all with the leading axes of the first, none of which is of length
    0; one after the first may be None, which the function is then given. attributes: keywords of
    the function. Raises what the function raises.
    """
    stack = inputs[0].shape[:-2]  # type: ignore[union-attr]
    results = [
        function(*(x if x is None else x[place] for x in inputs), **attributes)
        for place in np.ndindex(*stack)
    ]
    return xp.reshape(xp.stack(results), (*stack, *results[0].shape))


# ── the operators ─────────────────────────────────────────────────────────────────────────────


def declare(name: str, lowered: Lowered) -> None:
    """Declare an operator of DirectML, with the alternatives and mutants of ONNX's operators.

    It is registered under its name. Only what concerns the versions that `lowered` means is taken;
    of mutants of one name, the first part's. Raises KeyError if the engine lacks one of ONNX's
    operators or its version, WrongOperator if DirectML has no operator of this name.
    """
    versions = {each.name: each.onnx.op.since for each in (*lowered.picks.values(), lowered)}
    operators = {onnx_name: operator_of_onnx(onnx_name) for onnx_name in versions}
    last = [*operators.values()][-1]
    is_exact = all(known.exact for known in operators.values())
    op = operator(name, DML, module=__name__, exact=is_exact, low=last.low, high=last.high)
    formulas = {
        onnx_name: known.formulas[versions[onnx_name]] for onnx_name, known in operators.items()
    }
    op.formula(1)(renamed(lowered, formulas))
    for onnx_name, known in operators.items():
        since = versions[onnx_name]
        for alternative in known.alternatives:
            if alternative.since == since:
                function = renamed(lowered, {**formulas, onnx_name: alternative.function})
                op.alternatives.append(alternative._replace(function=function, since=1))
        # Conv and ConvTranspose have mutants of one name: that of the first part stands for both.
        declared = {mutant.name for mutant in op.mutants}
        for mutant in known.mutants:
            if mutant.since == since and mutant.name not in declared:
                function = renamed(lowered, {**formulas, onnx_name: mutant.function})
                op.mutants.append(mutant._replace(function=function, since=1))
        fast_path = known.native.get(since)
        if fast_path is not None:
            op.fast_path(1)(renamed(lowered, {**formulas, onnx_name: fast_path}))


def operator_of_onnx(name: str) -> Operator:
    """Return the operator of ONNX of this name.

    Raises KeyError if the engine has none.
    """
    known = find("", name)
    if known is None:
        raise KeyError(name)
    return known


for _name, _lowered in LOWERED.items():
    declare(_name, _lowered)
