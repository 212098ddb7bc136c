"""DirectML's operators that are one of ONNX under other names: its formulas, and its mutants."""

from typing import Any

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.node import Node, attributes_for
from opcheck.engine.operators import (
    DECIDED,
    find,
    leave_open,
    operator,
    raise_unspecified,
    signature_of,
)
from opcheck.engine.ops.pools import COUNTED_WINDOW, DROPPED_WINDOW, ENDS, INDEX_OF_TIES, TIES
from opcheck.engine.ops.quantization import LONG_ZERO
from opcheck.engine.readings import deciding
from opcheck.numbers.faulty import seen
from opcheck.opset import DML
from opcheck.opset.direct_ml import LOWERED

#: ONNX's names of operators whose pages say nothing of NaN; see also Clip.
_NO_NAN = {"Elu", "Max", "Min", "Relu", "Sign"}


def renamed(one, functions):
    """A formula with DirectML's tensors and members, from ONNX's, by the names of its operators."""

    def formula(*inputs, outputs=1, **attrs):
        part = one.chosen(attrs)
        function, (stated, sizes) = functions[part.name], part.checked(inputs, attrs)
        odd = attrs.get("P", 0) % 2
        if odd and (seen(inputs[0]) < 0).any():
            leave_open("whether odd powers keep the signs")
        given: list[Any] = [
            xp.reshape(x, sizes[n]) if n in sizes else x for n, x in enumerate(inputs)
        ]
        if attrs.get("Mode") == "CONVOLUTION":
            given[1] = xp.flip(given[1], axis=tuple(range(2, given[1].ndim)))
        if part.name == "DequantizeLinear" and not seen(given[1]).all():
            raise_unspecified("a scale of 0")
        if part.name in _NO_NAN and any((seen(x) != seen(x)).any() for x in given):
            raise_unspecified("NaN")
        given += map(xp.lifted, part.constants(inputs, attrs).values())
        if part.name == "Pow" and ((seen(given[0]) == 0) & (seen(given[1]) == 0)).any():
            raise_unspecified("0 to the power of 0")
        if (mode := attrs.get("RoundingMode", "")).startswith("TOWARD"):
            x, cut = given[0], xp.trunc(given[0])  # of which Round makes nothing else
            up = mode == "TOWARD_INFINITY" and xp.greater_equal(xp.abs(x - cut), 0.5)
            given[0] = xp.where(up, cut + xp.sign(x), cut)
        if part.fits == "indices":
            length = inputs[0].shape[attrs["Axis"]]
            outside = (given[1] >= length) | (given[1] < 0) & (given[1] + length < 0)
            if outside.any():
                raise_unspecified("what an index out of range reads")
            given[1] = given[1].astype(np.int64)
        named = attributes_for(function, part.onnx, Node(part.onnx.op, (), stated, [outputs - 1]))
        # The pages of pools, and of quantized numbers, decide what ONNX's text does not.
        decided = deciding(COUNTED_WINDOW, DROPPED_WINDOW, INDEX_OF_TIES)
        with decided, xp.setting(DECIDED, (ENDS, TIES, LONG_ZERO)):
            stack = inputs[0].shape[:-2] if part.fits == "matrices" else ()
            if not stack:
                found = function(*given, **named)
                return xp.reshape(found, sizes[-1]) if -1 in sizes else found
            made = [
                function(*(x if x is None else x[place] for x in inputs), **named)
                for place in np.ndindex(*stack)
            ]
            return xp.reshape(xp.stack(made), (*stack, *made[0].shape))

    names = [*one.schema.attributes, *["outputs"][: len(one.schema.outputs) - 1]]
    formula.__signature__ = signature_of(one.schema, names)  # type: ignore[attr-defined]
    return formula


for _name, _one in LOWERED.items():
    _parts: Any = {
        part.name: (find("", part.name), part.onnx.op.since)
        for part in (*_one.picks.values(), _one)
    }
    _all = [known for known, _ in _parts.values()]
    _made = operator(
        _name, DML, exact=all(known.exact for known in _all), low=_all[-1].low, high=_all[-1].high
    )
    _formulas = {name: known.formulas[since] for name, (known, since) in _parts.items()}
    _made.formula(1)(renamed(_one, _formulas))
    for _part, (_known, _since) in _parts.items():
        _lists: Any = ((_made.alternatives, _known.alternatives), (_made.mutants, _known.mutants))
        for _kept, _every in _lists:
            _kept += [
                x._replace(function=renamed(_one, _formulas | {_part: x.function}), since=1)
                for x in _every
                if x.since == _since
            ]
        if _function := _known.native.get(_since):
            _made.fast_path(1)(renamed(_one, _formulas | {_part: _function}))
