from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from opcheck.engine.registry import Kernel, Operator, _by_module, operators

from opcheck import dtypes
from opcheck.engine import evaluate, operator_of
from opcheck.engine.evaluate import evaluate as evaluate_function
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Array, AttrValue, OpVersion

HARDMAX13 = OpVersion("", "Hardmax", 13)
#: What a legal call of each operator needs beside a tensor; a new operator must add its own.
MANDATORY: Mapping[str, Mapping[str, AttrValue]] = {
    "DML_ACTIVATION_HARDMAX1": {"Axes": (1,)},
    "LpPool": {"kernel_shape": (1,)},
}
#: The rank it needs at least; tensors of a smaller one get dimensions of size 1 in front.
RANK: Mapping[str, int] = {"LpPool": 3}

KERNELS = [
    pytest.param(OpVersion(domain, name, since), name_of, id=f"{name}-{since}-{name_of}")
    for (domain, name), operator in operators().items()
    for since, kernel in operator.kernels.items()
    for name_of in kernel.dtypes
]


def swapped(array: Array) -> Array:
    """The same values in the other byte order."""
    return array.view(f"u{array.itemsize}").byteswap().view(array.dtype.newbyteorder("S"))


LAYOUTS: Mapping[str, Callable[[Array], Array]] = {
    "fortran": np.asfortranarray,
    "every_other": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "byte_swapped": swapped,
    "offset": lambda x: np.concatenate([x.reshape(-1)[:1], x.reshape(-1)])[1:].reshape(x.shape),
}


def call(op: OpVersion, x: Any) -> Any:
    front = (1,) * (RANK.get(op.name, 0) - x.ndim)
    # Not by reshape, which would copy some of the strange layouts.
    (out,) = evaluate(op, [np.expand_dims(x, tuple(range(len(front))))], MANDATORY.get(op.name, {}))
    return out.reshape(out.shape[len(front) :])


def example(name: str) -> Any:
    return np.array([[3, 0, 3, 1], [-1, -1, -2, -0.0]]).astype(dtypes.DTYPES[name].numpy)


# ── every kernel there is ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("op", "name"), KERNELS)
def test_the_layout_of_the_input_does_not_matter(op: OpVersion, name: str, layout: str) -> None:
    x = example(name)
    strange = LAYOUTS[layout](x)
    assert strange.astype(float).tolist() == x.astype(float).tolist()
    want, got = call(op, x), call(op, strange)
    assert got.dtype == x.dtype
    assert got.astype(float).tolist() == want.astype(float).tolist()


@pytest.mark.parametrize(("op", "name"), KERNELS)
def test_inputs_are_neither_modified_nor_shared(op: OpVersion, name: str) -> None:
    x = example(name)
    before = x.tobytes()
    out = call(op, x)
    assert x.tobytes() == before
    assert not np.shares_memory(out, x)
    assert out.flags.writeable
    assert call(op, x) is not out
    x.flags.writeable = False
    assert call(op, x).tobytes() == out.tobytes()


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (2, 3, 0), (0, 2, 3)])
@pytest.mark.parametrize(("op", "name"), KERNELS)
def test_an_empty_tensor_stays_one(op: OpVersion, name: str, shape: tuple[int, ...]) -> None:
    out = call(op, np.zeros(shape, dtypes.DTYPES[name].numpy))
    assert (out.shape, dtypes.of(out)) == (shape, dtypes.DTYPES[name])


@pytest.mark.parametrize(("op", "name"), KERNELS)
def test_a_tensor_of_one_row_is_not_shared_either(op: OpVersion, name: str) -> None:
    x = np.ones((1, 1), dtypes.DTYPES[name].numpy)
    assert not np.shares_memory(call(op, x), x)


# ── what is refused, and how it is said ───────────────────────────────────────────────────────


@pytest.mark.parametrize("since", [0, 2, 10, 12, 14, 100])
def test_a_version_without_kernel_is_not_supported(since: int) -> None:
    op = OpVersion("", "Hardmax", since)
    with pytest.raises(NotSupported, match=f"no kernel for {op}$"):
        evaluate(op, [np.ones((2, 2))], {})
    assert operator_of(op) is None


def test_an_operator_of_another_domain_is_not_supported() -> None:
    for domain in ("ai.onnx.ml", "com.microsoft.dml"):
        with pytest.raises(NotSupported):
            evaluate(OpVersion(domain, "Hardmax", 13), [np.ones((2, 2))], {})
    with pytest.raises(NotSupported):
        evaluate(OpVersion("", "NoSuchOperator", 13), [], {})


