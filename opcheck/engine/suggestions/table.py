"""The table of suggestions: which operators each is about, and why a deviation is a warning."""

from opcheck.engine.suggestions import (
    Suggestion,
    casts as of_casts,
    special_numbers as of_numbers,
    whole_nodes as of_nodes,
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
        admits=of_numbers.admits_flushed,
    ),
    Suggestion(
        "subnormals-decide-shapes",
        "Some hardware reads subnormal numbers as zero, which here decide the shape of an output.",
        "NonZero OneHot Range Resize Unique Upsample".split(),
        of_numbers.of_shapes_by_subnormals,
        scope="node",
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
        admits=of_numbers.admits_largest,
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
    ),
    Suggestion(
        "division",
        "The text does not state what a division by 0 gives, nor a quotient out of range.",
        ("Div", "Mod"),
        of_numbers.of_undefined_quotients,
    ),
    Suggestion(
        "no-shares",
        "By its words the text divides 0 by 0, or takes the logarithm of a negative number.",
        (
            "NegativeLogLikelihoodLoss Softmax DML_ACTIVATION_SOFTMAX DML_ACTIVATION_SOFTMAX1 "
            "DML_ACTIVATION_LOG_SOFTMAX DML_ACTIVATION_LOG_SOFTMAX1 DML_REDUCE"
        ).split(),
        of_numbers.of_no_shares,
    ),
    Suggestion(
        "nan-in-extremes",
        "The text is similar to NumPy, whose extremes of NaN are NaN, and does not mention NaN.",
        ("ReduceMax", "ReduceMin"),
        of_numbers.of_nan,
    ),
    Suggestion(
        "infinite-means",
        "The text does not state how a mean is computed: a running one makes NaN of an infinity.",
        ("Mean", "ReduceMean"),
        of_numbers.of_infinities,
    ),
    Suggestion(
        "nan-otherwise",
        "What is otherwise so is of NaN too, which the text does not mention.",
        ("Shrink", "ThresholdedRelu"),
        of_numbers.of_nan_inputs,
    ),
    Suggestion(
        "rounded-special-numbers",
        "Before version 13 the text does not mention infinities and NaN.",
        ("Ceil", "Floor"),
        of_numbers.of_special_numbers_before_13,
    ),
    Suggestion(
        "infinite-scale",
        "Formulas that are equal for numbers differ where the scale is infinite.",
        ("GroupNormalization", "InstanceNormalization"),
        of_numbers.of_infinite_scales,
    ),
    Suggestion(
        "slope-of-no-number",
        "max(x, 0) + slope · min(x, 0), which is equal for numbers, is NaN here.",
        ("PRelu",),
        of_numbers.of_slopes_of_no_number,
    ),
    Suggestion(
        "powers",
        "The text does not state powers where no number is the power by its definition, nor how a "
        "power of integers is computed.",
        ("Pow",),
        of_numbers.of_powers,
    ),
    Suggestion(
        "cast-is-rounded",
        "The text does not state how a number is rounded, nor that a fraction is cut off.",
        _CASTS,
        of_casts.of_rounded_casts,
        admits=of_casts.admits_neighbors,
    ),
    Suggestion(
        "cast-of-texts",
        "The text does not state how the number in a text is rounded, nor how an integer is "
        "written.",
        _CASTS,
        of_casts.of_casts_of_texts,
        admits=of_casts.admits_the_same_number,
    ),
    Suggestion(
        "cast-to-bool",
        "Before version 13 the text does not state which numbers are true.",
        _CASTS,
        of_casts.of_truth,
    ),
    Suggestion(
        "zero-is-no-power",
        "The text does not state what 0 becomes in a type of powers of 2.",
        ("CastLike",),
        of_casts.of_powers_of_2,
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
        of_nodes.of_other_ranks_than_2,
        scope="refusal",
    ),
    Suggestion(
        "no-axis-after-channels",
        "The text speaks of axes after the channels; nothing in the formula needs one.",
        "BatchNormalization GroupNormalization InstanceNormalization LRN".split(),
        of_nodes.of_rank_2,
        scope="refusal",
    ),
    Suggestion(
        "no-elements",
        "The text does not state that an axis may have no elements.",
        _DML_SOFTMAX,
        of_nodes.of_no_elements,
        scope="refusal",
    ),
    Suggestion(
        "no-elements-of-a-batch",
        "The text does not state that a batch may have no elements.",
        ("LpPool",),
        of_nodes.of_no_elements_of_a_batch,
        scope="refusal",
    ),
    Suggestion(
        "no-indices",
        "The text does not state that there may be no indices.",
        ("ArrayFeatureExtractor",),
        of_nodes.of_no_indices,
        scope="refusal",
    ),
    Suggestion(
        "powers-beyond-the-range",
        "The text does not ask for scaling, where powers leave the range and the norm does not.",
        ("LpPool",),
        of_nodes.of_powers_beyond_the_range,
        scope="node",
    ),
    Suggestion(
        "rounded-steps",
        "The text does not state how numbers of a range are rounded that 16 bits do not hold.",
        ("Range",),
        of_nodes.of_rounded_steps,
        admits=of_nodes.admits_added_steps,
    ),
    Suggestion(
        "no-spread",
        "The text does not state that a distribution may have no spread.",
        "RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split(),
        of_nodes.of_no_spread,
        scope="refusal",
    ),
    Suggestion(
        "order-of-blocks",
        "Before version 11 of DepthToSpace and version 28 of SpaceToDepth, the text does not state "
        "in which order a block becomes channels.",
        ("DepthToSpace", "SpaceToDepth"),
        of_nodes.of_blocks,
        scope="node",
    ),
    Suggestion(
        "two-types",
        "The text does not state in which of two types is computed.",
        ("Attention", "BatchNormalization"),
        of_nodes.of_two_types,
        scope="node",
    ),
    Suggestion(
        "value-of-one-element",
        "The text does not state which rank a tensor of one element has.",
        ("ConstantOfShape",),
        of_nodes.of_a_value_of_another_rank,
        scope="refusal",
    ),
    Suggestion(
        "no-axes",
        "The text does not state what an empty list of axes means.",
        ("Squeeze", "Unsqueeze"),
        of_nodes.of_no_axes,
        scope="node",
    ),
    Suggestion(
        "pads-as-large-as-windows",
        "The text does not state that a window may lie in padding alone: engines refuse such pads.",
        ("LpPool", "AveragePool", "MaxPool", *_DML_POOLS),
        of_nodes.of_pads_as_large_as_windows,
        scope="refusal",
    ),
    Suggestion(
        "texts-that-are-zero",
        "The text does not state which text counts as zero.",
        ("NonZero",),
        of_nodes.of_texts,
        scope="node",
    ),
    Suggestion(
        "one-class-or-none",
        "The text does not mention a scalar index, a depth of 0, nor fractions.",
        ("OneHot",),
        of_nodes.of_classes,
        scope="node",
    ),
    Suggestion(
        "order-of-slices",
        "The text does not state by which elements slices are ordered.",
        ("Unique",),
        of_nodes.of_slices,
        scope="node",
    ),
    Suggestion(
        "negative-axes",
        "The text does not state that an axis below 0 counts from the back.",
        ("MeanVarianceNormalization",),
        of_nodes.of_negative_axes,
        scope="refusal",
    ),
    Suggestion(
        "negative-positions",
        "The text counts positions below 0 from the back only by its pseudocode, which is Python.",
        ("RotaryEmbedding", "TensorScatter"),
        of_nodes.of_negative_positions,
        scope="node",
    ),
    Suggestion(
        "range-of-a-slice",
        "The version does not state where a range begins or ends that leaves the axis or is empty.",
        ("Slice",),
        of_nodes.of_ranges_of_slices,
        scope="node",
    ),
    Suggestion(
        "odd-padding",
        "Version 1 of ConvTranspose has the equations of an odd padding the other way round.",
        ("ConvTranspose",),
        of_nodes.of_an_odd_padding,
        scope="node",
    ),
    Suggestion(
        "lists-of-one",
        "The text speaks of scalars; ONNX's node tests have lists of one element.",
        ("NonMaxSuppression",),
        of_nodes.of_lists_of_one,
        scope="refusal",
    ),
    Suggestion(
        "reflection",
        "The text does not state how far a reflection may go, nor what becomes of a scalar.",
        ("Pad",),
        of_nodes.of_reflections_beyond_the_axis,
        scope="node",
    ),
    Suggestion(
        "ties-in-any-order",
        "Where the order is undefined, the text only suggests which of equal elements are taken.",
        ("TopK",),
        of_nodes.of_ties_in_any_order,
        scope="node",
    ),
    Suggestion(
        "slope-of-channels",
        "Before version 7 the text only implies that each channel may have a slope.",
        ("PRelu",),
        of_nodes.of_a_slope_for_each_channel,
        scope="node",
    ),
    Suggestion(
        "ends-far-apart",
        "The text does not state in which type the difference of the ends is computed.",
        ("Range",),
        of_nodes.of_large_integers_of_range,
        scope="node",
    ),
    Suggestion(
        "vectors-alone",
        "Version 1 of Tanh speaks of vectors; nothing in the formula needs one.",
        ("Tanh",),
        of_nodes.of_other_ranks_than_1,
        scope="refusal",
    ),
    Suggestion(
        "scalars-without-features",
        "The text does not state that a scalar has a feature.",
        ("Scaler",),
        of_nodes.of_rank_0,
        scope="refusal",
    ),
    Suggestion(
        "axis-of-a-vector",
        "The text of version 19 has a scale for the whole tensor alone for vectors, too.",
        ("DequantizeLinear",),
        of_nodes.of_axes_of_vectors,
        scope="node",
    ),
    Suggestion(
        "size-beyond-32-bits",
        "The text does not state how large a size may be.",
        ("LRN",),
        of_nodes.of_sizes_beyond_32_bits,
        scope="refusal",
    ),
    Suggestion(
        "bits-shifted-out",
        "Version 11 of BitShift speaks of an increase alone, and not of bits that are lost.",
        ("BitShift",),
        of_nodes.of_bits_shifted_out,
    ),
    Suggestion(
        "texts-to-split",
        "The text does not state what an empty text gives, nor which characters are whitespace.",
        ("StringSplit",),
        of_nodes.of_texts_to_split,
        scope="node",
    ),
    Suggestion(
        "quantized-halves",
        "The text does not state how halves are rounded.",
        ("QLinearConv",),
        of_nodes.of_halves,
        admits=of_nodes.admits_next_integers,
    ),
)
