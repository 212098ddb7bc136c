"""`opcheck backends`: every backend is really started, in processes of their own."""

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import Result

import opcheck.backends.offers  # noqa: F401 (before anything is put in the place of its parts)
from tests.cli.conftest import ROOT, Run, environment
from tests.miniatures import offer
from tests.wording import lines_with

pytestmark = pytest.mark.starts_early

MODULE = """
    import os, signal, sys, time
    import numpy as np
    from opcheck.errors import NotSupported

    class Npu:
        version, devices, threads = "3.5-beta", ["NPU.0", "NPU.1"], 4

        def __init__(self, device="0"):
            pass

        def prepare(self, task):
            if task.op.name != "Hardmax" or task.op.since != 13:
                raise NotSupported("Hardmax-13 only")
            if task.inputs[0].dtype.name == "float64":
                raise ValueError("no float64")
            self.axis = task.attrs.get("axis", -1)
            return self

        def run(self, inputs):
            (x,) = inputs
            out = np.zeros_like(x)
            np.put_along_axis(out, np.expand_dims(x.argmax(self.axis), self.axis), 1, self.axis)
            return [out]

        def declares(self, task):
            return task.op.name == "Hardmax" and task.inputs[0].dtype.name in ("float32", "float64")

    def broken():
        raise OSError("libnpu.so is missing")

    def dying():
        print("npu: no device, giving up", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)

    def hanging():
        print("npu: waiting for the device", flush=True)
        time.sleep(60)

    def noisy():
        print("a banner")
        return Npu()

    def homely():
        if os.environ.get("NPU_HOME") != "here":
            raise OSError("NPU_HOME is not set")
        return Npu()
"""
Everything = tuple[dict[str, Any], set[str]]


def install(site: Path, *names: str) -> None:
    """A distribution some-npu 1.5 that offers the named parts of its module as backends."""
    offer(site, "some-npu", *(f"{name.lower()} = some_npu:{name}" for name in names))
    (site / "some_npu.py").write_text(dedent(MODULE))


