"""Every kernel against the schema of the operator version it claims to be."""

from __future__ import annotations

import inspect

import pytest

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.engine.registry import Kernel, operators
from opcheck.model import OpVersion

KERNELS = [
    pytest.param(OpVersion(domain, name, since), kernel, id=f"{name}-{since}")
    for (domain, name), operator in operators().items()
    for since, kernel in operator.kernels.items()
]


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_a_kernel_stands_at_a_version_of_the_specification(op: OpVersion, kernel: Kernel) -> None:
    assert op.since in opset.versions(op.domain, op.name)


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_the_signature_has_the_schema_s_attributes_and_defaults(
    op: OpVersion, kernel: Kernel
) -> None:
    parameters = inspect.signature(kernel.function).parameters.values()
    stated = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    schema = opset.versions(op.domain, op.name)[op.since]
    assert set(stated) == set(schema.attributes)
    for name, attribute in schema.attributes.items():
        default = inspect.Parameter.empty if attribute.required else attribute.default
        assert stated[name] == default, name


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_the_signature_has_the_schema_s_inputs(op: OpVersion, kernel: Kernel) -> None:
    parameters = inspect.signature(kernel.function).parameters.values()
    tensors = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    schema = opset.versions(op.domain, op.name)[op.since]
    assert [p.default is p.empty for p in tensors] == [p.option == "single" for p in schema.inputs]


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_the_dtypes_are_the_schema_s(op: OpVersion, kernel: Kernel) -> None:
    schema = opset.versions(op.domain, op.name)[op.since]
    allowed = {d.name for d in DTYPES.values() if d.text in schema.inputs[0].types}
    assert set(kernel.dtypes) == allowed
    assert len(kernel.dtypes) == len(allowed)


def test_hardmax_and_its_directml_sibling_are_there() -> None:
    found = {name: set(operator.kernels) for (_, name), operator in operators().items()}
    assert found["Hardmax"] == {1, 11, 13}
    assert found["DML_ACTIVATION_HARDMAX1"] == {1}


def test_their_outputs_lie_between_zero_and_one() -> None:
    for operator in operators().values():
        if "ardmax" in operator.name.lower():
            assert (operator.low, operator.high) == (0, 1)
            assert operator.bound.ulp == 0
