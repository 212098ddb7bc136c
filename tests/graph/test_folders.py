import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from onnx import ModelProto

from opcheck.dtypes import BASIC, DTYPES
from opcheck.graph import model_of
from opcheck.graph.folders import (
    DATA_SET,
    MARKER,
    MAX_NAME,
    MODEL,
    NotDelivered,
    folder_name,
    other_question,
    read_origin,
    read_outputs,
    read_refusal,
    read_status,
    read_tensor,
    refusal_text,
    task_folder_name,
    tensor_bytes,
    write_origin,
    write_question,
    write_status,
)
from opcheck.model import BackendInfo, OutputSpec, Raised
from tests.asking import shipped_cases, task_of
from tests.expecting import error_of
from tests.wording import Wording

pytestmark = pytest.mark.reads_all_suites

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
HARDMAX = task_of("Hardmax", 13, {"axis": 0}, X)
Y = (OutputSpec("y", DTYPES["float32"]),)

IDS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=300)


# ── names ─────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("Hardmax/ties", "Hardmax%2Fties"),
        ("Softmax/a@opset=13,dtype=float32#row_1", "Softmax%2Fa@opset=13,dtype=float32#row_1"),
        ("Softmax/a@attrs.axis=-1~legal", "Softmax%2Fa@attrs.axis=-1~legal"),
        ("a:b*c?d|e<f>g\\h\"i j%k'l$m&n(o)", None),
        ("CON", "%43ON"),
        ("nul.txt/x", "%6Eul.txt%2Fx"),
        ("com1", "%63om1"),
        ("console/x", "console%2Fx"),
        ("..", "%2E%2E"),
        (".hidden", "%2Ehidden"),
        ("ends.", "ends%2E"),
        ("é", "%C3%A9"),
    ],
)
def test_a_name_is_the_id_percent_encoded(case: str, name: str | None) -> None:
    found = folder_name(case)
    assert name in (found, None)
    assert re.fullmatch(r"([A-Za-z0-9_.,=+@#~-]|%[0-9A-F]{2})+", found)


@given(IDS, IDS)
@example("a" * 150, "a" * 151)
@example("a" * 160 + "b", "a" * 160 + "c")
@example("/", "%2F")
@example("a/" * 60, "a%2F" * 30)
def test_ids_that_differ_in_more_than_case_have_names_that_do(one: str, other: str) -> None:
    if one.lower() != other.lower():
        assert folder_name(one).lower() != folder_name(other).lower()
    elif one != other:
        assert folder_name(one) != folder_name(other)


@given(IDS)
@example("x" * 140 + "//////")
def test_a_name_is_safe_on_every_file_system(case: str) -> None:
    name = folder_name(case)
    assert 0 < len(name) <= MAX_NAME
    assert not set(name) & set('<>:"/\\|?* ')
    assert name.isprintable()
    assert not name.startswith(".")
    assert not name.endswith((".", " "))
    stem = name.partition(".")[0].upper()
    assert stem not in {"CON", "PRN", "AUX", "NUL"}
    assert not re.fullmatch(r"(COM|LPT)\d", stem)


def test_a_long_name_is_cut_and_ends_in_a_hash_that_no_short_name_has() -> None:
    name = folder_name("Softmax/" + "a" * 200)
    assert len(name) == MAX_NAME
    # printf Softmax/aaa… | sha256sum
    assert name.endswith("a%-f8441478dc6da5517f3c")


@pytest.mark.gate
def test_every_shipped_case_and_its_attempts_have_folders_of_their_own() -> None:
    ids = [case.id for case in shipped_cases()]
    names = {folder_name(name).lower() for case in ids for name in (case, f"{case}~legal")}
    assert len(names) == 2 * len(ids)
    assert not any("%-" in name for name in names)
    assert task_folder_name(HARDMAX) == "Hardmax~opset13"


# ── questions ─────────────────────────────────────────────────────────────────────────────────
def test_a_question_is_a_folder_that_onnx_can_read(tmp_path: Path) -> None:
    model = model_of(HARDMAX)
    write_question(tmp_path / "case", model, HARDMAX, [X])
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert files == ["case/model.onnx", "case/test_data_set_0/input_0.pb"]
    assert ModelProto.FromString((tmp_path / "case" / MODEL).read_bytes()) == model
    assert read_tensor(tmp_path / "case" / DATA_SET / "input_0.pb").tolist() == X.tolist()
    assert other_question(tmp_path / "case", model, HARDMAX, [X]) is None


def test_files_that_are_missing_say_nothing(tmp_path: Path) -> None:
    assert other_question(tmp_path, model_of(HARDMAX), HARDMAX, [X]) is None


