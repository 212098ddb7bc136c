"""ai.onnx.ml's operators that prepare features: select, join, map, replace, encode and scale them.

All versions. What these operators compute is float32, as the numbers of their attributes are. The
texts do not state in what type to compute with doubles and large integers: the formulas round them
to float32 first.

The parts of the file: elements selected and joined; keys looked up in maps; elements replaced and
encoded; rows scaled and normalized. The operators have no mutants of their own.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, limits
from opcheck.engine.axes import elements_at
from opcheck.engine.operators import check_one_of, leave_open, operator, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NAN_IN_MAXIMUM, flag, has_nan
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import bare, seen
from opcheck.opset import ML

NAMES = """ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer LabelEncoder
Normalizer OneHotEncoder Scaler"""

#: The attributes of a node, by their names in the schema.
Attributes: TypeAlias = Mapping[str, Any]
#: Places in a list of keys; -1 for what is no key.
Places: TypeAlias = NDArray[np.int64]

#: The dtype of the list in an attribute, by the end of the attribute's name.
DTYPE_OF_LIST: Mapping[str, Any] = {
    "strings": object,
    "int64s": np.int64,
    "ints": np.int64,
    "floats": np.float32,
}

ROW_WITHOUT_BATCH = Ruling(
    "row-without-batch",
    "The text does not state if elements of a single row are a row, or a matrix of one row.",
    ("row", "matrix", "refused"),
)
INDICES_NO_LIST = Ruling(
    "indices-no-list",
    "The text does not state what becomes of the axes of indices that are no list.",
    ("list", "matrix", "refused"),
)
NEGATIVE_INDEX = Ruling(
    "negative-index",
    "The first index of a dimension is 0. The text does not mention indices below it.",
    ("refused", "from_the_back"),
)
NOT_ONE_DEFAULT = Ruling(
    "not-one-default",
    "One and only one default must be defined. But each has a value if it is left out, and the "
    "type of the input decides which one is needed.",
    ("by_the_input", "refused"),
)
EQUAL_KEYS = Ruling(
    "equal-keys",
    "The text does not state which of two equal keys counts.",
    ("last", "first", "refused"),
)
ZEROS_AS_KEYS = Ruling(
    "zeros-as-keys",
    "Version 4 does not state if 0 and -0 are one key: it compares bits no longer, or not of NaN.",
    ("by_their_bits", "one_key"),
)
DEFAULT_OF_ANOTHER_FORM = Ruling(
    "default-of-another-form",
    "The default must match the values. The text does not state if one that goes with a list "
    "matches values of its type in a tensor.",
    ("by_type", "of_the_tensor", "refused"),
)
RANK_OF_DEFAULT = Ruling(
    "rank-of-default",
    "The text does not state the rank of the tensor that holds the default.",
    ("any", "refused"),
)
VALUES_OF_BOTH_KINDS = Ruling(
    "values-of-both-kinds",
    "One and only one list of values should be defined. The type of the input decides which one "
    "is needed.",
    ("of_the_input", "refused"),
)
MORE_THAN_TWO_AXES = Ruling(
    "more-than-two-axes",
    "The text has inputs of the shape [N, C] or [C], and elsewhere of the shape [*, F].",
    ("features_last", "refused"),
)
EQUAL_CATEGORIES = Ruling(
    "equal-categories",
    "The text places a single one, and does not state at which of two equal categories.",
    ("both", "first", "last", "refused"),
)
CAST_OF_FRACTIONS = Ruling(
    "cast-of-fractions",
    "The text does not state how numbers that are not whole are cast to integers.",
    ("cut_off", "to_even", "away_from_0"),
)
FEATURES_WITHOUT_BATCH = Ruling(
    "features-without-batch",
    "The text states features of a matrix [N, F]. It does not mention a single row of them.",
    ("one_each", "refused"),
)
NORM_OF_MAGNITUDES = Ruling(
    "norm-of-magnitudes",
    "The formulas lack the magnitudes by which the norms that they are named after are defined.",
    ("by_the_formula", "of_magnitudes"),
)

ARRAY_FEATURE_EXTRACTOR = operator("ArrayFeatureExtractor", ML, exact=True)
BINARIZER = operator("Binarizer", ML, exact=True)
CATEGORY_MAPPER = operator("CategoryMapper", ML, exact=True)
FEATURE_VECTORIZER = operator("FeatureVectorizer", ML, of_integers=True)
IMPUTER = operator("Imputer", ML, exact=True)
LABEL_ENCODER = operator("LabelEncoder", ML, exact=True)
NORMALIZER = operator("Normalizer", ML, of_integers=True)
ONE_HOT_ENCODER = operator("OneHotEncoder", ML, exact=True)
SCALER = operator("Scaler", ML, of_integers=True)


# ── attributes ────────────────────────────────────────────────────────────────────────────────


def only_list(attributes: Attributes, stem: str) -> NDArray[Any]:
    """Return the one attribute that is set of those whose names begin with `stem`, as an array.

    attributes: by name, None where left out. The dtype is that of DTYPE_OF_LIST, texts being
    objects; a tensor has its own. Raises InvalidNode for none and for several: "One and only one …
    should be set".
    """
    given = [name for name, value in attributes.items() if name.startswith(stem)]
    given = [name for name in given if attributes[name] is not None]
    reject(len(given) != 1, f"{' and '.join(given) or 'nothing'} set; allowed: one {stem}*")
    name = given[0]
    # A tensor has a dtype of its own.
    return np.array(attributes[name], DTYPE_OF_LIST.get(name.removeprefix(stem)))


def in_float32(x: Array | tuple[float, ...]) -> Array:
    """Return a tensor, or the list of an attribute, in float32 of the kind of numbers in force.

    Numbers that float32 does not hold are rounded to it.
    """
    if isinstance(x, tuple):
        # It is lifted first, so that what follows is computed in float32 beside doubles, too.
        x = xp.lifted(np.array(x, np.float32))
    return xp.astype(x, np.float32)


# ── elements selected and joined ──────────────────────────────────────────────────────────────


@ARRAY_FEATURE_EXTRACTOR.formula(1)
def extracted(X: Array, Y: NDArray[np.int64]) -> Array:
    """Return the elements of `X` at the indices `Y` of the last axis, in the type of X.

    X: [..., C]; Y: [n]. Returns [..., n]; of X of one axis [n] or [1, n], ROW_WITHOUT_BATCH.
    Indices of another rank than 1 count as a list, keep their axes, or are refused:
    INDICES_NO_LIST. Those below 0 count from the back, or are refused: NEGATIVE_INDEX.

    Raises InvalidNode for a scalar X, for an index of C or more or below -C, and by these readings.
    """
    reject(not X.ndim, "a scalar has no last axis")
    counts_from_the_back = bool((Y < 0).any()) and NEGATIVE_INDEX.reading() == "from_the_back"
    indices = elements_at(Y.reshape(-1), X.shape[-1], back=counts_from_the_back)
    if Y.ndim != 1:
        reading = INDICES_NO_LIST.reading()
        reject(reading == "refused", f"indices of rank {Y.ndim}; allowed: 1")
        if reading == "matrix":
            indices = indices.reshape(Y.shape)
    Z = X[..., indices]
    if X.ndim == 1:
        reading = ROW_WITHOUT_BATCH.reading()
        reject(reading == "refused", "data of one axis")
        if reading == "matrix":
            return Z[np.newaxis]
    return Z


@FEATURE_VECTORIZER.formula(1)
def joined(*X: Array, inputdimensions: tuple[int, ...] | None) -> Array:
    """Return the inputs one after the other along axis 1, in float32.

    X: each [N, C_i], or [C_i], which is taken for [1, C_i]. Returns [N, ΣC_i]. inputdimensions: the
    C_i, or None. Raises InvalidNode for inputs of other ranks or of different N; NotSupported for
    sizes in `inputdimensions` that the inputs do not have.
    """
    rows = [xp.reshape(x, (1, *x.shape)) if x.ndim == 1 else x for x in X]
    shapes = [[*x.shape] for x in rows]
    reject(any(len(shape) != 2 for shape in shapes), f"shapes {shapes}; allowed: [N, C], [C]")
    reject(len({shape[0] for shape in shapes}) > 1, f"shapes {shapes} of different N")
    sizes = tuple(shape[1] for shape in shapes)
    if inputdimensions not in (None, sizes):
        raise_unspecified(f"sizes {inputdimensions} for {sizes}")
    return xp.concat([in_float32(x) for x in rows], axis=1)


# ── keys looked up in maps ────────────────────────────────────────────────────────────────────


def places_of(elements: Sequence[Any], keys: Sequence[Any], *, takes_first: bool = False) -> Places:
    """Return the place of each element in the list of keys, [elements]; -1 for what is no key.

    Of equal keys the last one counts, or the first if `takes_first`. Elements and keys are
    hashable.
    """
    numbered = list(enumerate(keys))
    if takes_first:
        numbered.reverse()
    place_of_key = {key: place for place, key in numbered}
    return np.array([place_of_key.get(element, -1) for element in elements], np.int64)


def places_among_equal(elements: Sequence[Any], keys: Sequence[Any]) -> Places:
    """Return the place of each element in the list of keys, of which two may be equal.

    -1 stands for what is no key. Of equal keys the last or the first counts, by EQUAL_KEYS. Raises
    InvalidNode for them if it refuses them.
    """
    if len(set(keys)) == len(keys):
        return places_of(elements, keys)
    reading = EQUAL_KEYS.reading()
    reject(reading == "refused", "two keys are equal")
    return places_of(elements, keys, takes_first=reading == "first")


def values_at(places: Places, values: Sequence[Any], default: Any, dtype: Any) -> NDArray[Any]:
    """Return the value at each place, in `dtype`, and the default at place -1."""
    return np.array([*values, default], dtype)[places]


def converted(
    X: NDArray[Any],
    texts: Sequence[str],
    integers: Sequence[int],
    *,
    default_int64: int,
    default_string: str,
    stated: Collection[str],
) -> NDArray[Any]:
    """Return an integer for each text in `X`, or a text for each integer, in the shape of X.

    A text and an integer of the same place belong together; of equal ones the last or the first
    counts, or they are refused: EQUAL_KEYS. What is not in its list has the default of the other
    kind. stated: the attributes that the node has; unless that is exactly one default, X's type
    decides which counts, or the node is refused: NOT_ONE_DEFAULT.

    Raises InvalidNode by these readings: for two defaults or none, and for equal keys.
    """
    is_one_default = ("default_int64" in stated) != ("default_string" in stated)
    is_refused = not is_one_default and NOT_ONE_DEFAULT.reading() == "refused"
    reject(is_refused, "two defaults, or none; allowed: one")
    elements = X.reshape(-1).tolist()
    if X.dtype == object:
        places = places_among_equal(elements, texts)
        converted_elements = values_at(places, integers, default_int64, np.int64)
    else:
        places = places_among_equal(elements, integers)
        converted_elements = values_at(places, texts, default_string, object)
    return converted_elements.reshape(X.shape)


@CATEGORY_MAPPER.formula(1)
def category(
    X: NDArray[Any],
    *,
    cats_int64s: tuple[int, ...] | None,
    cats_strings: tuple[str, ...] | None,
    default_int64: int,
    default_string: str,
    stated: Collection[str],
) -> NDArray[Any]:
    """Return the integer of each text, or the text of each integer, in the shape of X.

    X: texts or int64, [N, C] or [C]. A text and an integer of one place belong together, and a list
    of None is empty. What is in no list has the default of the other kind; of equal ones the last
    or the first counts, EQUAL_KEYS. stated: the attributes that the node has; two defaults or none
    are accepted or refused, NOT_ONE_DEFAULT.

    Raises InvalidNode for lists of different lengths, for other ranks, and by these readings;
    NotSupported for no categories.
    """
    texts = cats_strings or ()
    integers = cats_int64s or ()
    reject(len(texts) != len(integers), f"{len(texts)} texts and {len(integers)} integers")
    reject(X.ndim not in (1, 2), f"rank {X.ndim}; allowed: 1, 2")
    if not texts:
        raise_unspecified("no categories")
    return converted(
        X,
        texts,
        integers,
        default_int64=default_int64,
        default_string=default_string,
        stated=stated,
    )


@LABEL_ENCODER.formula(1)
def label_1(
    X: NDArray[Any],
    *,
    classes_strings: tuple[str, ...] | None,
    default_int64: int,
    default_string: str,
    stated: Collection[str],
) -> NDArray[Any]:
    """Return the place of each text in the list of classes, or the text at each place.

    X: texts or int64 of any shape, which the output has too. What is no class or no place has the
    default of the other kind. stated: the attributes that the node has. Of equal classes the last
    or the first counts, or they are refused, EQUAL_KEYS; two defaults or none are accepted or
    refused, NOT_ONE_DEFAULT. Raises NotSupported for no classes, None among it; InvalidNode by
    readings that refuse.
    """
    if not classes_strings:
        raise_unspecified("no classes")
    return converted(
        X,
        classes_strings,
        range(len(classes_strings)),
        default_int64=default_int64,
        default_string=default_string,
        stated=stated,
    )


def as_keys(x: NDArray[Any], *, any_nan: bool) -> list[Any]:
    """Return texts, integers, or the bits of floats as integers, in a list of all elements.

    any_nan: all bits of NaN count as the same.
    """
    keys = x.reshape(-1)
    if x.dtype.kind == "f":
        if any_nan:
            keys = np.where(keys != keys, x.dtype.type(np.nan), keys)
        keys = keys.view(f"i{x.itemsize}")
    return list(keys.tolist())


def keys_and_values(X: NDArray[Any], attributes: Attributes) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lists of keys and of values, both [n], in their dtypes.

    Raises InvalidNode unless there is exactly one keys_* and one values_* attribute, they are lists
    as long as each other, and the keys are of the type of `X`.
    """
    keys = only_list(attributes, "keys_")
    values = only_list(attributes, "values_")
    are_lists = keys.ndim == 1 and keys.shape == values.shape
    given = f"keys {keys.dtype}{[*keys.shape]}, values {[*values.shape]}"
    allowed = f"lists as long as each other, keys of {X.dtype}"
    reject(not are_lists or keys.dtype != X.dtype, f"{given}; allowed: {allowed}")
    return keys, values


