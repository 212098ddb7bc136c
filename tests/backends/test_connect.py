import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import numpy
import onnx
import onnxruntime
import pytest

from opcheck.backends.connect import connect
from opcheck.errors import BackendUnavailable, Exit, UsageError
from tests.expecting import error_of
from tests.miniatures import offer
from tests.wording import Wording


def refusal(address: str) -> UsageError:
    return error_of(UsageError, connect, address)


@pytest.mark.parametrize(
    ("address", "version", "is_engine"),
    [
        ("numpy", numpy.__version__, True),
        ("onnxruntime", onnxruntime.__version__, False),
        ("reference", onnx.__version__, False),
    ],
)
def test_a_backend_knows_its_address_and_version(address, version, is_engine):
    backend = connect(address)
    assert (backend.info.address, backend.info.version) == (address, version)
    assert backend.info.kind == address.partition(":")[0]
    assert backend.info.engine is is_engine


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("CUDAExecutionProvder", "did you mean 'CUDAExecutionProvider'"),
        ("OpenVINO", "did you mean 'OpenVINOExecutionProvider'?"),
        ("cpu", "did you mean 'CPUExecutionProvider'?"),
        ("xyz", "CPUExecutionProvider"),
    ],
)
def test_an_unknown_provider_is_answered_with_what_was_meant(
    provider: str, hint: str, wording: Wording
) -> None:
    error = refusal(f"onnxruntime:{provider}")
    assert error.message == wording
    assert hint in str(error.hint)


def test_a_provider_that_is_not_built_in_says_what_to_install(monkeypatch, wording):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    error = error_of(BackendUnavailable, connect, "onnxruntime:CUDAExecutionProvider")
    assert error.message == wording
    assert "it has CPUExecutionProvider; install" in str(error.hint)
    assert error.exit_code == Exit.UNUSABLE


def test_declared_arithmetic_is_part_of_the_address_and_changes_nothing_else() -> None:
    text = "numpy?refuses=false&accumulate=stored,float16,stored"
    plain, declared = connect("numpy?refuses=true"), connect(text)
    assert (plain.info.address, plain.info.accumulate, plain.info.refuses) == ("numpy", (), True)
    assert (declared.info.accumulate, declared.info.refuses) == (("float16", "stored"), False)
    assert declared.info.address == "numpy?accumulate=float16,stored&refuses=false"
    assert (declared.info.kind, declared.info.version) == (plain.info.kind, plain.info.version)
    assert declared.info.engine is plain.info.engine is True
    assert declared.documented_errors == plain.documented_errors


def test_the_address_is_the_backend_s_own_spelling_and_all_options() -> None:
    declared = connect("onnxruntime:CPUExecutionProvider?accumulate=bfloat16&threads=2")
    assert declared.info.address == "onnxruntime?threads=2&accumulate=bfloat16"
    assert declared.info.threads == 2
    assert connect("onnxruntime:CPUExecutionProvider").info.address == "onnxruntime"


@pytest.mark.parametrize(
    "address",
    [
        "numpy?acumulate=float16",
        "numpy?provider=2",
        "reference?threads=2",
        "numpy?refuses=no",
        "reference?=2",
    ],
)
def test_an_option_without_use_is_refused(address: str, wording: Wording) -> None:
    error = refusal(address)
    assert error.message == wording
    assert str(error.hint) == wording


@pytest.fixture
def npu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The module of an installed distribution that offers the backends npu, lost and broken."""
    points = "npu = some_npu:Npu", "lost = some_npu:Nothing", "broken = broken_npu:Npu"
    offer(tmp_path, "some-npu", *points)
    (tmp_path / "broken_npu.py").write_text("import some_npu\n\nsome_npu.fail()\n")
    module = tmp_path / "some_npu.py"
    module.write_text(
        dedent("""
            class Npu:
                def __init__(self, device="0", *, threads="1", fault=""):
                    if fault:
                        raise (Off if fault == "off" else RuntimeError)(fault)
                    self.device, self.threads = device, int(threads)
                    self.devices = [f"NPU.{device}"]

                def prepare(self, task):
                    return self

                def run(self, inputs):
                    return inputs

            def fail():
                raise OSError("no libnpu.so")

            from opcheck import BackendUnavailable as Off
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield module
    for name in ("some_npu", "broken_npu"):
        sys.modules.pop(name, None)


def test_an_entry_point_is_a_backend(npu: Path) -> None:
    info = connect("npu").info
    assert (info.address, info.kind, info.version) == ("npu", "npu", "1.5")
    assert (info.devices, info.threads, info.repeatable) == (("NPU.0",), 1, True)


def test_an_entry_point_gets_detail_and_options(npu: Path, wording: Wording) -> None:
    info = connect("npu:3?threads=2&accumulate=float16").info
    assert info.address == "npu:3?threads=2&accumulate=float16"
    assert (info.devices, info.threads, info.accumulate) == (("NPU.3",), 2, ("float16",))
    error = refusal("npu?thread=2")
    assert error.message == wording
    assert error.hint == wording


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("npu?fault=no+device", "'npu' cannot be made: RuntimeError: no+device ({}:5)"),
        ("npu?fault=off", "'npu' cannot be made: off"),
        ("broken", "'broken' (broken_npu:Npu) cannot be loaded: OSError: no libnpu.so ({}:16)"),
        (
            "lost",
            "'lost' (some_npu:Nothing) cannot be loaded: "
            "AttributeError: module 'some_npu' has no attribute 'Nothing'",
        ),
    ],
)
def test_a_broken_entry_point_is_told_with_its_place(address: str, message: str, npu: Path) -> None:
    error = error_of(BackendUnavailable, connect, address)
    assert error.message == f"backend {message.format(npu)}"
