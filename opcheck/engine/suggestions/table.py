"""The table of suggestions: the operators of each, why a deviation warns, and what it may be."""

from opcheck.engine.suggestions import (
    Suggestion,
    casts as of_casts,
    computed_numbers as of_computed,
    moved_elements as of_moved,
    refusals as of_refusals,
    special_numbers as of_numbers,
)

_DML_SOFTMAX = tuple(
    f"DML_ACTIVATION_{name}{form}"
    for name in ("HARDMAX", "SOFTMAX", "LOG_SOFTMAX")
    for form in ("", "1")
)
_DML_POOLS = (
    "DML_AVERAGE_POOLING DML_AVERAGE_POOLING1 DML_LP_POOLING DML_LP_POOLING1 DML_MAX_POOLING"
    " DML_MAX_POOLING1 DML_MAX_POOLING2"
).split()
_CASTS = ("Cast", "CastLike")

_WITH_SUBNORMALS = (
    "Abs Add ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Cast CastLike Ceil CenterCropPad "
    "Clip Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvTranspose "
    "CumProd CumSum DML_ACTIVATION_ELU DML_ACTIVATION_HARDMAX DML_ACTIVATION_HARDMAX1 "
    "DML_ACTIVATION_RELU DML_ACTIVATION_SOFTMAX DML_ACTIVATION_SOFTMAX1 DML_CONVOLUTION "
    "DML_ELEMENT_WISE_ASIN DML_ELEMENT_WISE_ASINH DML_ELEMENT_WISE_ATAN DML_ELEMENT_WISE_ATANH "
    "DML_ELEMENT_WISE_CLIP DML_ELEMENT_WISE_CONSTANT_POW DML_ELEMENT_WISE_DIVIDE "
    "DML_ELEMENT_WISE_ERF DML_ELEMENT_WISE_EXP DML_ELEMENT_WISE_IF DML_ELEMENT_WISE_LOG "
    "DML_ELEMENT_WISE_MAX DML_ELEMENT_WISE_MEAN DML_ELEMENT_WISE_MIN "
    "DML_ELEMENT_WISE_MODULUS_FLOOR DML_ELEMENT_WISE_MODULUS_TRUNCATE DML_ELEMENT_WISE_MULTIPLY "
    "DML_ELEMENT_WISE_POW DML_ELEMENT_WISE_RECIP DML_ELEMENT_WISE_SIGN DML_ELEMENT_WISE_SIN "
    "DML_ELEMENT_WISE_SINH DML_ELEMENT_WISE_TAN DML_ELEMENT_WISE_TANH "
    "DML_ELEMENT_WISE_THRESHOLD DML_GATHER DML_GEMM DML_REDUCE DepthToSpace Det Div Dropout "
    "Einsum Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND Gemm "
    "GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual HardSwish Hardmax "
    "Identity LeakyRelu Less LessOrEqual LinearClassifier LinearRegressor Log LpPool MatMul Max "
    "MaxPool Mean MeanVarianceNormalization Min Mish Mul Neg NonZero OneHot PRelu Pad Pow Range "
    "Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence Scatter ScatterElements "
    "ScatterND Selu SequenceAt SequenceConstruct SequenceErase SequenceInsert Shrink Sign Sin "
    "Sinh Slice Softmax Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze Sub Sum SwiGLU "
    "Swish Tan Tanh TensorScatter ThresholdedRelu Tile Transpose TreeEnsemble "
    "TreeEnsembleClassifier TreeEnsembleRegressor Trilu Unique Unsqueeze Upsample Where"
).split()