@LABEL_ENCODER.formula(2)
def label_2(X: Array, *, stated: Collection[str], **attributes: Any) -> NDArray[Any]:
    """Return the i-th value of values_* for what equals the i-th key of keys_*, in the shape of X.

    "For key look-up, bit-wise comparison is used": 0 and -0 differ, and so may two NaN. What is no
    key has the default for values of this type, as stated or ONNX's own; of equal keys the last or
    the first counts, or they are refused: EQUAL_KEYS.

    Raises InvalidNode unless there is one list of keys, of the type of X, and one of values as
    long, and for equal keys if EQUAL_KEYS refuses them.
    """
    X = bare(X)
    keys, values = keys_and_values(X, attributes)
    places = places_among_equal(as_keys(X, any_nan=False), as_keys(keys, any_nan=False))
    default = default_of(values.dtype, attributes, stated)
    return values_at(places, list(values), default, values.dtype).reshape(X.shape)


@LABEL_ENCODER.formula(4)
def label_4(X: Array, *, stated: Collection[str], **attributes: Any) -> NDArray[Any]:
    """Return the i-th value of values_* for what equals the i-th key of keys_*, in the shape of X.

    "Float keys with value 'NaN' match any input 'NaN' value regardless of bit value. If a key is
    repeated, the last key takes precedence." 0 and -0 are one key or two: ZEROS_AS_KEYS. What is no
    key has the default: that of default_tensor, else that for a list of the values' type.

    Raises InvalidNode unless there is one list of keys, of the type of X, and one of values as
    long, for a default_tensor of another type or size than one value (RANK_OF_DEFAULT: another rank
    than 1), and for a list's default beside values_tensor, if DEFAULT_OF_ANOTHER_FORM refuses it.
    Raises NotSupported, while judging, for a default in a tensor and another one beside it.
    """
    X = bare(X)
    keys, values = keys_and_values(X, attributes)
    places = places_of(as_keys(X, any_nan=True), as_keys(keys, any_nan=True))
    if X.dtype.kind == "f":
        # -0 + 0 is 0.
        one_zero = places_of(as_keys(X + 0, any_nan=True), as_keys(keys + 0, any_nan=True))
        is_open = bool((one_zero != places).any())
        if is_open and ZEROS_AS_KEYS.reading() == "one_key":
            places = one_zero
    default = default_of(values.dtype, attributes, stated)
    return values_at(places, list(values), default, values.dtype).reshape(X.shape)


