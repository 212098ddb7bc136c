"""`opcheck golden write`, as it is typed, and what is run of its folders."""

import hashlib
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from opcheck.cli import package
from opcheck.graph.folders import read_tensor, tensor_bytes
from tests.asking import wait_until
from tests.cli.conftest import ROOT
from tests.execution.golden.made import FOUR, RANDOM, rewrite
from tests.wording import lines_with

pytestmark = pytest.mark.processes


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "my.yaml").write_text(dedent(FOUR), encoding="utf-8")
    return tmp_path


def test_help_names_every_command_with_its_line(run):
    found = run("golden")
    assert [*package.golden.commands] == ["write"]
    for name, command in package.golden.commands.items():
        assert f"  {name} " in found.output
        assert command.help.partition(".")[0] in found.output


def test_what_is_written_is_told_and_is_right(run, mine, wording):
    found = run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", code=0)
    lines = [" ".join(line.split()) for line in found.stdout.splitlines()]
    counts = {line.split()[0]: line.split()[-2:] for line in lines if line}
    assert (counts["must"], counts["open"]) == (["3", "18"], ["2", "8"])
    assert counts["rejected"] == ["1", "2"]
    assert lines[-1] == wording
    found = run("run", "golden", "-b", "numpy?mode=exact", code=0)
    assert found.stdout.splitlines()[-1] == wording


def test_a_digest_pins_a_golden_folder(run, mine, wording):
    printed = run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", code=0).stdout
    digest = hashlib.sha256(Path("golden/manifest.json").read_bytes()).hexdigest()
    assert f"manifest.json: SHA-256 {digest}, for opcheck run --digest\n" in printed
    words = ("-b", "numpy?mode=exact", "--digest")
    for path in ("golden", "golden/must"):
        run("run", path, *words, digest, code=0)
    # A stranger turns duties into recommendations, and makes all checksums fit.
    rewrite(Path("golden"), lambda data: data.update(selection="another"))
    run("run", "golden", "-b", "numpy?mode=exact", code=0)
    assert "has the SHA-256 " in run("run", "golden", *words, digest, code=2).stderr
    for name in ("manifest.json", "SHA256SUMS"):
        Path("golden", name).unlink()
    assert run("run", "golden", *words, digest, code=2).stderr == wording
    for paths in (("my.yaml",), ()):
        assert "--digest" in run("run", *paths, *words, digest, code=2).stderr


def test_a_forged_answer_is_told_by_the_engine(run, mine, wording):
    run("golden", "write", "my.yaml", "-o", "golden", "-j", "1")
    path = Path(f"golden/{RANDOM}/test_data_set_0/output_0.pb")
    array = read_tensor(path).copy()
    array[1, 3] = 0.75
    path.write_bytes(tensor_bytes(array, "output"))
    rewrite(Path("golden"), lambda data: None)
    found = run("run", "golden", "-b", "numpy?mode=exact", code=2)
    assert "1 of 10 elements differ" in found.stdout
    line = lines_with(found.stdout, "at [1, 3] the case")
    assert line.partition(", the engine 0.")[0] == wording


#: The text does not define a range without numbers.
NO_RANGE = """\
op: RNN
opset: 14
dtype: float32
attrs: {hidden_size: 1}
inputs: {X: [[[1]]], W: [[[1]]], R: [[[1]]]}
expect: {computed: [Y_h]}
cases:
- {name: none, attrs: {clip: -1.0}}
- {name: one, attrs: {clip: 1.0}}
"""


def test_what_the_engine_has_no_answer_for_is_no_wrong_case_anywhere(run, tmp_path, wording):
    (tmp_path / "my.yaml").write_text(NO_RANGE, encoding="utf-8")
    assert "1 unsupported" in run("run", "my.yaml", "-b", "numpy", code=0).stdout
    found = run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", code=0)
    assert lines_with(found.stdout, "the case: RNN/none: opcheck's") == wording
    assert found.stdout.splitlines()[-1] == wording
    wrong = ("--mutant", "hidden_size_one_larger", "-j", "1")
    assert run("mutate", "my.yaml", *wrong, code=0).stdout.splitlines()[-1] == wording


def test_oracles_that_disagree_are_told_and_exit_with_1(run, mine, wording):
    text = Path("my.yaml").read_text().replace("[[0.5, 0.5], [0.5, 0.5]]", "[[0, 1], [0.5, 0.5]]")
    Path("my.yaml").write_text(text)
    found = run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", code=1)
    assert "WRONG Softmax/written_out" in found.stdout
    assert "contradict each other" in found.stdout
    assert found.stdout.splitlines()[-1] == wording
    assert run("run", "golden", "-b", "numpy?mode=exact").exit_code == 0


def test_nothing_to_write_is_no_success(run, mine):
    run("golden", "write", "my.yaml", "-o", "golden", "-k", "nothing_like_it", code=5)
    assert not Path("golden").exists()


def test_a_folder_that_is_there_is_kept_unless_forced(run, mine, wording):
    words = ("golden", "write", "my.yaml", "-o", "golden", "-j", "1")
    assert run(*words).exit_code == 0
    found = run(*words, code=2)
    assert lines_with(found.output, "this folder is") == wording
    assert "--force replaces" in found.output
    assert run(*words, "--force").exit_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_leaves_nothing(start, tmp_path):
    words = ["--op", "LpPool", "--op", "Softmax", "-o", str(tmp_path / "golden"), "-j", "2"]
    process = start("golden", "write", *words, cwd=ROOT)
    wait_until(lambda: [*tmp_path.glob(".golden.*.part/new/*/test_*")], 60)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="not installed: sha256sum")
def test_the_example_reads_what_was_written(run, mine):
    run("golden", "write", "my.yaml", "-o", "golden", "-j", "1")
    command = [sys.executable, ROOT / "examples" / "read_golden.py", "golden"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "Counter({'right': 3})\n"
