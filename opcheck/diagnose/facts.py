"""Facts that distinguish cases: what their nodes, attributes, inputs and outputs have in common.

A *feature* is a fact, such as "the input has a NaN", with the cases for which it holds. Sets of
cases are integers: bit n is case n. Cases of equal *questions* differ in type or opset alone.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import chain, combinations
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from opcheck import opset
from opcheck.analysis import without_numbers
from opcheck.diagnose.flips import WEIGHTED
from opcheck.dtypes import DType
from opcheck.model import Case, OpVersion
from opcheck.model.case import Fill, FromFile, Given, Rejected, TensorSpec
from opcheck.suite import materialize

#: Ranks of facts, the likeliest cause first: those that kernels branch on, values, limits on sizes.
PLAIN, VALUE, LIMIT = range(3)
#: How limits on a number end.
LIMITS = (" or less", " or more")
#: Kernels treat loops over so few elements apart.
_SHORT_LOOP = 1
#: Axes before the spatial ones: batch and channel.
_NOT_SPATIAL = 2
#: The largest inputs whose drawn values are looked at, in bytes.
_SMALL = 16 << 10
#: Inputs of so many integers at most may be lists, as attributes are.
_SHORT_LIST = 16
#: What the names of attributes have in them that count, and may divide a length.
_COUNTS = ("block", "group", "heads", "num", "size")
#: Attributes that list axes, whose order kernels may take for granted.
_ORDERS = ("axes", "perm")
#: So many inputs are compared in pairs.
_PAIRED = 3
#: Integers beyond these powers of 2 are not all in float32, int32 and float64.
_BITS = (24, 31, 53)
#: The range of integers of 32 bits.
_INT32 = range(-(1 << 31), 1 << 31)
#: A fact in words, its rank, and the number if it is a size.
_Fact: TypeAlias = tuple[str, int, int | None]


class Feature(NamedTuple):
    """A fact; bit n of `holds` is set if it holds for case n."""

    text: str
    rank: int
    holds: int


class Keys(NamedTuple):
    """Keys by which cases count, by number: of their questions, and of their units of evidence."""

    questions: Sequence[Hashable]
    units: Sequence[Hashable]


def invalid(case: Case) -> str:
    """Return why a model must be refused, "" for one that need not be.

    That is the reason that its case states. Integers, and lists of them, are "#" in it, so that
    equal reasons have one text.
    """
    expect = case.expect
    return without_numbers(expect.reason) if isinstance(expect, Rejected) else ""


def features(cases: Sequence[Case]) -> list[Feature]:
    """Return features that distinguish `cases` of one operator, the likeliest causes first.

    A feature is a fact such as "input x is a constant", or a limit on a size, with the cases for
    which it holds. No two hold for the same cases: the likeliest is there, of equally likely ones
    the first. One that holds for all cases is left out.
    """
    attrs = dict.fromkeys(name for case in cases for name in case.attrs)
    sizes: dict[str, dict[int, int | None]] = defaultdict(dict)
    # A fact of integers and of floats alike is as likely as that of floats.
    ranks: dict[str, int] = {}
    # An only input has a name too where another case, such as one of another version, has several.
    numbers_of_inputs = {len(case.inputs) for case in cases}
    is_named = len(numbers_of_inputs) > 1
    # What a node is comes before what its tensors are, in whatever case it is met first.
    for facts_of in (
        partial(_of_model, attrs),
        partial(_of_inputs, is_named=is_named),
        _of_sequences,
        _of_pairs,
        _of_lengths,
        _of_values,
        _of_kernel,
        _of_outputs,
    ):
        for number, case in enumerate(cases):
            for text, rank, size in facts_of(case):
                sizes[text][number] = size
                ranks[text] = max(rank, ranks.get(text, rank))
    conditions = [
        condition
        for text, by_case in sizes.items()
        for condition in _conditions(text, ranks[text], by_case)
    ]
    conditions.sort(key=_rank_of_condition)
    every_case = (1 << len(cases)) - 1
    distinct: dict[int, Feature] = {}
    for text, rank, numbers in conditions:
        holds = sum(1 << number for number in numbers)
        if holds != every_case:
            distinct.setdefault(holds, Feature(text, rank, holds))
    return [*distinct.values()]


#: A condition in words, its rank, and the numbers of the cases for which it holds.
_Numbered: TypeAlias = tuple[str, int, Sequence[int]]


def _rank_of_condition(condition: _Numbered) -> int:
    """Return the rank of a condition; the likeliest have the lowest."""
    _, rank, _ = condition
    return rank


def _conditions(text: str, rank: int, sizes: dict[int, int | None]) -> Iterator[_Numbered]:
    """Yield a fact, or the limits on a size, and its values if kernels branch on them.

    Items are the words, the rank, and the numbers of the cases for which it holds. `text` is the
    fact or the name of the size, and `sizes` has all cases with it, by number: their size, or None
    for a fact that is not a size. A size of 1 or less has a rank of VALUE at most, as kernels treat
    short loops apart.
    """
    by_case = {number: size for number, size in sizes.items() if size is not None}
    if not by_case:
        yield text, rank, [*sizes]
    levels = sorted({*by_case.values()})
    ranks = {level: min(rank, VALUE) if level <= _SHORT_LOOP else rank for level in levels}
    for level in levels:
        if ranks[level] < LIMIT:
            same = [number for number, size in by_case.items() if size == level]
            yield f"{text} is {level:,}", ranks[level], same
        below = [number for number, size in by_case.items() if size <= level]
        yield f"{text} is {level:,} or less", ranks[level], below
    # Nothing is known of sizes between: the tightest limit comes first.
    for level in reversed(levels):
        above = [number for number, size in by_case.items() if size >= level]
        yield f"{text} is {level:,} or more", ranks[level], above


def _of_model(attrs: Iterable[str], case: Case) -> Iterator[_Fact]:
    """Yield facts about the node: why it is invalid, its version, its attributes and inputs.

    Which of `attrs`, the names of all cases' attributes, and of its version's inputs a case has,
    and which it leaves out, are facts. A fact has words, a rank by how likely it is a cause, and a
    size or None.
    """
    reason = invalid(case)
    yield f"the model is invalid: {reason}" if reason else "the model is legal", PLAIN, None
    yield f"the version is {case.op.since}", VALUE, None
    yield "the opset", VALUE, case.opset
    stated = {*case.attrs, *case.slots}
    # What is an attribute in one version and an input in another has one fact.
    known = {*defaults_of(case.op), *stated, *_names_of_inputs(case.op)}
    is_given = {f"`{name}`": name in stated for name in attrs if name in known}
    is_given |= {f"input {number}": False for number in _optional_inputs(case.op)}
    is_given |= {f"input {number}": bool(slot) for number, slot in enumerate(case.slots)}
    for part, is_there in is_given.items():
        yield f"{part} is given" if is_there else f"{part} is left out", PLAIN, None


@cache
def defaults_of(op: OpVersion) -> Mapping[str, object]:
    """Return the defaults of the attributes that a version declares, by name; none without schema.

    None stands for one without a default.
    """
    schema = opset.versions(op.domain, op.name).get(op.since)
    return (
        {attribute.name: attribute.default for attribute in schema.attributes.values()}
        if schema
        else {}
    )


@cache
def _names_of_inputs(op: OpVersion) -> frozenset[str]:
    """Return the names of the inputs that a version declares; none without a schema."""
    schema = opset.versions(op.domain, op.name).get(op.since)
    return frozenset(slot.name for slot in schema.inputs) if schema else frozenset()


def _optional_inputs(op: OpVersion) -> list[int]:
    """Return the places of the inputs that a version lets a node leave out; none without schema."""
    schema = opset.versions(op.domain, op.name).get(op.since)
    inputs = schema.inputs if schema else ()
    return [place for place, slot in enumerate(inputs) if slot.option == "optional"]


@cache
def _optional_outputs(op: OpVersion) -> tuple[int, ...]:
    """Return the places of the outputs that a version lets a node leave out; none of no schema."""
    schema = opset.versions(op.domain, op.name).get(op.since)
    outputs = schema.outputs if schema else ()
    return tuple(place for place, slot in enumerate(outputs) if slot.option == "optional")


def _of_inputs(case: Case, *, is_named: bool = False) -> Iterator[_Fact]:
    """Yield facts about the shapes, types and values of inputs.

    If it `is_named`, an only input goes by its name, too. A fact has words, a rank by how likely it
    is a cause, and a size or None.
    """
    for spec in case.inputs:
        if "kernel_shape" in case.attrs and spec is case.inputs[0]:
            yield "the number of spatial axes", PLAIN, max(0, len(spec.shape) - _NOT_SPATIAL)
        if len(case.inputs) == 1:
            yield from _of_input("the input", spec, is_first=True)
        if len(case.inputs) > 1 or is_named:
            yield from _of_input(f"input {spec.name}", spec, is_first=spec is case.inputs[0])


def _of_input(label: str, spec: TensorSpec, *, is_first: bool) -> Iterator[_Fact]:
    """Yield facts about the shape, type and values of an input, which has the `label` in words.

    A fact has words, a rank by how likely it is a cause, and a size or None.
    """
    shape = spec.shape
    for fact in _of_tensor(spec):
        yield f"{label} {fact}", PLAIN, None
    for fact, rank in chain(_of_dtype(spec.dtype), _of_integers(spec)):
        yield f"{label} {fact}", rank, None
    yield f"the rank of {label}", PLAIN, len(shape)
    for fact in _of_floats(spec):
        yield f"{label} {fact}", VALUE, None
    if not is_first:
        for fact in _of_list_of_floats(spec):
            yield f"{label} {fact}", VALUE, None
    for number in _only_integer(spec):
        yield label, VALUE, number
        if number < 0:
            yield f"{label} is negative", PLAIN, None
    for n, size in enumerate(shape):
        yield f"the length of axis {n} of {label}", LIMIT, size
    if shape:
        yield f"the length of the last axis of {label}", LIMIT, shape[-1]
    yield f"the number of elements of {label}", LIMIT, prod(shape)
    yield f"the longest axis of {label}", LIMIT, max(shape, default=0)


def _of_sequences(case: Case) -> Iterator[_Fact]:
    """Yield inputs of one integer that is the number of tensors of a sequence, as facts."""
    for spec in case.inputs:
        for number in _only_integer(spec):
            for sequence, length in _lengths_of_sequences(case):
                if number == length:
                    yield f"input {spec.name} is the length of {sequence}", PLAIN, None


def _lengths_of_sequences(case: Case) -> Iterator[tuple[str, int]]:
    """Yield the names of a sequence, or of an input of several tensors, and the number of tensors.

    Each of these is an input of the case, with a number after the name.
    """
    schema = opset.versions(case.op.domain, case.op.name).get(case.op.since)
    for slot in schema.inputs if schema else ():
        if slot.option == "variadic":
            members = re.compile(rf"{re.escape(slot.name)}_\d+")
            length = sum(members.fullmatch(spec.name) is not None for spec in case.inputs)
            yield slot.name, length


def _of_outputs(case: Case) -> Iterator[_Fact]:
    """Yield which optional outputs are asked for, as facts, and the types of outputs.

    Types that the case does not state are left out.
    """
    asked = {spec.place if spec.place is not None else n for n, spec in enumerate(case.outputs)}
    for place in _optional_outputs(case.op):
        yield f"output {place} is {'asked for' if place in asked else 'left out'}", PLAIN, None
    for spec in case.outputs:
        if spec.dtype:
            label = "the output" if len(case.outputs) == 1 else f"output {spec.name}"
            yield f"{label} is {spec.dtype}", PLAIN, None


def _of_dtype(dtype: DType) -> Iterator[tuple[str, int]]:
    """Yield the type of a tensor, its width and the sign of integers, in words after its name.

    With each comes its rank.
    """
    yield f"is {dtype}", PLAIN
    if dtype.bits:
        yield f"is of {dtype.bits} bits", VALUE
    if dtype.kind == "int":
        yield "is unsigned" if dtype.name.startswith("u") else "is a signed integer", VALUE


def _of_tensor(spec: TensorSpec) -> Iterator[str]:
    """Yield facts about one input, in words that follow its name.

    Whether it is a constant or fed, axes of length 0 and 1, and NaN and infinities of either sign
    among the numbers that the case states; what is drawn has none but those put in.
    """
    yield "is a constant" if spec.initializer else "is fed"
    for length in (0, 1):
        if length in spec.shape:
            yield f"has an axis of length {length}"
    for axis, length in enumerate(spec.shape):
        if length == 0:
            yield f"has length 0 along axis {axis}"
    yield from _of_special_values(spec)


def _of_special_values(spec: TensorSpec) -> Iterator[str]:
    """Yield which of NaN and infinities an input has, in words that follow its name.

    Only numbers that the case states count.
    """
    if spec.dtype.kind == "string":
        return
    values = np.array([put.value for put in spec.put], np.complex128)
    if isinstance(spec.content, Given) and spec.dtype.kind in ("float", "complex"):
        values = np.append(values, spec.content.values.astype(np.complex128))
    facts = {"has a NaN": np.isnan(values), "has an infinity": np.isinf(values)}
    if spec.dtype.kind == "float":
        facts |= {"has +inf": np.isposinf(values.real), "has -inf": np.isneginf(values.real)}
    yield from (fact for fact, holds in facts.items() if holds.any())


def _of_integers(spec: TensorSpec) -> Iterator[tuple[str, int]]:
    """Yield facts about an input of integers, or of indices in another type, with their ranks.

    They are words that follow the input's name: values below 0, 0, large ones, unequal ones.
    """
    values = _integers(spec)
    if any(value < 0 for value in values):
        yield "has a negative value", PLAIN
    if 0 in values:
        yield "has a 0", VALUE
    for bits in _BITS:
        if any(abs(value) > 1 << bits for value in values):
            yield f"has a value beyond 2^{bits}", PLAIN
    if len(values) > 1:
        yield "has unequal values", VALUE


@lru_cache(maxsize=1 << 14)
def _of_floats(spec: TensorSpec) -> tuple[str, ...]:
    """Return facts about the values of an input of floats, in words that follow its name. Cached.

    None of an input beyond 16 KiB, or of one that is read from a file.
    """
    if spec.dtype.kind != "float" or spec.nbytes > _SMALL or isinstance(spec.content, FromFile):
        return ()
    try:
        values = materialize(spec).astype(np.float64)
    except ValueError:
        return ()
    with np.errstate(invalid="ignore"):
        facts = {
            "has a negative value": values < 0,
            "has a 0": values == 0,
        }
    return tuple(fact for fact, holds in facts.items() if holds.any())


def _of_list_of_floats(spec: TensorSpec) -> Iterator[str]:
    """Yield facts about few floats that are written out, such as scales, after the input's name.

    They are that one is not whole, is below 1, or that they are not equal.
    """
    is_list = spec.dtype.kind == "float" and len(spec.shape) <= 1
    if not is_list or not isinstance(spec.content, Given) or prod(spec.shape) > _SHORT_LIST:
        return
    values = spec.content.values.astype(np.float64)
    if (values != np.floor(values)).any():
        yield "has a value that is not whole"
    if (values < 1).any():
        yield "has a value below 1"
    if np.unique(values).size > 1:
        yield "has unequal values"


def _only_integer(spec: TensorSpec) -> Iterator[int]:
    """Yield the value of an input that is one integer, written out; nothing of others."""
    if spec.dtype.kind == "int" and prod(spec.shape) == 1 and isinstance(spec.content, Given):
        yield from map(int, spec.content.values.ravel()[:1])


def _integers(spec: TensorSpec) -> set[int]:
    """Return the integers that an input states, or the ends of what is drawn; empty for others.

    Those are of an integer type, or in any type an input of the name `indices` whose values are
    all whole.
    """
    content = spec.content
    if spec.dtype.kind != "int" and spec.name != "indices":
        return set()
    if isinstance(content, Given):
        values = {*content.values.ravel().tolist()}
    elif isinstance(content, Fill) and content.kind in ("integers", "choice"):
        values = {*content.args}  # the ends of what is drawn, or all of it
    else:
        return set()
    values.update(put.value for put in spec.put)
    if not all(isinstance(value, int | float) and value % 1 == 0 for value in values):
        return set()
    return values


def _of_pairs(case: Case) -> Iterator[_Fact]:
    """Yield facts about two of the first three inputs: unequal rank, or of equal rank what differs.

    Their axes differ only where one has length 1, so that it broadcasts; or one of integers, which
    may be indices, is shorter along an axis than the other. A fact has words, a rank by how likely
    it is a cause, and None for its size.
    """
    for one, other in combinations(case.inputs[:_PAIRED], 2):
        yield from _of_broadcasting(one, other)
        if len(one.shape) != len(other.shape):
            yield f"inputs {one.name} and {other.name} are of unequal rank", PLAIN, None
            continue
        sizes = [*zip(one.shape, other.shape, strict=True)]
        unequal = [pair for pair in sizes if len({*pair}) > 1]
        if unequal and all(1 in pair for pair in unequal):
            text = f"inputs {one.name} and {other.name} are of equal rank, with a 1 in one alone"
            yield text, PLAIN, None
        for first, second in ((one, other), (other, one)):
            if first.dtype.kind != "int":
                continue  # only indices may be shorter than what they index
            for axis, (mine, its) in enumerate(zip(first.shape, second.shape, strict=True)):
                if mine < its:
                    text = f"input {first.name} is shorter than {second.name} along axis {axis}"
                    yield text, VALUE, None


def _of_lengths(case: Case) -> Iterator[_Fact]:
    """Yield inputs of rank 1 that are shorter than the first input along `axis`, as facts.

    Without an axis, they are shorter than its number of elements. Nothing is yielded for operators
    without this attribute.
    """
    if not case.inputs or "axis" not in defaults_of(case.op):
        return
    first, *others = case.inputs
    along = "along `axis`, or in all without it"
    axis = case.attrs.get("axis", defaults_of(case.op)["axis"])
    if not isinstance(axis, int):
        length = prod(first.shape)
    elif -len(first.shape) <= axis < len(first.shape):
        length = first.shape[axis]
    else:
        return
    for spec in others:
        if len(spec.shape) == 1 and spec.shape[0] < length:
            yield f"input {spec.name} is shorter than {first.name} {along}", VALUE, None


def _of_broadcasting(one: TensorSpec, other: TensorSpec) -> Iterator[_Fact]:
    """Yield which of two inputs is stretched to the other's shape, as facts; none of other shapes.

    Axes are matched from the last one on.
    """
    pairs = [*zip(reversed(one.shape), reversed(other.shape), strict=False)]
    if any(mine != its and 1 not in (mine, its) for mine, its in pairs):
        return
    is_stretched = {
        spec.name: len(spec.shape) < longest or any(pair[n] == 1 != pair[1 - n] for pair in pairs)
        for n, spec in enumerate((one, other))
        for longest in [max(len(one.shape), len(other.shape))]
    }
    for name, holds in is_stretched.items():
        if holds:
            yield f"input {name} is stretched", VALUE, None
    last = next(iter(pairs), ())
    for n, length in enumerate(last):
        if length == 1 != last[1 - n]:
            name = (one, other)[n].name
            yield f"input {name} is stretched along its last axis", VALUE, None
    if all(is_stretched.values()):
        yield f"inputs {one.name} and {other.name} are both stretched", PLAIN, None


def _of_values(case: Case) -> Iterator[_Fact]:
    """Yield facts about the values of attributes, other than tensors.

    A fact has words, a rank by how likely it is a cause, and a size or None. Those of axes are
    about the first input. Inputs that are attributes in other versions count as these.
    """
    stated = {**case.attrs, **dict(_inputs_like_attributes(case))}
    for name, value in stated.items():
        if isinstance(value, np.ndarray):
            continue
        for fact, rank in _of_value(value):
            yield f"`{name}` {fact}", rank, None
        values = value if isinstance(value, tuple) else (value,)
        integers = [number for number in values if isinstance(number, int)]
        if isinstance(value, tuple):
            yield f"the number of `{name}`", VALUE, len(values)
            if integers:
                yield f"the largest of `{name}`", LIMIT, max(integers)
        elif integers:
            yield f"`{name}`", VALUE, integers[0]
        yield from _of_kind(name, integers, case)
    yield from _of_defaults(case, stated)
    yield from _of_lists_left_out(case, stated)


def _of_kind(name: str, integers: Sequence[int], case: Case) -> Iterator[_Fact]:
    """Yield facts about the integers of an attribute whose name says what they are.

    They are about pads, lists of axes, and the number of groups of channels, if there are any.
    """
    if name == "pads":
        yield from _of_pads(integers)
    if name in _ORDERS and [*integers] != sorted(integers):
        yield f"`{name}` is not in ascending order", VALUE, None
    channels = case.inputs[0].shape[1:2] if case.inputs else ()
    if "group" in name and channels == (*integers,):
        yield f"`{name}` is the number of channels", PLAIN, None


def _of_defaults(case: Case, stated: Mapping[str, object]) -> Iterator[_Fact]:
    """Yield facts about attributes that hold for a stated value, and for the same one by default.

    They are that an attribute is its default, and what an axis is of the first input. `stated` are
    the values that the case states, by name, those of inputs that count as attributes too.
    """
    defaults = defaults_of(case.op)
    for name, value in {**defaults, **stated}.items():
        default = defaults.get(name)
        if isinstance(default, int | float | str) and value == default:
            yield f"`{name}` is {_legible(default)} or left out", VALUE, None
        if case.inputs and name.lower() in ("axis", "axes") and value is not None:
            values = value if isinstance(value, tuple) else (value,)
            axes = [axis for axis in values if isinstance(axis, int)]
            if isinstance(value, int):
                yield from _of_axis(name, value, case, stated)
            yield from _of_axes(
                name, axes, case.inputs[0].shape, is_legal=not isinstance(case.expect, Rejected)
            )


def _of_lists_left_out(case: Case, stated: Mapping[str, object]) -> Iterator[_Fact]:
    """Yield lists of integers, attributes or inputs, that are empty or left out, as facts.

    `stated` are the values that the case states, by name.
    """
    known = {*defaults_of(case.op), *_names_of_inputs(case.op)}
    for name, kind in _attributes_of_all_versions(case.op.domain, case.op.name).items():
        is_stated = name in stated or name in case.slots
        if kind == "ints" and name in known and (stated.get(name) == () or not is_stated):
            yield f"`{name}` is empty or left out", PLAIN, None


def _inputs_like_attributes(case: Case) -> Iterator[tuple[str, int | tuple[int, ...]]]:
    """Yield the names of inputs that are an attribute in another version, with their values.

    Axes are too, in any operator. The values are those of few integers that the case writes out: a
    number, or a list of them.
    """
    names = _attributes_of_all_versions(case.op.domain, case.op.name)
    for spec in case.inputs:
        if spec.name not in names or spec.dtype.kind != "int" or spec.put:
            continue
        if isinstance(spec.content, Given) and prod(spec.shape) <= _SHORT_LIST:
            values = tuple(map(int, np.broadcast_to(spec.content.values, spec.shape).ravel()))
            is_number = names[spec.name] == "int" and len(values) == 1
            yield spec.name, values[0] if is_number else values


@cache
def _attributes_of_all_versions(domain: str, name: str) -> Mapping[str, str]:
    """Return the types of attributes of an operator by name, in the newest version that has them.

    `axis` and `axes` are among them.
    """
    versions = opset.versions(domain, name)
    types = {"axis": "int", "axes": "ints"}
    for since in sorted(versions):
        types |= {
            attribute.name: attribute.type for attribute in versions[since].attributes.values()
        }
    return types


def _of_pads(pads: Sequence[int]) -> Iterator[_Fact]:
    """Yield facts about `pads`, those at the beginning of each axis and then those at the end.

    They are that these differ, and which are larger.
    """
    half = len(pads) // 2
    pairs = [*zip(pads[:half], pads[half:], strict=False)]
    if any(begin != end for begin, end in pairs):
        yield "`pads` differ at the ends of an axis", VALUE, None
    if any(begin < end for begin, end in pairs):
        yield "`pads` are larger at the end of an axis", VALUE, None
    if any(begin > end for begin, end in pairs):
        yield "`pads` are larger at the beginning of an axis", VALUE, None


def _of_kernel(case: Case) -> Iterator[_Fact]:
    """Yield the size of a window along the spatial axes, as a fact, if it is one for all of them.

    It is that of `kernel_shape`, or else that of the weights of an operator that has some.
    """
    kernel = case.attrs.get("kernel_shape")
    if kernel is None and case.op.name in WEIGHTED and len(case.inputs) > 1:
        kernel = case.inputs[1].shape[_NOT_SPATIAL:]
    if isinstance(kernel, tuple) and kernel and len({*kernel}) == 1:
        yield "the kernel along each axis", VALUE, int(kernel[0])


def _of_value(value: object) -> Iterator[tuple[str, int]]:
    """Yield facts about an attribute's value, in words that follow its name, with their ranks.

    Signs, integers that are not in int32, texts and floats themselves, and zeros and unequal items
    of a list. Other kinds of values have none.
    """
    is_list = isinstance(value, tuple)
    values = value if isinstance(value, tuple) else (value,)
    numbers = [number for number in values if isinstance(number, int | float)]
    integers = [number for number in numbers if isinstance(number, int)]
    if any(number < 0 for number in numbers):
        yield "has a negative value" if is_list else "is negative", PLAIN
    if any(number not in _INT32 for number in integers):
        yield "needs more than 32 bits", PLAIN
    if isinstance(value, str | float):
        yield f"is {_legible(value)}", VALUE
    if is_list:
        yield from ((fact, VALUE) for fact in _of_list(values))


def _legible(value: object) -> str:
    """Return a value in words: a text in quotes if it would not be seen, as an empty one."""
    text = str(value)
    is_seen = text.isprintable() and text.strip() == text != ""
    return text if is_seen else f'"{text}"'


def _of_list(values: Sequence[object]) -> Iterator[str]:
    """Yield facts about the values of a list, in words that follow its name."""
    if 0 in values:
        yield "has a 0"
    if len({*values}) > 1:
        yield "has unequal values"


def _of_axis(name: str, axis: int, case: Case, stated: Mapping[str, object]) -> Iterator[_Fact]:
    """Yield the length of one axis of the first input, as a fact, and what does not divide it.

    `name` is that of the attribute that `axis` is of, and `stated` has the values of all. A length
    that an integer does not divide leaves a rest: an uneven split, or a shorter block. One that it
    equals is taken as a whole. Nothing is yielded for an axis that is out of range.
    """
    shape = case.inputs[0].shape
    if not -len(shape) <= axis < len(shape):
        return
    length = shape[axis]
    label = "the input" if len(case.inputs) == 1 else f"input {case.inputs[0].name}"
    yield f"the length of axis `{name}` of {label}", LIMIT, length
    for other, value in stated.items():
        if other == name or not isinstance(value, int) or not _is_count(other):
            continue
        if value > 1 and length % value:
            yield f"the length of axis `{name}` is not divisible by `{other}`", PLAIN, None
        if value == length:
            yield f"`{other}` is the length of axis `{name}`", PLAIN, None


def _is_count(name: str) -> bool:
    """Return True for the name of an attribute that counts, as `num_groups` does."""
    return any(word in name for word in _COUNTS)


def _of_axes(
    name: str, axes: Sequence[int], shape: Sequence[int], *, is_legal: bool
) -> Iterator[_Fact]:
    """Yield facts about axes of an input of this shape, and about the sizes that they divide.

    `name` is that of the attribute. Of axes that the input does not have, only that: they are out
    of range, unless the model `is_legal`, as where they are axes of the output. The sizes are the
    numbers of elements along the axes, across them, before the first and from the first on.
    """
    rank = len(shape)
    if rank in axes:
        yield f"`{name}` is the rank", PLAIN, None
    if any(abs(axis) > rank for axis in axes):
        yield f"`{name}` is beyond the rank", PLAIN, None
    if not all(-rank <= axis < rank for axis in axes):
        which = "is not one of the input's axes" if is_legal else "is out of range"
        yield f"`{name}` {which}", PLAIN, None
        return
    places = [axis % rank for axis in axes]
    if len(places) == 1:
        yield f"`{name}` from the front", VALUE, places[0]
    if places == [rank - 1]:
        yield f"`{name}` is the last axis", VALUE, None
    for where, part in {
        "along": [shape[axis] for axis in places],
        "across": [size for axis, size in enumerate(shape) if axis not in places],
        "before": shape[: min(places, default=0)],
        "from": shape[min(places, default=0) :],
    }.items():
        yield f"the number of elements {where} `{name}`", LIMIT, prod(part)


class CaseFacts:
    """Cases of one operator, numbered, and the features that distinguish them."""

    def __init__(self, cases: Iterable[Case]) -> None:
        #: By identity: ids of legal twins are not unique.
        self._numbers: dict[int, int] = {}
        self.cases: list[Case] = []
        self.add(cases)

    def add(self, cases: Iterable[Case]) -> list[int]:
        """Add cases, and return their numbers, which follow those before.

        A case added twice goes by its last number. `features` and `questions` are computed anew,
        with the new cases, if there are any.
        """
        first = len(self.cases)
        self.cases = [*self.cases, *cases]
        if len(self.cases) == first:
            return []
        self._numbers = {id(case): number for number, case in enumerate(self.cases)}
        self.__dict__.pop("features", None)
        self.__dict__.pop("questions", None)
        return [*range(first, len(self.cases))]

    def number(self, case: Case) -> int:
        """Return the number of a case; raises KeyError for one that is not among them."""
        return self._numbers[id(case)]

    def bits(self, cases: Iterable[Case]) -> int:
        """Return a set of cases as an integer: bit n is set for the n-th.

        Raises KeyError for a case that is not among them.
        """
        return sum(1 << number for number in set(map(self.number, cases)))

    @cached_property
    def features(self) -> list[Feature]:
        """The facts that distinguish the cases."""
        return features(self.cases)

    def keys(self, failing: int, others: int) -> Keys:
        """Return the keys of questions and of units of evidence of the cases, in their order.

        `failing` and `others` are bits of cases. A unit is the case's name, whatever its data, if
        all cases of this name are of one of both; else it is the question.
        """
        names: list[set[str]] = [set(), set()]
        for number, case in enumerate(self.cases):
            for side, cases in enumerate((failing, others)):
                if cases >> number & 1:
                    names[side].add(case.name)
        mixed = names[0] & names[1]
        units = [
            question if case.name in mixed else case.name
            for case, question in zip(self.cases, self.questions, strict=True)
        ]
        return Keys(self.questions, units)

    @cached_property
    def questions(self) -> list[tuple[object, ...]]:
        """A key for the question of each case, whatever its type and opset, in their order."""
        return [
            (case.name, case.row, *map(str, case.attrs.items()), *(i.shape for i in case.inputs))
            for case in self.cases
        ]