def default_of(dtype: np.dtype[Any], attributes: Attributes, stated: Collection[str]) -> Any:
    """Return the value for what is no key, in the values' dtype.

    It is that of default_tensor. Without one it is default_string, default_int64 or default_float,
    by the dtype; if the values are a tensor, that is accepted, left out or refused:
    DEFAULT_OF_ANOTHER_FORM. Else it is "{"_Unused"} if values_* has string type, {-1} if values_*
    has integral type, and {-0.f} if values_* has float type". stated: the attributes that the node
    has.

    Raises InvalidNode for a default_tensor of another type, of other than one element, or by
    RANK_OF_DEFAULT of another rank than 1, and by DEFAULT_OF_ANOTHER_FORM. Raises NotSupported,
    while judging, for two defaults, in a tensor and beside it.
    """
    name = {
        np.dtype(object): "default_string",
        np.dtype(np.int64): "default_int64",
        np.dtype(np.float32): "default_float",
    }.get(dtype)
    tensor = attributes.get("default_tensor")
    is_of_another_form = attributes.get("values_tensor") is not None and name in stated
    if tensor is not None:
        if is_of_another_form:
            leave_open("two defaults, in a tensor and beside it")
        return element_of(tensor, dtype)
    if is_of_another_form:
        reading = DEFAULT_OF_ANOTHER_FORM.reading()
        reject(reading == "refused", f"{name} for values in a tensor")
        if reading == "of_the_tensor":
            name = None
    if name is not None:
        return attributes[name]
    return {"O": "_Unused", "f": -0.0}.get(dtype.kind, -1)


