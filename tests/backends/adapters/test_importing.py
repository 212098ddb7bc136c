"""What adapters share: imports that fail, options, and details without a meaning."""

import builtins
import sys
from types import ModuleType
from typing import Any

import onnxruntime
import pytest

from opcheck.backends import connect
from opcheck.backends.adapters import About, importing, take, threads
from opcheck.errors import BackendUnavailable, Exit, UsageError
from tests.expecting import error_of
from tests.wording import Wording

ACME = About("what runs", "acme", extra=True)
#: Backend, what installs it, the module whose import fails.
NEEDS = [
    ("onnxruntime", "pip install onnxruntime", "onnxruntime"),
    ("onnxruntime", "pip install onnxruntime", "onnxruntime.capi"),
    ("reference", "pip install onnx", "onnx.reference"),
    ("openvino", "pip install 'opcheck[openvino]'", "openvino"),
    ("tract", "pip install 'opcheck[tract]'", "tract"),
]


def break_import(monkeypatch: pytest.MonkeyPatch, module: str, error: BaseException) -> None:
    find = builtins.__import__

    def broken(name: str, *rest: Any, **keywords: Any) -> ModuleType:
        if name == module:
            raise error
        return find(name, *rest, **keywords)

    monkeypatch.setattr(builtins, "__import__", broken)


@pytest.mark.parametrize(("kind", "install", "module"), NEEDS)
@pytest.mark.parametrize(
    ("error", "told", "hint"),
    [
        *(
            (e, f"installed but broken: {e.__name__}: no such thing", "reinstall it")
            for e in (RuntimeError, OSError, AttributeError, ImportError)
        ),
        (ModuleNotFoundError, "not installed: no such thing", "install it"),
    ],
)
def test_a_package_that_fails_is_told_with_a_hint(
    kind, install, module, error, told, hint, monkeypatch
):
    break_import(monkeypatch, module, error("no such thing"))
    caught = error_of(BackendUnavailable, connect, kind)
    assert caught.message == f"backend {kind!r} is {told}"
    assert (caught.hint, caught.exit_code) == (f"{hint}: {install}", Exit.UNUSABLE)


@pytest.mark.parametrize(("kind", "install", "module"), NEEDS)
def test_an_interrupt_passes(kind, install, module, monkeypatch):
    break_import(monkeypatch, module, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        connect(kind)


def test_a_package_that_lacks_what_is_asked_of_it_is_broken(monkeypatch, wording):
    monkeypatch.delattr(onnxruntime, "get_all_providers")
    with pytest.raises(BackendUnavailable) as raised:
        connect("onnxruntime")
    assert raised.value == wording


def test_an_import_that_works_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("acme_engine")
    monkeypatch.setitem(sys.modules, "acme_engine", module)
    with importing(ACME, "acme"):
        import acme_engine  # type: ignore[import-not-found]

        assert acme_engine is module


def precision(text: str) -> str:
    if text not in ("f32", "f16"):
        raise ValueError("precision is f32 or f16")
    return text


KNOWN = {"threads": threads, "precision": precision}


def refused(options: dict[str, str], known: Any = KNOWN) -> UsageError:
    caught = error_of(UsageError, take, "acme", options, known)
    assert not isinstance(caught, BackendUnavailable)
    return caught


def test_options_are_read_and_those_left_out_are_absent() -> None:
    assert take("acme", {}, KNOWN) == {}
    assert take("acme", {"threads": "4"}, KNOWN) == {"threads": 4}
    both = {"precision": "f16", "threads": "1"}
    assert take("acme", both, KNOWN) == {"precision": "f16", "threads": 1}


def test_an_unknown_option_is_answered_with_what_was_meant_or_with_what_there_is(
    wording: Wording,
) -> None:
    near = refused({"thread": "1"})
    assert near.message == wording
    assert near.hint == wording
    assert refused({"xyz": "1"}).hint == wording
    assert refused({"threads": "1"}, {}).hint == wording


def test_a_value_that_is_refused_is_told_with_what_is_allowed(wording: Wording) -> None:
    assert refused({"precision": "i8"}).message == wording


@pytest.mark.parametrize("text", ["", "0", "-1", "+1", "1.5", " 1", "1e1", "two", "²", "٣"])
def test_a_number_of_threads_is_a_whole_one_from_1(text: str, wording: Wording) -> None:
    assert refused({"threads": text}).message == wording
    assert threads("1") == 1
    assert threads("64") == 64


def test_a_detail_without_a_meaning_is_refused(wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        take("acme", {}, KNOWN, "fast")
    assert raised.value == wording


@pytest.mark.parametrize("detail", [None, ""])
def test_no_detail_is_fine(detail: str | None) -> None:
    assert take("acme", {}, KNOWN, detail) == {}
