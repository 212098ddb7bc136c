import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck import model
from opcheck.backends import attempt
from opcheck.backends.adapters import cmd
from opcheck.backends.base import Backend, Defect
from opcheck.backends.connect import connect
from opcheck.dtypes import DTYPES
from tests.asking import dml_problem, task_of
from tests.backends.runners.programs import SAME, X, one_shot
from tests.expecting import of_type
from tests.wording import Wording

pytestmark = pytest.mark.usefixtures("scratch")


def asked(backend: Backend, task: model.Task, *inputs: Any) -> model.Outcome:
    return attempt(backend, model.Question(task, inputs, inputs, second_is_legal=True))


def outcome_of(folder: Path, text: str, task: model.Task = SAME, x: Any = X) -> model.Outcome:
    return asked(connect(f"cmd:{one_shot(folder, text)}"), task, x)


def output_of(outcome: model.Outcome) -> np.ndarray:
    (output,) = of_type(model.Produced, outcome).outputs
    return of_type(np.ndarray, output)


def test_status_0_and_its_outputs_are_an_answer(tmp_path: Path) -> None:
    output = output_of(outcome_of(tmp_path, "identity()"))
    assert (output.dtype, output.tobytes()) == (X.dtype, X.tobytes())


def test_it_is_asked_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    outcome = outcome_of(tmp_path, f"identity(); open({str(log)!r}, 'a').write('x')")
    assert of_type(model.Produced, outcome).once
    assert log.read_text() == "x"


def test_status_77_is_not_implemented_for_the_reason_it_gives(tmp_path: Path) -> None:
    text = "say('banner'); say('no kernel for Identity'); sys.exit(77)"
    assert outcome_of(tmp_path, text) == model.Declined("banner\nno kernel for Identity")
    assert outcome_of(tmp_path, "sys.exit(77)") == model.Declined("exit status 77")
    assert outcome_of(tmp_path, "print('on stdout'); sys.exit(77)") == model.Declined("on stdout")


def test_status_77_counts_even_with_outputs(tmp_path: Path) -> None:
    assert isinstance(outcome_of(tmp_path, "identity(); sys.exit(77)"), model.Declined)


def test_status_99_says_that_nothing_could_be_computed(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, "say('no device'); sys.exit(99)") == model.NotRun("no device")
    assert outcome_of(tmp_path, "sys.exit(99)") == model.NotRun("exit status 99")


@pytest.mark.parametrize("status", [1, 2, 3, 69, 75, 76, 78, 98, 100, 254])
def test_any_other_status_is_a_refusal_in_its_own_words(tmp_path: Path, status: int) -> None:
    outcome = outcome_of(tmp_path, f"identity(); say('axis 7'); sys.exit({status})")
    assert outcome == model.Raised("run", "CommandFailed", f"exit status {status}: axis 7", True)


@pytest.mark.parametrize("status", [126, 127, 255])
def test_a_command_that_was_never_run_refuses_nothing(
    tmp_path: Path, status: int, wording: Wording
) -> None:
    outcome = outcome_of(tmp_path, f"say('no route to host'); sys.exit({status})")
    assert isinstance(outcome, model.NotRun)
    assert outcome.reason == wording


def test_a_refusal_without_words_has_its_status(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, "sys.exit(5)")
    assert outcome == model.Raised("run", "CommandFailed", "exit status 5", True)


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM"])
def test_a_signal_is_a_crash_and_no_refusal(tmp_path: Path, name: str) -> None:
    text = f"identity(); say('oh'); sys.stderr.flush(); os.kill(os.getpid(), signal.{name})"
    assert outcome_of(tmp_path, text) == model.Crashed(f"killed by {name}: oh")


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")
def test_a_crash_behind_a_shell_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "crash").write_text("kill -SEGV $$")
    wrapper = f"sh -c 'sh {tmp_path}/crash 2> {tmp_path}/log; exit $?'"
    outcome = asked(connect(f"cmd:{wrapper} {{model}} {{inputs}} {{outputs}}"), SAME, X)
    assert outcome == model.Crashed("killed by SIGSEGV, says exit status 139")


def test_it_gets_the_model_its_inputs_and_an_empty_folder(tmp_path: Path, scratch: Path) -> None:
    text = """
        say(model.name, inputs.name, model.parent == inputs.parent, sorted(os.listdir(inputs)))
        say(os.listdir(outputs), Path.cwd())
        say(model.parent.parent)
        sys.exit(1)
    """
    assert of_type(model.Raised, outcome_of(tmp_path, text)).detail.splitlines() == [
        "exit status 1: model.onnx test_data_set_0 True ['input_0.pb']",
        f"[] {Path.cwd()}",
        str(scratch),
    ]


def test_its_standard_input_is_empty_whatever_ours_is(tmp_path: Path) -> None:
    # A program that reads it, as ssh does, would eat what is meant for others.
    read, write = os.pipe()
    os.write(write, b"for somebody else")
    os.close(write)
    ours = os.dup(0)
    os.dup2(read, 0)
    try:
        outcome = outcome_of(tmp_path, "say(repr(sys.stdin.read())); sys.exit(1)")
        assert os.read(0, 100) == b"for somebody else"
    finally:
        os.dup2(ours, 0)
        os.close(ours)
        os.close(read)
    assert of_type(model.Raised, outcome).detail == "exit status 1: ''"


def test_inputs_are_numbered_as_the_model_has_them(tmp_path: Path) -> None:
    x, shape = np.zeros((2, 3), np.float32), np.array([3, 2], np.int64)
    task = task_of("Reshape", 13, {}, x, shape)
    text = "shutil.copy(inputs / 'input_1.pb', outputs / 'output_0.pb')"
    outcome = asked(connect(f"cmd:{one_shot(tmp_path, text)}"), task, x, shape)
    assert output_of(outcome).tolist() == [3, 2]


