"""From an operator version, arrays and attributes to outputs, in exact and in native mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from opcheck import dtypes
from opcheck.engine.exact import Exact, rounded
from opcheck.engine.registry import Kernel, Operator, operators
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Array, Attrs, OpVersion


def operator_of(op: OpVersion) -> Operator | None:
    """The operator's file, or None where the engine has none or lacks this version."""
    operator = operators().get((op.domain, op.name))
    return operator if operator and op.since in operator.kernels else None


def dtypes_of(op: OpVersion) -> tuple[str, ...]:
    """The dtypes that a version allows, none where the engine does not know it."""
    operator = operator_of(op)
    return operator.kernels[op.since].dtypes if operator else ()


@cache
def attributes_of(op: OpVersion) -> Mapping[str, str]:
    """The type of each attribute of a version that the engine knows, as ONNX calls it."""
    operator = operator_of(op)
    assert operator is not None
    plan = operator.kernels[op.since].plan
    types, words = get_type_hints(plan), {int: "int", float: "float", str: "string"}
    named = (p.name for p in _parameters(plan) if p.kind is p.KEYWORD_ONLY)
    return {name: words.get(types[name], "ints") for name in named}


@dataclass(frozen=True)
class Planned:
    """An operator version with its attributes, for inputs of certain shapes and dtypes."""

    operator: Operator
    plan: Any

    def exactly(self, *inputs: Array) -> tuple[Array | Exact, ...]:
        """The outputs, unrounded and with their error bounds where they have one."""
        return self.operator.exact(self.plan, *inputs)

    def evaluate(self, *inputs: Array) -> tuple[Array, ...]:
        """The outputs, rounded once. They share no memory with the inputs, nor does any below."""
        return tuple(map(rounded, self.exactly(*inputs)))

    def natively(self, *inputs: Array, threads: int = 1) -> tuple[Array, ...]:
        """The outputs in native mode: fast, and within the operator's bound."""
        return self.operator.native(self.plan, *inputs, threads=threads)


def evaluate(op: OpVersion, inputs: Sequence[Array], attrs: Attrs) -> tuple[Array, ...]:
    """The outputs of `op` on `inputs`, rounded once. Raises what `planned` raises."""
    return planned(op, inputs, attrs).evaluate(*inputs)


def exactly(op: OpVersion, inputs: Sequence[Array], attrs: Attrs) -> tuple[Array | Exact, ...]:
    """The same, unrounded and with their error bounds where they have one."""
    return planned(op, inputs, attrs).exactly(*inputs)


def natively(
    op: OpVersion, inputs: Sequence[Array], attrs: Attrs, threads: int = 1
) -> tuple[Array, ...]:
    """The same in native mode."""
    return planned(op, inputs, attrs).natively(*inputs, threads=threads)


def planned(op: OpVersion, inputs: Sequence[Array], attrs: Attrs) -> Planned:
    """What is to be computed of inputs like these, of which only shapes and dtypes are looked at.

    Raises:
        NotSupported: the engine has no kernel for exactly this version.
        InvalidNode: the specification forbids this dtype, attribute or value.
    """
    operator = operator_of(op)
    if operator is None:
        raise NotSupported(f"the engine has no kernel for {op}")
    kernel = operator.kernels[op.since]
    _check_count(op, kernel, inputs)
    _check_dtypes(op, kernel, inputs)
    _check_attributes(op, kernel, attrs)
    try:
        return Planned(operator, kernel.plan(*inputs, **attrs))
    except InvalidNode as error:
        raise InvalidNode(f"{op}: {error}") from None


def _check_count(op: OpVersion, kernel: Kernel, inputs: Sequence[Array]) -> None:
    parameters = _parameters(kernel.plan)
    tensors = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = sum(p.default is p.empty for p in tensors)
    if not needed <= len(inputs) <= len(tensors):
        allowed = f"{needed}" if needed == len(tensors) else f"{needed} to {len(tensors)}"
        raise InvalidNode(f"{op}: {len(inputs)} inputs; allowed: {allowed}")


@cache
def _parameters(function: Callable[..., object]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())


def _check_dtypes(op: OpVersion, kernel: Kernel, inputs: Sequence[Array]) -> None:
    for array in inputs:
        dtype = dtypes.of(array)
        if dtype is None or dtype.name not in kernel.dtypes:
            allowed = ", ".join(kernel.dtypes)
            raise InvalidNode(f"{op}: input of type {array.dtype}; allowed: {allowed}")


def _check_attributes(op: OpVersion, kernel: Kernel, attrs: Attrs) -> None:
    parameters = _parameters(kernel.plan)
    known = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    for name in attrs:
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise InvalidNode(f"{op}: no attribute {name}; allowed: {allowed}")
    for name, default in known.items():
        if default is inspect.Parameter.empty and name not in attrs:
            raise InvalidNode(f"{op}: attribute {name} is mandatory")
    for name, value in attrs.items():
        allowed, fits = _kind(kernel.plan, name)
        if not fits(value):
            raise InvalidNode(f"{op}: {name} {value!r}; allowed: {allowed}")


def _is_whole(value: object) -> bool:
    """Whether it is an integer of 64 bits, which is all that a model holds."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _are_whole(value: object) -> bool:
    return isinstance(value, Sequence) and all(map(_is_whole, value))


#: What an attribute of one value may be; those of any other type are lists.
_KINDS: Mapping[object, tuple[str, Callable[[object], bool]]] = {
    int: ("an integer of 64 bits", _is_whole),
    float: ("a number", _is_number),
    str: ("a word", lambda value: isinstance(value, str)),
}


@cache
def _kind(function: Callable[..., object], name: str) -> tuple[str, Callable[[object], bool]]:
    """What an attribute is declared as in a kernel's signature, in words, and what fits."""
    declared = get_type_hints(function)[name]
    return _KINDS.get(declared, ("a list of integers of 64 bits", _are_whole))