def element_of(default_tensor: NDArray[Any], dtype: np.dtype[Any]) -> Any:
    """Return the one element of a tensor, as Python has it.

    A rank other than 1 is allowed or refused: RANK_OF_DEFAULT. Raises InvalidNode by that, for
    another dtype than that of the values, and for another size than 1.
    """
    reject(default_tensor.dtype != dtype, f"default_tensor is of {default_tensor.dtype}")
    reject(default_tensor.size != 1, f"default_tensor has {default_tensor.size} elements")
    is_refused = default_tensor.ndim != 1 and RANK_OF_DEFAULT.reading() == "refused"
    reject(is_refused, f"default_tensor of rank {default_tensor.ndim}")
    return default_tensor.item()


# ── elements replaced and encoded ─────────────────────────────────────────────────────────────


@BINARIZER.formula(1)
def binarized(X: Array, *, threshold: float) -> Array:
    """Return 1 for elements greater than the threshold, and 0 for others, NaN among them.

    X: of any shape and numeric type, which the output has too. Integers are not rounded to the type
    of the threshold, float32: each is compared exactly.
    """
    is_whole = X.dtype.kind == "i" and np.isfinite(threshold)
    # An integer is above the threshold if it is above the integer below that.
    limit = int(np.floor(threshold)) if is_whole else threshold
    return (limit < X).astype(X.dtype)


