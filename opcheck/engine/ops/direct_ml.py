"""DirectML's operators that are one of ONNX under other names: its formulas, and its mutants."""

from typing import Any

from opcheck.engine.node import Node, attributes_for
from opcheck.engine.operators import DECIDED, find, is_open, operator, signature_of
from opcheck.engine.ops.pools import ENDS, TIES
from opcheck.numbers import setting
from opcheck.numbers.faulty import seen
from opcheck.opset import DML
from opcheck.opset.direct_ml import LOWERED


def renamed(one, function):
    """A formula of ONNX's with DirectML's tensors and members."""

    def formula(*inputs, outputs=1, **attrs):
        stated = one.checked([x.shape for x in inputs], attrs)
        odd = attrs.get("P", 0) % 2
        is_open("whether odd powers keep the signs", odd and (seen(inputs[0]) < 0).any())
        node = Node(one.onnx.op, (), stated, [outputs - 1])
        # The pages of pools decide both.
        with setting(DECIDED, (ENDS, TIES)):
            return function(*inputs, **attributes_for(function, one.onnx, node))

    names = [*one.schema.attributes, *["outputs"][: len(one.schema.outputs) - 1]]
    formula.__signature__ = signature_of(one.schema, names)  # type: ignore[attr-defined]
    return formula


for _name, _one in LOWERED.items():
    _known: Any = find("", _one.name)
    _made = operator(_name, DML, exact=_known.exact, low=_known.low, high=_known.high)
    _lists: Any = ((_made.sound, _known.sound), (_made.mutants, _known.mutants))
    for _kept, _all in _lists:
        _kept += [x._replace(function=renamed(_one, x.function), since=1)
                  for x in _all if x.since == _one.onnx.op.since]  # fmt: skip
    for _declare, _by in ((_made.formula, _known.formulas), (_made.natively, _known.native)):
        if _function := _by.get(_one.onnx.op.since):
            _declare(1)(renamed(_one, _function))
