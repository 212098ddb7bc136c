"""`opcheck` in a process of its own: signals, terminals, pipes and encodings."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from opcheck.cli.group import program
from opcheck.report import store
from tests.asking import wait_until
from tests.cli.conftest import environment, without_header
from tests.cli.fakes import RUNNING
from tests.wording import lines_with

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals"),
    pytest.mark.processes,
    pytest.mark.starts_early,
]

#: In processes of their own, as what users write is.
SLOW, RIGHT, NARROW, LAST_OF_TIES, UNSTEADY = (
    f"py:tests.cli.fakes:{name}" for name in ("SLOW", "RIGHT", "NARROW", "LAST_OF_TIES", "UNSTEADY")
)
QUICK, HANGS = 0, 1

CASES = """\
op: Hardmax
opset: 13
dtype: float32
clause: Größter Wert → “eins”
matrix: {{attrs.axis: {axes}}}
cases:
- name: slow
  inputs: {{input: [[1, 2], [3, 4]]}}
  rows: [{rows}]
"""
FILES = {"json": "run.jsonl", "junit": "run.xml", "markdown": "run.md", "github": "run.log"}
COLOUR = re.compile(r"\x1b\[[\d;]*3[0-8][\d;]*m|\x1b\[9[0-7]m")


@pytest.fixture
def cases(tmp_path):
    """Makes a file of `count` cases for the backend `slow`: 30 ms each, or 90 s for HANGS."""

    def write(count: int, axis: int = QUICK) -> str:
        rows = ", ".join(["{}"] * count)
        file = tmp_path / "slow.yaml"
        file.write_text(CASES.format(axes=[axis], rows=rows), encoding="utf-8")
        return str(file)

    return write


@pytest.fixture
def slow(start):
    """Starts `opcheck run` on the backend SLOW."""

    def slow(*words, **settings):
        return start("run", "-b", SLOW, *words, **settings)

    return slow


@pytest.fixture
def until_running(tmp_path, monkeypatch):
    """Waits until the backend of a process started after this is at work."""
    file = tmp_path / "running"
    monkeypatch.setenv(RUNNING, str(file))

    return lambda: wait_until(file.exists)


def interrupt(process):
    os.killpg(process.pid, signal.SIGINT)


def finish(process, code=None):
    out, err = process.communicate(timeout=30)
    assert "Traceback" not in out + err
    assert code in (None, process.returncode)
    return out, err


def test_a_record_is_written_as_it_happens_and_an_interrupt_closes_the_stream(slow, cases):
    process = slow(cases(400), "--format", "json")
    header = json.loads(process.stdout.readline())
    record = json.loads(process.stdout.readline())
    assert process.poll() is None  # 400 cases take more than 12 s
    interrupt(process)
    # Lines that came with the record are in the buffer, which `communicate` passes over.
    out = process.stdout.read()
    _, err = finish(process, 130)
    assert err == ""
    *more, footer = map(json.loads, out.splitlines())
    assert (header["type"], record["type"]) == ("header", "result")
    assert footer["complete"] is False
    assert footer["exit_code"] == 130
    assert footer["totals"] == {SLOW: {"pass": 1 + len(more)}}
    assert record["printed"].splitlines() == ["running"] * 3
    assert len(more) < 200


def test_an_interrupt_leaves_the_table_so_far(slow, cases, until_running):
    process = slow(cases(400))
    until_running()
    interrupt(process)
    out, _ = finish(process, 130)
    first, *_, last = out.splitlines()
    [judged] = map(int, re.findall(r"^INCOMPLETE: (\d+) of 400 results$", first))
    assert 1 <= judged < 200
    assert re.search(rf"^Hardmax +0 of {judged}$", out, re.MULTILINE)
    assert last.startswith("exit 130: interrupted")


def test_failures_are_shown_while_the_run_goes_on(slow, cases):
    process = slow(cases(400), "-b", LAST_OF_TIES, "-b", NARROW)
    assert process.stdout.readline().startswith(f"FAIL {NARROW}  Hardmax/slow@")
    assert process.poll() is None
    interrupt(process)
    finish(process, 130)


def test_a_second_interrupt_ends_a_run_that_hangs(slow, cases, until_running):
    process = slow(cases(3, HANGS))
    until_running()
    started = time.monotonic()
    interrupt(process)
    time.sleep(0.3)
    assert process.poll() is None
    interrupt(process)
    out, _ = finish(process, 130)
    assert time.monotonic() - started < 15
    assert out.splitlines()[0] == "INCOMPLETE: 0 of 3 results"


@pytest.mark.gate
@pytest.mark.parametrize(
    ("command", "package"),
    [("run", "numpy"), ("run", "onnx"), ("list --op Hardmax", "yaml"), ("schema", "click")],
)
def test_an_interrupt_while_a_package_is_imported_is_as_quiet(start, command, package, tmp_path):
    # Left to themselves, each makes something else of it. What is in a cache needs no parser.
    env = environment(XDG_CACHE_HOME=str(tmp_path))
    process = start(*command.split(), python=("-X", "importtime"), env=env)
    for line in process.stderr:
        if re.search(rf"\| +{package}\.", line):
            break
    interrupt(process)
    out, err = finish(process, 130)
    assert out == ""
    said = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert said == ["opcheck: interrupted"]


def test_an_interrupt_while_a_backend_starts_is_as_quiet(start, until_running, cases, tmp_path):
    marked = f"import os, pathlib; pathlib.Path(os.environ[{RUNNING!r}]).touch()"
    (tmp_path / "sleepy.py").write_text(f"{marked}; import time; time.sleep(100)")
    process = start("run", cases(1), "-b", "py:sleepy:Backend", cwd=tmp_path)
    until_running()
    interrupt(process)
    time.sleep(0.3)
    interrupt(process)
    out, err = finish(process, 130)
    assert (out, err) == ("", "opcheck: interrupted\n")


@pytest.mark.gate
def test_a_background_job_that_ignores_interrupts_goes_on(slow, cases, until_running):
    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = slow(cases(5), fresh=True, preexec_fn=ignore)
    until_running()
    interrupt(process)
    finish(process, 0)


@pytest.fixture
def reporting(slow, cases, tmp_path):
    """Starts a run of many cases that writes files in every format."""
    targets = [f"--report={form}={tmp_path / name}" for form, name in FILES.items()]
    return lambda count, axis=QUICK: slow(cases(count, axis), *targets, cwd=tmp_path)


def reports_of(folder):
    """What every format makes of a stored run: exit code and all that is said."""
    for form in ("pretty", *FILES):
        found = CliRunner().invoke(program, ["report", str(folder / "run.jsonl"), "--format", form])
        yield found.exit_code, found.output


@pytest.mark.parametrize("results", [0, 7])
def test_a_run_that_is_killed_leaves_what_it_had_and_is_incomplete(reporting, tmp_path, results):
    file = tmp_path / "run.jsonl"
    process = reporting(400)
    wait_until(lambda: file.exists() and file.read_bytes().count(b"\n") > results)
    process.kill()
    process.communicate(timeout=30)
    run = store.read(file)
    assert not run.complete
    assert results <= len(run.records) < 400
    for code, said in reports_of(tmp_path):
        assert code == 4
        assert f"incomplete: {len(run.records)} of 400 results" in said.replace("INC", "inc")
    # Nobody takes a report of another day for that of this run.
    assert (tmp_path / "run.xml").read_bytes() == b""


@pytest.mark.parametrize("signals", ["INT", "INT INT", "TERM"])
def test_a_run_that_is_interrupted_writes_all_its_files(
    reporting, tmp_path, until_running, signals
):
    process = reporting(400, HANGS if signals == "INT INT" else QUICK)
    until_running()
    for name in signals.split():
        if name == "TERM":
            process.terminate()
        else:
            interrupt(process)
        time.sleep(0.3)
    finish(process, 130)
    run = store.read(tmp_path / "run.jsonl")
    assert run.ending is not None
    assert (run.complete, run.ending.exit_code) == (False, 130)
    told = f"incomplete: {len(run.records)} of 400 results"
    for form in ("junit", "markdown", "github"):
        assert told in (tmp_path / FILES[form]).read_text(encoding="utf-8")
    assert all(code == 4 and told in said for code, said in reports_of(tmp_path))


def test_a_report_goes_to_whatever_can_be_written(slow, cases, tmp_path):
    process = slow(cases(2), "--report", "json=/dev/stderr", "--report", "junit=/dev/stdout")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert store.read(Path("it"), io.BytesIO(err.encode())).complete
    assert "<testsuites" in out


class Terminal:
    """A pseudo-terminal, and what was written to it."""

    def __init__(self):
        import pty

        self.inside, self.outside = pty.openpty()

    def read(self, process) -> str:
        os.close(self.outside)
        written = b""
        while True:
            try:
                part = os.read(self.inside, 65536)
            except OSError:  # Linux: the last process with the other end has gone
                break
            if not part:
                break
            written += part
        assert process.wait(timeout=30) is not None
        os.close(self.inside)
        return written.decode()


@pytest.fixture
def on_terminal(slow):
    """Runs on a terminal: what it got, what a pipe in its place got, and the exit code."""

    def run(*words, stdout=True, stderr=True, **changes):
        terminal = Terminal()
        process = slow(
            *words,
            env=environment(**({"TERM": "xterm-256color"} | changes)),
            stdout={True: terminal.outside, False: subprocess.PIPE}.get(stdout, stdout),
            stderr=terminal.outside if stderr else subprocess.PIPE,
        )
        seen = terminal.read(process)
        piped = "".join(pipe.read() for pipe in (process.stdout, process.stderr) if pipe)
        assert "Traceback" not in seen + piped
        # What a backend prints is kept apart.
        assert "running\r" not in seen
        assert "running\n" not in piped
        return seen, piped, process.returncode

    return run


def test_a_terminal_gets_colours_and_a_bar_that_leaves_no_trace(on_terminal, cases):
    seen, _, code = on_terminal(cases(30))
    assert code == 0
    assert COLOUR.search(seen)
    assert "judging" in seen
    assert re.search(r"\d+/30", seen)
    # After the bar's last line has been erased, the table follows.
    end = seen[seen.rindex("judging") :]
    assert "\x1b[2K" in end[: end.index("wrong / judged")]


def test_failures_are_printed_between_two_bars(on_terminal, cases):
    seen, _, code = on_terminal(cases(10), "-b", NARROW, "-v")
    assert code == 1
    assert len(re.findall(rf"FAIL\x1b\[0m\x1b\[1m {NARROW}", seen)) == 1
    assert "9 more failures" in seen
    assert seen.rindex("judging") > seen.index(NARROW)
    assert "looking for causes" in seen
    # Counts and times of a bar are whole.
    assert "diagnosing" in seen
    assert not re.search(r"/\d*…|:\d*…", seen)
    # Whole, however narrow the terminal: the bar has nothing to do with it.
    assert len(re.findall(rf"repeat .*opcheck run .+ -b {NARROW} --no-known\r\n", seen)) == 1


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_color_is_obeyed_on_a_terminal(on_terminal, cases, changes):
    seen, _, code = on_terminal(cases(10), "-b", NARROW, **changes)
    assert code == 1
    assert f"FAIL {NARROW}" in seen
    assert not COLOUR.search(seen)


@pytest.mark.parametrize("form", ["pretty", "json"])
def test_a_bar_is_shown_while_the_output_goes_to_a_file(on_terminal, cases, tmp_path, form):
    with (tmp_path / "out").open("wb") as file:
        seen, _, _ = on_terminal(cases(10), "-b", NARROW, "--format", form, stdout=file)
    assert "judging" in seen
    assert re.search(r"\d+/20", seen)
    assert "FAIL" not in seen
    # The bar counts failures.
    assert "fail" not in seen.replace(" failed", "")
    lines = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert not any("judging" in line or "\x1b" in line for line in lines)
    if form == "json":
        assert len([json.loads(line) for line in lines]) == 22
    else:
        assert lines[-1].startswith("exit 1: ")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("stdout", "stderr"), [(True, False), (False, True)])
def test_a_pipe_gets_neither_colours_nor_a_bar(on_terminal, cases, stdout, stderr):
    seen, piped, _ = on_terminal(cases(10), "-b", NARROW, stdout=stdout, stderr=stderr)
    assert "\x1b" not in piped
    # No bar: the header of the run alone.
    assert stderr or len(piped.splitlines()) == 1
    assert "judging" not in seen + piped
    assert bool(COLOUR.search(seen)) is stdout


def test_a_stream_gets_no_bar_on_a_terminal_either(on_terminal, cases):
    seen, _, _ = on_terminal(cases(3), "--format", "json")
    assert "\x1b" not in seen
    types = [json.loads(line)["type"] for line in seen.splitlines()]
    assert types == ["header", "result", "result", "result", "footer"]


def test_force_color_colours_a_pipe(slow, cases):
    out, _ = finish(slow(cases(1), env=environment(FORCE_COLOR="1", TERM="xterm")))
    assert COLOUR.search(out)


@pytest.fixture
def command(start, cases, tmp_path):
    """Starts a command in a folder with a case file."""
    cases(3)
    return lambda *words, **settings: start(*words, cwd=tmp_path, **settings)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "words",
    [
        ["run", "slow.yaml", "-b", "numpy"],
        ["run", "--op", "Hardmax", "-b", "numpy", "--format", "json"],
        ["list", "--op", "Hardmax"],
        ["schema"],
    ],
)
def test_a_closed_pipe_is_no_error_and_no_verdict(command, words):
    process = command(*words)
    process.stdout.close()
    assert without_header(process.stderr.read()) == ""
    # Nothing failed, so not 1; yet it did not get to its end.
    assert process.wait(timeout=30) == 130


EACH_COMMAND = [
    ["run", "slow.yaml", "-b", "numpy"],
    ["run", "slow.yaml", "-b", "numpy", "--format", "json"],
    ["list", "slow.yaml"],
    ["list", "slow.yaml", "--format", "json"],
    ["schema"],
    ["--help"],
    ["--version"],
    ["run", "--help"],
]
#: What is also asked of an interpreter that starts in that way.
REAL = ["--help"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
@pytest.mark.parametrize("words", EACH_COMMAND)
def test_an_output_that_takes_nothing_is_told_and_is_no_verdict(command, words, wording):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = command(*words, stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert without_header(err) == wording


@pytest.mark.parametrize("words", EACH_COMMAND)
def test_a_closed_output_is_told(command, words, wording):
    out, err = finish(command(*words, closed=[1], fresh=words == REAL), 4)
    assert out == ""
    assert err == wording


@pytest.mark.sampled(4, evenly=True)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        *((words, 0) for words in EACH_COMMAND),
        (["nope"], 2),
        (["run", "slow.yaml", "--case", "nope"], 2),
    ],
)
def test_nothing_needs_standard_error(command, words, code):
    out, _ = finish(command(*words, closed=[2], fresh=words == REAL), code)
    assert bool(out) is (code == 0)


@pytest.mark.parametrize("words", EACH_COMMAND[::2])
def test_nothing_needs_standard_input(command, words):
    out, err = finish(command(*words, closed=[0], fresh=words == REAL), 0)
    assert out
    assert without_header(err) == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (["-b", NARROW], {"PYTHONIOENCODING": "ascii"}),
        (["-b", NARROW], {"PYTHONIOENCODING": "latin-1"}),
        (["-b", NARROW], {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        (["-b", NARROW], {"LC_ALL": "C"}),
        (["-b", RIGHT, "--format", "json"], {"PYTHONIOENCODING": "ascii"}),
    ],
)
def test_a_poor_encoding_is_no_error(slow, cases, changes, words):
    process = slow(cases(1), *words, env=environment(**changes), text=False, fresh=True)
    out, err = process.communicate(timeout=30)
    assert b"Traceback" not in err
    assert process.returncode == (NARROW in words)
    assert b"exit 1: " in out or b'"exit_code":0' in out
    if changes.get("PYTHONIOENCODING") == "ascii":
        assert out.isascii()
        # Signs are spelt otherwise, so that no question mark stands for a zero; words are not.
        assert b"?" not in out.replace(b"Gr??ter", b"")


def test_messages_survive_a_poor_encoding(start, tmp_path, wording):
    file = tmp_path / "größe.yaml"
    file.write_text("")
    process = start("run", str(file), env=environment(PYTHONIOENCODING="ascii"), fresh=True)
    _, err = finish(process, 2)
    assert lines_with(err, "e.yaml:1:1: the file is") == wording
