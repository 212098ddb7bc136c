"""Right answers of tensors that no memory holds twice, at any of their positions.

A position is the row-major number of an element, an int64. Each operator states which positions of
its inputs an element of the output is made of. What an element is computed to is the formula's
answer to these alone, so that a test can compare both on small tensors.

A node's shape raises InvalidNode where the node breaks its text, and NotSupported where it is
legal and no rule here states its answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.engine.axes import elements_at, from_either_end, slices
from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode, NotSupported, decline, reject
from opcheck.model import Array, Attrs, OpVersion

Shape: TypeAlias = tuple[int, ...]
Positions: TypeAlias = NDArray[np.int64]
#: Elements that a reduction reads at a time.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Operand:
    """An input: its shape, and a function that returns its values at positions."""

    shape: Shape
    at: Callable[[Positions], Array]

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def whole(self) -> Array:
        """Return all values; only for small inputs, such as indices."""
        return self.at(np.arange(self.size)).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class HugeNode:
    """A node whose tensors are known by position; its only output is not held either."""

    op: OpVersion
    attrs: Attrs
    inputs: tuple[Operand | None, ...]

    @property
    def data(self) -> Operand:
        """The first input."""
        return self.operand(0)

    def operand(self, place: int) -> Operand:
        """Return an input; raises InvalidNode for one that is left out."""
        operand = self.inputs[place] if place < len(self.inputs) else None
        if operand is None:
            raise InvalidNode(f"{self.op} has no input {place}")
        return operand

    def optional(self, place: int) -> Array | None:
        """Return all of a small input, None if it is left out."""
        is_there = place < len(self.inputs) and self.inputs[place] is not None
        return self.operand(place).whole() if is_there else None

    def axis(self, default: int = 0) -> int:
        """Return the attribute `axis`, counted from the front."""
        stated: Any = self.attrs.get("axis", default)
        return from_either_end(stated, len(self.data.shape))

    @cached_property
    def shape(self) -> Shape:
        """The output's shape; raises InvalidNode, or NotSupported for a node without a rule."""
        return self._rule.shape(self)

    def at(self, positions: Positions) -> Array:
        """Return the output's values at these positions."""
        return self._rule.values(self, positions)

    @cached_property
    def _rule(self) -> "Rule":
        """The operator's rule; raises NotSupported without one, and for more than it takes."""
        rule = RULES.get(self.op.name) if not self.op.domain else None
        if rule is None:
            raise NotSupported(f"level huge has no {self.op}; it has {', '.join(sorted(RULES))}")
        unknown = sorted(self.attrs.keys() - {*rule.attributes})
        if unknown or len(self.inputs) > rule.most_inputs:
            what = f"attribute {unknown[0]}" if unknown else f"input {rule.most_inputs}"
            raise NotSupported(f"level huge has {self.op} without {what}")
        return rule


@dataclass(frozen=True)
class Rule:
    """An operator: the shape of its output, and the output's values at positions."""

    shape: Callable[[HugeNode], Shape]
    values: Callable[[HugeNode, Positions], Array]
    #: The attributes that a node may state.
    attributes: tuple[str, ...] = ()
    most_inputs: int = 4


def coordinates(positions: Positions, shape: Shape) -> list[Positions]:
    """Return the index along each axis of elements at `positions` of a tensor of this shape."""
    return [*np.unravel_index(positions, shape)] if shape else []


def positions_of(index: Sequence[Any], shape: Shape) -> Positions:
    """Return the positions of elements by their index along each axis."""
    positions: Any = np.zeros((), np.int64)
    for along_axis, size in zip(index, shape, strict=True):
        positions = positions * size + along_axis
    return np.asarray(positions, np.int64)


# Elements by themselves.


def _broadcast(node: HugeNode) -> Shape:
    return np.broadcast_shapes(*(operand.shape for operand in node.inputs if operand))


def _elementwise(node: HugeNode, positions: Positions) -> Array:
    """Return what the formula makes of the operands' elements, which stand in a row."""
    shape = node.shape
    operands: list[Array | None] = []
    for operand in node.inputs:
        if operand is None:
            operands.append(None)
        elif operand.shape == shape:
            operands.append(operand.at(positions))
        else:
            own = coordinates(positions, shape)[len(shape) - len(operand.shape) :]
            index = [where * (n > 1) for where, n in zip(own, operand.shape, strict=True)]
            places = np.broadcast_to(positions_of(index, operand.shape), positions.shape)
            operands.append(operand.at(places))
    (output,) = evaluate(Node(node.op, tuple(operands), node.attrs))
    return output


