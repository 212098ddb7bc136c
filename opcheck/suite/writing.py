"""Cases as case files."""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
import yaml

from opcheck import dtypes
from opcheck.model import Array, Case, Given, TensorSpec

#: How a tensor is written in a case file.
Contents: TypeAlias = Callable[[TensorSpec], Mapping[str, Any]]
#: Elements of a tensor that is written out, and of one whose integers are kept in a file.
_FEW, _MANY = 64, 1 << 20


def case_file(cases: Sequence[Case], contents: Contents, notes: Sequence[str] = ()) -> str:
    """A case file of cases of one operator and opset; `notes` are comments on them."""
    first = cases[0]
    domain = [f"domain: {first.op.domain}"] if first.op.domain else []
    lines = [f"op: {first.op.name}", *domain, f"opset: {first.opset}", "cases:"]
    for number, case in enumerate(cases):
        lines += [f"# {note}" for note in notes[number : number + 1]]
        lines.append(f"- name: {name_of(case.name)}")
        if case.empty:
            lines.append(f"  empty: {_flow(case.empty)}")
        if case.attrs:
            lines.append(f"  attrs: {_flow({n: _attribute(v) for n, v in case.attrs.items()})}")
        inputs = {}
        for spec in case.inputs:
            inputs[spec.name] = {**contents(spec), "dtype": spec.dtype.name}
            if spec.initializer:
                inputs[spec.name]["initializer"] = True
        if inputs:
            lines.append(f"  inputs: {_flow(inputs)}")
        lines.append(f"  expect: {_flow({'computed': [one.name for one in case.outputs]})}")
    return "\n".join(lines) + "\n"


def name_of(text: str) -> str:
    """A name that a case file may use: lower case, from a letter on."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return word if word[:1].isalpha() else f"node_{word}".rstrip("_")


def made_up(spec: TensorSpec) -> Mapping[str, Any]:
    """The tensor's values if there are few, or else numbers of its range made up by rule."""
    assert isinstance(spec.content, Given)
    values: Array = spec.content.values
    kind, few = spec.dtype.kind, 0 < values.size <= _FEW
    # Short lists, such as the scales of Resize, decide what is asked even if a node computes them.
    if few and kind != "complex" and (spec.initializer or kind != "float" or values.ndim < 2):
        return {"value": _plain(values)}
    # What no rule makes is in a file, named by what is in it.
    # Indices may be of these types: others would be out of range, unsorted or the same twice.
    is_index = spec.dtype.name in ("int32", "int64") and _FEW < values.size <= _MANY
    if is_index or kind in ("string", "complex"):
        return {"file": f"{spec.name}_{sha256(dtypes.content(values)).hexdigest()[:16]}.pb"}
    shape = {"shape": [*spec.shape]}
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    low, high = (finite.min().item(), finite.max().item()) if finite.size else (0.0, 0.0)
    infinities = np.unique(numbers[np.isinf(numbers)]).tolist()
    if infinities or high - low == np.inf:  # which no range has
        return {**shape, "choice": [low, high, *infinities]}
    least, most = dtypes.limits(spec.dtype)
    whole = max(-low, high) < 2**53 and np.array_equal(finite, np.rint(finite))
    if whole or kind == "int":
        # Fills compute in float64, which has all whole numbers up to 2^53.
        least, most = max(least, -(2**53)), min(most, 2**53)
        return {**shape, "integers": [int(min(max(end, least), most)) for end in (low, high)]}
    ends = (float(f"{end:.4g}") for end in (low, high))
    return {**shape, "uniform": [min(max(end, least), most) for end in ends]}


def _attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        found = dtypes.of(value)
        return {"value": _plain(value), "dtype": found.name if found else str(value.dtype)}
    return [*value] if isinstance(value, tuple) else value


def _plain(values: Array) -> Any:
    known = dtypes.of(values)
    exact = known is not None and known.kind in ("float", "minifloat")
    return (values.astype(np.float64) if exact else values).tolist()


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**9, sort_keys=False)
    return text.removesuffix("\n...\n").strip()
