import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from opcheck.dtypes import DTYPES, identical
from opcheck.errors import Exit, InvalidNode
from opcheck.execution.golden import NodeOutputs, UnsoundArithmetic, outputs
from opcheck.model import OpVersion, OutputSpec, Task, TensorType


def asked(
    name: str, values: Any, since: int = 13, domain: str = "", **attrs: Any
) -> NodeOutputs | None:
    x = np.array(values, np.float32)
    known = (TensorType("X", DTYPES["float32"], x.shape),)
    op = OpVersion(domain, name, since)
    return outputs(Task("a", op, since, attrs, ("X",), known, {}, (OutputSpec("Y", None),)), [x])


@pytest.mark.parametrize(
    ("name", "values", "attrs", "want", "method"),
    [
        ("Hardmax", [0, 1], {}, [0, 1], "exact"),
        ("Softmax", [0, 1], {}, [0.26894143, 0.7310586], "bounded"),
        ("Softmax", [np.nan, 1], {}, [np.nan, np.nan], "bounded"),
        ("LpPool", [[[1, 2**-24]]], {"since": 18, "kernel_shape": (2,), "p": 1}, [[[1]]], "mpmath"),
    ],
)
def test_what_is_written_is_the_correctly_rounded_value(name, values, attrs, want, method):
    found = asked(name, values, **attrs)
    assert found
    assert identical(found[0][0], np.array(want, np.float32))
    assert found[1] == method


def test_nan_has_the_same_bits_on_every_processor() -> None:
    found = asked("Softmax", [-np.nan, np.inf])
    assert found
    assert found[0][0].view(np.uint32).tolist() == [0x7FC00000] * 2


def test_an_invalid_node_has_no_answer() -> None:
    with pytest.raises(InvalidNode):
        asked("Softmax", [0, 1], axis=7)


def test_what_the_engine_lacks_nobody_answers() -> None:
    assert asked("ZipMap", [0], since=1, domain="ai.onnx.ml") is None


#: Where glibc keeps the bits that say how SSE rounds and what it does with subnormals.
MXCSR, ENVIRONMENT = 28, 32


@contextmanager
def processor_mode(bits: int) -> Iterator[None]:
    libm = ctypes.CDLL("libm.so.6")
    before = (ctypes.c_ubyte * ENVIRONMENT)()
    libm.fegetenv(before)
    changed = (ctypes.c_ubyte * ENVIRONMENT)(*before)
    register = int.from_bytes(bytes(changed[MXCSR:]), "little") | bits
    changed[MXCSR:] = list(register.to_bytes(4, "little"))
    libm.fesetenv(changed)
    try:
        yield
    finally:
        libm.fesetenv(before)


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="not installed: glibc for x86-64, whose floating-point mode this changes",
)
@pytest.mark.parametrize(
    ("mode", "bits"),
    [
        ("subnormal results are 0", 0x8000),
        ("subnormal operands are 0", 0x0040),
        ("downwards", 0x2000),
        ("upwards", 0x4000),
        ("towards 0", 0x6000),
    ],
)
def test_a_processor_that_was_told_to_compute_otherwise_is_refused(mode: str, bits: int) -> None:
    error: Any = None
    with processor_mode(bits):
        try:
            asked("Softmax", [0, 1])
        except UnsoundArithmetic as refused:
            error = refused
    assert isinstance(error, UnsoundArithmetic), mode
    assert error.exit_code is Exit.UNUSABLE
    assert "floating-point" in error.lines()[1]