@pytest.mark.parametrize(
    "inputs",
    [
        [X + 1],
        [np.where(X == 0, np.float32(-0.0), X)],
        [X.reshape(3, 2)],
        [X.astype(np.float64)],
        [],
    ],
    ids=["values", "sign of zero", "shape", "type", "none"],
)
def test_inputs_are_the_case_s_bit_for_bit(
    tmp_path: Path, inputs: list[Any], wording: Wording
) -> None:
    write_question(tmp_path, model_of(HARDMAX), HARDMAX, [X])
    assert other_question(tmp_path, model_of(HARDMAX), HARDMAX, inputs) == wording


def test_an_input_that_cannot_be_read_is_told(tmp_path: Path, wording: Wording) -> None:
    write_question(tmp_path, model_of(HARDMAX), HARDMAX, [X])
    (tmp_path / DATA_SET / "input_0.pb").write_bytes(b"")
    assert str(other_question(tmp_path, model_of(HARDMAX), HARDMAX, [X])) == wording


def test_a_model_is_the_case_s_whoever_wrote_it(tmp_path: Path, wording: Wording) -> None:
    model = model_of(HARDMAX)
    write_question(tmp_path, model, HARDMAX, [X])
    model.producer_name, model.producer_version, model.doc_string = "a converter", "7", "a line"
    assert other_question(tmp_path, model, HARDMAX, [X]) is None
    model.graph.node[0].attribute[0].i = 1
    assert other_question(tmp_path, model, HARDMAX, [X]) == wording
    assert other_question(tmp_path, None, HARDMAX, [X]) is None


def test_a_damaged_model_is_no_model(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / MODEL).write_bytes(b"\x07damaged")
    assert other_question(tmp_path, model_of(HARDMAX), HARDMAX, [X]) == wording


# ── outputs ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", BASIC)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_outputs_are_read_bit_for_bit_from_either_format(tmp_path, dtype, shape):
    size = int(np.prod(shape))
    array = np.array([1, -0.0, 2, 0, 1, 1])[:size].reshape(shape).astype(DTYPES[dtype].numpy)
    (tmp_path / "output_0.pb").write_bytes(tensor_bytes(array, "y"))
    specs = [OutputSpec("y", DTYPES[dtype])] * 2
    if dtype == "bfloat16":
        (tmp_path / "output_1.pb").write_bytes(tensor_bytes(array, "z"))
    else:
        np.save(tmp_path / "output_1.npy", array)
    for found in read_outputs(tmp_path, specs):
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, shape, array.tobytes())


def test_a_missing_output_is_told_with_what_is_there_instead(
    tmp_path: Path, wording: Wording
) -> None:
    for name in ("input_0.pb", "log.txt", "output0.pb", "result.npy"):
        (tmp_path / name).write_bytes(b"")
    assert str(error_of(NotDelivered, read_outputs, tmp_path, Y)) == (wording)
    with pytest.raises(NotDelivered, match=r"no output_0\.npy$"):
        read_outputs(tmp_path / "nowhere", Y)


def failure(folder: Path) -> str:
    with pytest.raises(ValueError, match=r".") as error:
        read_outputs(folder, Y)
    assert type(error.value) is ValueError
    return str(error.value)


def test_an_output_in_both_formats_is_ambiguous(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "output_0.pb").write_bytes(tensor_bytes(X, "y"))
    np.save(tmp_path / "output_0.npy", X)
    assert failure(tmp_path) == wording


@pytest.mark.parametrize("name", ["output_1.pb", "output_00.pb", "Output_0.PB", "y.npy"])
def test_more_outputs_than_the_node_has_are_an_error(
    tmp_path: Path, name: str, wording: Wording
) -> None:
    (tmp_path / "output_0.pb").write_bytes(tensor_bytes(X, "y"))
    (tmp_path / name).write_bytes(b"")
    assert failure(tmp_path) == wording


def test_other_files_are_nobody_s_business(tmp_path: Path) -> None:
    (tmp_path / "output_0.pb").write_bytes(tensor_bytes(X, "y"))
    for name in ("input_0.pb", "profile.json", ".DS_Store"):
        (tmp_path / name).write_bytes(b"")
    assert read_outputs(tmp_path, Y)[0].tolist() == X.tolist()


@pytest.mark.parametrize("bits", [X.astype(ml_dtypes.bfloat16), X.astype(np.uint16)])
def test_bfloat16_has_no_npy(tmp_path: Path, bits: Any) -> None:
    np.save(tmp_path / "output_0.npy", bits)
    with pytest.raises(ValueError, match=r"NumPy's format has no bfloat16.*write output_0\.pb"):
        read_outputs(tmp_path, [OutputSpec("y", DTYPES["bfloat16"])])