@IMPUTER.formula(1)
def imputed(
    X: Array,
    *,
    imputed_value_floats: tuple[float, ...] | None,
    imputed_value_int64s: tuple[int, ...] | None,
    replaced_value_float: float,
    replaced_value_int64: int,
) -> Array:
    """Return `X` with an imputed value in place of each element that equals the replaced one.

    X: [N, F] or [F]; with more axes the features are the last one, or they are refused:
    MORE_THAN_TWO_AXES. There is one imputed value, or one for each feature. Their list, and the
    replaced value, are those of the kind of X, floats or int64s. NaN equals NaN.

    Raises InvalidNode without values of that kind (None or an empty list), for scalars, for other
    numbers of values than 1 and F, for integers that the type of X does not hold, for more than two
    axes if MORE_THAN_TWO_AXES refuses them, and for lists of both kinds if VALUES_OF_BOTH_KINDS
    does.
    """
    values: tuple[Any, ...] | None
    others: tuple[Any, ...] | None
    is_real = X.dtype.kind == "f"
    if is_real:
        values, replaced = imputed_value_floats, replaced_value_float
        others = imputed_value_int64s
    else:
        values, replaced = imputed_value_int64s, replaced_value_int64
        others = imputed_value_floats
    if not values:
        raise InvalidNode(f"no values to put in of the kind of {X.dtype}")
    has_others = others is not None
    is_refused = has_others and VALUES_OF_BOTH_KINDS.reading() == "refused"
    reject(is_refused, "imputed values of both kinds")
    reject(not X.ndim, "a scalar has no features")
    is_refused = X.ndim > 2 and MORE_THAN_TWO_AXES.reading() == "refused"
    reject(is_refused, f"rank {X.ndim}; allowed: 1, 2")
    reject(len(values) not in (1, X.shape[-1]), f"{len(values)} values for {X.shape[-1]} features")
    if not is_real:
        low, high = limits(DTYPES[X.dtype.name])
        reject(min(values) < low or max(values) > high, f"no {X.dtype} is {values}")
    missing = (replaced == X) | ((X != X) & (replaced != replaced))
    return xp.where(missing, np.array(values, X.dtype), X)


