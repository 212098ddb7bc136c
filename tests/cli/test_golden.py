"""`opcheck golden write`, as it is typed, and what is run of its folders."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from textwrap import dedent

import jsonschema
import numpy as np
import pytest

from opcheck.cli import package
from opcheck.graph.folders import read_tensor, tensor_bytes
from opcheck.suite.golden_files import MANIFEST, read_manifest
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


#: An operator of opset 14, next to those of FOUR.
LATER = """\
op: Relu
opset: 14
dtype: float32
cases:
- {name: later, inputs: {X: [-1, 2]}}
"""

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


def test_an_archive_of_a_release_is_written_and_not_read(run, mine, wording):
    Path("later.yaml").write_text(LATER, encoding="utf-8")
    words = ("golden", "write", "my.yaml", "later.yaml", "-j", "1")
    found = run(*words, "--onnx", "1.8", "-o", "golden.tar.gz", code=0)
    assert found.stdout.splitlines()[-1] == wording
    with tarfile.open("golden.tar.gz") as package:
        package.extractall(filter="data")
    manifest, data = read_manifest(Path("golden"))
    assert f"SHA-256 {hashlib.sha256(data).hexdigest()}," in found.stdout
    assert manifest.selection == wording
    assert {case.id for case in manifest.cases} == {
        f"Softmax/{name}" for name in ("written_out", "random", "undecided", "out_of_range")
    }
    run("run", "golden", "-b", "numpy?mode=exact", code=0)
    assert run("run", "golden.tar.gz", "-b", "numpy", code=2).stderr == wording


def test_a_release_that_has_none_of_the_cases_is_nothing_to_write(run, mine, wording):
    found = run("golden", "write", "my.yaml", "--onnx", "1.7", "-o", "golden.zip", code=5)
    assert found.stdout.splitlines()[-1] == wording
    assert not Path("golden.zip").exists()


def test_tests_named_as_onnx_s_are_run(run, mine):
    words = ("golden", "write", "my.yaml", "--names", "onnx", "-j", "1")
    run(*words, "-o", "golden", code=0)
    found = run("run", "golden", "-b", "numpy?mode=exact", "-v", code=0)
    assert "conforms" in found.stdout
    run(*words, "-o", "golden.zip", code=0)
    with zipfile.ZipFile("golden.zip") as package:
        assert "golden/must/test_softmax_random/model.onnx" in package.namelist()


def test_an_archive_is_replaced_without_force(run, mine, wording):
    words = ("golden", "write", "my.yaml", "-o", "golden.zip", "-j", "1")
    run(*words, code=0)
    before = Path("golden.zip").read_bytes()
    run(*words, code=0)
    assert Path("golden.zip").read_bytes() == before
    assert run(*words, "--force", code=2).stderr == wording
    assert run(*words[:-4], "-o", "nowhere/golden.zip", code=2).stderr == wording


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


#: Sigmoid, of which the example in C++ computes float32: random numbers, and an exact 0.5.
SIGMOID = """\
op: Sigmoid
opset: 13
cases:
- {name: random, dtype: float32, inputs: {X: {shape: [3, 5], normal: [0, 2]}}}
- {name: half, dtype: float32, inputs: {X: [0, .nan]}, tolerance: {ulp: 0}}
- {name: other_type, dtype: float64, inputs: {X: [0.5]}}
"""


@pytest.fixture
def reader(tmp_path):
    """The reader in C++."""
    if not shutil.which("g++"):
        pytest.skip("not installed: g++, which compiles examples/read_golden.cpp")
    program = tmp_path / "read_golden"
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, "-o", program, ROOT / "examples/read_golden.cpp"], check=True)
    return program


def test_the_example_in_cpp_judges_without_python(run, reader, tmp_path):
    def judged():
        found = subprocess.run([reader, "golden"], capture_output=True, text=True, check=False)
        return found.returncode, found.stdout

    (tmp_path / "my.yaml").write_text(SIGMOID, encoding="utf-8")
    run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", code=0)
    assert judged() == (0, "2 right, 0 wrong, 1 unsupported\n")
    # Both answers are right no longer: one lies below what is lowest, one off the only right one.
    data = Path("golden/must/test_Sigmoid%2Frandom/test_data_set_0")
    array = read_tensor(data / "input_0.pb")
    (data / "input_0.pb").write_bytes(tensor_bytes(array - np.float32(1e-3), "X"))
    data = Path("golden/must/test_Sigmoid%2Fhalf/test_data_set_0")
    (data / "output_0.pb").write_bytes(tensor_bytes(np.float32([0.5, 0.5]), "Y"))
    status, printed = judged()
    assert status == 1
    assert {*printed.splitlines()} == {
        "wrong: test_Sigmoid%2Frandom",
        "wrong: test_Sigmoid%2Fhalf",
        "0 right, 2 wrong, 1 unsupported",
    }


def test_the_schema_of_the_manifest_takes_what_is_written_and_no_other_field(run, mine):
    run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", code=0)
    schema = json.loads(run("schema", "golden", code=0).stdout)
    manifest = json.loads(Path("golden", MANIFEST).read_bytes())
    jsonschema.validate(manifest, schema)
    manifest["cases"][0]["tests"][0]["more"] = 1
    with pytest.raises(jsonschema.ValidationError, match="more"):
        jsonschema.validate(manifest, schema)
