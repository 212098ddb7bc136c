"""`opcheck run --resume`: a run that was cut short goes on, and is as if it never had been."""

import json
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from opcheck.report import store
from tests.cli.conftest import InlinePool, without_diagnoses
from tests.cli.test_run import CASES

pytestmark = pytest.mark.usefixtures("whole")

#: Cases with failures of several causes, so that what failures look like depends on those before.
MANY = """\
op: Hardmax
dtype: float32
opset: 13
cases:
- name: rows
  matrix: {attrs.axis: [0, 1, -1], inputs.input.seed: [0, 1, 2, 3, 4, 5]}
  inputs: {input: {shape: [4, 5], choice: [1, 2, 3]}}
- name: out_of_range
  inputs: {input: [[1, 2]]}
  attrs: {axis: 2}
  expect: {rejected: "axis 2 is outside [-2, 1]", legal: {attrs.axis: 1}}
"""
BACKENDS = ["-b", "right", "-b", "last_of_ties", "-b", "lacks_float32"]


def without_times(path):
    """What a stored run says, but for times."""
    lines = map(json.loads, Path(path).read_text().splitlines())
    return [{k: v for k, v in one.items() if k not in ("seconds", "started")} for one in lines]


#: What the whole run printed, and its file: it is the same in every folder.
_WHOLE = []


@pytest.fixture
def whole(run, tmp_path):
    """A run that was not cut short, in a file."""
    (tmp_path / "many.yaml").write_text(MANY)
    if not _WHOLE:
        found = run("run", "many.yaml", *BACKENDS, "--report", "json=whole.jsonl", code=1)
        _WHOLE.extend([found, Path("whole.jsonl").read_bytes()])
    Path("whole.jsonl").write_bytes(_WHOLE[1])
    return _WHOLE[0]


def cut(path, size):
    """The first bytes of the run, as a run that was killed would have left them."""
    Path(path).write_bytes(Path("whole.jsonl").read_bytes()[:size])


def lines_of(path):
    return Path(path).read_bytes().splitlines(keepends=True)


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.98, 0.9999])
def test_a_run_that_goes_on_leaves_the_stream_of_one_that_ran_through(run, whole, share):
    size = int(share * Path("whole.jsonl").stat().st_size)
    cut("run.jsonl", size)
    found = run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl", code=whole.exit_code)
    assert without_times("run.jsonl") == without_times("whole.jsonl")
    # A finished file has final diagnoses; those printed at once were provisional.
    shown = without_diagnoses(whole.stdout.splitlines())
    assert without_diagnoses(found.stdout.splitlines()) == shown
    total = len(lines_of("whole.jsonl")) - 2
    there = min(total, Path("whole.jsonl").read_bytes()[:size].count(b"\n") - 1)
    assert found.stderr == (
        f"opcheck: run.jsonl has {there} of {total} results; {total - there} to come\n"
    )
    assert not Path("run.jsonl.part").exists()


def test_only_what_is_missing_is_asked(run, monkeypatch):
    cut("run.jsonl", sum(map(len, lines_of("whole.jsonl")[:40])))
    questions = []
    ask = InlinePool.ask

    def asked(self, question):
        questions.append((question.task.case.removesuffix("~legal"), self.address))
        return ask(self, question)

    monkeypatch.setattr(InlinePool, "ask", asked)
    run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl")
    results = map(json.loads, lines_of("whole.jsonl")[40:-1])
    assert {*questions} == {(one["case"], one["backend"]) for one in results}


def test_it_can_be_killed_again_and_again(run):
    lines = lines_of("whole.jsonl")
    for count in (3, 20, 50):
        cut("run.jsonl", sum(map(len, lines[:count])) + 17)
        run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl")
    assert without_times("run.jsonl") == without_times("whole.jsonl")


def test_gaps_are_filled_wherever_they_are(run):
    head, *results, _ = lines_of("whole.jsonl")
    some = [line for number, line in enumerate(results) if number % 7 and number % 11]
    Path("run.jsonl").write_bytes(b"".join([head, *some[::-1]]))
    run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl")
    assert without_times("run.jsonl") == without_times("whole.jsonl")


def test_what_was_kept_stays_in_the_file_where_a_run_with_gaps_is_cut_short_too(run):
    head, *results, _ = lines_of("whole.jsonl")
    Path("run.jsonl").write_bytes(b"".join([head, *results[20:40]]))
    found = run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl", "-x")
    assert "INCOMPLETE" in found.stdout
    kept = store.read(Path("run.jsonl"))
    assert not kept.complete
    assert 20 < len(kept.records) < 57
    run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl")
    assert without_times("run.jsonl") == without_times("whole.jsonl")


