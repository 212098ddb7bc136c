"""ai.onnx.ml: texts, categories and numbers mapped, encoded, joined, scaled and normalized.

Outputs are of float32, and so are the numbers of attributes. In what type a formula computes with
doubles and large integers is open: it rounds them to float32 first.
"""

from functools import partial

import numpy as np

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, limits
from opcheck.engine.axes import elements_at
from opcheck.engine.operators import check_one_of, is_open, operator, unsaid
from opcheck.errors import InvalidNode, illegal
from opcheck.numbers.faulty import bare, seen
from opcheck.opset import ML

NAMES = """
ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer LabelEncoder Normalizer
OneHotEncoder Scaler
"""
_ROUND = ("FeatureVectorizer", "Normalizer", "Scaler")
OPS = {n: operator(n, ML, exact=n not in _ROUND, of_integers=n in _ROUND) for n in NAMES.split()}
_TYPES = {"strings": object, "int64s": np.int64, "ints": np.int64, "floats": np.float32}


def the_one(attrs, stem):
    """The array in the attribute of this stem that is set; InvalidNode unless that is one."""
    given = [name for name in attrs if name.startswith(stem) and attrs[name] is not None]
    illegal(f"{' and '.join(given) or 'nothing'} set; allowed: one {stem}*", len(given) != 1)
    return np.array(attrs[given[0]], _TYPES.get(given[0].removeprefix(stem)))


def in_float32(x):
    """A tensor, or a list of an attribute, in float32 of the kind of numbers in force."""
    # It is lifted first, so that what follows is computed in float32 even where inputs are doubles.
    return xp.astype(xp.lifted(np.array(x, np.float32)) if isinstance(x, tuple) else x, np.float32)


@OPS["ArrayFeatureExtractor"].formula(1)
def extracted(X, Y):
    illegal("a scalar has no last axis", not X.ndim)
    is_open("the axes of a row, and of indices that are no list", X.ndim < 2 or Y.ndim != 1)
    is_open("negative indices", (Y < 0).any())
    return X[..., elements_at(Y.reshape(-1), X.shape[-1], back=False)]


@OPS["Binarizer"].formula(1)
def binarized(X, *, threshold):
    whole = X.dtype.kind == "i" and np.isfinite(threshold)
    return ((int(np.floor(threshold)) if whole else threshold) < X).astype(X.dtype)


@OPS["FeatureVectorizer"].formula(1)
def joined(*X, inputdimensions):
    rows = [xp.reshape(x, (1, *x.shape)) if x.ndim == 1 else x for x in X]
    shapes = [[*x.shape] for x in rows]
    illegal(f"shapes {shapes}; allowed: [N, C], [C]", any(len(one) != 2 for one in shapes))
    illegal(f"shapes {shapes} of different N", len({one[0] for one in shapes}) > 1)
    sizes = tuple(one[1] for one in shapes)
    unsaid(f"sizes {inputdimensions} for {sizes}", inputdimensions not in (None, sizes))
    return xp.concat([*map(in_float32, rows)], axis=1)


def _places(keys, asked):
    """Which of the keys each is that is asked for, the last of equal ones; -1 for none."""
    table = {key: place for place, key in enumerate(keys)}
    return np.array([table.get(one, -1) for one in asked], np.int64)


def _valued(places, values, default, dtype):
    held = np.empty(len(values) + 1, dtype)
    held[:-1], held[-1] = values, default
    return held[places]


def _by_type(X, texts, numbers, default_int64, default_string):
    """Texts as numbers, and numbers as texts."""
    are_texts = X.dtype == object
    keys, values = (texts, numbers) if are_texts else (numbers, texts)
    is_open("which of two equal keys counts", len({*keys}) < len(keys))
    to = (values, default_int64, np.int64) if are_texts else (values, default_string, object)
    return _valued(_places(keys, X.reshape(-1).tolist()), *to).reshape(X.shape)


@OPS["CategoryMapper"].formula(1)
def category(X, *, cats_int64s, cats_strings, default_int64, default_string):
    texts, numbers = cats_strings or (), cats_int64s or ()
    illegal(f"{len(texts)} texts and {len(numbers)} integers", len(texts) != len(numbers))
    illegal(f"rank {X.ndim}; allowed: 1, 2", X.ndim not in (1, 2))
    unsaid("no categories", not texts)
    return _by_type(X, texts, numbers, default_int64, default_string)


@OPS["LabelEncoder"].formula(1)
def label_1(X, *, classes_strings, default_int64, default_string):
    unsaid("no classes", not classes_strings)
    return _by_type(X, classes_strings, range(len(classes_strings)), default_int64, default_string)


def _bits(x, any_nan=False):
    """Texts, integers, or the bits of floats, in which NaN may be one and the same."""
    x = x.reshape(-1)
    if x.dtype.kind == "f":
        x = np.where((x != x) & any_nan, x.dtype.type(np.nan), x).view(f"i{x.itemsize}")
    return x.tolist()