@pytest.fixture
def backends(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`opcheck backends`, which finds what is installed in the folder `site`."""
    monkeypatch.syspath_prepend(tmp_path / "site")
    return partial(run, "backends")


def records(found: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in found.stdout.splitlines()]


@pytest.mark.gate
def test_an_installed_package_is_in_the_table_and_works(tmp_path: Path) -> None:
    install(tmp_path / "site", "Npu")
    plain = environment(
        PYTHONPATH=f"{ROOT}:{tmp_path / 'site'}",
        COLUMNS="80",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "opcheck", *words],
            cwd=tmp_path,
            env=plain,
            capture_output=True,
            encoding="ascii",  # the table is drawn with what there is
            check=False,
        )

    found = run("backends", "numpy", "npu")
    assert (found.returncode, found.stderr) == (0, "")
    lines = found.stdout.replace("|", " ").splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:4] == ["npu", "3.5-beta", "4", "NPU.0"] for line in lines)
    assert any(line.split()[0:1] == ["NPU.1"] for line in lines)
    assert "offered by some-npu 1.5" in " ".join(found.stdout.split())
    assert "?" not in found.stdout
    words = ["--op", "Hardmax", "--opset", "13", "--dtype", "float32", "-k", "worked_example"]
    judged = run("run", "-b", "npu", *words)
    assert judged.returncode == 0, judged.stderr
    assert "npu 3.5-beta" in judged.stdout


def test_what_breaks_dies_or_hangs_is_told_in_its_own_words_and_the_rest_is_there(
    tmp_path: Path, backends: Run, wording
) -> None:
    install(tmp_path / "site", "Npu", "broken", "dying", "hanging", "noisy")
    begun = time.monotonic()
    found = backends("broken", "dying", "hanging", "noisy", "npu", "--timeout", "6")
    assert time.monotonic() - begun < 30
    assert found.exit_code == 4
    there, broken = found.stdout.split("Cannot be used\n")
    for name in ("npu", "noisy"):
        assert f"\n{name} " in there
    assert "a banner" not in found.stdout
    told = [line.strip() for line in broken.splitlines()]
    assert [line for line in told if line.endswith(": offered by some-npu 1.5")] == [
        f"{name}: offered by some-npu 1.5" for name in ("broken", "dying", "hanging")
    ]
    assert any("OSError: libnpu.so is missing" in line for line in told)
    died = next(place for place, line in enumerate(told) if "died at start" in line)
    assert "killed by SIGSEGV" in told[died]
    assert told[died + 1] == wording
    late = told.index("backend 'hanging' has not started within 6 s; the last it printed:")
    assert told[late + 1 : late + 3] == wording


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Everything:
    """The table as records by name, two profiles in it, and what the command has imported."""
    folder = tmp_path_factory.mktemp("everything")
    install(folder / "site", "homely")
    (folder / "opcheck.toml").write_text(
        dedent("""
            [backends.mine]
            address = "homely"
            environment = {NPU_HOME = "here"}
            [backends.two]
            address = "onnxruntime?threads=2"
        """)
    )
    script = (
        "import sys; sys.argv[1:] = ['backends', '--config', 'opcheck.toml', '--format', 'json']\n"
        "from opcheck.cli import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment(PYTHONPATH=f"{ROOT}:{folder / 'site'}"),
        capture_output=True,
        text=True,
        check=True,  # nobody has asked for what is broken
    )
    lines = map(json.loads, found.stdout.splitlines())
    return {one["name"]: one for one in lines}, set(found.stderr.split())


@pytest.mark.gate
def test_the_command_itself_imports_no_backend(everything: Everything) -> None:
    imported = everything[1]
    assert "opcheck.backends.adapters.onnxruntime" in imported
    assert not imported & {"onnxruntime", "openvino", "torch", "tract", "onnx.reference"}


@pytest.mark.gate
def test_kinds_that_need_a_detail_are_not_started_but_say_what_to_write(everything):
    templates = {name: one for name, one in everything[0].items() if one["state"] == "template"}
    assert {*templates} == {"cmd", "onnx", "py", "saved"}
    for name, one in templates.items():
        assert f"{name}:" in one["summary"]
        assert one["error"] is None


@pytest.mark.gate
def test_what_is_not_installed_says_how_to_get_it(everything: Everything) -> None:
    found, _ = everything
    for name in ("openvino", "tract", "torch"):
        one = found[name]
        assert one["install"] == f"pip install 'opcheck[{name}]'"
        assert one["state"] == ("ready" if one["distribution_version"] else "not installed")
    assert found["onnxruntime"]["backend"]["threads"] == 1
    assert found["onnxruntime"]["backend"]["devices"][0] == "CPUExecutionProvider"


@pytest.mark.gate
def test_profiles_are_backends_too(everything: Everything) -> None:
    found, _ = everything
    assert found["mine"]["origin"] == "profile"
    assert (found["mine"]["state"], found["homely"]["state"]) == ("ready", "unusable")
    assert found["two"]["summary"] == "profile of onnxruntime?threads=2"
    assert found["two"]["backend"]["threads"] == 2


@pytest.mark.gate
def test_names_that_clash_do_not_hide_the_others(tmp_path, backends, monkeypatch, wording):
    install(tmp_path / "site", "Npu")
    points = tmp_path / "site" / "some-npu-1.5.dist-info" / "entry_points.txt"
    points.write_text("[opcheck.backends]\nnumpy = some_npu:Npu\n")
    found = backends()
    assert found.exit_code == 0
    assert "\nreference " in found.stdout
    assert lines_with(found.stdout, "distribution 'some-npu' offers") == wording
    # To say it once more, none need be started.
    monkeypatch.setattr("opcheck.backends.offers.tried", lambda *_: [])
    assert [one["type"] for one in records(backends("--format", "json"))] == ["problem"]


@pytest.mark.parametrize(
    ("addresses", "code", "told"),
    [
        (["numpy", "onnxruntime?threads=2"], 0, "onnxruntime?threads=2"),
        (["onnxruntime:DmlExecutionProvider", "numpy"], 4, "built without DmlExecutionProvider"),
        (["onnxruntime:CPU", "saved:nowhere"], 2, "no execution provider 'CPU'"),
        (["py"], 2, "write py:pkg.mod:Class"),
    ],
)
def test_an_address_that_cannot_be_used_is_an_exit_code(backends, addresses, code, told):
    found = backends(*addresses)
    assert found.exit_code == code
    assert told in found.stdout
    assert found.stderr == ""
    assert "reference" not in found.stdout


def test_names_that_mean_nothing_are_told_all_at_once(backends: Run, wording) -> None:
    found = backends("numpy", "onnxrutime", "tensorflow")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == wording
    assert "unknown backend 'tensorflow'" in found.stderr
