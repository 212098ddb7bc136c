"""Passing cases with the property of a failing one whose change cures that.

If such a case fails too, the property is why the first one fails: all else of them differs.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from opcheck import opset
from opcheck.diagnose.flips import (
    Flip,
    fields_of_engine_answer,
    in_words,
    is_plain,
    may_be_changed,
    single_number,
    values_in,
    with_length,
    with_one_more,
    with_type,
    without_last,
)
from opcheck.model import Case
from opcheck.model.case import AttrValue, Given, TensorSpec, Typed

#: How a value that is not written out is described.
_AS_IT_IS = "as it is here"


def transplanted(failing: Case, cured: Case, passing: Case) -> Flip | None:
    """Return a passing case with what a failing one has otherwise than the same one `cured`.

    That is the type of the case, attributes, or an input's lengths, rank, values, presence, or if
    it is a constant. The answer is the engine's. None if `passing` has it already, or cannot get
    it: see `_of_type` and `_transplanted_input`. None, too, if the versions of `failing` and
    `cured` differ, and for a passing case that must not be changed: see `may_be_changed`. Raises
    KeyError for an operator or version without a schema.
    """
    if cured.op != failing.op or not may_be_changed(passing):
        return None
    if failing.dtype != cured.dtype:
        return _of_type(failing, passing)
    words: list[str] = []
    attrs = dict(passing.attrs)
    for name, value in _changed_attributes(failing, cured).items():
        if _is_same(value, attrs.pop(name, None)):
            return None
        if value is None:
            words.append(f"without `{name}`")
        else:
            attrs[name] = value
            words.append(f"with `{name}` {in_words(value) if is_plain(value) else _AS_IT_IS}")
    inputs = _by_name(passing)
    for name in _changed_inputs(failing, cured):
        before = inputs.pop(name, None)
        spec = _transplanted_input(_by_name(failing).get(name), _by_name(cured).get(name), before)
        if spec is before:
            return None
        if spec is None:
            words.append(f"without input {name}")
        else:
            inputs[name] = spec
            words.append(f"with input {name} {_how(spec, before)}")
    slots = _slots(failing, passing, inputs)
    changed = replace(
        passing,
        id=f"{passing.id}~{failing.id}",
        attrs=attrs,
        inputs=tuple(inputs[name] for name in slots if name),
        slots=slots,
        **fields_of_engine_answer(failing),
    )
    return Flip(" and ".join(words), changed)


def _of_type(failing: Case, passing: Case) -> Flip | None:
    """Return a passing case with its inputs and outputs in the type of a failing one.

    Its answer is the engine's. None if either case has no single type, if they have the same type
    or types of two kinds, for integers that the type does not hold, and for values read from a
    file. Raises KeyError for an operator or version without a schema.
    """
    own = passing.dtype
    dtype = failing.dtype
    if own is None or dtype is None or own == dtype or own.kind != dtype.kind:
        return None
    fields = with_type(passing, dtype)
    if fields is None:
        return None
    named = {"id": f"{passing.id}~{failing.id}"}
    changed = replace(passing, **{**fields_of_engine_answer(failing), **named, **fields})
    return Flip(f"with {dtype} in place of {own}", changed)


def _how(spec: TensorSpec, before: TensorSpec | None) -> str:
    """Describe an input that a passing case gets in place of the one `before`."""
    number = single_number(spec)
    if number is not None:
        return str(number)
    is_of_other_shape = before is not None and before.shape != spec.shape
    return f"of shape {[*spec.shape]}" if is_of_other_shape else _AS_IT_IS


def _changed_attributes(failing: Case, cured: Case) -> dict[str, AttrValue | Typed | None]:
    """Return the attributes of a failing case that the cured one has otherwise, None for none."""
    names = dict.fromkeys([*failing.attrs, *cured.attrs])
    values = {name: failing.attrs.get(name) for name in names}
    return {
        name: value for name, value in values.items() if not _is_same(value, cured.attrs.get(name))
    }


def _is_same(one: object, other: object) -> bool:
    """Return True for equal values of an attribute; of tensors, for the same one."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is other
    return one == other


