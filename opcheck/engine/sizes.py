"""How many elements a node gives, known from inputs and attributes before memory is taken.

A rule is for operators whose outputs may be larger than all of their inputs: it returns the number
of elements of the largest tensor that the node makes, or a bound on it. Other operators are counted
by their outputs, once they have them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, isfinite, prod
from typing import Any, TypeAlias

import numpy as np

from opcheck import budget
from opcheck.model import OpVersion
from opcheck.numbers import if_known

Attrs: TypeAlias = Mapping[str, Any]
Shape: TypeAlias = Sequence[int]
#: Returns the elements from a node's inputs, of which some may be None, and its attributes.
Rule: TypeAlias = Callable[[Sequence[Any], Attrs], int]
#: What a rule raises where a node is illegal, or its values depend on rounding.
_UNFIT = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
#: A tensor of its own, next to the elements in it, takes as much memory as so many elements.
_OF_A_TENSOR = 100
#: Bytes of text that take the memory of an element.
_TEXT = 8


def check_sizes(op: OpVersion, inputs: Sequence[Any], attrs: Attrs) -> None:
    """Raise BeyondBudget if a node makes a tensor of more elements than opcheck computes.

    An input that is broadcast takes little memory itself, and counts with all its elements. A node
    for which there is no rule, or whose rule fails, is not counted: its formula says what is wrong.
    """
    for x in inputs:
        if isinstance(x, np.ndarray) and 0 in x.strides and op.name not in ("Shape", "Size"):
            budget.check(f"{op} reads a tensor", x.size)
    rule = None if op.domain not in ("", "ai.onnx.ml") else _RULES.get(op.name)
    if rule is None:
        return
    try:
        elements = rule([*inputs], attrs)
    except _UNFIT:
        return  # The formula says why.
    budget.check(f"{op} gives a tensor", elements)


def elements_of(value: Any) -> int:
    """Return the elements of a tensor or of a list of them; long texts count as several, None as 0.

    Each tensor of a list counts as _OF_A_TENSOR more.
    """
    if value is None:
        return 0
    if isinstance(value, list | tuple):
        return sum(_OF_A_TENSOR + elements_of(one) for one in value)
    size = _product(value.shape)
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return max(size, sum(map(len, value.reshape(-1).tolist())) // _TEXT)
    return size


def _product(sizes: Iterable[Any]) -> int:
    """Return the elements of a tensor of these sizes, however many."""
    return int(prod(sizes))


def _values(tensor: Any) -> list[Any]:
    """Return the numbers of a tensor in row-major order.

    Raises TypeError if rounding has touched them.
    """
    known = if_known(tensor)
    if not isinstance(known, np.ndarray):
        raise TypeError("its values depend on rounding")
    found: list[Any] = known.reshape(-1).tolist()
    return found


def _number(tensor: Any) -> Any:
    """Return the only number of a tensor.

    Raises ValueError for another number of elements, TypeError if rounding touched it.
    """
    (value,) = _values(tensor)
    return value


def _broadcast(*shapes: Shape) -> tuple[int, ...]:
    """Return the shape to which others are broadcast; unlike NumPy's, it has no limit of sizes.

    Axes that do not fit are not found. Raises ValueError for no shapes.
    """
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(0 if 0 in sizes else max(sizes) for sizes in zip(*padded, strict=True))


def _axis_sizes(shape: Shape, axes: Iterable[int], sizes: Iterable[int]) -> list[int]:
    """Return the shape with other sizes along some axes, which may be negative.

    Raises IndexError for an axis out of range, ValueError for another number of sizes than axes.
    """
    found = [*shape]
    for axis, size in zip(axes, sizes, strict=True):
        found[axis] = size
    return found


def _elementwise(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of inputs that broadcast to each other, None not counting.

    Before version 7, with the attribute `broadcast`, those of the first input.
    """
    if "broadcast" in attrs:  # Before version 7, only the second input is broadcast.
        return _product(inputs[0].shape)
    return _product(_broadcast(*(x.shape for x in inputs if x is not None)))


