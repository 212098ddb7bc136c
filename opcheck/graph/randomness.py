"""Which outputs of a model are drawn at random, so that nobody can say what they must be.

A seed settles nothing: which generator it starts is not specified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import AttributeProto, ModelProto, NodeProto

_RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
#: Where Dropout's third input, and where its attribute `is_test`, tells whether it drops anything.
_TRAINING_INPUT = 2


def random_outputs(model: ModelProto) -> frozenset[str]:
    """The outputs of `model` that depend on what is drawn at random."""
    functions = {
        (function.domain, function.name)
        for function in model.functions
        if any(map(_draws, function.node))
    }
    found: set[str] = set()
    for node in model.graph.node:
        drawn = _draws(node) or (node.domain, node.op_type) in functions
        if drawn or not found.isdisjoint(_read(node)):
            found.update(node.output)
    return frozenset(output.name for output in model.graph.output if output.name in found)


def _draws(node: NodeProto) -> bool:
    if node.domain in ("", "ai.onnx"):
        if node.op_type in _RANDOM:
            return True
        if node.op_type == "Dropout":
            return bool(node.input[_TRAINING_INPUT:] and node.input[_TRAINING_INPUT])
    return any(_draws(inner) for inner in _inner(node))


def _read(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, and those that its graphs read of the graph around it."""
    yield from node.input
    for inner in _inner(node):
        yield from _read(inner)


def _inner(node: NodeProto) -> Iterable[NodeProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from attribute.g.node
        elif attribute.type == AttributeProto.GRAPHS:
            for graph in attribute.graphs:
                yield from graph.node
