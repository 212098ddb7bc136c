from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any

import numpy
import onnx
import onnxruntime
import pytest

from opcheck.backends import DEFAULT, connect
from opcheck.backends.address import kinds
from opcheck.errors import BackendUnavailable, Exit, UsageError


def refusal(address: str) -> UsageError:
    with pytest.raises(UsageError) as error:
        connect(address)
    return error.value


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """As if `package` were not installed."""
    find = builtins.__import__

    def absent(name: str, *rest: Any, **keywords: Any) -> ModuleType:
        if name.split(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return find(name, *rest, **keywords)

    for name in list(sys.modules):
        if name.split(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", absent)


def test_there_is_a_kind_for_each_adapter() -> None:
    assert kinds() == ("numpy", "onnxruntime", "reference")
    assert set(DEFAULT) <= set(kinds())


@pytest.mark.parametrize(
    ("address", "version", "is_engine"),
    [
        ("numpy", numpy.__version__, True),
        ("onnxruntime", onnxruntime.__version__, False),
        ("reference", onnx.__version__, False),
    ],
)
def test_a_backend_knows_its_address_and_version(
    address: str, version: str, is_engine: bool
) -> None:
    backend = connect(address)
    assert (backend.info.address, backend.info.version) == (address, version)
    assert backend.info.kind == address.partition(":")[0]
    assert backend.is_engine is is_engine


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("onnxrutime", "did you mean 'onnxruntime'?"),
        ("ONNXRuntime", "did you mean 'onnxruntime'?"),
        ("Numpy", "did you mean 'numpy'?"),
        ("referense:x", "did you mean 'reference'?"),
        ("tensorflow", None),
        ("", None),
        (":CPUExecutionProvider", None),
        ("__init__", None),
        ("../attempt", None),
    ],
)
def test_an_unknown_backend_is_answered_with_the_known_ones(
    address: str, meant: str | None
) -> None:
    error = refusal(address)
    assert error.message == f"unknown backend {address!r}"
    assert error.hint is not None
    assert error.hint.endswith("known backends: numpy, onnxruntime, reference")
    assert (meant or "known backends") in error.hint
    assert error.exit_code == Exit.USAGE


@pytest.mark.parametrize("kind", ["numpy", "onnxruntime", "reference"])
def test_a_colon_needs_something_after_it(kind: str) -> None:
    assert refusal(f"{kind}:").message == f"backend '{kind}:' has nothing after the colon"


@pytest.mark.parametrize("kind", ["numpy", "reference"])
def test_a_detail_without_use_is_refused(kind: str) -> None:
    assert refusal(f"{kind}:fast").message == f"backend {kind!r} takes no detail, got 'fast'"


def test_an_unknown_provider_is_answered_with_what_was_meant() -> None:
    error = refusal("onnxruntime:CUDAExecutionProvder")
    assert error.message == "onnxruntime has no execution provider 'CUDAExecutionProvder'"
    assert error.hint is not None
    assert "CUDAExecutionProvider" in error.hint
    far = refusal("onnxruntime:xyz")
    assert far.hint is not None
    assert far.hint.startswith("known providers: ")
    assert "CPUExecutionProvider" in far.hint


def test_a_provider_that_is_not_built_in_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(BackendUnavailable) as error:
        connect("onnxruntime:CUDAExecutionProvider")
    assert error.value.message == "this onnxruntime is built without CUDAExecutionProvider"
    assert error.value.hint is not None
    assert "it has CPUExecutionProvider; install" in error.value.hint
    assert error.value.exit_code == Exit.UNUSABLE


@pytest.mark.parametrize(
    ("kind", "package"), [("onnxruntime", "onnxruntime"), ("reference", "onnx")]
)
def test_a_backend_that_is_not_installed_says_how_to(
    kind: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, package)
    with pytest.raises(BackendUnavailable) as error:
        connect(kind)
    assert error.value.message.startswith(f"backend {kind!r} is not installed: ")
    assert error.value.hint == f"install it: pip install {package}"
    assert error.value.exit_code == Exit.UNUSABLE


# ── what is declared of it ────────────────────────────────────────────────────────────────────


def test_declared_arithmetic_is_part_of_the_address_and_changes_nothing_else() -> None:
    plain, declared = connect("numpy"), connect("numpy?accumulate=stored,float16,stored")
    assert plain.info.accumulate == ()
    assert declared.info.accumulate == ("float16", "stored")
    assert declared.info.address == "numpy?accumulate=float16,stored"
    assert (declared.info.kind, declared.info.version) == (plain.info.kind, plain.info.version)
    assert declared.is_engine is plain.is_engine is True
    assert declared.documented_errors == plain.documented_errors


def test_it_goes_with_a_detail() -> None:
    declared = connect("onnxruntime:CPUExecutionProvider?accumulate=bfloat16")
    assert declared.info.address == "onnxruntime?accumulate=bfloat16"


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ("acumulate=float16", "has no option 'acumulate'", "did you mean 'accumulate'?"),
        ("threads=2", "has no option 'threads'", "the one option is accumulate"),
        ("", "has no option ''", "the one option is accumulate"),
        ("accumulate=float61", "no such arithmetic: 'float61'", "did you mean 'float16'"),
        ("accumulate=float16,", "no such arithmetic: ''", "one or several of bfloat16, float16"),
        ("accumulate", "no such arithmetic: ''", "one or several of bfloat16, float16"),
    ],
)
def test_what_cannot_be_declared_is_said(options: str, message: str, hint: str) -> None:
    error = refusal(f"numpy?{options}")
    assert message in error.message
    assert error.hint is not None
    assert hint in error.hint