def test_bytes_after_an_array_are_an_error(tmp_path: Path, wording: Wording) -> None:
    np.save(tmp_path / "output_0.npy", X)
    with (tmp_path / "output_0.npy").open("ab") as file:
        file.write(b"x")
    assert error_of(ValueError, read_outputs, tmp_path, Y) == wording


# ── whose outputs they are ───────────────────────────────────────────────────────────────────────
FULL = BackendInfo(
    "device?accumulate=float16", "device", "2.1", ("float16",), True, True, ("npu", "cpu"), 4
)
PLAIN = BackendInfo("numpy", "numpy", "")


@pytest.mark.parametrize("backend", [FULL, PLAIN, replace(PLAIN, refuses=False), None])
def test_whose_outputs_they_are_is_read_as_written(tmp_path, backend):
    write_origin(tmp_path, backend)
    assert read_origin(tmp_path) == backend
    # Earlier versions did not write it.
    (tmp_path / MARKER).write_text((tmp_path / MARKER).read_text().replace('"refuses"', '"_"'))
    assert read_origin(tmp_path) == (backend and replace(backend, refuses=True))


def test_a_folder_without_the_file_says_nothing(tmp_path: Path) -> None:
    assert read_origin(tmp_path) is None


def refusal(folder: Path, text: str) -> str:
    (folder / MARKER).write_text(text)
    with pytest.raises(ValueError, match=MARKER) as error:
        read_origin(folder)
    return str(error.value)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 1}', "[" * 100_000, '{"format": 2, "backend": null}'],
)
def test_another_file_of_that_name_is_none_of_ours(
    tmp_path: Path, text: str, wording: Wording
) -> None:
    assert refusal(tmp_path, text) == wording


@pytest.mark.parametrize(
    "change",
    [
        {"address": 3},
        {"version": None},
        {"accumulate": "float16"},
        {"devices": [1]},
        {"engine": "no"},
        {"threads": "1"},
    ],
)
def test_what_it_says_has_to_make_sense(tmp_path: Path, change: dict[str, Any]) -> None:
    write_origin(tmp_path, FULL)
    record = json.loads((tmp_path / MARKER).read_text())
    record["backend"] |= change
    assert "opcheck.json is damaged" in refusal(tmp_path, json.dumps(record))


# ── what is said in place of outputs ─────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", ["unsupported", "error", "not_run"])
def test_what_was_said_is_read_by_its_kind(tmp_path: Path, kind: str) -> None:
    (tmp_path / "readme.txt").write_text("hello")
    assert read_status(tmp_path) is None
    (tmp_path / f"{kind}.txt").touch()
    assert read_status(tmp_path) == (kind, f"{kind}.txt gives no reason")
    (tmp_path / f"{kind}.txt").write_bytes("  two\nlines: é\n\n".encode())
    assert read_status(tmp_path) == (kind, "two\nlines: é")


def test_two_kinds_contradict_each_other(tmp_path: Path) -> None:
    for kind in ("unsupported", "error"):
        (tmp_path / f"{kind}.txt").write_text("why")
    with pytest.raises(ValueError, match=r"^unsupported\.txt and error\.txt are both there$"):
        read_status(tmp_path)


@pytest.mark.parametrize(
    ("name", "read", "told"),
    [
        (MARKER, read_origin, r"opcheck\.json is damaged"),
        ("error.txt", read_status, r"error\.txt cannot be read: "),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, read: Any, told: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"^{told}"):
        read(tmp_path)


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    write_status(tmp_path, "error", "a\ud800b")
    assert read_status(tmp_path) == ("error", "a\\ud800b")
    (tmp_path / "error.txt").write_bytes(b"\xff" * 10_000)
    found = read_status(tmp_path)
    assert found is not None
    assert len(found[1]) == 4000


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True)


@given(names, st.text().map(str.strip), st.booleans())
@example("KeyError", "", False)
@example("Error", "refused by accident: x", True)
def test_a_refusal_is_read_as_it_was_written(kind: str, detail: str, documented: bool) -> None:
    refusal = Raised("run", kind, detail, documented)
    assert read_refusal(refusal_text(refusal)) == refusal


@pytest.mark.parametrize("text", ["axis 7 is out of range", "no such axis: 7", "[E] axis: 7"])
def test_other_words_are_words(text: str) -> None:
    assert read_refusal(text) == Raised("run", "", text, documented=True)
