"""What is installed but cannot be imported is told like what is not installed."""

from __future__ import annotations

import builtins
from types import ModuleType
from typing import Any

import onnxruntime
import pytest

from opcheck.backends import connect
from opcheck.errors import BackendUnavailable, Exit

#: Backend, the package that it needs, the module whose import fails.
NEEDS = [
    ("onnxruntime", "onnxruntime", "onnxruntime"),
    ("onnxruntime", "onnxruntime", "onnxruntime.capi"),
    ("reference", "onnx", "onnx.reference"),
]


def break_import(monkeypatch: pytest.MonkeyPatch, module: str, error: BaseException) -> None:
    find = builtins.__import__

    def broken(name: str, *rest: Any, **keywords: Any) -> ModuleType:
        if name == module:
            raise error
        return find(name, *rest, **keywords)

    monkeypatch.setattr(builtins, "__import__", broken)


@pytest.mark.parametrize(("kind", "package", "module"), NEEDS)
@pytest.mark.parametrize("error", [RuntimeError, OSError, AttributeError, ImportError])
def test_a_broken_package_is_told_with_a_hint(
    kind: str,
    package: str,
    module: str,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_import(monkeypatch, module, error("no such thing"))
    with pytest.raises(BackendUnavailable) as caught:
        connect(kind)
    name = error.__name__
    assert caught.value.message == (
        f"backend {kind!r} is installed but broken: {name}: no such thing"
    )
    assert caught.value.hint == f"reinstall it: pip install --force-reinstall {package}"
    assert caught.value.exit_code == Exit.UNUSABLE


@pytest.mark.parametrize(("kind", "package", "module"), NEEDS)
def test_an_interrupt_passes(
    kind: str, package: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_import(monkeypatch, module, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        connect(kind)


def test_a_package_that_lacks_what_is_asked_of_it_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(onnxruntime, "get_all_providers")
    with pytest.raises(BackendUnavailable, match="is installed but broken: AttributeError: "):
        connect("onnxruntime")
