"""What is wrong with a golden folder is told, whoever made it, and nothing outside it is read."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto

from benchmarks.golden_corruptions import DAMAGES, fates, made as made_to_be_damaged
from opcheck.errors import CaseFileError
from opcheck.suite import load_all
from opcheck.suite.golden_files import MANIFEST, SUMS
from tests.asking import at, places_in
from tests.execution.golden.made import RANDOM, WRITTEN_OUT, findings, golden, rewrite
from tests.wording import Wording

INPUT, OUTPUT = (f"{RANDOM}/test_data_set_0/{name}_0.pb" for name in ("input", "output"))
MODEL = f"{RANDOM}/model.onnx"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole")
    golden(place)
    return place / "golden"


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A golden folder to be spoilt."""
    return Path(shutil.copytree(whole, tmp_path / "golden"))


def test_everything_is_told_at_once(folder: Path, wording: Wording) -> None:
    (folder / INPUT).unlink()
    (folder / MODEL).write_bytes(b"")
    unlisted = {"must/more", f"{WRITTEN_OUT}/notes.txt"}
    (folder / "must" / "more").mkdir()
    (folder / WRITTEN_OUT / "notes.txt").write_text("mine")
    (folder / "notes.txt").write_text("mine, too")  # beside the tests
    found = findings(folder)
    assert found.keys() == {INPUT, MODEL, *unlisted}
    assert found[INPUT] == "is missing"
    # The SHA-256 of nothing.
    assert found[MODEL] == wording
    assert [found[path] for path in sorted(unlisted)] == wording


@pytest.mark.parametrize("name", [MANIFEST, SUMS])
def test_the_manifest_and_the_sums_vouch_for_each_other(
    folder: Path, name: str, wording: Wording
) -> None:
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text.replace(b"e", b"f", 1))
    assert findings(folder).keys() & {MANIFEST, SUMS}
    (folder / name).write_bytes(text + b"\n")
    assert findings(folder).keys() & {MANIFEST, SUMS}
    (folder / name).unlink()
    assert findings(folder)[name] == wording


@pytest.mark.gate
def test_damages_drawn_at_random_are_found_each(tmp_path: Path) -> None:
    folder = tmp_path / "golden"
    made_to_be_damaged(folder)
    assert findings(folder) == {}
    found = fates(folder, 6 * len(DAMAGES), seed=1)
    assert {what for _, what in found} <= {"found", "harmless"}, found
    assert sum(count for (_, what), count in found.items() if what == "found") > 5 * len(DAMAGES)


def test_links_are_not_followed(folder: Path, tmp_path: Path, wording: Wording) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes((folder / INPUT).read_bytes())
    (folder / INPUT).unlink()
    (folder / INPUT).symlink_to(outside / "secret")
    (folder / "must" / "up").symlink_to(outside, target_is_directory=True)
    found = findings(folder)
    assert found[INPUT] == wording
    assert found["must/up"] == wording


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes")
def test_a_pipe_is_not_waited_for(folder: Path, wording: Wording) -> None:
    (folder / OUTPUT).unlink()
    os.mkfifo(folder / OUTPUT)
    assert findings(folder)[OUTPUT] == wording
    (folder / MANIFEST).unlink()
    os.mkfifo(folder / MANIFEST)
    assert findings(folder).keys() == {MANIFEST}


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a\\..\\b", "x/../../y", "a/./b"])
def test_no_path_of_a_manifest_leads_out(folder: Path, name: str) -> None:
    text = (folder / MANIFEST).read_text()
    for old in ('"model.onnx"', f'"{RANDOM}"'):
        quoted = name.replace("\\", "\\\\")
        (folder / MANIFEST).write_text(text.replace(old, f'"{quoted}"', 1))
        told = findings(folder)
        assert told.keys() == {MANIFEST}
        assert "is damaged" in told[MANIFEST]


def told(folder: Path) -> str:
    """What is wrong with tests whose files are all vouched for."""
    rewrite(folder, lambda data: None)  # only checksums are made anew
    with pytest.raises(CaseFileError) as caught:
        load_all([folder])
    return "\n".join(problem.message for problem in caught.value.problems)


def test_a_tensor_that_is_kept_elsewhere_is_not_read(folder: Path, wording: Wording) -> None:
    stored = TensorProto.FromString((folder / INPUT).read_bytes())
    stored.ClearField("raw_data")
    stored.data_location = TensorProto.EXTERNAL
    stored.external_data.add(key="location", value="../../../../../etc/passwd")
    (folder / INPUT).write_bytes(stored.SerializeToString())
    assert told(folder) == wording
    model = onnx.load(folder / MODEL)
    model.graph.initializer.append(stored)
    (folder / MODEL).write_bytes(model.SerializeToString())
    assert told(folder) == wording


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 31, 1 << 31], [0, 1 << 62], [-1, 10]])
def test_absurd_shapes_take_no_memory(folder: Path, dims: list[int]) -> None:
    stored = TensorProto.FromString((folder / INPUT).read_bytes())
    stored.ClearField("dims")
    stored.dims.extend(dims)
    (folder / INPUT).write_bytes(stored.SerializeToString())
    assert "input_0.pb" in told(folder)


STRANGE = (0, -1, 1 << 40, 1.5, "", "x", "Relu", "float64", [], [1, "a"], {"number": "nan"}, None)


def test_no_manifest_leads_to_a_crash(folder: Path) -> None:
    draw = random.Random(3)
    text = (folder / MANIFEST).read_text()
    for _ in range(120):
        data = json.loads(text)
        *path, last = draw.choice(places_in(data["cases"]))
        at(data["cases"], path)[last] = draw.choice(STRANGE)
        raw = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        (folder / MANIFEST).write_text(raw)
        assert raw == text or findings(folder)


def spoilt(change: Callable[[Any, Any], object]) -> Callable[[Any], object]:
    """A change of the first case and its first test."""
    return lambda data: change(data["cases"][0], data["cases"][0]["tests"][0])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["cases"].append(data["cases"][0]),
        spoilt(lambda _, test: test.update(folder=WRITTEN_OUT.replace("must/", "should/"))),
        spoilt(
            lambda _, test: test.update(
                files={
                    name: sha
                    for name, sha in test["files"].items()
                    if "input" in name or not name.endswith("_0.pb")
                }
            )
        ),
        spoilt(lambda case, _: case["tests"].clear()),
        spoilt(lambda _, test: test["files"].update(other=test["files"].pop("model.onnx"))),
    ],
)
def test_a_manifest_that_contradicts_itself_is_told(folder, change, wording):
    rewrite(folder, change)
    assert findings(folder).keys() == {MANIFEST}
    assert findings(folder)[MANIFEST] == wording


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"{}",
        b'{"type": "x"}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
    ],
)
def test_a_manifest_that_is_none_is_told_without_more(
    folder: Path, data: bytes, wording: Wording
) -> None:
    (folder / MANIFEST).write_bytes(data)
    assert [*findings(folder)] == [MANIFEST]
    assert findings(folder)[MANIFEST] == wording


def test_a_manifest_of_a_later_format_is_told_as_that(folder: Path, wording: Wording) -> None:
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace('"format": 5', '"format": 6'))
    assert findings(folder)[MANIFEST] == wording
    (folder / MANIFEST).write_text(text.replace('"format": 5', '"format": "5"'))
    assert findings(folder)[MANIFEST].startswith("is damaged: format: ")
