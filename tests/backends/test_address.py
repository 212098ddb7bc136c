import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from opcheck.backends import adapters, address as addressing
from opcheck.backends.address import DEFAULT, Address, built_in, entry_points, parse
from opcheck.errors import Exit, UsageError
from tests.expecting import error_of
from tests.miniatures import offer
from tests.wording import Wording

#: There need not be a file for them to be read.
KINDS = ("cmd", "numpy", "onnx", "onnxruntime", "py", "reference", "saved")


@pytest.fixture
def some_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addressing, "built_in", lambda: KINDS)


def refusal(address: str) -> UsageError:
    return error_of(UsageError, parse, address)


def test_there_is_a_kind_for_each_adapter() -> None:
    files = {file.stem for file in Path(adapters.__path__[0]).glob("*.py")}
    assert set(built_in()) == files - {"__init__"}
    assert {*DEFAULT, "py"} <= set(built_in())


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("onnxrutime", "onnxruntime"),
        ("ONNXRuntime", "onnxruntime"),
        ("Numpy", "numpy"),
        ("referense:x", "reference"),
        ("tensorflow", None),
        ("", None),
        (":CPUExecutionProvider", None),
        ("__init__", None),
        ("../attempt", None),
        (" numpy", "numpy"),
    ],
)
@pytest.mark.usefixtures("some_kinds")
def test_an_unknown_backend_is_answered_with_the_known_ones(address, meant, wording):
    error = refusal(address)
    suggestion, known = re.fullmatch(r"(?:.*'(\S+)'.* )?.*: (.*)", str(error.hint)).groups()
    assert suggestion == meant
    assert known.split(", ") == [*KINDS]
    assert error == wording
    assert error.exit_code == Exit.USAGE


def test_other_distributions_offer_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    offer(tmp_path, "some-npu", "npu = some_npu.opcheck:Backend")
    monkeypatch.syspath_prepend(tmp_path)
    assert [*entry_points()] == ["npu"]
    assert parse("npu:0?threads=2") == Address("npu", "0", (("threads", "2"),))
    hint = refusal("npv").hint
    assert hint is not None
    assert hint == wording


def test_a_kind_that_two_distributions_offer_means_nothing(tmp_path, monkeypatch, wording):
    offer(tmp_path / "a", "some-npu", "npu = some_npu.opcheck:Backend")
    offer(tmp_path / "b", "other-npu", "npu = other_npu:Backend")
    monkeypatch.syspath_prepend(tmp_path / "b")
    monkeypatch.syspath_prepend(tmp_path / "a")
    assert refusal("npu").message == wording


def test_a_distribution_installed_in_two_places_offers_once(tmp_path, monkeypatch):
    for place in ("a", "b"):
        offer(tmp_path / place, "some-npu", "npu = some_npu.opcheck:Backend")
        monkeypatch.syspath_prepend(tmp_path / place)
    assert parse("npu").kind == "npu"


def test_nobody_offers_what_is_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    offer(tmp_path, "some-npu", "numpy = some_npu.opcheck:Backend")
    monkeypatch.syspath_prepend(tmp_path)
    assert refusal("npu").message == wording
    assert parse("numpy") == Address("numpy")


def test_reading_an_address_imports_no_backend_and_no_metadata() -> None:
    code = (
        "import sys; from opcheck.backends.address import parse\n"
        "parse('onnxruntime:X?threads=2'); parse('py:a.b:C')\n"
        "print({'onnxruntime', 'importlib.metadata', 'opcheck.backends.adapters.onnxruntime',"
        " 'opcheck.backends.adapters.py'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


@pytest.mark.parametrize("kind", ["numpy", "onnxruntime", "cmd"])
@pytest.mark.usefixtures("some_kinds")
def test_a_colon_needs_something_after_it(kind: str, wording: Wording) -> None:
    assert refusal(f"{kind}:").message == wording
    assert refusal(f"{kind}:?threads=2").message == wording


@pytest.mark.parametrize(
    ("text", "detail", "options"),
    [
        ("onnxruntime:CPUExecutionProvider", "CPUExecutionProvider", {}),
        ("py:pkg.mod:Class", "pkg.mod:Class", {}),
        ("py:pkg.mod:Class?model=C:/a b.bin&x=", "pkg.mod:Class", {"model": "C:/a b.bin", "x": ""}),
        ("py:m?f=a?b=c", "m", {"f": "a?b=c"}),
        (
            "cmd:./run {model} --n=1 {inputs} {outputs}",
            "./run {model} --n=1 {inputs} {outputs}",
            {},
        ),
        ("cmd:sh -c 'is it?x=1 or {model}'", "sh -c 'is it?x=1 or {model}'", {}),
        ("cmd:./run {model}?unsupported=3&b=2", "./run {model}", {"unsupported": "3", "b": "2"}),
        ("cmd:./run a?b=c d?unsupported=3", "./run a?b=c d", {"unsupported": "3"}),
        ("cmd:curl host/?f=npy?", "curl host/?f=npy", {}),
        ("cmd:curl host/?f=npy?unsupported=22", "curl host/?f=npy", {"unsupported": "22"}),
        ("saved:out/why?", "out/why", {}),
        ("saved:out/why??", "out/why?", {}),
        ("saved:out/a=b&c", "out/a=b&c", {}),
        ("saved:C:\\out", "C:\\out", {}),
    ],
)
@pytest.mark.usefixtures("some_kinds")
def test_only_what_follows_the_detail_is_an_option(text, detail, options):
    found = parse(text)
    assert (found.detail, dict(found.options)) == (detail, options)
    assert parse(str(found)) == found


@given(
    st.sampled_from(KINDS),
    st.none() | st.text(min_size=1),
    st.dictionaries(st.from_regex(r"\A[a-z][a-z0-9_-]*\Z"), st.from_regex(r"\A[^?&\s]*\Z")),
    st.sets(st.sampled_from(["float16", "bfloat16", "stored"])),
)
def test_what_str_spells_is_read_back(kind, detail, options, accumulate):
    options.pop("accumulate", None)
    if detail and kind not in ("cmd", "saved"):
        detail = detail.replace("?", "")
    address = Address(
        kind, detail or None, tuple(sorted(options.items())), tuple(sorted(accumulate))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addressing, "built_in", lambda: KINDS)
        assert parse(str(address)) == address


def test_the_order_of_options_means_nothing() -> None:
    one = parse("onnxruntime?threads=2&accumulate=stored&b=1")
    other = parse("onnxruntime?b=1&accumulate=stored&threads=2")
    assert one == other
    assert str(one) == str(other) == "onnxruntime?b=1&threads=2&accumulate=stored"


def test_an_option_is_given_once(wording: Wording) -> None:
    assert refusal("numpy?a=1&a=2").message == wording
    assert refusal("numpy?").message == wording


@pytest.mark.parametrize(
    "options",
    [
        "accumulate=float61",
        "accumulate=float16,",
        "accumulate",
        "threads=1&accumulate=x",
    ],
)
def test_what_cannot_be_declared_is_said(options: str, wording: Wording) -> None:
    error = refusal(f"numpy?{options}")
    assert error.message == wording
    assert str(error.hint) == wording