# Elements that are moved.


def _moved(
    source: Callable[[HugeNode, list[Positions]], Sequence[Any]],
) -> Callable[[HugeNode, Positions], Array]:
    """Return the values of an operator by the index in its data of each index in its output."""

    def values(node: HugeNode, positions: Positions) -> Array:
        index = source(node, coordinates(positions, node.shape))
        return node.data.at(positions_of(index, node.data.shape))

    return values


def _same_order(node: HugeNode, positions: Positions) -> Array:
    return node.data.at(positions)


def _reshape_shape(node: HugeNode) -> Shape:
    """Return the stated sizes, where 0 copies a size and one -1 is inferred.

    Raises InvalidNode for a size below -1, a second -1, a 0 where the data have no such axis, and
    another number of elements; NotSupported for a -1 next to an empty axis.
    """
    shape = node.data.shape
    stated = [int(n) for n in node.operand(1).whole()]
    is_list = all(n >= -1 for n in stated) and stated.count(-1) <= 1
    reject(not is_list, f"shape {stated}; allowed: sizes, and -1 once")
    reject(0 in stated[len(shape) :], f"shape {stated} copies a size beyond {list(shape)}")
    sizes = [shape[axis] if n == 0 else n for axis, n in enumerate(stated)]
    if -1 in sizes:
        known = prod(n for n in sizes if n != -1)
        decline(not known, "any length would do beside nothing")
        sizes[sizes.index(-1)] = node.data.size // known
    reject(prod(sizes) != node.data.size, f"{list(shape)} cannot become {stated}")
    return tuple(sizes)


def _permutation(node: HugeNode) -> Sequence[int]:
    stated: Any = node.attrs.get("perm", [*range(len(node.data.shape))][::-1])
    return tuple(stated)


def _transpose_shape(node: HugeNode) -> Shape:
    return tuple(node.data.shape[axis] for axis in _permutation(node))


def _transposed(node: HugeNode, index: list[Positions]) -> Sequence[Any]:
    perm = _permutation(node)
    return [index[perm.index(axis)] for axis in range(len(perm))]


def _sliced_axes(node: HugeNode) -> list[range]:
    """Return the indices that a Slice takes along each axis."""
    shape = node.data.shape
    starts = node.operand(1).whole().tolist()
    ends = node.operand(2).whole().tolist()
    axes = node.optional(3)
    steps = node.optional(4)
    of_axes = [*range(len(starts))] if axes is None else axes.tolist()
    of_steps = [1] * len(starts) if steps is None else steps.tolist()
    taken = [range(size) for size in shape]
    for axis, start, end, step in zip(of_axes, starts, ends, of_steps, strict=True):
        front = from_either_end(axis, len(shape))
        taken[front] = range(shape[front])[start:end:step]
    return taken


def _slice_shape(node: HugeNode) -> Shape:
    return tuple(map(len, _sliced_axes(node)))


def _sliced(node: HugeNode, index: list[Positions]) -> Sequence[Any]:
    taken = _sliced_axes(node)
    return [of.start + own * of.step for of, own in zip(taken, index, strict=True)]


def _indices(node: HugeNode) -> Positions:
    """Return the indices along the axis, the second input, counted from the front.

    Raises InvalidNode for one out of range.
    """
    # In int64: an axis of 2³¹ elements or more has a length that int32 does not hold.
    indices = node.operand(1).whole().astype(np.int64)
    counted: Positions = elements_at(indices, node.data.shape[node.axis()], back=True)
    return counted


def _gather_shape(node: HugeNode) -> Shape:
    """Return the data's shape with that of the indices for the axis.

    Raises InvalidNode for an index out of range.
    """
    axis = node.axis()
    shape = node.data.shape
    return (*shape[:axis], *_indices(node).shape, *shape[axis + 1 :])


def _gathered(node: HugeNode, index: list[Positions]) -> Sequence[Any]:
    axis = node.axis()
    indices = _indices(node)
    behind = axis + indices.ndim
    return [*index[:axis], indices[tuple(index[axis:behind])], *index[behind:]]


def _expand_shape(node: HugeNode) -> Shape:
    return np.broadcast_shapes(node.data.shape, tuple(node.operand(1).whole().tolist()))


def _expanded(node: HugeNode, index: list[Positions]) -> Sequence[Any]:
    shape = node.data.shape
    own = index[len(index) - len(shape) :]
    return [where * (size > 1) for where, size in zip(own, shape, strict=True)]