def test_what_was_not_run_is_asked_again(run):
    lines = [json.loads(line) for line in lines_of("whole.jsonl")]
    lines[7] |= {"verdict": "not run", "reason": "the device is gone", "comparisons": []}
    lines[7] |= {"used": None, "unjudged": 0, "failure": None, "diagnoses": []}
    Path("run.jsonl").write_text("\n".join(map(json.dumps, lines[:-1])) + "\n")
    found = run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl")
    assert "; 1 to come" in found.stderr
    assert without_times("run.jsonl") == without_times("whole.jsonl")


def test_other_reports_are_of_the_whole(run):
    cut("run.jsonl", 20_000)
    words = ("--report", "json=copy.jsonl", "--report", "junit=run.xml")
    run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl", *words)
    assert without_times("copy.jsonl") == without_times("whole.jsonl")
    assert Path("copy.jsonl").read_bytes() == Path("run.jsonl").read_bytes()
    told = run("report", "run.jsonl", "--format", "junit").stdout_bytes
    assert Path("run.xml").read_bytes() == told
    cut("run.jsonl", 20_000)
    found = run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl", "--format", "json")
    Path("piped.jsonl").write_text(found.stdout)
    assert store.read(Path("piped.jsonl")).records == store.read(Path("run.jsonl")).records


@pytest.mark.parametrize("read_only", [False, True])
def test_a_run_that_is_complete_says_nothing_about_today(run, monkeypatch, read_only):
    done = Path("whole.jsonl").read_bytes()
    Path("run.jsonl").write_bytes(done)
    if read_only:
        monkeypatch.setattr(Path, "replace", cannot)
    asked = []
    ask = InlinePool.ask
    monkeypatch.setattr(InlinePool, "ask", lambda self, one: [asked.append(one), ask(self, one)][1])
    found = run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl")
    if read_only:
        assert found.exit_code == 2
        assert "run.jsonl is complete: there is nothing to go on with" in found.stderr
        assert not asked
        return
    assert found.exit_code == 1
    assert "run.jsonl of an earlier command is run.jsonl.stale now" in found.stderr
    assert len(asked) >= len(lines_of("whole.jsonl")) - 2
    assert without_times("run.jsonl") == without_times("whole.jsonl")
    assert Path("run.jsonl.stale").read_bytes() == done


def cannot(*_):
    raise OSError(30, "Read-only file system")


@pytest.mark.parametrize("there", [False, True])
def test_where_there_is_nothing_yet_a_run_begins(run, tmp_path, there):
    (tmp_path / "cases.yaml").write_text(CASES)
    if there:
        Path("run.jsonl").touch()
    found = run("run", "cases.yaml", "-b", "right", "--resume", "run.jsonl")
    assert found.stderr == "opcheck: run.jsonl has no run to go on with: it begins here\n"
    assert store.read(Path("run.jsonl")).complete


def test_failures_of_before_do_not_end_a_run_that_ends_at_the_first(run):
    lines = lines_of("whole.jsonl")
    cut("run.jsonl", sum(map(len, lines[:50])))
    assert sum(b'"verdict":"fail"' in line for line in lines[:50]) > 1
    found = run("run", "many.yaml", *BACKENDS, "--resume", "run.jsonl", "-x")
    assert store.read(Path("run.jsonl")).records[49:]
    assert "INCOMPLETE" in found.stdout