def cast_to_integers(X: Array) -> NDArray[np.int64]:
    """Return floats as int64; fractions are cut off, or rounded, with ties to even or away from 0.

    Which of these, CAST_OF_FRACTIONS decides. Raises NotSupported for NaN, infinities and other
    numbers that int64 does not hold.
    """
    if not (np.abs(X) < 2.0**63).all():
        raise_unspecified("casts of numbers that int64 does not hold")
    whole = np.trunc(X)
    if (whole == X).all():
        return np.asarray(X.astype(np.int64))
    reading = CAST_OF_FRACTIONS.reading()
    if reading == "to_even":
        whole = np.rint(X)
    elif reading == "away_from_0":
        whole = np.where(np.abs(X - whole) >= 0.5, whole + np.sign(X), whole)
    return np.asarray(whole.astype(np.int64))


@ONE_HOT_ENCODER.formula(1)
def one_hot(
    X: Array,
    *,
    cats_int64s: tuple[int, ...] | None,
    cats_strings: tuple[str, ...] | None,
    zeros: int,
) -> NDArray[np.float32]:
    """Return for each element a row of zeros with a 1 at its category, in float32.

    X: of any shape; texts or numbers, as the categories are. Returns [*X.shape, number of
    categories]. Floats are cast to integers, cut off or rounded with ties to even or away from 0:
    CAST_OF_FRACTIONS. Of equal categories both, the first or the last have the 1, or they are
    refused: EQUAL_CATEGORIES.

    Raises InvalidNode unless exactly one list of categories is given, of the kind of X, for an
    element that is no category with `zeros` 0 (with 1 its row is all zeros; other numbers are 0, 1
    or refused, FLAG_OF_ANOTHER_NUMBER), and for equal categories if they are refused. Raises
    NotSupported for floats that int64 does not hold, NaN among them.
    """
    cats = only_list({"cats_int64s": cats_int64s, "cats_strings": cats_strings}, "cats_")
    reject((cats.dtype == object) != (X.dtype == object), f"cats of {cats.dtype} for {X.dtype}")
    X = bare(X)
    if X.dtype.kind == "f":
        X = cast_to_integers(X)
    ones = (X[..., np.newaxis] == cats) & places_for_a_one(cats.tolist())
    is_missing = not ones.any(axis=-1).all()
    reject(is_missing and not flag("zeros", zeros), "a category is not found")
    return np.asarray(ones.astype(np.float32))


def places_for_a_one(categories: Sequence[Any]) -> NDArray[np.bool_]:
    """Return a mask, [categories], of those at which there may be a 1: all, unless some are equal.

    Of equal ones it is both, the first or the last: EQUAL_CATEGORIES. Raises InvalidNode by the
    fourth reading, which refuses them.
    """
    if len(set(categories)) == len(categories):
        return np.ones(len(categories), np.bool_)
    reading = EQUAL_CATEGORIES.reading()
    reject(reading == "refused", "two categories are equal")
    if reading == "both":
        return np.ones(len(categories), np.bool_)
    counts = places_of(categories, categories, takes_first=reading == "first")
    return np.asarray(counts == np.arange(len(categories)))


# ── rows scaled and normalized ────────────────────────────────────────────────────────────────