def _label(any_nan, X, **attrs):
    """Version 2 compares bits, and does not say which of two equal keys counts."""
    X, keys, values = bare(X), the_one(attrs, "keys_"), the_one(attrs, "values_")
    if keys.ndim != 1 or keys.shape != values.shape or keys.dtype != X.dtype:
        both = f"keys {keys.dtype}{[*keys.shape]}, values {[*values.shape]}"
        raise InvalidNode(f"{both}; allowed: lists as long as each other, keys of {X.dtype}")
    places = _places(known := _bits(keys, any_nan), _bits(X, any_nan))
    is_open("which of two equal keys counts", not any_nan and len({*known}) < len(known))
    if any_nan and X.dtype.kind == "f":
        others = _places(_bits(keys + 0, any_nan), _bits(X + 0, any_nan))
        is_open("if 0 and -0 are one key", (others != places).any())
    return _valued(places, values, _default(values.dtype, **attrs), values.dtype).reshape(X.shape)


def _default(dtype, default_int64, default_float, default_string, default_tensor=None, **attrs):
    of_list = {object: default_string, np.int64: default_int64, np.float32: default_float}
    value = next((value for kind, value in of_list.items() if dtype == kind), None)
    if attrs.get("values_tensor") is not None:
        is_open("a default of a list for values in a tensor", value not in (None, "_Unused", -1, 0))
    if default_tensor is None:
        return (-0.0 if dtype.kind == "f" else -1) if value is None else value
    illegal(f"default_tensor is of {default_tensor.dtype}", default_tensor.dtype != dtype)
    illegal(f"default_tensor has {default_tensor.size} elements", default_tensor.size != 1)
    is_open("the rank of default_tensor", default_tensor.ndim != 1)
    return default_tensor.item()


OPS["LabelEncoder"].formula(2)(partial(_label, False))
OPS["LabelEncoder"].formula(4)(partial(_label, True))


@OPS["Imputer"].formula(1)
def imputed(X, *, imputed_value_floats, imputed_value_int64s, replaced_value_float,
            replaced_value_int64):  # fmt: skip
    real = X.dtype.kind == "f"
    floats, whole = (imputed_value_floats, replaced_value_float), (
        imputed_value_int64s, replaced_value_int64)  # fmt: skip
    (values, replaced), (others, _) = (floats, whole) if real else (whole, floats)
    illegal(f"no values to put in of the kind of {X.dtype}", not values)
    is_open("imputed values of both kinds", others is not None)
    illegal("a scalar has no features", not X.ndim)
    is_open(f"rank {X.ndim}: [N, C] or [C], and [*, F]", X.ndim > 2)
    illegal(f"{len(values)} values for {X.shape[-1]} features", len(values) not in (1, X.shape[-1]))
    low, high = (min(values), max(values)) if real else limits(DTYPES[X.dtype.name])
    illegal(f"no {X.dtype} is {values}", min(values) < low or max(values) > high)
    missing = (replaced == X) | ((X != X) & (replaced != replaced))
    return xp.where(missing, np.array(values, X.dtype), X)


@OPS["OneHotEncoder"].formula(1)
def one_hot(X, *, cats_int64s, cats_strings, zeros):
    cats = the_one({"cats_int64s": cats_int64s, "cats_strings": cats_strings}, "cats_")
    illegal(f"cats of {cats.dtype} for {X.dtype}", (cats.dtype == object) != (X.dtype == object))
    unsaid(f"zeros {zeros}", zeros not in (0, 1))
    is_open("which of two equal categories counts", len({*cats.tolist()}) < cats.size)
    X = bare(X)
    if X.dtype.kind == "f":
        unsaid("casts of numbers that int64 does not hold", not (np.abs(X) < 2.0**63).all())
        is_open("how fractions are cast", (np.trunc(X) != X).any())
        X = X.astype(np.int64)
    ones = X[..., None] == cats
    illegal("a category is not found", not (zeros or ones.any(axis=-1).all()))
    return ones.astype(np.float32)


@OPS["Scaler"].formula(1)
def scaled(X, *, offset, scale):
    unsaid("no offset, or no scale", offset is None or scale is None)
    illegal(f"{len(offset)} offsets for {len(scale)} scales", len(offset) != len(scale))
    if len(scale) != 1:
        unsaid(f"features of rank {X.ndim}", X.ndim != 2)
        illegal(f"{len(scale)} scales for {X.shape[1]} features", len(scale) != X.shape[1])
    return (in_float32(X) - in_float32(offset)) * in_float32(scale)


#: What rows are divided by: what of each element is added up, or its maximum taken.
_OVER = {"MAX": xp.max, "L1": xp.sum, "L2": lambda x, **axis: xp.sum(x * x, **axis)}


def _normalized(of_squares, X, *, norm):
    """The formula from `of_squares(x, sum)`, that of L2."""
    check_one_of("norm", norm, *_OVER)
    illegal(f"rank {X.ndim}; allowed: 1, 2", X.ndim not in (1, 2))
    is_open("if norms are of magnitudes, as their names say", (seen(X) < 0).any())
    unsaid("the maximum of NaN", norm == "MAX" and (seen(X) != seen(X)).any())
    x = in_float32(X)
    if not X.size:
        return x
    divisor = _OVER[norm](x, axis=-1, keepdims=True)
    # In all modes, if the divisor is zero, Y == X.
    none = seen(divisor) == 0
    by = xp.where(none, xp.full_like(divisor, 1), divisor)
    return xp.where(none, x, of_squares(x, by) if norm == "L2" else x / by)


OPS["Normalizer"].formula(1)(partial(_normalized, lambda x, total: xp.sqrt(x * x / total)))
OPS["Normalizer"].also_honest("")(partial(_normalized, lambda x, total: x / xp.sqrt(total)))