def test_arguments_pass_no_shell(tmp_path: Path) -> None:
    folder = tmp_path / "a folder; touch 'x' $HOME"
    program = one_shot(folder, "say('|'.join(sys.argv[4:])); sys.exit(1)")
    outcome = asked(connect(f"cmd:{program} 'a b' $HOME '*' \";\" {{print}}"), SAME, X)
    assert isinstance(outcome, model.Raised)
    assert outcome.detail == "exit status 1: a b|$HOME|*|;|{print}"


def test_paths_are_put_in_wherever_the_placeholders_stand() -> None:
    words = "--m={model} {inputs}:{outputs} {outputs}{model} {x} { }{model a{{model}}".split()
    assert cmd.filled(words, {"model": "M", "inputs": "{outputs}", "outputs": "O"}) == [
        "--m=M",
        "{outputs}:O",
        "OM",
        "{x}",
        "{",
        "}{model",
        "a{M}",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "identity('output.pb')",
        "identity(); identity('output_0.npy')",
        "identity(); identity('output_1.pb')",
        "(outputs / 'output_0.pb').write_bytes(b'')",
        "(outputs / 'output_0.pb').write_bytes(b'12')",
        "identity('output_0.npy')",
        "shutil.rmtree(outputs)",
    ],
)
def test_what_is_no_answer_is_told_and_no_documented_refusal(tmp_path, text, wording):
    outcome = of_type(model.Raised, outcome_of(tmp_path, text))
    assert (outcome.kind, outcome.documented) == ("BrokenProtocol", False)
    assert outcome.detail == wording


def test_bfloat16_goes_in_and_comes_out_bit_for_bit(tmp_path: Path) -> None:
    bits = np.array([0x0001, 0x8000, 0x7F80, 0x3F81, 0x7FC1], np.uint16)
    x = bits.view(ml_dtypes.bfloat16)
    output = output_of(outcome_of(tmp_path, "identity()", task_of("Identity", 13, {}, x), x))
    assert (output.dtype, output.tobytes()) == (x.dtype, bits.tobytes())


def test_an_answer_of_another_type_is_for_the_judge(tmp_path: Path) -> None:
    task = task_of("Identity", 13, {}, X, outputs=(model.OutputSpec("y", DTYPES["float64"]),))
    assert output_of(outcome_of(tmp_path, "identity()", task)).dtype == np.float32


@pytest.mark.parametrize("text", ["identity()", "sys.exit(1)", "os.kill(os.getpid(), 9)", ""])
def test_the_temporary_folder_is_removed_whatever_happens(tmp_path, scratch, text):
    outcome_of(tmp_path, f"(outputs / 'log').write_text('x')\n{text}")
    assert not [*scratch.iterdir()]


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")
def test_an_interrupt_ends_the_program_and_removes_the_folder(tmp_path, scratch, monkeypatch):
    def interrupted(self: Any, timeout: Any = None) -> int:
        monkeypatch.undo()
        raise KeyboardInterrupt

    backend = connect(f"cmd:{one_shot(tmp_path, 'time.sleep(600)')}")
    monkeypatch.setattr("subprocess.Popen.wait", interrupted)
    monkeypatch.setenv("OPCHECK_SCRATCH", str(scratch))
    with pytest.raises(KeyboardInterrupt):
        asked(backend, SAME, X)
    assert not [*scratch.iterdir()]


def test_a_flood_of_words_neither_blocks_nor_fills_a_reason(tmp_path: Path) -> None:
    text = "print('o' * 10**6)\nfor n in range(10**5): say('line', n)\nsys.exit(4)"
    outcome = of_type(model.Raised, outcome_of(tmp_path, text))
    lines = "\n".join(f"line {n}" for n in range(99995, 100000))
    assert outcome.detail == f"exit status 4: {lines}"


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")
def test_a_child_left_behind_does_not_hold_the_answer_up(tmp_path: Path) -> None:
    text = """
        child = os.fork()
        if not child:
            time.sleep(30)
            os._exit(0)
        (Path(sys.argv[0]).parent / "child").write_text(str(child))
        identity()
    """
    assert isinstance(outcome_of(tmp_path, text), model.Produced)
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_what_it_printed_is_shown_beside_its_answer(tmp_path, capsys, wording):
    outcome_of(tmp_path, "print('to out'); say('to err'); identity()")
    assert capsys.readouterr().err == wording
    outcome_of(tmp_path, "identity()")
    assert capsys.readouterr() == ("", "")


def test_a_program_that_is_gone_was_not_run(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    backend = connect(f"cmd:{program} {{model}} {{inputs}} {{outputs}}")
    program.unlink()
    said = f"{program} cannot be started: No such file or directory"
    assert asked(backend, SAME, X) == model.NotRun(said)


def test_a_case_that_cannot_be_written_was_not_run(tmp_path, monkeypatch):
    backend = connect(f"cmd:{one_shot(tmp_path, 'identity()')}")

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    said = "the case cannot be written down: [Errno 28] No space left on device"
    assert asked(backend, SAME, X) == model.NotRun(said)


def test_a_bug_in_building_the_model_is_no_refusal(tmp_path, monkeypatch):
    monkeypatch.setattr(cmd, "model_of", lambda _: [][0])
    with pytest.raises(Defect, match="IndexError"):
        outcome_of(tmp_path, "identity()")


def test_what_onnx_cannot_state_is_not_supported_and_nothing_is_run(
    tmp_path: Path, wording: Wording
) -> None:
    outcome = of_type(model.Declined, outcome_of(tmp_path, "identity()", dml_problem((7,), X), X))
    assert outcome.reason == wording
