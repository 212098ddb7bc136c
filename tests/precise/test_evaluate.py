from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from opcheck.engine import registry as engine
from opcheck.errors import Exit, InvalidNode
from opcheck.model import OpVersion
from opcheck.precise import Precise, UnsoundArithmetic, evaluate
from opcheck.precise.registry import operators
from tests.precise.asking import METHODS, Method, ask, by

X = np.random.default_rng(2).normal(size=(3, 4, 7)) * 4
QUESTIONS: list[tuple[str, int, dict[str, Any]]] = [
    ("Softmax", 13, {"axis": 1}),
    ("Softmax", 11, {}),
    ("Hardmax", 13, {"axis": 0}),
    ("LpPool", 22, {"kernel_shape": (3,), "p": 3}),
    ("LpPool", 1, {"kernel_shape": (3,), "p": 2.5}),
]
asked = pytest.mark.parametrize(("name", "since", "attrs"), QUESTIONS)


def same(one: Precise, other: Precise) -> bool:
    return (
        one.values.tobytes() == other.values.tobytes()
        and one.distance.tobytes() == other.distance.tobytes()
        and one.method == other.method
    )


@pytest.mark.parametrize(
    "op",
    [
        OpVersion("", "Softmax", 12),
        OpVersion("", "Gemm", 13),
        OpVersion("com.microsoft.dml", "Softmax", 13),
    ],
)
def test_what_is_not_known_has_no_answer(op: OpVersion) -> None:
    assert evaluate(op, [X], {}) is None


def test_it_knows_all_versions_and_dtypes_that_the_engine_knows() -> None:
    known = {
        (key, since): set(version.dtypes)
        for key, operator in operators().items()
        for since, version in operator.versions.items()
    }
    assert known == {
        (key, since): set(kernel.dtypes)
        for key, operator in engine.operators().items()
        for since, kernel in operator.kernels.items()
    }


@pytest.mark.parametrize("method", METHODS)
@asked
def test_memory_layout_and_byte_order_make_no_difference(
    name: str, since: int, attrs: dict[str, Any], method: Method
) -> None:
    with by(method):
        want = ask(name, since, X, **attrs)
        swapped = X.astype(X.dtype.newbyteorder())
        spaced = np.zeros((3, 8, 14))
        spaced[:, ::2, ::-2] = X
        for x in (np.asfortranarray(X), swapped, spaced[:, ::2, ::-2]):
            before = x.tobytes()
            got = ask(name, since, x, **attrs)
            assert same(got, want)
            assert got.values.dtype == X.dtype
            assert got.values.flags.c_contiguous
            assert x.tobytes() == before
        read_only = X.copy()
        read_only.flags.writeable = False
        assert same(ask(name, since, read_only, **attrs), want)


@pytest.mark.parametrize("method", METHODS)
@asked
def test_an_element_does_not_depend_on_what_is_computed_beside_it(
    name: str, since: int, attrs: dict[str, Any], method: Method
) -> None:
    """Of another batch size, blocks are other ones."""
    if name == "Hardmax":
        return
    with by(method):
        one = ask(name, since, X, **attrs)
        many = ask(name, since, np.tile(X, (700, 1, 1)) if method != "mpmath" else X[:1], **attrs)
    count = min(len(one.values), len(many.values))
    assert one.values[:count].tobytes() == many.values[:count].tobytes()
    assert one.distance[:count].tobytes() == many.distance[:count].tobytes()


def test_threads_make_no_difference() -> None:
    """Each asks for other precisions, at the same time."""

    def answers(turn: int) -> list[Precise]:
        x = X.astype([np.float64, np.float32, np.float16][turn % 3])
        return [ask(name, since, x, **attrs) for name, since, attrs in QUESTIONS]

    want = [answers(turn) for turn in range(3)]
    with ThreadPoolExecutor(8) as pool:
        for turn, got in enumerate(pool.map(answers, range(24))):
            assert all(map(same, got, want[turn % 3]))


@pytest.mark.parametrize("method", METHODS)
def test_the_callers_settings_of_numpy_and_mpmath_make_no_difference(method: Method) -> None:
    import mpmath

    x = np.array([[3e4, -3e4, 0], [1, 2, -np.inf]], np.float16)
    big = np.full((1, 1, 3), np.finfo(np.float64).max)
    with by(method):
        want = ask("Softmax", 13, x), ask("LpPool", 22, big, kernel_shape=(3,))
        with mpmath.workprec(5), np.errstate(all="raise"):
            got = ask("Softmax", 13, x), ask("LpPool", 22, big, kernel_shape=(3,))
            assert mpmath.mp.prec == 5
    assert same(got[0], want[0])
    assert same(got[1], want[1])
    assert got[1].values.tolist() == [[[np.inf]]]


def test_the_number_of_inputs_is_checked() -> None:
    with pytest.raises(InvalidNode, match=r"^Softmax-13: takes 1 input, not 2"):
        evaluate(OpVersion("", "Softmax", 13), [X, X], {})


def test_an_attribute_of_no_such_name_is_invalid() -> None:
    with pytest.raises(InvalidNode, match=r"Softmax-13: axes is none of its attributes \(axis\)"):
        ask("Softmax", 13, X, axes=1)
    with pytest.raises(InvalidNode, match="x is none of its attributes"):
        evaluate(OpVersion("", "Softmax", 13), [X], {"x": 1})


def test_it_imports_nothing_of_the_engine_and_mpmath_when_it_computes() -> None:
    code = """
import sys, numpy
from opcheck.model import OpVersion
from opcheck.precise import evaluate
x = numpy.ones((1, 2, 3))
evaluate(OpVersion("", "Hardmax", 13), [x], {})
assert "mpmath" not in sys.modules
evaluate(OpVersion("", "Softmax", 13), [x], {})
evaluate(OpVersion("", "Softmax", 13), [numpy.ones(9999)], {})
evaluate(OpVersion("", "LpPool", 22), [x], {"kernel_shape": (2,)})
assert "mpmath" in sys.modules
print(*(name for name in sys.modules if name.startswith("opcheck.")))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[1] for name in run.stdout.split()}
    assert loaded == {"dtypes", "errors", "model", "precise"}


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
    error: BaseException | None = None
    with processor_mode(bits):
        try:
            ask("Softmax", 13, X)
        except UnsoundArithmetic as refused:
            error = refused
    assert isinstance(error, UnsoundArithmetic), mode
    assert error.exit_code is Exit.UNUSABLE
    assert "floating-point" in error.lines()[1]
    assert ask("Softmax", 13, X).method == "mpmath"
