"""`opcheck` in a process of its own: signals, terminals, pipes and encodings."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals")

FAKES = "tests.cli.fakes"
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
    """Starts `opcheck run` on the backend `slow`."""

    def slow(*words, **settings):
        return start("run", "-b", "slow", *words, module=FAKES, **settings)

    return slow


def interrupt(process):
    os.killpg(process.pid, signal.SIGINT)


def finish(process):
    out, err = process.communicate(timeout=30)
    assert "Traceback" not in out + err
    return out, err


# ── the stream, and Ctrl-C ──────────────────────────────────────────────────────────────────────


def test_a_record_is_written_as_it_happens_and_an_interrupt_closes_the_stream(slow, cases):
    process = slow(cases(400), "--format", "json")
    header = json.loads(process.stdout.readline())
    record = json.loads(process.stdout.readline())
    assert process.poll() is None  # 400 cases take more than 12 s
    interrupt(process)
    out, err = finish(process)
    assert process.returncode == 130
    assert set(err.split()) == {"running"}
    *more, footer = map(json.loads, out.splitlines())
    assert (header["type"], record["type"]) == ("header", "result")
    assert footer["complete"] is False
    assert footer["exit_code"] == 130
    assert footer["totals"] == {"slow": {"pass": 1 + len(more)}}
    assert len(more) < 200


def test_an_interrupt_leaves_the_table_so_far(slow, cases):
    process = slow(cases(400))
    process.stderr.readline()
    interrupt(process)
    out, _ = finish(process)
    assert process.returncode == 130
    first, *_, last = out.splitlines()
    [judged] = map(int, re.findall(r"^INCOMPLETE: (\d+) of 400 results$", first))
    assert 1 <= judged < 200
    assert re.search(rf"^Hardmax-13 +slow 1.5 +{judged}$", out, re.MULTILINE)
    assert last.startswith("exit 130: interrupted")


def test_failures_are_shown_while_the_run_goes_on(slow, cases):
    process = slow(cases(400), "-b", "last_of_ties", "-b", "narrow")
    line = process.stdout.readline()
    assert line.startswith("FAIL narrow  Hardmax/slow@")
    assert process.poll() is None
    interrupt(process)
    finish(process)
    assert process.returncode == 130


def test_a_second_interrupt_ends_a_run_that_hangs(slow, cases):
    process = slow(cases(3, HANGS))
    process.stderr.readline()
    started = time.monotonic()
    interrupt(process)
    time.sleep(0.3)
    assert process.poll() is None
    interrupt(process)
    out, _ = finish(process)
    assert time.monotonic() - started < 15
    assert process.returncode == 130
    assert out.splitlines()[0] == "INCOMPLETE: 0 of 3 results"


@pytest.mark.parametrize(
    ("command", "package"),
    [
        *(("run", package) for package in ("click", "numpy", "yaml", "onnx", "onnxruntime")),
        ("list", "yaml"),
        ("schema", "click"),
    ],
)
def test_an_interrupt_while_a_package_is_imported_is_as_quiet(start, command, package):
    # Left to themselves, each makes something else of it.
    process = start(command, python=("-X", "importtime"))
    for line in process.stderr:
        if re.search(rf"\| +{package}\.", line):
            break
    interrupt(process)
    out, err = finish(process)
    assert process.returncode == 130
    assert out == ""
    said = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert said == ["opcheck: interrupted"]


def test_a_background_job_that_ignores_interrupts_goes_on(slow, cases):
    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = slow(cases(5), preexec_fn=ignore)
    process.stderr.readline()
    interrupt(process)
    finish(process)
    assert process.returncode == 0


# ── terminals ───────────────────────────────────────────────────────────────────────────────────


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


COLOUR = re.compile(r"\x1b\[[\d;]*3[0-7][\d;]*m|\x1b\[9[0-7]m")


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
        return seen.replace("running\r\n", ""), piped.replace("running\n", ""), process.returncode

    return run


def test_a_terminal_gets_colours_and_a_bar_that_leaves_no_trace(on_terminal, cases):
    seen, _, code = on_terminal(cases(30))
    assert code == 0
    assert COLOUR.search(seen)
    assert "judging" in seen
    assert re.search(r"\d+/30", seen)
    # After the bar's last line has been erased, the table follows.
    end = seen[seen.rindex("judging") :]
    assert "\x1b[2K" in end[: end.index("operator")]


def test_failures_are_printed_between_two_bars(on_terminal, cases):
    seen, _, code = on_terminal(cases(10), "-b", "narrow")
    assert code == 1
    assert len(re.findall(r"FAIL\x1b\[0m\x1b\[1m narrow", seen)) == 10
    assert seen.rindex("judging") > seen.index("narrow")
    # Whole, however narrow the terminal: the bar has nothing to do with it.
    assert len(re.findall(r"repeat .*opcheck run .+ -b narrow --no-known\r\n", seen)) == 10


def test_no_color_is_obeyed_on_a_terminal(on_terminal, cases):
    seen, _, _ = on_terminal(cases(10), "-b", "narrow", NO_COLOR="1")
    assert "FAIL narrow" in seen
    assert not COLOUR.search(seen)


@pytest.mark.parametrize("form", ["pretty", "json"])
def test_a_bar_is_shown_while_the_output_goes_to_a_file(on_terminal, cases, tmp_path, form):
    with (tmp_path / "out").open("wb") as file:
        seen, _, _ = on_terminal(cases(10), "-b", "narrow", "--format", form, stdout=file)
    assert "judging" in seen
    assert re.search(r"\d+/20", seen)
    assert "FAIL" not in seen
    assert "fail" not in seen
    lines = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert not any("judging" in line or "\x1b" in line for line in lines)
    if form == "json":
        assert len([json.loads(line) for line in lines]) == 22
    else:
        assert lines[-1].startswith("exit 1: ")


@pytest.mark.parametrize(("stdout", "stderr"), [(True, False), (False, True)])
def test_a_pipe_gets_neither_colours_nor_a_bar(on_terminal, cases, stdout, stderr):
    seen, piped, _ = on_terminal(cases(10), "-b", "narrow", stdout=stdout, stderr=stderr)
    assert "\x1b" not in piped
    assert stderr or piped == ""
    assert "judging" not in seen + piped
    assert bool(COLOUR.search(seen)) is stdout


def test_a_stream_gets_no_bar_on_a_terminal_either(on_terminal, cases):
    seen, _, _ = on_terminal(cases(3), "--format", "json")
    assert "\x1b" not in seen
    assert [json.loads(line)["type"] for line in seen.splitlines()] == (
        ["header", "result", "result", "result", "footer"]
    )


def test_a_dumb_terminal_gets_plain_text(on_terminal, cases):
    seen, _, code = on_terminal(cases(3), TERM="dumb")
    assert code == 0
    assert not COLOUR.search(seen)


def test_force_color_colours_a_pipe(slow, cases):
    process = slow(cases(1), env=environment(FORCE_COLOR="1", TERM="xterm"))
    out, _ = finish(process)
    assert COLOUR.search(out)


# ── pipes and encodings ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-b", "numpy", "-k", "ties"],
        ["run", "-b", "reference", "--no-known", "-k", "coerced"],
        ["run", "-b", "numpy", "--format", "json"],
        ["list"],
        ["list", "--format", "json"],
        ["schema"],
    ],
)
def test_a_closed_pipe_is_no_error_and_no_verdict(start, words):
    process = start(*words)
    process.stdout.close()
    assert process.stderr.read() == ""
    # Nothing failed, so not 1; yet it did not get to its end.
    assert process.wait(timeout=30) == 130


EACH_COMMAND = [
    ["run", "-b", "numpy", "-k", "ties"],
    ["run", "-b", "numpy", "-k", "ties", "--format", "json"],
    ["list"],
    ["list", "--format", "json"],
    ["schema"],
    ["--help"],
    ["--version"],
    ["run", "--help"],
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
@pytest.mark.parametrize("words", EACH_COMMAND)
def test_an_output_that_takes_nothing_is_told_and_is_no_verdict(start, words):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = start(*words, stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert err == "opcheck: the output cannot be written: No space left on device\n"


def without(descriptor: int):
    """As `>&-` or `2>&-` does."""

    def close():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(descriptor)

    return close


@pytest.mark.parametrize("words", EACH_COMMAND)
def test_a_closed_output_is_told(start, words):
    process = start(*words, preexec_fn=without(1))
    out, err = finish(process)
    assert process.returncode == 4
    assert out == ""
    assert err == "opcheck: the output cannot be written: standard output is closed\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [*((words, 0) for words in EACH_COMMAND), (["nope"], 2), (["run", "--case", "nope"], 2)],
)
def test_nothing_needs_standard_error(start, words, code):
    process = start(*words, preexec_fn=without(2))
    out, _ = finish(process)
    assert process.returncode == code
    assert bool(out) is (code == 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C"},
    ],
)
@pytest.mark.parametrize("words", [["-b", "narrow"], ["-b", "right", "--format", "json"]])
def test_a_poor_encoding_is_no_error(slow, cases, changes, words):
    process = slow(cases(1), *words, env=environment(**changes), text=False)
    out, err = process.communicate(timeout=30)
    assert b"Traceback" not in err
    assert process.returncode == ("narrow" in words)
    assert b"exit 1: " in out or b'"exit_code": 0' in out
    if changes.get("PYTHONIOENCODING") == "ascii":
        assert out.isascii()


def test_messages_survive_a_poor_encoding(start, tmp_path):
    file = tmp_path / "größe.yaml"
    file.write_text("")
    process = start("run", str(file), env=environment(PYTHONIOENCODING="ascii"))
    _, err = finish(process)
    assert process.returncode == 2
    assert "e.yaml:1:1: the file is empty" in err
