import io
import os
import pickle
import random
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.suite.tensors import load_npy


def npy(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def headed(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


HEADER = "{'descr':'<f4','fortran_order':False,'shape':%s}"
DAMAGED = "is a damaged .npy file, or holds Python objects"


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_an_array_is_read_as_it_was_saved(tmp_path: Path, shape: Any) -> None:
    want = np.arange(6, dtype=np.float32)[: int(np.prod(shape))].reshape(shape)
    (tmp_path / "x.npy").write_bytes(npy(want))
    got = load_npy(tmp_path / "x.npy")
    np.testing.assert_array_equal(got, want)
    assert got.shape == shape
    assert not got.flags.writeable


class Trap:
    """Pickled, it would leave a file behind when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_nothing_pickled_is_ever_loaded(tmp_path: Path) -> None:
    trap = Trap(tmp_path / "sprung")
    for data in (npy(np.array([trap], object), allow_pickle=True), pickle.dumps(trap)):
        (tmp_path / "x.npy").write_bytes(data)
        with pytest.raises(ValueError, match=r"Python objects|no \.npy file"):
            load_npy(tmp_path / "x.npy")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no .npy file"),
        (b"hello", "is no .npy file"),
        (b"PK\x03\x04 broken", "is an archive"),
        (archive(a=[1]), "is an archive"),
        (npy(np.ones(3, np.float32))[:-1], DAMAGED),
        (b"\x93NUMPY", DAMAGED),
        (b"\x93NUMPY\x09\x09\x10\x00", DAMAGED),
        (headed("{'descr':"), DAMAGED),
        (headed("  x\n y"), DAMAGED),
        (headed("(" * 5000), DAMAGED),
        (headed("(" * 90 + ")" * 90), DAMAGED),
        (headed("{" * 50_000), DAMAGED),
        (headed("[1]"), DAMAGED),
        (headed("{1: 2}"), DAMAGED),
        (headed(HEADER % "(-1,)"), DAMAGED),
        (headed(HEADER % f"(1{'0' * 30},)"), DAMAGED),
        (headed(HEADER % f"(0, 1{'0' * 30})"), DAMAGED),
        (headed(HEADER % f"{(1,) * 70}", b"\0\0\0\0"), DAMAGED),
        (headed(HEADER % "(10**30,)"), DAMAGED),
        (headed(HEADER.replace("<f4", "q9") % "(1,)"), DAMAGED),
        (headed(HEADER.replace("'<f4'", "3") % "(1,)"), DAMAGED),
    ],
)
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # all of the message is compared
        load_npy(tmp_path / "x.npy")
    assert str(caught.value) == message


def test_a_file_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(headed(HEADER % "(1L,)", b"\0\0\x80\x3f"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_npy(tmp_path / "x.npy").tolist() == [1]


def test_folders_pipes_and_missing_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing"):
        with pytest.raises(ValueError, match="is no file"):
            load_npy(path)


def test_any_damage_is_refused_or_read_but_never_a_crash(tmp_path: Path) -> None:
    chance = random.Random(0)
    good = npy(np.arange(6, dtype=np.float32).reshape(2, 3))
    for _ in range(500):
        data = bytearray(good)
        for _ in range(chance.choice([1, 2, 8])):
            data[chance.randrange(6, len(data))] = chance.randrange(256)
        (tmp_path / "x.npy").write_bytes(data[: chance.choice([len(data), 40, 100])])
        # Whatever else is raised ends the test.
        with suppress(ValueError):
            assert isinstance(load_npy(tmp_path / "x.npy"), np.ndarray)
