"""The commands of docs/accelerators.md do on its stand-in what the page says of them."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from opcheck.backends.address import profiles
from opcheck.model import Verdict
from opcheck.report import store
from tests.shell import ROOT, shell

PAGE = (ROOT / "docs" / "accelerators.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)\n```", PAGE, re.DOTALL)
FILES = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
(PROFILE,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="a shell runs the commands"),
    pytest.mark.processes,
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the stand-in, and the case files of the page."""
    for name in ("accelerator.py", "batch_invariant.py"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    for name, text in FILES:
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def command(*parts: str) -> str:
    """Return the only command of the page with these parts."""
    (found,) = [text for text in COMMANDS if all(part in text for part in parts)]
    return found


def ran(folder: Path, text: str) -> tuple[int, Sequence[Verdict]]:
    """Run a command; return its exit code, and the verdicts in their order."""
    code, printed = shell(folder, f"{text} --report json=run.jsonl")
    assert (folder / "run.jsonl").is_file(), printed
    return code, [record.verdict for record in store.read(folder / "run.jsonl").records]


def test_a_silent_fallback_is_not_run(folder: Path) -> None:
    code, verdicts = ran(folder, command("falls_back"))
    assert code == 4
    assert {*verdicts} == {Verdict.NOT_RUN, Verdict.UNSUPPORTED}


def test_few_operators_are_right_without_any_declaration(folder: Path) -> None:
    code, verdicts = ran(folder, command("refuses=false"))
    assert code == 0
    assert {*verdicts} == {Verdict.PASS, Verdict.UNSUPPORTED}


def test_sums_in_float16_are_a_warning_until_they_are_declared(folder: Path) -> None:
    declared = command("accumulate=float16")
    (warned,) = [text for text in COMMANDS if "narrow" in text and text != declared]
    code, verdicts = ran(folder, warned)
    assert code == 1
    assert {*verdicts} == {Verdict.PASS, Verdict.WARN}
    code, verdicts = ran(folder, declared)
    assert code == 0
    assert {*verdicts} == {Verdict.PASS}


def test_flushed_numbers_pass_unless_a_case_is_strict(folder: Path) -> None:
    assert ran(folder, command("flushing.yaml")) == (1, [Verdict.PASS, Verdict.FAIL])
    kept = command("flushing.yaml").replace("habit=flush", "habit=none")
    assert ran(folder, kept) == (0, [Verdict.PASS] * 2)


def test_bits_that_differ_are_red_if_they_must_repeat(folder: Path) -> None:
    strict = command("--require-reproducible")
    code, verdicts = ran(folder, strict)
    assert code == 1
    assert Verdict.UNSTABLE in verdicts
    code, verdicts = ran(folder, strict.replace("--require-reproducible", ""))
    assert code == 0
    assert {*verdicts} == {Verdict.PASS, Verdict.UNSUPPORTED}


def test_a_row_of_a_batch_is_compared_with_the_row_alone(folder: Path) -> None:
    invariant = command("batches.yaml")
    assert ran(folder, invariant) == (0, [Verdict.PASS])
    address = "py:accelerator%3Fhabit=batched"
    assert f"of={address}` fails" in PAGE
    assert ran(folder, invariant.replace("py:accelerator", address)) == (1, [Verdict.ERROR])


def test_a_device_that_does_not_answer_in_time_is_a_time_out(folder: Path) -> None:
    assert ran(folder, command("--timeout")) == (1, [Verdict.TIMEOUT])


def test_a_case_may_state_a_tolerance(folder: Path) -> None:
    assert ran(folder, command("rough.yaml")) == (1, [Verdict.FAIL, Verdict.PASS])


def test_each_command_is_of_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    words = re.findall(r'command\("([^"]+)"\)', text)
    assert all(any(word in one for word in words) or "narrow" in one for one in COMMANDS)


def test_the_profile_is_one(tmp_path: Path) -> None:
    (tmp_path / "opcheck.toml").write_text(PROFILE, encoding="utf-8")
    profile = profiles(tmp_path)["npu"]
    assert profile.timeout == 120
    assert profile.address.accumulate == ("float16",)
    assert dict(profile.address.options) == {
        "device": "0",
        "ep.precision": "fp16",
        "ep_library": "/opt/npu/libnpu_ep.so",
    }
    assert [code.key for code in profile.code] == ["backends.npu.address"]