def _concat(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of all inputs."""
    return sum(_product(x.shape) for x in inputs)


def _tile(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor times its repeats.

    In the first version the repeats are one number, and an axis follows. Raises TypeError if
    rounding decides them.
    """
    data, repeats, *axis = inputs
    if axis:  # the first version
        return _product(data.shape) * int(_number(repeats))
    return _product(data.shape) * _product(_values(repeats))


def _expand(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor broadcast to a shape.

    Raises TypeError if rounding decides the shape.
    """
    data, shape = inputs
    return _product(_broadcast(data.shape, _values(shape)))


def _of_shape(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of the shape that is the first input.

    Raises TypeError if rounding decides it.
    """
    return _product(_values(inputs[0]))


def _by_shape(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of the shape that is an attribute; raises KeyError without it."""
    return _product(attrs["shape"])


def _range(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return how many numbers there are from start to limit by delta, 0 or more.

    Raises ZeroDivisionError, ValueError or OverflowError for a delta of 0, NaN and infinities,
    TypeError for numbers that rounding decides.
    """
    start, limit, delta = map(_number, inputs)
    return int(max(0, ceil((limit - start) / delta)))


def _resize(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor resized to sizes or by scales, along `axes` or all.

    inputs: X, and scales; or X, a region of interest, scales and sizes, each None if it is left
    out. Versions without inputs have scales as attributes. keep_aspect_ratio_policy: one ratio for
    all.

    Raises ValueError for scales that are not finite and for lists of different lengths, KeyError
    without scales, TypeError for numbers that rounding decides.
    """
    data, *rest = inputs
    scales = None
    sizes = None
    if len(rest) == 1:
        (scales,) = rest
    elif rest:
        # After a region of interest.
        _, scales, sizes = (*rest, None, None)[:3]
    axes = attrs.get("axes") or range(len(data.shape))
    old = [data.shape[axis] for axis in axes]
    if sizes is not None and _product(sizes.shape):
        new = _values(sizes)
        policy = attrs.get("keep_aspect_ratio_policy") or "stretch"
        ratios = [size / own for size, own in zip(new, old, strict=True)]
        if policy not in ("stretch", b"stretch"):
            ratio = max(ratios) if "smaller" in str(policy) else min(ratios)
            new = [ceil(own * ratio) for own in old]
        return _product(_axis_sizes(data.shape, axes, new))
    if scales is None:
        stated = attrs.get("scales")
        names = ("height_scale", "width_scale")
        factors = [*stated] if stated else [1.0, 1.0, *(attrs[name] for name in names)]
    else:
        factors = _values(scales)
    return _product(_axis_sizes(data.shape, axes, map(_scaled, old, factors)))


def _scaled(size: int, factor: float) -> int:
    """Return a size times a factor, rounded down; raises ValueError for NaN and infinity."""
    if not isfinite(factor):
        raise ValueError("no size")
    return int(size * factor)


def _pad(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor with its padding, along `axes` or all; at least 0.

    pads: an input or an attribute, all beginnings before all ends. Raises KeyError without them,
    IndexError for too few, TypeError if rounding decides them.
    """
    data, *rest = inputs
    pads = _values(rest[0]) if rest else [*(attrs.get("pads") or attrs["paddings"])]
    has_axes = len(rest) > 2 and rest[2] is not None
    axes = _values(rest[2]) if has_axes else range(len(data.shape))
    half = len(pads) // 2
    sizes = [data.shape[a] + pads[n] + pads[n + half] for n, a in enumerate(axes)]
    return _product(max(0, size) for size in _axis_sizes(data.shape, axes, sizes))


def _gather(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor with indices in place of an axis.

    Raises IndexError for an axis that it does not have.
    """
    data, indices = inputs
    axis = attrs.get("axis") or 0
    return _product(_axis_sizes(data.shape, [axis], [_product(indices.shape)]))


def _gather_nd(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a slice for each tuple of indices."""
    data, indices = inputs
    taken = (attrs.get("batch_dims") or 0) + indices.shape[-1]
    return _product(indices.shape[:-1]) * _product(data.shape[taken:])


def _features(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor with indices in place of the last axis."""
    data, indices = inputs
    return _product(data.shape[:-1]) * _product(indices.shape)


def _one_hot(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of indices times the depth; raises TypeError if rounding decides it."""
    indices, depth, _ = inputs
    return _product(indices.shape) * int(_number(depth))


def _matrices(left: Shape, right: Shape) -> int:
    """Return the elements of a product of matrices; a vector is a row at the left, or a column."""
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return _product(_broadcast(left[:-2], right[:-2])) * _product(rows) * _product(columns)


def _matmul(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of the product of the first two inputs; see `_matrices`."""
    return _matrices(inputs[0].shape, inputs[1].shape)


def _quantized_matmul(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a product, whose factors each come with a scale and a zero point."""
    return _matrices(inputs[0].shape, inputs[3].shape)


def _gemm(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a product of matrices that may be transposed.

    Raises IndexError for other ranks.
    """
    rows = inputs[0].shape[1 if attrs.get("transA") else 0]
    columns = inputs[1].shape[0 if attrs.get("transB") else 1]
    return int(rows * columns)


def _einsum(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the output's elements; of an equation with an ellipsis, those of all its letters.

    Without an arrow, the output has the letters that occur once. Letters of length 1 are broadcast.
    Raises KeyError without an equation or for a letter of no input, ValueError for a term that does
    not fit its input.
    """
    equation = str(attrs["equation"]).replace(" ", "")
    operands, arrow, output = equation.partition("->")
    sizes: dict[str, int] = {}
    of_ellipses: list[tuple[int, ...]] = [()]
    for term, x in zip(operands.split(","), inputs, strict=True):
        before, dots, after = term.partition("...")
        end = len(x.shape) - len(after) if dots else len(before)
        named = zip(before + after, (*x.shape[: len(before)], *x.shape[end:]), strict=True)
        for letter, size in named:
            sizes[letter] = max(size, sizes.get(letter, 1))
        of_ellipses.append(x.shape[len(before) : end])
    if not arrow:
        letters = operands.replace(",", "").replace(".", "")
        output = "".join(letter for letter in set(letters) if letters.count(letter) == 1)
    return _product(sizes[letter] for letter in output.replace(".", "")) * _product(
        _broadcast(*of_ellipses)
    )


def _padded(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the padded input of a convolution or pool, which bounds each channel.

    Raises IndexError for too few pads.
    """
    data = inputs[0].shape
    spatial = data[2:]
    pads = [*(attrs.get("pads") or (0,) * (2 * len(spatial)))]
    half = len(pads) // 2
    sizes = [size + pads[n] + pads[n + half] for n, size in enumerate(spatial)]
    return _product(data[:2]) * _product(sizes)


def _transposed(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the output of a transposed convolution or of MaxUnpool, less what `pads` cut off.

    With kernel_shape as an attribute the output has the channels of X; without it, both follow from
    W, the second input. An `output_shape` decides by itself. Raises ValueError for attributes of
    other lengths than the spatial axes.
    """
    data = inputs[0].shape
    kernel = attrs.get("kernel_shape")
    spatial = data[2:]
    ones = (1,) * len(spatial)
    channels = data[1]
    if kernel is None:
        kernel = inputs[1].shape[2:]
        channels = inputs[1].shape[1] * (attrs.get("group") or 1)
    stated = attrs.get("output_shape")
    if stated:
        return int(data[0] * channels * _product(stated[-len(spatial) :]))
    rank = len(spatial)
    pads = attrs.get("pads") or (0,) * 2 * rank
    terms = zip(
        spatial,
        attrs.get("strides") or ones,
        kernel,
        attrs.get("dilations") or ones,
        attrs.get("output_padding") or (0,) * rank,
        map(sum, zip(pads[:rank], pads[rank:], strict=True)),
        strict=True,
    )
    sizes = [
        max(0, (n - 1) * stride + (k - 1) * dilation + 1 + more - cut)
        for n, stride, k, dilation, more, cut in terms
    ]
    return int(data[0] * channels * _product(sizes))


def _unpooled(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of the shape that is the third input, or without it see `_transposed`.

    Raises TypeError if rounding decides the shape, ValueError for attributes of wrong lengths.
    """
    if len(inputs) > 2 and inputs[2] is not None:
        return _product(_values(inputs[2]))
    return _transposed(inputs, attrs)


def _image_of_columns(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of the image that Col2Im puts together.

    inputs: the columns, [N, C * block, L], the image's shape and the block's. Raises TypeError if
    rounding decides the shapes, ZeroDivisionError for an empty block.
    """
    data, image, block = inputs
    return int(data.shape[0] * data.shape[1] * _product(_values(image))) // _product(_values(block))


def _grid(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the coordinates of a grid over a tensor of sizes N×C×D1×…×Dn, the second input.

    Raises IndexError for no sizes, TypeError if rounding decides them.
    """
    sizes = _values(inputs[1])
    return _product((sizes[0], *sizes[2:], len(sizes) - 2))


def _sampled(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return an element of each channel for each place of a grid."""
    data, grid = inputs
    return _product(grid.shape[:-1]) * int(data.shape[1])


def _cropped(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor with other sizes, the second input, along `axes` or all.

    Raises ValueError for another number of sizes, TypeError if rounding decides them.
    """
    data, shape = inputs
    axes = attrs.get("axes") or range(len(data.shape))
    return _product(_axis_sizes(data.shape, axes, _values(shape)))


def _window(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a window, whose size is the first input.

    Raises TypeError if rounding decides it.
    """
    return int(_number(inputs[0]))


def _mel(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the weights of each bin for each frequency.

    Raises TypeError if rounding decides the sizes.
    """
    bins = _number(inputs[0])
    length = _number(inputs[1])
    return int(bins * (length // 2 + 1))


def _fourier(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of a tensor with another length along the transformed axis.

    inputs: the signal, and perhaps the length and the axis, an attribute before version 20; by
    default the last but one. Raises IndexError for an axis out of range, TypeError for numbers that
    rounding decides.
    """
    data, *rest = inputs
    length, axis = (*rest, None, None)[:2]
    if length is None:
        return _product(data.shape)
    at = attrs.get("axis", -2) if axis is None else _number(axis)
    return _product(_axis_sizes(data.shape, [at], [_number(length)]))


def _short_fourier(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the elements of the transforms of all frames, two for each complex number.

    inputs: the signal, [batches, length, …], the step, and perhaps a window and a length of frames.
    Raises ZeroDivisionError for a step of 0, TypeError for numbers that rounding decides.
    """
    signal, step, *rest = inputs
    window, length = (*rest, None, None)[:2]
    frame = signal.shape[1]
    if length is not None:
        frame = _number(length)
    elif window is not None:
        frame = window.shape[0]
    frames = (signal.shape[1] - frame) // _number(step) + 1
    return int(signal.shape[0] * frames * (frame + 2 if attrs.get("onesided") else 2 * frame))


def _regions(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the pooled elements of each channel for each region.

    They are those of pooled_shape or of output_height and output_width, by default 1.
    """
    data, rois = inputs[:2]
    height, width = attrs.get("pooled_shape") or (
        attrs.get("output_height") or 1,
        attrs.get("output_width") or 1,
    )
    return int(rois.shape[0] * data.shape[1] * height * width)


def _multinomial(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the samples of each batch: sample_size, by default 1."""
    return int(inputs[0].shape[0] * (attrs.get("sample_size") or 1))


def _ngrams(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return a count for each n-gram and row of texts; raises KeyError without n-gram indexes."""
    return int(_product(inputs[0].shape[:-1]) * (max(attrs["ngram_indexes"]) + 1))


def _vectorized(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the features of each row; raises KeyError without the attribute that has them."""
    return int(inputs[0].shape[0]) * sum(attrs["inputdimensions"])


def _targets(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the targets of each row, by default 1; a vector is one row."""
    targets = attrs.get("n_targets") or attrs.get("targets") or 1
    return int(inputs[0].shape[0] if len(inputs[0].shape) > 1 else 1) * int(targets)


def _parts(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the parts of a sequence, each of which counts as a tensor.

    split: the lengths of the parts, or a scalar, the most elements of one; without it each entry of
    the axis is a part. Raises IndexError for an axis out of range, ZeroDivisionError for a scalar
    of 0, TypeError for one that rounding decides.
    """
    data, *split = inputs
    size = data.shape[attrs.get("axis") or 0]
    if not split or split[0] is None:
        return int(size) * _OF_A_TENSOR
    if split[0].shape:
        return _product(split[0].shape) * _OF_A_TENSOR
    return int(ceil(size / _number(split[0])) * _OF_A_TENSOR)


def _texts(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the size of texts that are put together, by the longest of each input.

    Raises TypeError if one is no plain array.
    """
    longest = [max(map(len, _values(x)), default=0) for x in inputs]
    return _elementwise(inputs, attrs) * max(1, sum(longest) // _TEXT)


def _reduced(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the output of a reduction, which is larger than its input where that is empty.

    axes: an attribute or the second input; without them it is the size of the input. Raises
    IndexError for an axis out of range, TypeError if rounding decides them.
    """
    data, *rest = inputs
    axes = attrs.get("axes")
    if axes is None and rest and rest[0] is not None:
        axes = _values(rest[0])
    if not axes:
        return _product(data.shape)
    return _product(_axis_sizes(data.shape, axes, [1] * len(axes)))


def _attended(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return the scores of an attention, one for each head, query and key.

    inputs: Q and K, of rank 4 or, with an attribute for the number of heads, 3; the fifth is the
    past keys or None. Raises KeyError for rank 3 without that attribute, ValueError for other
    ranks.
    """
    queries = inputs[0].shape
    keys = inputs[1].shape
    past_key = inputs[4] if len(inputs) > 4 else None
    past = 0 if past_key is None else past_key.shape[2]
    if len(queries) == 3:
        batches, length, _ = queries
        heads = attrs["q_num_heads"]
        kept = keys[1]
    else:
        batches, heads, length, _ = queries
        kept = keys[2]
    return int(batches * heads * length * (kept + past))


def _overlaps(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Return a quarter of the overlaps of boxes, each with each: several are held at once.

    That is what all tensors may have that are held, next to one.
    """
    boxes = inputs[0].shape[1]
    return int(boxes**2 // 4)


def _named(names: str, rule: Rule) -> dict[str, Rule]:
    """Return the rule by each of the names."""
    return dict.fromkeys(names.split(), rule)


_RULES: Mapping[str, Rule] = {
    **_named("Add Sub Mul Div Pow Mod And Or Xor Equal Greater Less GreaterOrEqual", _elementwise),
    **_named("LessOrEqual BitShift BitwiseAnd BitwiseOr BitwiseXor Where Max Min", _elementwise),
    **_named("Mean Sum PRelu", _elementwise),
    **_named("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean", _reduced),
    **_named("ReduceMin ReduceProd ReduceSum ReduceSumSquare", _reduced),
    **_named("MatMul MatMulInteger", _matmul),
    **_named("Conv ConvInteger DeformConv QLinearConv AveragePool MaxPool LpPool", _padded),
    **_named("HannWindow HammingWindow BlackmanWindow", _window),
    **_named("RoiAlign MaxRoiPool", _regions),
    **_named("RandomNormal RandomUniform", _by_shape),
    **_named("Resize Upsample", _resize),
    **_named("LinearRegressor TreeEnsemble TreeEnsembleRegressor", _targets),
    "AffineGrid": _grid,
    "ArrayFeatureExtractor": _features,
    "Attention": _attended,
    "CenterCropPad": _cropped,
    "Col2Im": _image_of_columns,
    "Concat": _concat,
    "ConstantOfShape": _of_shape,
    "ConvTranspose": _transposed,
    "DFT": _fourier,
    "Einsum": _einsum,
    "Expand": _expand,
    "FeatureVectorizer": _vectorized,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Gemm": _gemm,
    "GridSample": _sampled,
    "MaxUnpool": _unpooled,
    "MelWeightMatrix": _mel,
    "Multinomial": _multinomial,
    "NonMaxSuppression": _overlaps,
    "OneHot": _one_hot,
    "Pad": _pad,
    "QLinearMatMul": _quantized_matmul,
    "Range": _range,
    "SplitToSequence": _parts,
    "STFT": _short_fourier,
    "StringConcat": _texts,
    "TfIdfVectorizer": _ngrams,
    "Tile": _tile,
}