SUGGESTIONS = (
    Suggestion(
        "subnormals",
        "Some hardware reads and writes subnormal numbers as zero.",
        _WITH_SUBNORMALS,
        of_numbers.of_subnormals,
        admitted=(
            "Zero or any number up to the smallest normal one in place of a subnormal number; "
            "what subnormal inputs give as zeros."
        ),
        admits=of_numbers.admits_flushed,
    ),
    Suggestion(
        "subnormals-decide-shapes",
        "Some hardware reads subnormal numbers as zero, which here decide the shape of an output.",
        "NonZero OneHot Range Resize Unique Upsample".split(),
        of_numbers.of_shapes_by_subnormals,
        scope="node",
        admitted="The outputs that subnormal inputs give as zeros.",
        accepts=of_numbers.accepts_flushed,
    ),
    Suggestion(
        "overflow",
        "The text does not state what a result becomes that its type does not hold: some hardware "
        "stops at the largest number.",
        (
            "Add BatchNormalization Col2Im Conv ConvTranspose DML_CONVOLUTION Det Einsum Gemm "
            "GlobalLpPool GroupNormalization InstanceNormalization LRN LinearAttention LpPool "
            "MatMul Mul PRelu Pow RMSNormalization ReduceL1 ReduceL2 ReduceProd ReduceSum "
            "ReduceSumSquare Sub Sum SwiGLU"
        ).split(),
        of_numbers.of_overflow,
        admitted=(
            "The infinity or the largest number of the right sign; of norms, products and sums of "
            "terms of one sign also NaN; of other sums also NaN and those of the other sign."
        ),
        admits=of_numbers.admits_beyond_the_range,
    ),
    Suggestion(
        "no-value",
        "The text does not state what comes of a number that the function has no value for.",
        (
            "Acos Acosh Asin Atanh Cos Log Reciprocal Sin Tan DML_ELEMENT_WISE_ACOS "
            "DML_ELEMENT_WISE_ACOSH DML_ELEMENT_WISE_ASIN DML_ELEMENT_WISE_ATANH "
            "DML_ELEMENT_WISE_COS DML_ELEMENT_WISE_RECIP DML_ELEMENT_WISE_SIN DML_ELEMENT_WISE_TAN"
        ).split(),
        of_numbers.of_undefined_values,
        admitted=(
            "NaN, the limit or the largest number in its place, or the value at the nearest "
            "number that has one; of an infinite angle a sine or cosine within [-1, 1], and any "
            "tangent, for each is that of some large angle."
        ),
        admits=of_numbers.admits_limits,
    ),
    Suggestion(
        "division",
        "The text does not state what a division by 0 gives, nor a quotient out of range.",
        ("Div", "Mod"),
        of_numbers.of_undefined_quotients,
        admitted=(
            "An infinity or the largest number of the right sign, of either sign for a divisor "
            "of 0; NaN; 0 for 0 / 0; of a remainder by 0 also the dividend and 0."
        ),
        admits=of_numbers.admits_quotients,
    ),
    Suggestion(
        "no-shares",
        "By its words the text divides 0 by 0, or takes the logarithm of a negative number.",
        (
            "NegativeLogLikelihoodLoss Softmax DML_ACTIVATION_SOFTMAX DML_ACTIVATION_SOFTMAX1 "
            "DML_ACTIVATION_LOG_SOFTMAX DML_ACTIVATION_LOG_SOFTMAX1 DML_REDUCE"
        ).split(),
        of_numbers.of_no_shares,
        admitted="NaN; 0; equal shares, or their logarithm; of a logarithm also its limit.",
        admits=of_numbers.admits_shares,
    ),
    Suggestion(
        "nan-in-extremes",
        "The text is similar to NumPy, whose extremes of NaN are NaN, and does not mention NaN.",
        ("ReduceMax", "ReduceMin"),
        of_numbers.of_nan,
        admitted=(
            "NaN, or one of the elements; without a number among them also the infinity of the "
            "other extreme."
        ),
        admits=of_numbers.admits_other_elements,
    ),
    Suggestion(
        "infinite-means",
        "The text does not state how a mean is computed: a running one makes NaN of an infinity.",
        ("Mean", "ReduceMean"),
        of_numbers.of_infinities,
        admitted="NaN, or the infinity or the largest number of the right sign.",
        admits=of_numbers.admits_infinities_and_nan,
    ),
    Suggestion(
        "nan-otherwise",
        "What is otherwise so is of NaN too, which the text does not mention.",
        ("Shrink", "ThresholdedRelu"),
        of_numbers.of_nan_inputs,
        admitted="NaN or 0.",
        admits=of_numbers.admits_nan_and_0,
    ),
    Suggestion(
        "rounded-special-numbers",
        "Before version 13 the text does not mention infinities and NaN.",
        ("Ceil", "Floor"),
        of_numbers.of_special_numbers_before_13,
        admitted="NaN, the largest number, 0 for NaN, or an end of the integers of 32 or 64 bits.",
        admits=of_numbers.admits_integers_of_hardware,
    ),
    Suggestion(
        "infinite-scale",
        "Formulas that are equal for numbers differ where the scale is infinite.",
        ("GroupNormalization", "InstanceNormalization"),
        of_numbers.of_infinite_scales,
        admitted="NaN, or the infinity or the largest number of the right sign.",
        admits=of_numbers.admits_infinities_and_nan,
    ),
    Suggestion(
        "slope-of-no-number",
        "max(x, 0) + slope · min(x, 0), which is equal for numbers, is NaN here.",
        ("PRelu",),
        of_numbers.of_slopes_of_no_number,
        admitted="NaN.",
        admits=of_numbers.admits_nan,
    ),
    Suggestion(
        "powers",
        "The text does not state powers where no number is the power by its definition, nor how a "
        "power of integers is computed.",
        ("Pow",),
        of_numbers.of_powers,
        admitted=(
            "NaN; to the power 0 and of 1 also 1; of 0 an infinity or the largest number; of "
            "negative numbers the power of their magnitude, with either sign, or of 0. Of "
            "integers the fraction rounded to either side, a result within what float32 errs "
            "by, and out of range 0, -1 or an end of the type."
        ),
        admits=of_numbers.admits_powers,
    ),
    Suggestion(
        "cast-is-rounded",
        "The text does not state how a number is rounded, nor that a fraction is cut off.",
        _CASTS,
        of_casts.of_rounded_casts,
        admitted=(
            "The number of the type on either side; out of range an end, NaN, and of integers 0 "
            "or what wraps around."
        ),
        admits=of_casts.admits_neighbors,
    ),
    Suggestion(
        "cast-of-texts",
        "The text does not state how the number in a text is rounded, nor how an integer is "
        "written.",
        _CASTS,
        of_casts.of_casts_of_texts,
        admitted=(
            "The number of the type on either side; a text of the same number; for a text of no "
            "number one of NaN or 0, or an empty one."
        ),
        admits=of_casts.admits_the_same_number,
    ),
    Suggestion(
        "cast-to-bool",
        "Before version 13 the text does not state which numbers are true.",
        _CASTS,
        of_casts.of_truth,
        admitted="Either boolean, for the text states of none of these numbers which it becomes.",
        admits=of_casts.admits_either,
    ),
    Suggestion(
        "zero-is-no-power",
        "The text does not state what 0 becomes in a type of powers of 2.",
        ("CastLike",),
        of_casts.of_powers_of_2,
        admitted="The smallest power, or NaN.",
        admits=of_casts.admits_nan_or_the_smallest,
    ),
    Suggestion(
        "cast-attribute-without-effect",
        "The text does not state what the attribute does to casts between other types.",
        _CASTS,
        of_casts.of_attributes_without_effect,
        scope="refusal",
    ),
    Suggestion(
        "matrix-alone",
        "The text speaks of a matrix; nothing in the formula needs one.",
        ("LpNormalization",),
        of_refusals.of_other_ranks_than_2,
        scope="refusal",
    ),
    Suggestion(
        "no-axis-after-channels",
        "The text speaks of axes after the channels; nothing in the formula needs one.",
        "BatchNormalization GroupNormalization InstanceNormalization LRN".split(),
        of_refusals.of_rank_2,
        scope="refusal",
    ),
    Suggestion(
        "no-elements",
        "The text does not state that an axis may have no elements.",
        _DML_SOFTMAX,
        of_refusals.of_no_elements,
        scope="refusal",
    ),
    Suggestion(
        "no-elements-of-a-batch",
        "The text does not state that a batch may have no elements.",
        ("LpPool",),
        of_refusals.of_no_elements_of_a_batch,
        scope="refusal",
    ),
    Suggestion(
        "no-indices",
        "The text does not state that there may be no indices.",
        ("ArrayFeatureExtractor",),
        of_refusals.of_no_indices,
        scope="refusal",
    ),
    Suggestion(
        "powers-beyond-the-range",
        "The text does not ask for scaling, where powers leave the range and the norm does not.",
        ("LpPool",),
        of_computed.of_powers_beyond_the_range,
        scope="node",
        admitted=(
            "A norm without the elements whose powers are subnormal, or one between that and "
            "the right one; of too large powers an infinity, the largest number, or its root."
        ),
        accepts=of_computed.accepts_other_norms,
    ),
    Suggestion(
        "rounded-steps",
        "The text does not state how numbers of a range are rounded that 16 bits do not hold.",
        ("Range",),
        of_computed.of_rounded_steps,
        admitted="What comes of adding the step again and again, each time rounded either way.",
        admits=of_computed.admits_added_steps,
    ),
    Suggestion(
        "no-spread",
        "The text does not state that a distribution may have no spread.",
        "RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split(),
        of_refusals.of_no_spread,
        scope="refusal",
    ),
    Suggestion(
        "order-of-blocks",
        "Before version 11 of DepthToSpace and version 28 of SpaceToDepth, the text does not state "
        "in which order a block becomes channels.",
        ("DepthToSpace", "SpaceToDepth"),
        of_moved.of_blocks,
        scope="node",
        admitted="Any order of rows, columns and channels.",
        accepts=of_moved.accepts_other_blocks,
    ),
    Suggestion(
        "two-types",
        "The text does not state in which of two types is computed.",
        ("Attention", "BatchNormalization"),
        of_computed.of_two_types,
        scope="node",
        admitted="What the same inputs give in either type.",
        other_nodes=of_computed.in_either_type,
    ),
    Suggestion(
        "value-of-one-element",
        "The text does not state which rank a tensor of one element has.",
        ("ConstantOfShape",),
        of_refusals.of_a_value_of_another_rank,
        scope="refusal",
    ),
    Suggestion(
        "no-axes",
        "The text does not state what an empty list of axes means.",
        ("Squeeze", "Unsqueeze"),
        of_moved.of_no_axes,
        scope="node",
        admitted="The input as it is; of Squeeze also without any axis of one element.",
        accepts=of_moved.accepts_all_axes_or_none,
    ),
    Suggestion(
        "pads-as-large-as-windows",
        "The text does not state that a window may lie in padding alone: engines refuse such pads.",
        ("LpPool", "AveragePool", "MaxPool", *_DML_POOLS),
        of_refusals.of_pads_as_large_as_windows,
        scope="refusal",
    ),
    Suggestion(
        "texts-that-are-zero",
        "The text does not state which text counts as zero.",
        ("NonZero",),
        of_moved.of_texts,
        scope="node",
        admitted="The empty text is zero, or a text that states 0, both, or none.",
        accepts=of_moved.accepts_other_zeros,
    ),
    Suggestion(
        "one-class-or-none",
        "The text does not mention a scalar index, a depth of 0, nor fractions.",
        ("OneHot",),
        of_moved.of_classes,
        scope="node",
        admitted=(
            "Fractions rounded in any way, or of no class; a single index with an axis of its own."
        ),
        accepts=of_moved.accepts_other_classes,
    ),
    Suggestion(
        "order-of-slices",
        "The text does not state by which elements slices are ordered.",
        ("Unique",),
        of_moved.of_slices,
        scope="node",
        admitted="The same slices in any order, and the other outputs in that order.",
        accepts=of_moved.accepts_any_order_of_slices,
    ),
    Suggestion(
        "negative-axes",
        "The text does not state that an axis below 0 counts from the back.",
        ("MeanVarianceNormalization",),
        of_refusals.of_negative_axes,
        scope="refusal",
    ),
    Suggestion(
        "negative-positions",
        "The text counts positions below 0 from the back only by its pseudocode, which is Python.",
        ("RotaryEmbedding", "TensorScatter"),
        of_moved.of_negative_positions,
        scope="node",
        admitted="Position 0 in their place; no angle, or no write there.",
        accepts=of_moved.accepts_other_writes,
        other_nodes=of_moved.rotations_at_other_positions,
    ),
    Suggestion(
        "range-of-a-slice",
        "The version does not state where a range begins or ends that leaves the axis or is empty.",
        ("Slice",),
        of_moved.of_ranges_of_slices,
        scope="node",
        admitted="A range as Python has it, one clamped to the axis, or none.",
        accepts=of_moved.accepts_other_ranges,
    ),
    Suggestion(
        "odd-padding",
        "Version 1 of ConvTranspose has the equations of an odd padding the other way round.",
        ("ConvTranspose",),
        of_computed.of_an_odd_padding,
        scope="node",
        admitted="The larger half of the padding at the end, or at the beginning.",
        other_nodes=of_computed.with_either_padding,
    ),
    Suggestion(
        "lists-of-one",
        "The text speaks of scalars; ONNX's node tests have lists of one element.",
        ("NonMaxSuppression",),
        of_refusals.of_lists_of_one,
        scope="refusal",
    ),
    Suggestion(
        "reflection",
        "The text does not state how far a reflection may go, nor what becomes of a scalar.",
        ("Pad",),
        of_moved.of_reflections_beyond_the_axis,
        scope="node",
        admitted=(
            "Reflected back and forth, with the edge once or twice, or once and then clamped; "
            "the edge repeated; wrapped around."
        ),
        accepts=of_moved.accepts_other_reflections,
    ),
    Suggestion(
        "ties-in-any-order",
        "Where the order is undefined, the text only suggests which of equal elements are taken.",
        ("TopK",),
        of_moved.of_ties_in_any_order,
        scope="node",
        admitted="The right values in any order, with the index of any element that has the value.",
        accepts=of_moved.accepts_any_ties,
    ),
    Suggestion(
        "slope-of-channels",
        "Before version 7 the text only implies that each channel may have a slope.",
        ("PRelu",),
        of_computed.of_a_slope_for_each_channel,
        scope="node",
        admitted="The slope that broadcasts as in version 7.",
        other_nodes=of_computed.with_a_slope_that_broadcasts,
    ),
    Suggestion(
        "ends-far-apart",
        "The text does not state in which type the difference of the ends is computed.",
        ("Range",),
        of_computed.of_large_integers_of_range,
        scope="node",
        admitted="The numbers of the range, as many as in float32 or in a type that wraps around.",
        accepts=of_computed.accepts_other_counts,
    ),
    Suggestion(
        "vectors-alone",
        "Version 1 of Tanh speaks of vectors; nothing in the formula needs one.",
        ("Tanh",),
        of_refusals.of_other_ranks_than_1,
        scope="refusal",
    ),
    Suggestion(
        "scalars-without-features",
        "The text does not state that a scalar has a feature.",
        ("Scaler",),
        of_refusals.of_rank_0,
        scope="refusal",
    ),
    Suggestion(
        "axis-of-a-vector",
        "The text of version 19 has a scale for the whole tensor alone for vectors, too.",
        ("DequantizeLinear",),
        of_computed.of_axes_of_vectors,
        scope="node",
        admitted="The first scale and zero point for all.",
        other_nodes=of_computed.with_one_scale,
    ),
    Suggestion(
        "size-beyond-32-bits",
        "The text does not state how large a size may be.",
        ("LRN",),
        of_refusals.of_sizes_beyond_32_bits,
        scope="refusal",
    ),
    Suggestion(
        "bits-shifted-out",
        "Version 11 of BitShift speaks of an increase alone, and not of bits that are lost.",
        ("BitShift",),
        of_computed.of_bits_shifted_out,
        admitted=(
            "The largest integer; a shift by the distance modulo the bits of the type, 32 or 64."
        ),
        admits=of_computed.admits_other_shifts,
    ),
    Suggestion(
        "texts-to-split",
        "The text does not state what an empty text gives, nor which characters are whitespace.",
        ("StringSplit",),
        of_moved.of_texts_to_split,
        scope="node",
        admitted=(
            "No substring or an empty one of an empty text; line tabulations and form feeds as "
            "letters."
        ),
        accepts=of_moved.accepts_other_splits,
    ),
    Suggestion(
        "quantized-halves",
        "The text does not state how halves are rounded.",
        ("QLinearConv",),
        of_computed.of_halves,
        admitted="The next integer on either side.",
        admits=of_computed.admits_next_integers,
    ),
)
