"""The programs in examples/ are backends as they are shipped."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from opcheck.backends import Backend
from opcheck.backends.connect import connect
from opcheck.model import Agreement, Case, Oracle, Rejected, Values, Verdict
from opcheck.suite import load
from tests.asking import elements, shipped_cases
from tests.inline import judged
from tests.shell import shell

pytestmark = pytest.mark.processes

EXAMPLES = Path(__file__).parent.parent / "examples"
PYTHON = sys.executable

#: Small ones: the others say as much, of more numbers.
CASES = [case for case in shipped_cases("Hardmax", "Softmax") if elements(case) <= 500]
VERSION_13 = [case for case in CASES if case.op.since == 13]


def verdicts(cases: Sequence[Case], backend: Backend) -> dict[str, Verdict]:
    return {result.case.id: result.verdict for result in judged(cases, [backend])}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ runner."""
    if not shutil.which("g++"):
        pytest.skip("not installed: g++, which compiles examples/one_shot.cpp")
    runner = tmp_path_factory.mktemp("cpp") / "runner"
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, "-o", runner, EXAMPLES / "one_shot.cpp"], check=True)
    return runner


def test_the_runner_in_cpp_is_right_wherever_it_computes(compiled: Path) -> None:
    backend = connect(f"cmd:{compiled} {{model}} {{inputs}} {{outputs}}")
    cases = [case for case in VERSION_13 if str(case.dtype) == "float32"]
    found = Counter(verdicts(cases[::3], backend).values())
    assert found[Verdict.PASS] > 30
    assert set(found) <= {Verdict.PASS, Verdict.UNSUPPORTED}


def test_the_runner_in_cpp_says_what_it_lacks(compiled: Path) -> None:
    backend = connect(f"cmd:{compiled} {{model}} {{inputs}} {{outputs}}")
    lacking = [
        case for case in shipped_cases() if case.op.since != 13 or str(case.dtype) != "float32"
    ]
    # It may refuse what is invalid, and has a twin that it knows.
    known = [one for one in lacking if not (one.op.domain or isinstance(one.expect, Rejected))]
    assert set(verdicts(known[:: max(len(known) // 80, 1)], backend).values()) == {
        Verdict.UNSUPPORTED
    }


@pytest.mark.parametrize(
    "damage", [b"", b"\xff" * 40, b"\x3a\xff\xff\xff\xff\x0f", b"\x3a\x05\x0a\x7f"]
)
def test_the_runner_in_cpp_survives_a_damaged_model(compiled, tmp_path, damage):
    model = tmp_path / "model.onnx"
    model.write_bytes(damage)
    found = subprocess.run([compiled, model, tmp_path, tmp_path], capture_output=True, check=False)
    assert found.returncode == (77 if not damage else 1)
    assert found.stderr


@pytest.mark.gate
def test_the_runner_in_python_is_its_library(tmp_path: Path) -> None:
    some = [case for case in CASES if case.op.since > 1][::150]
    command = f"{PYTHON} {EXAMPLES}/one_shot.py {{model}} {{inputs}} {{outputs}}"
    found = verdicts(some, connect(f"cmd:{command}"))
    assert found == verdicts(some, connect("onnxruntime"))
    assert len(set(found.values())) > 1


def test_the_persistent_runner_is_its_library() -> None:
    some = CASES[::20]
    backend = connect(f"cmd:{PYTHON} {EXAMPLES}/persistent.py")
    assert backend.info.version.startswith("onnxruntime 1.")
    first = backend.prepare.__self__.close
    found = verdicts(some, backend)
    assert found == verdicts(some, connect("onnxruntime"))
    assert len(set(found.values())) > 2
    assert first.alive
    first()


def test_the_template_is_right_wherever_it_computes(tmp_path, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        backend = connect("py:my_backend")
    finally:
        sys.modules.pop("my_backend", None)
    with warnings.catch_warnings():
        # NumPy warns of infinities, which a worker process only notes.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = Counter(verdicts(CASES[::3], backend).values())
    assert backend.info.version == "1.0"
    assert found[Verdict.PASS] > 100
    assert set(found) == {Verdict.PASS, Verdict.UNSUPPORTED}


#: The first is run in tests/test_accelerators_page.py, the second has commands one after the other,
#: and the third reads what opcheck has written.
WITHOUT_COMMAND = ("batch_invariant.py", "my_operator.py", "read_golden.py")


@pytest.mark.sampled(1)
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")
@pytest.mark.parametrize(
    "file",
    sorted({*EXAMPLES.glob("*.py")} - {EXAMPLES / name for name in WITHOUT_COMMAND}),
    ids=lambda file: file.name,
)
def test_the_command_at_the_top_of_a_file_runs_it(file: Path, tmp_path: Path) -> None:
    (command,) = re.findall(r"^(opcheck .*?)(?: +#.*)?$", file.read_text(), re.M)
    shutil.copy(file, tmp_path)
    narrower = "--dtype float32 --opset 13 -k 'worked_example or MatMul and by_hand'"
    status, printed = shell(tmp_path, command, narrower)
    assert "exit 0: conforms: " in printed, printed
    assert status == 0


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")
def test_the_commands_at_the_top_of_an_own_operator_work_one_after_the_other(tmp_path: Path):
    file = EXAMPLES / "my_operator.py"
    commands = re.findall(r"^((?:python|opcheck) .*?)(?: +#.*)?$", file.read_text(), re.M)
    shutil.copy(file, tmp_path)
    status, printed = shell(tmp_path, "\n".join(commands).replace("python ", "python3 "))
    assert printed.count("exit 0: conforms: ") == 2, printed
    assert status == 0


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("any_operator/*.yaml")), ids=lambda f: f.stem)
def test_what_is_written_out_by_hand_for_any_operator_is_right(file: Path) -> None:
    cases = [case for case in load([file]) if isinstance(case.expect, Values)]
    assert cases
    for backend in map(connect, ("onnxruntime", "reference")):
        assert set(verdicts(cases, backend).values()) == {Verdict.PASS}


def test_there_is_an_example_of_each_way_to_say_what_is_right() -> None:
    ways = Counter(type(case.expect) for case in load([EXAMPLES / "any_operator"]))
    assert {*ways} == {Values, Oracle, Agreement}


@pytest.mark.parametrize("path", sorted((EXAMPLES / "backends").glob("*.py")), ids=lambda p: p.stem)
def test_an_engine_in_some_forty_lines_is_a_backend(path, monkeypatch):
    monkeypatch.syspath_prepend(path.parent)
    for needed in re.findall(r"^(?:import|from) (cv2|iree|tinygrad|tvm)\b", path.read_text(), re.M):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"not installed: {needed}, for examples/backends/{path.name}")
    cases = [c for c in VERSION_13 if c.level == "smoke" and str(c.dtype) == "float32"]
    found = Counter(verdicts(cases, connect(f"py:{path.stem}")).values())
    assert found[Verdict.PASS] > 5
    assert set(found) <= {Verdict.PASS, Verdict.UNSUPPORTED}
