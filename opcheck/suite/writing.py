"""Cases as case files."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import yaml

from opcheck import dtypes
from opcheck.model import Array, Case, Given, TensorSpec

#: How a tensor is written in a case file.
Contents: TypeAlias = Callable[[TensorSpec], Mapping[str, Any]]
#: Elements of a tensor that is written out.
_FEW = 64


def case_file(cases: Sequence[Case], contents: Contents, notes: Sequence[str] = ()) -> str:
    """A case file of cases of one operator and opset; `notes` are comments on them."""
    first = cases[0]
    lines = [f"op: {first.op.name}", f"opset: {first.opset}", "cases:"]
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
    kind = spec.dtype.kind
    is_short = values.size <= _FEW and (spec.initializer or kind != "float")
    if is_short or kind not in ("float", "minifloat", "int", "bool"):
        return {"value": _plain(values)}
    shape = {"shape": [*spec.shape]}
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return {**shape, "constant": 0}
    low, high = (float(f"{end:.4g}") for end in (finite.min(), finite.max()))
    if kind in ("int", "bool"):
        return {**shape, "integers": [int(finite.min()), int(finite.max())]}
    return {**shape, "uniform": [low, high]} if low < high else {**shape, "constant": low}


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