def test_an_unknown_attribute_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidNode, match=r"^Hardmax-13: no attribute axes; allowed: axis$"):
        evaluate(HARDMAX13, [np.ones((2, 2))], {"axes": 1})


def test_a_mandatory_attribute_is_named() -> None:
    op = OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1)
    with pytest.raises(
        InvalidNode, match=r"^DML_ACTIVATION_HARDMAX1-1: attribute Axes is mandatory$"
    ):
        evaluate(op, [np.ones((2, 2), np.float32)], {})


@pytest.mark.parametrize("count", [0, 2])
def test_the_number_of_inputs_is_checked(count: int) -> None:
    with pytest.raises(InvalidNode, match=f"^Hardmax-13: {count} inputs; allowed: 1$"):
        evaluate(HARDMAX13, [np.ones((2, 2))] * count, {})


def test_optional_inputs_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(x: Array, y: Array | None = None, *, axis: int = 0) -> None:
        return None

    def first(plan: None, x: Array, y: Array | None = None, *, threads: int = 1) -> tuple[Array]:
        return (x,)

    kernels = {13: Kernel(two, ("float64",))}
    table = {("", "Hardmax"): Operator("", "Hardmax", kernels, first, first)}
    monkeypatch.setitem(evaluate_function.__globals__, "operators", lambda: table)
    x = np.ones(3)
    assert len(evaluate(HARDMAX13, [x, x], {})) == len(evaluate(HARDMAX13, [x], {})) == 1
    with pytest.raises(InvalidNode, match=r"^Hardmax-13: 3 inputs; allowed: 1 to 2$"):
        evaluate(HARDMAX13, [x, x, x], {})


@pytest.mark.parametrize(
    "dtype", [np.int32, np.bool_, np.complex128, np.str_, np.object_, ml_dtypes.float8_e4m3fn]
)
def test_a_foreign_dtype_is_named_with_the_choice(dtype: Any) -> None:
    with pytest.raises(
        InvalidNode, match=r"^Hardmax-13: input of type .*; allowed: bfloat16, float16, float32"
    ):
        evaluate(HARDMAX13, [np.zeros((2, 2), dtype)], {})


# ── how operator files are found ──────────────────────────────────────────────────────────────


def test_every_file_in_ops_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Operator("", "Made", {7: Kernel(lambda: None, ())}, tuple, tuple)
    files = {
        "opcheck.engine.ops": SimpleNamespace(__path__=[]),
        "made": SimpleNamespace(OPERATOR=made),
    }
    monkeypatch.setattr(pkgutil, "iter_modules", lambda *_: [SimpleNamespace(name="made")])
    monkeypatch.setattr(importlib, "import_module", files.__getitem__)
    assert inspect.unwrap(_by_module)() == {"made": made}


@pytest.mark.parametrize(
    ("name", "since", "attrs", "said"),
    [
        ("Softmax", 13, {"axis": 0.5}, r"axis 0\.5; allowed: an integer of 64 bits"),
        ("Softmax", 13, {"axis": "a"}, "axis 'a'; allowed: an integer of 64 bits"),
        ("Softmax", 13, {"axis": True}, "axis True; allowed: an integer of 64 bits"),
        ("Hardmax", 13, {"axis": 2**63}, f"axis {2**63}; allowed: an integer of 64 bits"),
        ("LpPool", 22, {"kernel_shape": 2}, "kernel_shape 2; allowed: a list of integers"),
        ("LpPool", 22, {"kernel_shape": (2.5,)}, r"kernel_shape \(2\.5,\); allowed: a list of"),
        ("LpPool", 22, {"kernel_shape": "22"}, "kernel_shape '22'; allowed: a list of"),
        ("LpPool", 22, {"kernel_shape": (1,), "strides": None}, "strides None; allowed: a list"),
        ("LpPool", 22, {"kernel_shape": (1,), "p": 2.5}, r"p 2\.5; allowed: an integer"),
        ("LpPool", 22, {"kernel_shape": (1,), "auto_pad": 1}, "auto_pad 1; allowed: a word"),
        ("LpPool", 1, {"kernel_shape": (1,), "p": "a"}, "p 'a'; allowed: a number"),
    ],
)
def test_an_attribute_of_another_kind_is_named_with_what_is_allowed(
    name: str, since: int, attrs: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(InvalidNode, match=f"^{name}-{since}: {said}"):
        evaluate(OpVersion("", name, since), [np.ones((1, 1, 3), np.float32)], attrs)