def test_how_processes_died_before_is_not_forgotten(run, tmp_path):
    (tmp_path / "cases.yaml").write_text(CASES)
    words = ["cases.yaml", "-b", "right", "-k", "not nan"]
    run("run", *words, "--report", "json=run.jsonl")
    lines = [json.loads(line) for line in lines_of("run.jsonl")]
    lines[-1] |= {"complete": False, "accidents": ["right: its process ended"], "seconds": 5.0}
    lines[-1] |= {"totals": {"right": {"pass": 3}}}
    del lines[-2]
    Path("run.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    found = run("run", *words, "--resume", "run.jsonl", code=1)
    assert "does not conform: right: its process ended" in found.stdout
    ending = store.read(Path("run.jsonl")).ending
    assert ending is not None
    assert ending.complete
    assert ending.seconds >= 5


ALL = ["many.yaml", *BACKENDS]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cases.yaml", *BACKENDS], "are of different suites, of 19 and 5 cases"),
        ([*ALL, "-k", "rows"], "are of different suites, of 19 and 18 cases"),
        ([*ALL, "--strict"], "were judged by different rules: warnings"),
        ([*ALL, "--timeout", "7"], "were judged by different rules: timeout"),
        ([*ALL, "--repeat", "2"], "were judged by different rules: repeat"),
        ([*ALL, "--no-known"], "were judged by different rules: known defects"),
        ([*ALL, "--shard", "1/2"], "run.jsonl is the whole suite, this run shard 1 of 2"),
        (["many.yaml", "-b", "right"], "run.jsonl has the backends right, last_of_ties, lacks"),
        (["many.yaml", *BACKENDS, "-b", "narrow"], "lacks_float32; this run right, last_of_ties"),
    ],
)
def test_another_run_is_refused_and_the_file_stays_as_it_is(run, tmp_path, words, said):
    (tmp_path / "cases.yaml").write_text(CASES)
    cut("run.jsonl", 20_001)
    before = Path("run.jsonl").read_bytes()
    found = run("run", *words, "--resume", "run.jsonl", code=2)
    assert said in found.stderr
    assert "another file begins a new run; run.jsonl is as it was" in found.stderr
    assert found.stdout == ""
    assert Path("run.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ((0, "environment", "opcheck"), "run.jsonl is of opcheck 0.0.1, this run of "),
        ((0, "backends", 0, "version"), "'right' has 0.0.1 and 1.5 in run.jsonl and this run"),
        ((1, "digest"), "run.jsonl has another case 'Hardmax/rows"),
    ],
)
def test_another_version_is_refused_and_so_is_another_case(run, field, said):
    lines = inner = [json.loads(line) for line in lines_of("whole.jsonl")[:2]]
    for key in field[:-1]:
        inner = inner[key]
    inner[field[-1]] = "0.0.1"
    Path("run.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert said in run("run", *ALL, "--resume", "run.jsonl", code=2).stderr


BACKEND = """
import numpy as np

class Mine:
    def prepare(self, *model): return self
    def run(self, inputs):
        return [np.eye(3, dtype=np.float32)[inputs[0].argmax(1)]]
class Onnx:
    prepare = classmethod(lambda cls, model, device: Mine())
"""
PROGRAM = """
import sys
import numpy as np, onnx
from onnx import numpy_helper
_, model, inputs, outputs = sys.argv
x = numpy_helper.to_array(onnx.load_tensor(f"{inputs}/input_0.pb"))
np.save(f"{outputs}/output_0.npy", np.eye(3, dtype=np.float32)[x.argmax(1)])
"""
PROFILE = "[backends.mine]\naddress = 'py:mine:Mine'\nenvironment = {MODE = 'fast'}\n"
TWO = """\
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: 1}
cases:
- {name: ties, inputs: {input: [[3, 3, 1]]}, expect: {output: [[1, 0, 0]]}}
- {name: none, inputs: {input: [[3, 2, 1]]}, expect: {output: [[1, 0, 0]]}}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("address", "file", "differs"),
    [
        ("py:mine:Mine", "mine.py", "mine"),
        ("onnx:mine:Onnx", "mine.py", "mine"),
        (f"cmd:{sys.executable} program.py {{model}} {{inputs}} {{outputs}}", "program.py", None),
        ("saved:out", "out/*/test_data_set_0/output_0.pb", "folder"),
        ("mine", "opcheck.toml", "environment and limits"),
        ("mine", "mine.py", "mine"),
    ],
)
def test_a_backend_that_was_built_anew_is_another_whatever_its_version(
    run, tmp_path, address, file, differs
):
    texts = {"cases.yaml": TWO, "mine.py": BACKEND, "program.py": PROGRAM, "opcheck.toml": PROFILE}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert run("run", "cases.yaml", "-b", "py:mine:Mine", "--save-outputs", "out").exit_code == 0
    words = ["run", "cases.yaml", "-b", address, "--resume", "run.jsonl"]
    assert run(*words).exit_code == 0
    part = b"".join(lines_of("run.jsonl")[:2])
    (file, *_) = tmp_path.glob(file)
    for change, code in ((b"", 0), (b"# built anew", 2)):
        Path("run.jsonl").write_bytes(part)
        text = file.read_bytes()
        file.write_bytes(text.replace(b"fast", b"slow") + change if change else text)
        found = run(*words, code=code)
    told = f"was made of other files in run.jsonl: {differs or file.name}\n"
    assert told in found.stderr
    assert Path("run.jsonl").read_bytes() == part


DYING = """
import os
from pathlib import Path

class Mine:
    def prepare(self, task):
        Path(__file__).write_text(Path(__file__).read_text() + "# built anew")
        os._exit(1)
"""


def test_a_backend_that_is_built_anew_while_it_is_judged_is_not_judged_on(run, tmp_path):
    (tmp_path / "cases.yaml").write_text(TWO)
    (tmp_path / "mine.py").write_text(DYING)
    found = run("run", "cases.yaml", "-b", "py:mine:Mine", code=4)
    assert "started again, its files are not what they were: mine" in found.stdout


@pytest.mark.parametrize(("hours", "code"), [(11, 1), (13, 2), (-13, 2)])
def test_a_run_that_began_long_ago_is_not_gone_on_with(run, hours, code):
    head, *rest = lines_of("whole.jsonl")
    fields = json.loads(head)
    fields["started"] = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")
    Path("run.jsonl").write_bytes(b"".join([json.dumps(fields).encode() + b"\n", *rest[:5]]))
    found = run("run", *ALL, "--resume", "run.jsonl", code=code)
    when = f"{abs(hours)}.0 hours {'ago' if hours > 0 else 'from now'}, and after 12 hours"
    assert (when in found.stderr) is (code == 2)


def test_an_edited_case_is_another_suite(run, tmp_path):
    cut("run.jsonl", 20_000)
    (tmp_path / "many.yaml").write_text(MANY.replace("[1, 2, 3]", "[1, 2, 4]"))
    found = run("run", *ALL, "--resume", "run.jsonl", code=2)
    assert "run.jsonl and this run are of different suites, of 19 and 19 cases" in found.stderr


def test_another_machine_goes_on_and_both_are_told(run):
    head, *rest = lines_of("whole.jsonl")
    fields = json.loads(head)
    fields["environment"]["platform"] = "another board"
    Path("run.jsonl").write_bytes(b"".join([json.dumps(fields).encode() + b"\n", *rest[:5]]))
    run("run", *ALL, "--resume", "run.jsonl")
    platform = store.read(Path("run.jsonl")).header.environment.platform
    assert re.fullmatch("another board, .+", platform)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        *((path, "only a file can be gone on with") for path in ("-", "/dev/null")),
        (".", "--resume .: this is a folder"),
        ("x" * 5000, "File name too long"),
        ("none/run.jsonl", "--resume none/run.jsonl: there is no folder none"),
        ("cases.yaml", "--resume cases.yaml: the same command names this file twice"),
        ("other.txt", "other.txt:1:1: this is no stored run"),
    ],
)
def test_what_is_no_run_is_told(run, tmp_path, path, said):
    (tmp_path / "cases.yaml").write_text(CASES)
    (tmp_path / "other.txt").write_text("something else\n")
    assert said in run("run", "cases.yaml", "-b", "right", "--resume", path, code=2).stderr
    assert (tmp_path / "other.txt").read_text() == "something else\n"


def test_where_there_is_no_room_the_file_stays_as_it_is(run, monkeypatch):
    cut("run.jsonl", 20_000)
    before = Path("run.jsonl").read_bytes()

    def full(path, text, **settings):
        path.write_bytes(text[: len(text) // 2].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    found = run("run", *ALL, "--resume", "run.jsonl", code=4)
    assert "run.jsonl cannot be written: No space left on device" in found.stderr
    assert Path("run.jsonl").read_bytes() == before


HUNDREDS = """\
op: Hardmax
opset: 13
dtype: float32
cases:
- name: few_values
  matrix: {{attrs.axis: [0, 1], inputs.input.seed: {ties}}}
  inputs: {{input: {{shape: [3, 4], choice: [1, 2]}}}}
- name: many
  matrix: {{attrs.axis: [0, 1], inputs.input.seed: {none}}}
  inputs: {{input: {{shape: [3, 4], permutation: [0, 1]}}}}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals")
def test_killed_at_half_and_resumed_it_leaves_the_stream_of_one_that_ran_through(start, tmp_path):
    text = HUNDREDS.format(ties=[*range(10)], none=[*range(90)])
    (tmp_path / "cases.yaml").write_text(text)
    words = ["run", "cases.yaml", "-q", "-b", "py:tests.cli.fakes:LAST_OF_TIES"]
    through = start(*words, "--report", "json=through.jsonl", cwd=tmp_path)
    assert through.communicate(timeout=120)[1] == ""
    assert through.returncode == 1

    killed, part = start(*words, "--report", "json=part.jsonl", cwd=tmp_path), "part.jsonl"
    until = time.monotonic() + 120
    while not (tmp_path / part).exists() or (tmp_path / part).read_bytes().count(b"\n") < 101:
        assert time.monotonic() < until, "it wrote nothing"
        time.sleep(0.005)
    killed.kill()
    killed.communicate(timeout=30)
    there = len(store.read(tmp_path / part).records)
    assert 100 <= there < 200

    resumed = start(*words, "--resume", part, cwd=tmp_path)
    _, err = resumed.communicate(timeout=120)
    assert resumed.returncode == 1
    assert err == f"opcheck: part.jsonl has {there} of 200 results; {200 - there} to come\n"
    assert without_times(tmp_path / part) == without_times(tmp_path / "through.jsonl")
