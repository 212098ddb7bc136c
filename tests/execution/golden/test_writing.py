import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from opcheck.errors import Unwritable, UsageError
from opcheck.execution.golden import write
from opcheck.suite import load
from opcheck.suite.golden_files import MANIFEST, SUMS, read_manifest
from tests.asking import ENDS_CROSSED, cases_in
from tests.execution.golden.made import FOUR, RANDOM, WRITTEN_OUT, golden
from tests.wording import Wording


def tree(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_a_test_is_a_folder_in_onnx_s_layout(tmp_path: Path) -> None:
    golden(tmp_path)
    names = {one.removeprefix(f"{RANDOM}/") for one in tree(tmp_path / "golden") if RANDOM in one}
    data = {f"test_data_set_0/{name}_0.pb" for name in ("input", "output", "lowest", "highest")}
    assert names == {"model.onnx", "data.json", *data}
    assert not list((tmp_path / "golden" / "rejected").rglob("output_*"))


def test_the_manifest_says_what_each_test_is_about(tmp_path: Path) -> None:
    golden(tmp_path)
    manifest, _ = read_manifest(tmp_path / "golden")
    cases = {case.id: case for case in manifest.cases}
    assert cases["Softmax/undecided"].rule == "open"
    alternatives = [test.alternative for test in cases["Softmax/undecided"].tests]
    assert alternatives == ["by_the_formula", "by_the_body"]
    refused, twin = cases["Softmax/out_of_range"].tests
    assert refused.refused == "axis is outside [-2, 1]"
    assert twin.legal_twin
    (random,) = cases["Softmax/random"].tests
    assert random.tolerance == "bound"
    assert 0 < random.rtol < 1e-5
    assert manifest.packages["numpy"] == np.__version__


def test_sha256sum_agrees(tmp_path: Path) -> None:
    if not shutil.which("sha256sum"):
        pytest.skip("not installed: sha256sum")
    golden(tmp_path)
    command = ["sha256sum", "--strict", "--quiet", "-c", SUMS]
    subprocess.run(command, cwd=tmp_path / "golden", check=True)
    assert len((tmp_path / "golden" / SUMS).read_text().splitlines()) == (
        len(tree(tmp_path / "golden")) - 1
    )


def test_any_number_of_processes_writes_the_same_bytes(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, FOUR)
    for processes in (1, 2):
        write(tmp_path / str(processes), cases, "all", processes)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")


class Rep:
    """Answers by what is asked for, moved by so many ULP."""

    def __init__(self, model: onnx.ModelProto, factor: float) -> None:
        self.model, self.factor = model, factor

    def run(self, inputs: list[Any]) -> list[Any]:
        x = inputs[0].astype(np.float64)
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        answer = (e / e.sum(axis=-1, keepdims=True)).astype(inputs[0].dtype)
        return [(answer * np.float32(self.factor)).astype(answer.dtype)]


def ran(folder: Path, kind: str, factor: float = 1.0) -> dict[str, bool]:
    """Which tests of a kind pass ONNX's own runner."""

    class Backend:
        @staticmethod
        def prepare(model: onnx.ModelProto, device: str) -> Rep:
            return Rep(model, factor)

        @staticmethod
        def supports_device(device: str) -> bool:
            return True

    runner = object.__new__(Runner)
    runner.backend = Backend  # type: ignore[assignment]
    runner._test_items = {}
    found = {}

    def take(category: str, name: str, test: Any, *_: Any, **__: Any) -> None:
        try:
            test(None, "CPU")
            found[name] = True
        except AssertionError:
            found[name] = False

    runner._add_test = take  # type: ignore[method-assign]
    runner._test_kwargs = {}
    for case in load_model_tests(str(folder), kind):
        runner._add_model_test(case, kind)
    return found


def test_a_right_backend_passes_onnx_s_own_runner_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    golden(tmp_path)
    folder = tmp_path / "golden"
    assert ran(folder, "must") == {
        "test_Softmax%2Fwritten_out": True,
        "test_Softmax%2Frandom": True,
        "test_Softmax%2Fout_of_range~legal": True,
    }
    assert not any(ran(folder, "must", 1.001).values())


def test_a_model_to_be_refused_never_passes_onnx_s_own_runner(tmp_path: Path) -> None:
    golden(tmp_path)
    assert ran(tmp_path / "golden", "rejected") == {"test_Softmax%2Fout_of_range": False}


def test_onnx_s_loader_finds_the_tolerance(tmp_path: Path) -> None:
    golden(tmp_path)
    loaded = {case.name: case for case in load_model_tests(str(tmp_path / "golden"), "must")}
    data = json.loads((tmp_path / "golden" / RANDOM / "data.json").read_text())
    case = loaded["test_Softmax%2Frandom"]
    assert (case.rtol, case.atol) == (data["rtol"], data["atol"])


def test_a_folder_that_is_there_needs_force(tmp_path: Path) -> None:
    golden(tmp_path)
    before = tree(tmp_path / "golden")
    with pytest.raises(UsageError, match="is not empty"):
        golden(tmp_path)
    write(tmp_path / "golden", cases_in(tmp_path, FOUR)[:1], "one", force=True)
    assert before.keys() > tree(tmp_path / "golden").keys()
    assert left_behind(tmp_path) == {"golden"}


def test_force_removes_nothing_that_opcheck_did_not_write(tmp_path: Path, wording: Wording) -> None:
    golden(tmp_path)
    folder, cases = tmp_path / "golden", cases_in(tmp_path, FOUR)
    (folder / WRITTEN_OUT / "notes.txt").write_text("mine")
    before = tree(folder)
    with pytest.raises(UsageError, match=r"did not write: must/.*/notes\.txt"):
        write(folder, cases, "all", force=True)
    assert tree(folder) == before
    (folder / WRITTEN_OUT / "notes.txt").unlink()
    (folder / MANIFEST).write_text("{}")
    with pytest.raises(UsageError) as raised:
        write(folder, cases, "all", force=True)
    assert raised.value == wording
    (folder / MANIFEST).unlink()
    with pytest.raises(UsageError, match=r"manifest\.json cannot be read"):
        write(folder, cases, "all", force=True)


def test_an_empty_folder_is_filled_and_a_file_is_not_replaced(
    tmp_path: Path, wording: Wording
) -> None:
    (tmp_path / "golden").mkdir()
    golden(tmp_path)
    with pytest.raises(UsageError) as raised:
        write(tmp_path / "golden" / MANIFEST, cases_in(tmp_path, FOUR), "all")
    assert raised.value == wording


def left_behind(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".yaml"}


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, after, is_new, wording):
    if not is_new:
        golden(tmp_path)
    before, there = tree(tmp_path / "golden"), left_behind(tmp_path)
    real, count = Path.write_bytes, iter(range(10**6))
    cases = cases_in(tmp_path, FOUR)

    def full(path: Path, data: bytes) -> int:
        if next(count) >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(Unwritable) as raised:
        write(tmp_path / "golden", cases, "all", force=True)
    assert raised.value == wording
    assert (tree(tmp_path / "golden"), left_behind(tmp_path)) == (before, there)


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(done: Iterable[Any]) -> Iterator[Any]:
        for one in done:
            yield one
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "golden", cases_in(tmp_path, FOUR), "", counted=interrupted)
    assert left_behind(tmp_path) == set()