def _tile_shape(node: HugeNode) -> Shape:
    repeats = node.operand(1).whole().tolist()
    return tuple(size * times for size, times in zip(node.data.shape, repeats, strict=True))


def _tiled(node: HugeNode, index: list[Positions]) -> Sequence[Any]:
    return [where % size for where, size in zip(index, node.data.shape, strict=True)]


def _concat_shape(node: HugeNode) -> Shape:
    axis = node.axis()
    length = sum(node.operand(n).shape[axis] for n in range(len(node.inputs)))
    shape = node.data.shape
    return (*shape[:axis], length, *shape[axis + 1 :])


def _concatenated(node: HugeNode, positions: Positions) -> Array:
    axis = node.axis()
    index = coordinates(positions, node.shape)
    values = node.data.at(np.zeros_like(positions))
    start = 0
    for place in range(len(node.inputs)):
        operand = node.operand(place)
        end = start + operand.shape[axis]
        own = (start <= index[axis]) & (index[axis] < end)
        if own.any():
            inside = [where[own] for where in index]
            inside[axis] = inside[axis] - start
            values[own] = operand.at(positions_of(inside, operand.shape))
        start = end
    return values


def _begins(node: HugeNode) -> Sequence[int]:
    pads: list[int] = node.operand(1).whole().tolist()
    return pads[: len(pads) // 2]


def _pad_shape(node: HugeNode) -> Shape:
    pads = node.operand(1).whole().tolist()
    rank = len(node.data.shape)
    return tuple(pads[n] + size + pads[n + rank] for n, size in enumerate(node.data.shape))


def _padded(node: HugeNode, positions: Positions) -> Array:
    shape = node.data.shape
    index = coordinates(positions, node.shape)
    own = [where - begin for where, begin in zip(index, _begins(node), strict=True)]
    inside = np.ones(positions.shape, np.bool_)
    for where, size in zip(own, shape, strict=True):
        inside &= (where >= 0) & (where < size)
    constant = node.optional(2)
    values = node.data.at(np.zeros_like(positions))
    values[...] = 0 if constant is None else constant.item()
    values[inside] = node.data.at(positions_of([where[inside] for where in own], shape))
    return values


def _data_shape(node: HugeNode) -> Shape:
    return node.data.shape


def _targets(node: HugeNode) -> Positions:
    """Return the positions in the data that updates go to, in their order.

    Raises InvalidNode for an index out of range.
    """
    indices = _indices(node)
    index: list[Any] = [*np.indices(indices.shape)]
    index[node.axis()] = indices
    return positions_of(index, node.data.shape).reshape(-1)


def _scattered_shape(node: HugeNode) -> Shape:
    """Return the data's shape.

    Raises InvalidNode for updates of another shape than the indices, for indices of another rank
    than the data or longer on another axis, and for one out of range.
    """
    shape = node.data.shape
    indices = node.operand(1).shape
    axis = node.axis()
    reject(len(indices) != len(shape), f"indices {list(indices)} into data {list(shape)}")
    longer = [n for n, size in enumerate(shape) if n != axis and indices[n] > size]
    reject(longer, f"indices {list(indices)} do not fit {list(shape)}")
    updates = node.operand(2).shape
    reject(updates != indices, f"updates {list(updates)}; allowed: {list(indices)}")
    _indices(node)  # raises InvalidNode
    return shape


def _scattered(node: HugeNode, positions: Positions) -> Array:
    """Return the data with the updates in their places, without a reduction."""
    values = node.data.at(positions)
    targets = _targets(node)
    updates = node.operand(2).whole().reshape(-1)
    # `positions` are in a row, so that a target's place among them is its distance from the first.
    places = targets - positions[0]
    hit = (places >= 0) & (places < positions.size)
    values[places[hit]] = updates[hit]
    return values


# Elements of all others along an axis.


def _blocks(node: HugeNode, row: int) -> Iterator[tuple[int, Positions]]:
    """Yield the positions of a row of the data, in blocks, each with the index of its first."""
    length = node.data.shape[-1]
    for part in slices(length, _BLOCK):
        yield part.start, row * length + np.arange(part.start, part.stop)


def _place_shape(node: HugeNode) -> Shape:
    """Return the shape of the places of extremes along `axis`, 0 if it is not stated.

    Raises InvalidNode for an axis out of range; NotSupported for another than the last.
    """
    return _last_axis_shape(node, [node.axis()])


def _reduced_shape(node: HugeNode) -> Shape:
    """Return the shape of a reduction of the stated axes, an attribute or an input, or of all.

    Raises InvalidNode for an axis out of range; NotSupported for others than the last.
    """
    axes = node.optional(1)
    stated: Any = node.attrs.get("axes", ()) if axes is None else axes.tolist()
    rank = len(node.data.shape)
    over = [from_either_end(axis, rank) for axis in stated] or [*range(rank)]
    return _last_axis_shape(node, over)


def _last_axis_shape(node: HugeNode, over: Sequence[int]) -> Shape:
    """Return the data's shape with 1 for the last axis, which is the only one of `over`.

    Raises NotSupported for other axes, which are counted from the front, and for another keepdims
    than 1.
    """
    is_last_alone = [*over] == [len(node.data.shape) - 1]
    keeps = node.attrs.get("keepdims", 1) == 1
    what = f"{node.op} of axes {[*over]}"
    decline(
        not (is_last_alone and keeps),
        f"level huge reduces the last axis alone, with keepdims 1: {what}",
    )
    return (*node.data.shape[:-1], 1)


def _extreme(choose: np.ufunc, node: HugeNode, positions: Positions) -> Array:
    """Return the element of each row that `choose`, a maximum or minimum, takes of all."""
    rows = []
    for row in positions:
        of_blocks = [choose.reduce(node.data.at(block)) for _, block in _blocks(node, row)]
        rows.append(choose.reduce(of_blocks))
    return np.array(rows)


def _first_maximum(node: HugeNode, positions: Positions) -> Array:
    """Return the index of the first of the largest elements of each row."""
    places = []
    for row in positions:
        largest = None
        place = 0
        for start, block in _blocks(node, row):
            values = node.data.at(block)
            if largest is None or values.max() > largest:
                largest = values.max()
                place = start + int(values.argmax())
        places.append(place)
    return np.array(places, np.int64)


def _product_shape(node: HugeNode) -> Shape:
    """Return the shape of a product of two matrices.

    Raises InvalidNode for matrices that do not fit, NotSupported for other ranks.
    """
    first = node.data.shape
    second = node.operand(1).shape
    are_matrices = len(first) == len(second) == 2
    decline(not are_matrices, f"level huge multiplies matrices alone: {node.op}")
    reject(first[1] != second[0], f"{list(first)} times {list(second)}")
    return first[0], second[1]


def _integer_product(node: HugeNode, positions: Positions) -> Array:
    """Return sums of products in int32, where those that are too large wrap."""
    rows, columns = coordinates(positions, node.shape)
    second = node.operand(1)
    sums = []
    for row, column in zip(rows, columns, strict=True):
        total = 0
        for start, block in _blocks(node, int(row)):
            along = np.arange(start, start + block.size)
            other = second.at(along * second.shape[1] + column).astype(np.int64)
            total += int(node.data.at(block).astype(np.int64) @ other)
        sums.append(total)
    return np.array(sums, np.int64).astype(np.int32)


_ELEMENTWISE = Rule(_broadcast, _elementwise, attributes=("to", "saturate"))
_ARG = ("axis", "keepdims")
_REDUCED = ("axes", "keepdims")
#: The operators of level huge, of ONNX's own domain.
RULES: Mapping[str, Rule] = {
    **dict.fromkeys("Abs Add Cast Max Min Mul Neg Relu Sub Where".split(), _ELEMENTWISE),
    "ArgMax": Rule(_place_shape, _first_maximum, _ARG),
    "Concat": Rule(_concat_shape, _concatenated, ("axis",), most_inputs=99),
    "Expand": Rule(_expand_shape, _moved(_expanded)),
    "Gather": Rule(_gather_shape, _moved(_gathered), ("axis",)),
    "Identity": Rule(_data_shape, _same_order),
    "MatMulInteger": Rule(_product_shape, _integer_product, most_inputs=2),
    "Pad": Rule(_pad_shape, _padded, most_inputs=3),
    "ReduceMax": Rule(_reduced_shape, partial(_extreme, np.maximum), _REDUCED),
    "ReduceMin": Rule(_reduced_shape, partial(_extreme, np.minimum), _REDUCED),
    "Reshape": Rule(_reshape_shape, _same_order),
    "ScatterElements": Rule(_scattered_shape, _scattered, ("axis",)),
    "Slice": Rule(_slice_shape, _moved(_sliced), most_inputs=5),
    "Tile": Rule(_tile_shape, _moved(_tiled)),
    "Transpose": Rule(_transpose_shape, _moved(_transposed), ("perm",)),
}
