"""Every kernel against the schema of the operator version it claims to be."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from opcheck.engine.registry import Kernel, operators

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.engine import Exact, exactly
from opcheck.model import OpVersion

KERNELS = [
    pytest.param(OpVersion(domain, name, since), kernel, id=f"{name}-{since}")
    for (domain, name), operator in operators().items()
    for since, kernel in operator.kernels.items()
]


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_a_kernel_stands_at_a_version_of_the_specification(op: OpVersion, kernel: Kernel) -> None:
    assert op.since in opset.versions(op.domain, op.name)


#: Versions that the engine leaves out on purpose, by operator.
GAPS: dict[str, set[int]] = {}


@pytest.mark.parametrize(("domain", "name"), operators())
def test_every_version_of_an_operator_has_a_kernel_or_is_a_stated_gap(
    domain: str, name: str
) -> None:
    kernels = operators()[domain, name].kernels
    assert set(opset.versions(domain, name)) - set(kernels) == GAPS.get(name, set())


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_the_signature_has_the_schema_s_attributes_and_defaults(
    op: OpVersion, kernel: Kernel
) -> None:
    parameters = inspect.signature(kernel.plan).parameters.values()
    stated = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    schema = opset.versions(op.domain, op.name)[op.since]
    assert set(stated) == set(schema.attributes)
    # Optional without a default, and what is meant by leaving it out is open: refused.
    open_here = {"kernel_shape"} if str(op) == "LpPool-1" else set()
    for name, attribute in schema.attributes.items():
        if name in open_here:
            continue
        default = inspect.Parameter.empty if attribute.required else attribute.default
        assert stated[name] == default, name


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_the_signature_has_the_schema_s_inputs(op: OpVersion, kernel: Kernel) -> None:
    parameters = inspect.signature(kernel.plan).parameters.values()
    tensors = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    schema = opset.versions(op.domain, op.name)[op.since]
    assert [p.default is p.empty for p in tensors] == [p.option == "single" for p in schema.inputs]


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_the_dtypes_are_the_schema_s(op: OpVersion, kernel: Kernel) -> None:
    schema = opset.versions(op.domain, op.name)[op.since]
    allowed = {d.name for d in DTYPES.values() if d.text in schema.inputs[0].types}
    assert set(kernel.dtypes) == allowed
    assert len(kernel.dtypes) == len(allowed)


def test_the_operators_are_these() -> None:
    found = {name: set(operator.kernels) for (_, name), operator in operators().items()}
    assert found == {
        "Hardmax": {1, 11, 13},
        "Softmax": {1, 11, 13},
        "LpPool": {1, 2, 11, 18, 22},
        "DML_ACTIVATION_HARDMAX1": {1},
    }


@pytest.mark.parametrize(
    ("name", "low", "high", "rounded"),
    [
        ("Hardmax", 0, 1, False),
        ("DML_ACTIVATION_HARDMAX1", 0, 1, False),
        ("Softmax", 0, 1, True),
        ("LpPool", 0, None, True),
    ],
)
def test_their_outputs_lie_in_a_range_and_are_rounded_or_not(
    name: str, low: float, high: float | None, rounded: bool
) -> None:
    [operator] = [operator for (_, found), operator in operators().items() if found == name]
    assert (operator.low, operator.high, operator.rounded) == (low, high, rounded)


#: Attributes that a kernel needs for an input of shape [1, 2, 3].
NEEDED = {"LpPool": {"kernel_shape": (2,)}, "DML_ACTIVATION_HARDMAX1": {"Axes": (2,)}}


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_rounded_is_what_has_an_error_bound(op: OpVersion, kernel: Kernel) -> None:
    for name in kernel.dtypes:
        x = np.ones((1, 2, 3)).astype(DTYPES[name].numpy)
        [answer] = exactly(op, [x], NEEDED.get(op.name, {}))
        assert isinstance(answer, Exact) is operators()[op.domain, op.name].rounded
        if isinstance(answer, Exact):
            assert answer.dtype is DTYPES[name]
            assert (answer.rest is None) is (name != "float64")
            assert np.prod(answer.bound.layout) == answer.values.size
