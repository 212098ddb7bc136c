"""What is wrong with a golden folder is told, whoever made it, and nothing outside it is read."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benchmarks.golden_corruptions import DAMAGES, fates
from benchmarks.golden_corruptions import made as made_to_be_damaged
from opcheck.errors import UsageError
from opcheck.execution.golden import answers
from opcheck.execution.golden.answers import NodeOutputs
from opcheck.execution.golden.checking import check
from opcheck.suite.golden_files import MANIFEST, SUMS
from tests.asking import at, places_in
from tests.execution.golden.made import RANDOM, WRITTEN_OUT, findings, golden, rewrite

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


def tensor(folder: Path, name: str) -> Any:
    return numpy_helper.to_array(TensorProto.FromString((folder / name).read_bytes())).copy()


def put(folder: Path, name: str, array: Any, called: str = "output") -> None:
    data = numpy_helper.from_array(array, called).SerializeToString(deterministic=True)
    (folder / name).write_bytes(data)


def all_tests(data: Any) -> list[Any]:
    return [test for case in data["cases"] for test in case["tests"]]


def unchanged(_: Any) -> None:
    """Only checksums are made anew."""


def test_a_folder_as_it_was_written_is_right_and_counted(folder: Path) -> None:
    checked = check(folder, processes=2)
    assert checked.findings == {}
    assert (checked.cases, checked.tests, checked.judged) == (4, 6, 6)
    assert checked.files == sum(path.is_file() for path in folder.rglob("*")) - 2


@pytest.mark.parametrize("name", [INPUT, OUTPUT, MODEL, f"{RANDOM}/data.json"])
def test_a_flipped_bit_is_told_with_its_file(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 4
    (folder / name).write_bytes(data)
    found = findings(folder)
    assert set(found) == {name}
    assert "was changed: its SHA-256 is" in found[name]


def test_a_wrong_answer_is_told_beside_the_right_one(folder: Path) -> None:
    array = tensor(folder, OUTPUT)
    array[1, 3] = 0.75
    put(folder, OUTPUT, array)
    told = findings(folder)[OUTPUT]
    assert "was changed" in told
    assert "1 of 10 elements are wrong: at [1, 3] it has 0.75, the oracle 0." in told


def test_everything_is_told_at_once(folder: Path) -> None:
    (folder / INPUT).unlink()
    (folder / MODEL).write_bytes(b"")
    unlisted = {"must/more", "MUST", f"{WRITTEN_OUT}/notes.txt"}
    (folder / "must" / "more").mkdir()
    (folder / RANDOM.upper()).mkdir(parents=True)
    (folder / WRITTEN_OUT / "notes.txt").write_text("mine")
    found = findings(folder)
    assert found.keys() == {INPUT, MODEL, *unlisted}
    assert found[INPUT] == "is missing"
    assert {found[path] for path in unlisted} == {"is not in the manifest.json"}


@pytest.mark.parametrize("name", [MANIFEST, SUMS])
def test_the_manifest_and_the_sums_vouch_for_each_other(folder: Path, name: str) -> None:
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text.replace(b"e", b"f", 1))
    assert findings(folder).keys() & {MANIFEST, SUMS}
    (folder / name).write_bytes(text + b"\n")
    assert findings(folder).keys() & {MANIFEST, SUMS}
    (folder / name).unlink()
    told = "cannot be read: there is no such file" if name == MANIFEST else "is missing"
    assert findings(folder)[name].startswith(told)


@pytest.mark.gate
def test_damages_drawn_at_random_are_found_each(tmp_path: Path) -> None:
    folder = tmp_path / "golden"
    made_to_be_damaged(folder)
    assert check(folder).findings == {}
    found = fates(folder, 6 * len(DAMAGES), seed=1)
    assert {what for _, what in found} <= {"found", "harmless"}, found
    assert sum(count for (_, what), count in found.items() if what == "found") > 5 * len(DAMAGES)


def test_a_forged_answer_is_found_by_the_oracle(folder: Path) -> None:
    array = tensor(folder, OUTPUT)
    array[0, 0] = np.nextafter(array[0, 0], np.float32(2))
    put(folder, OUTPUT, array)
    rewrite(folder, unchanged)
    told = findings(folder)[OUTPUT]
    assert told.startswith("1 of 10 elements are wrong: at [0, 0] it has")


def test_another_oracle_is_told_from_other_files(folder, monkeypatch):
    real = answers.outputs

    def today(*asked: Any) -> Any:
        found = real(*asked)
        return found and NodeOutputs(tuple(-array for array in found.arrays), found.method)

    monkeypatch.setattr(answers, "outputs", today)
    wrong = {path for path, told in findings(folder).items() if "elements are wrong" in told}
    assert OUTPUT in wrong
    assert any(path.startswith("open/") for path in wrong)
    assert all("/output_" in path for path in wrong)


@pytest.mark.parametrize(
    ("change", "called", "told"),
    [
        (lambda x: x.astype(np.float64), "", "holds float64[2, 5] '{0}', the manifest says {1}"),
        (lambda x: x.reshape(5, 2), "", "holds float32[5, 2] '{0}', the manifest says {1}"),
        (lambda x: x, "X", "holds float32[2, 5] 'X', the manifest says {1}"),
    ],
)
def test_another_dtype_shape_or_name_is_told(folder, change, called, told):
    names = {INPUT: "input", OUTPUT: "output"}
    for path, name in names.items():
        put(folder, path, change(tensor(folder, path)), called or name)
    rewrite(folder, unchanged)
    assert findings(folder) == {
        path: told.format(name, f"float32[2, 5] '{name}'") for path, name in names.items()
    }


def test_a_name_that_is_no_text_is_told(folder: Path) -> None:
    (folder / INPUT).write_bytes((folder / INPUT).read_bytes().replace(b"input", b"\xffnput"))
    rewrite(folder, unchanged)
    assert "holds float32[2, 5] \"b'" in findings(folder)[INPUT]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda graph: setattr(graph.node[0].attribute[0], "i", 0), "states something else than"),
        (lambda graph: graph.output[0].ClearField("type"), "onnx's checker refuses it"),
    ],
)
def test_another_or_an_invalid_model_is_told(folder, change, told):
    model = onnx.load(folder / MODEL)
    change(model.graph)
    (folder / MODEL).write_bytes(model.SerializeToString())
    rewrite(folder, unchanged)
    assert told in findings(folder)[MODEL]


def test_a_legal_model_may_not_be_marked_as_to_be_refused(folder: Path) -> None:
    def mark(data: Any) -> None:
        for test in all_tests(data):
            if test["refused"]:
                test["node"]["attrs"]["axis"] = 1

    path = folder / "rejected" / "test_Softmax%2Fout_of_range" / "model.onnx"
    model = onnx.load(path)
    model.graph.node[0].attribute[0].i = 1
    path.write_bytes(model.SerializeToString())
    rewrite(folder, mark)
    (told,) = findings(folder).values()
    assert told == "must be refused, but the oracle accepts it"


def test_a_tolerance_that_is_too_wide_is_told(folder: Path) -> None:
    def widen(data: Any) -> None:
        for test in all_tests(data):
            if test["tolerance"] == "bound" and test["folder"] == RANDOM:
                test["rtol"] = 0.5
                path = folder / RANDOM / "data.json"
                path.write_text(f'{{"atol": {test["atol"]}, "rtol": 0.5}}\n')

    rewrite(folder, widen)
    assert "is not what the tolerance needs" in findings(folder)[f"{RANDOM}/data.json"]


def test_ends_that_are_too_wide_are_told(folder: Path) -> None:
    name = OUTPUT.replace("output_0", "highest_0")
    put(folder, name, tensor(folder, name) * 2)
    rewrite(folder, unchanged)
    assert findings(folder)[name].startswith("10 of 10 elements are wrong: at [0, 0] it has ")


def test_no_test_at_all_is_nothing_that_was_checked(folder: Path) -> None:
    for kind in ("must", "open", "rejected"):
        shutil.rmtree(folder / kind)
    rewrite(folder, lambda data: data.update(cases=[]))
    checked = check(folder)
    assert checked.findings == {}
    assert checked.judged == 0


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes((folder / INPUT).read_bytes())
    (folder / INPUT).unlink()
    (folder / INPUT).symlink_to(outside / "secret")
    (folder / "must" / "up").symlink_to(outside, target_is_directory=True)
    found = findings(folder)
    assert found[INPUT] == "is no plain file"
    assert found["must/up"] == "is not in the manifest.json"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / OUTPUT).unlink()
    os.mkfifo(folder / OUTPUT)
    assert findings(folder)[OUTPUT] == "is no plain file"
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


def test_a_tensor_that_is_kept_elsewhere_is_not_read(folder: Path) -> None:
    stored = TensorProto.FromString((folder / INPUT).read_bytes())
    stored.ClearField("raw_data")
    stored.data_location = TensorProto.EXTERNAL
    stored.external_data.add(key="location", value="../../../../../etc/passwd")
    (folder / INPUT).write_bytes(stored.SerializeToString())
    model = onnx.load(folder / MODEL)
    model.graph.initializer.append(stored)
    (folder / MODEL).write_bytes(model.SerializeToString())
    rewrite(folder, unchanged)
    found = findings(folder)
    assert "it keeps its data in another file" in found[INPUT]
    assert "is kept in another file" in found[MODEL]


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 31, 1 << 31], [0, 1 << 62], [-1, 10]])
def test_absurd_shapes_take_no_memory(folder: Path, dims: list[int]) -> None:
    stored = TensorProto.FromString((folder / INPUT).read_bytes())
    stored.ClearField("dims")
    stored.dims.extend(dims)
    (folder / INPUT).write_bytes(stored.SerializeToString())
    rewrite(folder, unchanged)
    assert INPUT in findings(folder)


POOL = """
    op: LpPool
    opset: 22
    dtype: float32
    cases:
    - name: a
      attrs: {kernel_shape: [2], pads: [0, 0]}
      inputs: {X: {shape: [1, 1, 4], arange: [1, 1]}}
