"""DirectML's operators that are one of ONNX under other names: its formulas, and its mutants."""

from typing import Any

from opcheck.engine.node import Node, attributes_for
from opcheck.engine.operators import decided, find, is_open, operator, signature_of
from opcheck.numbers.faulty import seen
from opcheck.opset import DML
from opcheck.opset.direct_ml import LOWERED

#: What a page leaves open and ONNX's text does not, by the member that it is about.
OPEN = {"P": lambda p, x: is_open(
    "it is not said whether odd powers keep the signs", p % 2 and (seen(x) < 0).any())}  # fmt: skip


def renamed(one, function):
    """A formula of ONNX's with DirectML's tensors and members."""

    def formula(*inputs, outputs=1, **attrs):
        stated = one.checked([x.shape for x in inputs], attrs)
        for name in OPEN.keys() & attrs.keys():
            OPEN[name](attrs[name], *inputs)
        node = Node(one.onnx.op, (), stated, [outputs - 1])
        with decided(one.decided):
            return function(*inputs, **attributes_for(function, one.onnx, node))

    names = [*one.schema.attributes, *["outputs"][: len(one.schema.outputs) - 1]]
    formula.__signature__ = signature_of(one.schema, names)  # type: ignore[attr-defined]
    return formula


def lowered(name, one):
    """An operator with all that is said of ONNX's."""
    known: Any = find("", one.name)

    def ours(every: Any) -> Any:
        return [x._replace(function=renamed(one, x.function), since=1)
                for x in every if x.since == one.onnx.op.since]  # fmt: skip

    made = operator(name, DML, exact=known.exact, low=known.low, high=known.high)
    made.sound, made.mutants = ours(known.sound), ours(known.mutants)
    for declare, by_version in ((made.formula, known.formulas), (made.natively, known.native)):
        if function := by_version.get(one.onnx.op.since):
            declare(1)(renamed(one, function))


for _name, _one in LOWERED.items():
    lowered(_name, _one)
