"""The processor's mode, which a kernel in opcheck's process may change."""

import ctypes
import platform
import struct
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import opcheck
from opcheck.backends import floating_point
from tests.wording import Wording

C = floating_point._C

#: FE_UPWARD, FE_DOWNWARD and FE_TOWARDZERO.
ROUNDING = {
    "x86_64": (0x800, 0x400, 0xC00),
    "aarch64": (0x400000, 0x800000, 0xC00000),
}
#: Where the control register is in fenv_t, and its bits that flush subnormals.
FLUSH = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24)}
MACHINE = platform.machine()

pytestmark = pytest.mark.skipif(
    C is None or MACHINE not in FLUSH, reason="not installed: C's functions for the mode"
)


def rounding(number: int) -> Callable[[], object]:
    return lambda: C.fesetround(ROUNDING[MACHINE][number])


def flushing() -> None:
    """Do as `torch.set_flush_denormal(True)` does."""
    mode = ctypes.create_string_buffer(256)
    C.fegetenv(mode)
    at, bits = FLUSH[MACHINE]
    (control,) = struct.unpack_from("<I", mode, at)
    struct.pack_into("<I", mode, at, control | bits)
    C.fesetenv(mode)


CHANGES = {
    "flushes": (flushing, "flushed to zero"),
    "upward": (rounding(0), "not rounded to nearest"),
    "downward": (rounding(1), "not rounded to nearest"),
    "to zero": (rounding(2), "not rounded to nearest"),
}
each_change = pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    assert floating_point.reset() == []


@each_change
def test_another_mode_is_seen_and_undone(change, words: str) -> None:
    assert floating_point.deviations() == []
    change()
    (found,) = floating_point.deviations()
    assert words in found
    assert floating_point.reset() == []
    assert floating_point.deviations() == []


def test_a_mode_that_was_wrong_from_the_start_is_undone_by_the_systems_default(monkeypatch) -> None:
    monkeypatch.setattr(floating_point, "_is_saved", False)
    flushing()
    assert floating_point.reset() == ([] if sys.platform == "linux" else ["flushed"])


@each_change
def test_a_kernel_that_changes_the_mode_is_unstable_and_blinds_no_judge(
    change, words: str, wording: Wording
) -> None:
    cases = opcheck.load(ids=["Identity/subnormals@opset=13,dtype=float32*"])

    def changing(input):
        change()
        return input

    def flushed(input):
        return np.where(np.abs(input) < 2.0**-126, input.dtype.type(0), input)

    def verdicts(kernel):
        results = opcheck.run(cases, kernel)
        return {(str(one.verdict), one.reason.partition(":")[0]) for one in results}

    honest = verdicts(flushed)
    [(verdict, reason)] = verdicts(changing)
    assert (verdict, reason) == ("unstable", wording)
    assert verdicts(flushed) == honest
    assert {verdict for verdict, _ in honest} == {"warn"}


def test_numpy_s_handling_of_errors_is_that_of_the_judge(monkeypatch) -> None:
    before = np.geterr()

    def raising(input):
        np.seterr(all="raise")
        return input

    results = [
        *opcheck.run(opcheck.load(ids=["Identity/by_hand@opset=13,dtype=float32*"]), raising)
    ]
    assert np.geterr() == before
    assert {str(one.verdict) for one in results} == {"pass"}


def test_where_the_mode_cannot_be_restored_nothing_is_judged(monkeypatch) -> None:
    monkeypatch.setattr(floating_point, "reset", lambda: ["subnormal numbers are flushed to zero"])
    with pytest.raises(opcheck.OpcheckError) as error:
        list(opcheck.run(opcheck.load(ops=["Identity"])[:1], lambda input: input))
    assert error.value.exit_code == 4