"""


def test_absurd_outputs_are_not_computed(tmp_path: Path) -> None:
    golden(tmp_path, POOL)
    folder = tmp_path / "golden"
    path = folder / "must" / "test_LpPool%2Fa" / "model.onnx"
    model = onnx.load(path)
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "pads":
            attribute.ints[:] = [1, 1 << 40]
        if attribute.name == "kernel_shape":
            attribute.ints[:] = [2]
    path.write_bytes(model.SerializeToString())

    def pad(data: Any) -> None:
        data["cases"][0]["tests"][0]["node"]["attrs"]["pads"] = [1, 1 << 40]

    rewrite(folder, pad)
    told = findings(folder)[f"must/test_LpPool%2Fa/{path.name}"]
    assert "no array can hold an output of shape (1, 1, 1099511627780)" in told


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


def test_nothing_that_a_manifest_and_a_model_state_leads_to_a_crash(tmp_path: Path) -> None:
    golden(tmp_path, POOL)
    folder = tmp_path / "golden"
    path = folder / "must" / "test_LpPool%2Fa" / "model.onnx"
    whole, model = (folder / MANIFEST).read_bytes(), path.read_bytes()
    for name in ("kernel_shape", "pads", "strides", "dilations", "p"):
        for values in ([0], [-1], [1 << 62], [1, 1 << 62], [1 << 31] * 2, [], [2, 2, 2]):
            stated = onnx.ModelProto.FromString(model)
            node = stated.graph.node[0]
            kept = [one for one in node.attribute if one.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute(name, values, attr_type=7)])
            path.write_bytes(stated.SerializeToString())
            (folder / MANIFEST).write_bytes(whole)

            def state(data: Any, name: str = name, values: list[int] = values) -> None:
                data["cases"][0]["tests"][0]["node"]["attrs"][name] = values

            rewrite(folder, state)
            # Pads of [1, 2^62] and the like are outputs that nobody computes.
            assert findings(folder), (name, values)


def _twice(data: Any) -> None:
    data["cases"].append(data["cases"][0])


def _under_should(data: Any) -> None:
    all_tests(data)[0]["folder"] = WRITTEN_OUT.replace("must/", "should/")


def _no_outputs(data: Any) -> None:
    all_tests(data)[0]["outputs"] = []


def _no_tests(data: Any) -> None:
    data["cases"][0]["tests"] = []


def _another_file(data: Any) -> None:
    files = all_tests(data)[0]["files"]
    files["other"] = files.pop("model.onnx")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_twice, "softmax/written_out is there 2 times"),
        (_under_should, "belongs into must/, by its rule"),
        (_no_outputs, "has not 1 outputs"),
        (_no_tests, "Softmax/written_out has no test"),
        (_another_file, "lists other files than such a test has"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_told(folder, change, told):
    rewrite(folder, change)
    assert findings(folder).keys() == {MANIFEST}
    assert told in findings(folder)[MANIFEST]


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[" * 100_000, b'{"a": 1, "a": 2}', b"\xff", b'{"type": "x"}']
)
def test_a_manifest_that_is_none_is_told_without_more(folder: Path, data: bytes) -> None:
    (folder / MANIFEST).write_bytes(data)
    assert findings(folder).keys() == {MANIFEST}
    (folder / SUMS).unlink()
    with pytest.raises(UsageError):
        check(folder)


def test_a_manifest_of_a_later_format_is_told_as_that(folder: Path) -> None:
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace('"format": 3', '"format": 4'))
    assert "has format 4; this opcheck reads 3" in findings(folder)[MANIFEST]


def test_what_is_no_golden_folder_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no golden folder"):
        check(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        check(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be read"):
        check(tmp_path / "file")