def test_where_no_test_can_be_written_there_is_no_folder(tmp_path: Path) -> None:
    text = """
        op: DML_ACTIVATION_HARDMAX1
        domain: com.microsoft.dml
        dtype: float64
        cases:
        - name: a
          opset: 1
          attrs: {Axes: [0]}
          inputs: {InputTensor: [1, 2]}
          expect: {rejected: no such type, legal: {dtype: float32}}
    """
    found = write(tmp_path / "golden", cases_in(tmp_path, text), "")
    assert [left.what for left in found.left_out] == ["the case"]
    assert [test.legal_twin for test in found.tests] == [True]
    assert "not expressible" in found.left_out[0].reason
    assert write(tmp_path / "other", (), "").tests == []
    assert not (tmp_path / "other").exists()


def test_a_case_of_level_huge_is_left_out_and_not_wrong(tmp_path: Path) -> None:
    cases = load(ops=("Relu",), levels=("huge",))
    manifest = write(tmp_path / "golden", cases, "")
    assert [(left.what, left.wrong) for left in manifest.left_out] == [("the case", False)]


def test_a_case_is_left_out_if_its_page_leaves_the_model_open(tmp_path: Path) -> None:
    manifest = golden(tmp_path, ENDS_CROSSED)
    [left_out] = manifest.left_out
    assert (left_out.what, left_out.wrong) == ("the case", False)
    assert manifest.tests == []
