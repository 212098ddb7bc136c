"""Golden files in one file: the folder's content, in the same bytes each time."""

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from opcheck.execution import golden_archive
from opcheck.suite.golden_files import read_manifest
from tests.asking import cases_in
from tests.execution.golden.made import FOUR, golden
from tests.execution.golden.test_writing import left_behind, tree

NAMES = ("golden.tar.gz", "golden.tgz", "golden.zip")


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack an archive as a user would; return the folder in it."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as package:
            package.extractall(folder)
    else:
        with tarfile.open(archive) as package:
            package.extractall(folder, filter="data")
    return folder / golden_archive.FOLDER


@pytest.mark.parametrize("name", NAMES)
def test_an_archive_holds_the_folder(tmp_path: Path, name: str) -> None:
    golden(tmp_path)
    cases = cases_in(tmp_path, FOUR)
    manifest = golden_archive.write(tmp_path / name, cases, "all")
    folder = unpacked(tmp_path / name, tmp_path / "out")
    assert tree(folder) == tree(tmp_path / "golden")
    assert read_manifest(folder)[0] == manifest


@pytest.mark.parametrize("name", NAMES)
def test_the_same_content_gives_the_same_bytes_under_any_name(tmp_path: Path, name: str) -> None:
    cases = cases_in(tmp_path, FOUR)
    suffix = name.removeprefix("golden")
    golden_archive.write(tmp_path / name, cases, "all")
    old = os.umask(0o077)
    try:
        golden_archive.write(tmp_path / f"other{suffix}", cases, "all", 2)
    finally:
        os.umask(old)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"other{suffix}").read_bytes()


def test_entries_are_sorted_and_belong_to_nobody(tmp_path: Path) -> None:
    golden_archive.write(tmp_path / "golden.tar.gz", cases_in(tmp_path, FOUR), "all")
    with tarfile.open(tmp_path / "golden.tar.gz") as package:
        entries = package.getmembers()
    names = [entry.name for entry in entries]
    assert names == sorted(names)
    assert {name.partition("/")[0] for name in names} == {"golden"}
    assert {(entry.mode, entry.uid, entry.gid, entry.uname) for entry in entries} == {
        (0o644, 0, 0, "")
    }
    assert {entry.mtime for entry in entries} == {315532800}


def test_nothing_is_written_where_no_case_has_a_test(tmp_path: Path) -> None:
    golden_archive.write(tmp_path / "golden.zip", (), "none")
    assert left_behind(tmp_path) == set()


@pytest.mark.parametrize(
    ("name", "is_one"),
    [*((name, True) for name in NAMES), ("A.ZIP", True), ("golden", False), ("a.gz", False)],
)
def test_the_name_tells_an_archive_from_a_folder(name: str, is_one: bool) -> None:
    assert golden_archive.is_archive(Path(name)) is is_one