@SCALER.formula(1)
def scaled(X: Array, *, offset: tuple[float, ...] | None, scale: tuple[float, ...] | None) -> Array:
    """Return (X - offset) * scale in float32, with one pair of numbers, or one for each feature.

    X: of any shape; if there is a pair for each feature [N, F], and [F] too unless it is refused:
    FEATURES_WITHOUT_BATCH.

    Raises InvalidNode for different numbers of offsets and scales, for other numbers than 1 and F,
    and for [F] if FEATURES_WITHOUT_BATCH refuses it. Raises NotSupported without an offset or a
    scale, and for other ranks if there is a pair for each feature.
    """
    if offset is None or scale is None:
        raise_unspecified("no offset, or no scale")
    reject(len(offset) != len(scale), f"{len(offset)} offsets for {len(scale)} scales")
    if len(scale) != 1:
        check_features(X.shape, len(scale))
    return (in_float32(X) - in_float32(offset)) * in_float32(scale)


def check_features(shape: tuple[int, ...], count: int) -> None:
    """Raise InvalidNode unless a tensor [N, F] has this count of features.

    [F] is allowed too, or refused: FEATURES_WITHOUT_BATCH. Raises NotSupported for other ranks.
    """
    if len(shape) not in (1, 2):
        raise_unspecified(f"features of rank {len(shape)}")
    is_refused = len(shape) == 1 and FEATURES_WITHOUT_BATCH.reading() == "refused"
    reject(is_refused, "features of rank 1; allowed: 2")
    reject(count != shape[-1], f"{count} scales for {shape[-1]} features")


def root_of_share(x: Array, total: Array) -> Array:
    """Return L2 as the text has it, without signs: "Y = sqrt(X^2 / sum(X^2)}".

    x: [N, C] or [C]; total: the sum of squares of each row, not 0.
    """
    return xp.sqrt(x * x / total)


def share_of_root(x: Array, total: Array) -> Array:
    """Return X / sqrt(sum(X^2)), with the sign of X; `total` is the sum of squares of each row."""
    return x / xp.sqrt(total)


def magnitude_of_share(x: Array, total: Array) -> Array:
    """Return L2 with one root a row, without signs: |X| / sqrt(sum(X^2)).

    total: the sum of squares of each row.
    """
    is_negative = seen(x) < 0
    return share_of_root(xp.abs(x) if is_negative.any() else x, total)


def divisor(x: Array, norm: str) -> Array:
    """Return max(X), sum(X) or sum(X^2) of each row, by the norm MAX, L1 or L2, as [N, 1] or [1].

    The maximum beside NaN is NaN, or the number: NAN_IN_MAXIMUM.
    """
    if norm == "L1":
        return xp.sum(x, axis=-1, keepdims=True)
    if norm == "L2":
        return xp.sum(x * x, axis=-1, keepdims=True)
    if has_nan(x) and NAN_IN_MAXIMUM.reading() == "number":
        x = xp.where(xp.isnan(x), xp.full_like(x, -np.inf), x)
    return xp.max(x, axis=-1, keepdims=True)


def normalized(of_squares: Callable[[Array, Array], Array], X: Array, *, norm: str) -> Array:
    """Return each row of `X` over its maximum, its sum, or the root of the sum of its squares.

    X: [N, C] or [C], of any numeric type. The result is float32, in the shape of X. `of_squares`
    computes L2 from x and the sum of its squares. "In all modes, if the divisor is zero, Y == X."
    With negative elements the norms are as the formulas have it, or those of magnitudes:
    NORM_OF_MAGNITUDES. The maximum of NaN and numbers is NaN or the largest number: NAN_IN_MAXIMUM.

    Raises InvalidNode for another norm than MAX, L1 and L2, and for other ranks.
    """
    check_one_of("norm", norm, "MAX", "L1", "L2")
    reject(X.ndim not in (1, 2), f"rank {X.ndim}; allowed: 1, 2")
    x = in_float32(X)
    if not X.size:
        return x
    # NaN is not negative.
    has_negative = bool((seen(X) < 0).any())
    is_of_magnitudes = has_negative and NORM_OF_MAGNITUDES.reading() == "of_magnitudes"
    total = divisor(xp.abs(x) if is_of_magnitudes else x, norm)
    is_zero = seen(total) == 0
    total = xp.where(is_zero, xp.full_like(total, 1), total)
    if norm != "L2":
        y = x / total
    elif is_of_magnitudes:
        y = share_of_root(x, total)
    else:
        y = of_squares(x, total)
    return xp.where(is_zero, x, y)


NORMALIZER.formula(1)(partial(normalized, root_of_share))
NORMALIZER.alternative("")(partial(normalized, magnitude_of_share))