def _by_name(case: Case) -> dict[str, TensorSpec]:
    """Return the inputs of a case by their names."""
    return {spec.name: spec for spec in case.inputs}


def _changed_inputs(failing: Case, cured: Case) -> list[str]:
    """Return the names of the inputs that a cured case has otherwise than the failing one."""
    mine = _by_name(failing)
    its = _by_name(cured)
    return [name for name in {**mine, **its} if mine.get(name) is not its.get(name)]


def _transplanted_input(
    failing: TensorSpec | None, cured: TensorSpec | None, passing: TensorSpec | None
) -> TensorSpec | None:
    """Return the input `passing` with what `failing` has otherwise than `cured`.

    All three are the input of one name, of three cases; None for a case that leaves it out. None is
    also returned for an input to leave out. It is `passing` itself if that has the property
    already, or cannot get it: other lengths do not fit another rank, nor do other values fit
    another kind of type. If several properties differ, the first of presence, rank, lengths, values
    and being a constant is taken.
    """
    if failing is None:
        return None
    if cured is None:
        return passing or failing
    if passing is None:
        return None
    if len(failing.shape) != len(cured.shape):
        return _with_rank(failing, cured, passing)
    if failing.shape != cured.shape:
        return _with_lengths(failing, cured, passing)
    if failing.content is cured.content:
        is_same = failing.initializer == passing.initializer
        return passing if is_same else replace(passing, initializer=failing.initializer)
    if (failing.shape, failing.dtype) != (passing.shape, passing.dtype):
        return _with_values(failing, passing)
    return replace(passing, content=failing.content, put=failing.put)


def _with_rank(failing: TensorSpec, cured: TensorSpec, passing: TensorSpec) -> TensorSpec:
    """Return an input of a passing case with one axis more, of length 1, or less.

    The failing one has as many axes. It is `passing` itself if that has not the rank of the cured
    one, or cannot get the other.
    """
    if len(passing.shape) != len(cured.shape):
        return passing
    is_less = len(failing.shape) < len(cured.shape)
    return (without_last(passing) if is_less else with_one_more(passing, 1)) or passing


def _with_values(failing: TensorSpec, passing: TensorSpec) -> TensorSpec:
    """Return an input of a passing case with the values of the failing one, repeated or cut off.

    It is `passing` itself if no values are written out, or are none, or if its type is of another
    kind or does not hold them.
    """
    content = failing.content
    is_of_one_kind = passing.dtype.kind == failing.dtype.kind
    if not isinstance(content, Given) or not content.values.size or not is_of_one_kind:
        return passing
    is_same = passing.dtype == failing.dtype
    values = content.values if is_same else values_in(passing.dtype, content.values)
    if values is None:
        return passing
    return replace(passing, content=Given(np.resize(values, passing.shape)), put=())


def _with_lengths(failing: TensorSpec, cured: TensorSpec, passing: TensorSpec) -> TensorSpec:
    """Return an input of a passing case with the failing one's lengths, where `cured` has others.

    It is `passing` itself if that has another rank, or values that cannot be repeated or cut off.
    """
    if len({len(spec.shape) for spec in (failing, cured, passing)}) > 1:
        return passing
    changed: TensorSpec | None = passing
    for axis, (length, other) in enumerate(zip(failing.shape, cured.shape, strict=True)):
        if length != other and changed and changed.shape[axis] != length:
            changed = with_length(changed, axis, length)
    return changed or passing


def _slots(failing: Case, passing: Case, inputs: Mapping[str, TensorSpec]) -> tuple[str, ...]:
    """Return the input slots of a case that has these `inputs`, of either case, by name."""
    slots = [*passing.slots, *[""] * (len(failing.slots) - len(passing.slots))]
    for place, name in enumerate(failing.slots):
        if name in inputs:
            slots[place] = name
    return opset.without_end([name if name in inputs else "" for name in slots])
