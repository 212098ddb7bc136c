"""Concat (1, 4, 11, 13): tensors one after the other along an axis."""

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, from_the_front
from opcheck.engine.operators import FLOATING, operator
from opcheck.errors import InvalidNode

OP = operator("Concat", exact=True)


def along(function):
    """All versions, from `function(inputs, axis)`; 1 and 4 document no negative axis."""

    def counting(counted):
        def formula(*inputs, axis):
            first = inputs[0]
            place = counted(axis, first.ndim)
            for x in inputs:
                others = [n for other, n in enumerate(x.shape) if other != place]
                wanted = [n for other, n in enumerate(first.shape) if other != place]
                if x.ndim != first.ndim or others != wanted:
                    shapes = ", ".join(str(list(x.shape)) for x in inputs)
                    raise InvalidNode(f"shapes {shapes} differ beyond axis {place}")
            return function(inputs, place)

        return formula

    front, either = counting(from_the_front), counting(from_either_end)
    return {1: front, 4: front, 11: either, 13: either}


@OP.formula(by=along)
def joined(inputs, axis):
    return xp.concat(inputs, axis=axis)


def one_after_the_other(inputs, axis):
    flat = xp.concat([xp.reshape(x, -1) for x in inputs], axis=0)
    return xp.reshape(flat, joined(inputs, axis).shape)


def as_long_as_the_first(inputs, axis):
    length = inputs[0].shape[axis]
    if any(x.shape[axis] < length for x in inputs):
        raise InvalidNode("an input is shorter than the first")
    return joined([xp.take(x, range(length), axis=axis) for x in inputs], axis)


def stacked(inputs, axis):
    single = all(x.shape[axis] == 1 for x in inputs)
    return xp.stack(inputs, axis=axis) if single else joined(inputs, axis)


MUTANTS = {
    "empty_dropped": ("empty inputs were dropped, and an empty one was given where all are",
        lambda inputs, axis: joined([x for x in inputs if x.size] or inputs[:1], axis)),
    "one_after_the_other": ("inputs were written one after the other in memory, whatever the axis",
                            one_after_the_other),
    "as_long_as_the_first": ("every input was taken to be as long as the first",
                             as_long_as_the_first),
    "stacked": ("inputs were stacked along an axis of their own where each has one element",
                stacked),
}  # fmt: skip
OP.mutant_table(MUTANTS, by=along)
OP.mutant("of more than eight inputs only eight were written", name="eight_inputs", by=along,
          only=("float32",))(lambda inputs, axis: joined(inputs[:8], axis))  # fmt: skip
OP.mutant("negative zeros became zeros", name="zeros_without_sign", by=along, only=FLOATING)(
    lambda inputs, axis: joined(inputs, axis) + 0
)
