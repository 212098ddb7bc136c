"""What was read of shipped suites comes from the cache, and nothing else does."""

import os
import pickle
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from opcheck.errors import CaseFileError
from opcheck.model import Golden
from opcheck.suite import cache, case_digest
from opcheck.suite.select import LEVELS

load = sys.modules["opcheck.suite.load"]
select = sys.modules["opcheck.suite.select"]

TEXT = """\
op: Constant
opset: 25
cases:
- {name: one, clause: value, attrs: {value: {value: [1], dtype: bfloat16}}}
- {name: two, clause: value, level: smoke, attrs: {value_float: 2.0}}
"""
TWO = """\
op: [Abs, Neg]
cases:
- name: one
  opset: 25
  clause: value
  dtype: float32
  rows:
  - {op: Abs, inputs: {X: [1]}, expect: {Y: [1]}}
  - {op: Neg, inputs: {X: [1]}, expect: {Y: [-1]}}
"""


LEVELED = """\
op: Abs
cases:
- {name: one, opset: 25, level: LEVEL, core: [float32], matrix: {dtype: [float16, float32]},
   inputs: {X: [1]}}
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shipped suites with one file, and a cache with nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    cache._folder.cache_clear()
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "constant.yaml").write_text(TEXT)
    monkeypatch.setattr(load, "shipped_suites", lambda: folder)
    yield folder
    cache._folder.cache_clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that were read as case files."""
    names: list[str] = []
    read = load.read_file

    def noted(path, problems):
        names.append(path.name)
        return read(path, problems)

    monkeypatch.setattr(load, "read_file", noted)
    return names


def names(ops=(), levels=LEVELS) -> list[str]:
    return [case.name for case in load._load((), ops, levels=frozenset(levels))]


def cached(suite: Path) -> list[Path]:
    return [path for path in (suite.parent / "home").rglob("*") if path.is_file()]


def test_what_was_read_once_is_not_read_again_and_is_the_same(suite, reads):
    first = load._load(())
    again = load._load(())
    assert reads == ["constant.yaml"]
    assert [case.source for case in again] == [case.source for case in first]
    assert all(case.source.shipped for case in again)
    one, other = (cases[0].attrs["value"] for cases in (first, again))
    assert (one.dtype, one.tolist(), one.flags.writeable) == (
        other.dtype,
        other.tolist(),
        other.flags.writeable,
    )
    assert again[0].outputs[0].dtype is first[0].outputs[0].dtype


def test_digests_are_kept_with_their_cases_alone(suite, monkeypatch):
    computed = [case_digest(case) for case in load._load(())]
    again = load._load(())
    # None of these is computed: that would end with an error.
    monkeypatch.setattr(select, "_computed_digest", None)
    assert [case_digest(case) for case in again] == computed
    monkeypatch.undo()
    assert case_digest(replace(again[0], rule="should")) != computed[0]


def test_digests_of_golden_files_are_not_kept(suite, tmp_path):
    (case, _) = load._load(())
    golden = replace(case, expect=Golden(tmp_path))
    (kept,) = cache.unpacked(cache.packed([golden]))
    before = case_digest(kept)
    (tmp_path / "output_0.pb").write_bytes(b"1")
    assert case_digest(kept) != before


def test_of_a_file_about_two_operators_those_asked_for_are_chosen(suite, reads):
    (suite / "constant.yaml").write_text(TWO)
    for _ in range(2):
        assert len(names()) == 2
        assert len(names(["neg"])) == 1
    assert len(reads) == 1


def test_of_a_file_about_one_operator_it_is_kept_that_all_was_read(suite, reads):
    (suite / "other.yaml").write_text(TWO)
    for _ in range(2):
        assert names(["constant"]) == ["one", "two"]
        assert len(names(["neg"])) == 1
    assert reads == ["constant.yaml", "other.yaml", "other.yaml"]


def test_levels_and_operators_are_chosen_as_without_it(suite, reads):
    for _ in range(2):
        assert names(levels=["smoke"]) == ["two"]
        assert names() == names(["constant"]) == ["one", "two"]
    assert len(reads) == 2


def test_levels_of_a_matrix_are_found_alone(suite):
    for level, found in (("smoke", ["smoke", "deep"]), ("core", ["core", "deep"])):
        (suite / "constant.yaml").write_text(LEVELED.replace("LEVEL", level))
        for one in found:
            assert names(levels=[one]) == ["one"]
    (suite / "constant.yaml").write_text(LEVELED.replace("LEVEL", "deep"))
    assert names(levels=["deep"]) == ["one", "one"]


def test_of_all_levels_those_asked_for_are_chosen_wherever_the_suites_lie(
    suite, reads, monkeypatch
):
    assert names() == ["one", "two"]
    other = suite.rename(suite.parent / "elsewhere")
    monkeypatch.setattr(load, "shipped_suites", lambda: other)
    assert names(levels=["smoke"]) == names(["constant"], ["smoke"]) == ["two"]
    assert len(reads) == 1


def test_a_file_that_was_edited_is_read_anew(suite, reads):
    names()
    (suite / "constant.yaml").write_text(TEXT.replace("name: one", "name: first"))
    assert names() == ["first", "two"]
    assert len(reads) == 2


def test_what_was_edited_while_it_was_read_is_not_kept(suite, monkeypatch):
    read = load.read_file

    (suite / "other.yaml").write_text(TWO)

    def edited(path, problems):
        root = read(path, problems)
        if path.name == "constant.yaml":
            path.write_text(TEXT.replace("name: one", "name: first"))
        return root

    monkeypatch.setattr(load, "read_file", edited)
    assert names() == ["one", "two", "one", "one"]
    assert [path.name.partition("-")[0] for path in cached(suite)] == ["other"]


@pytest.mark.parametrize("library", ["ml_dtypes", "numpy", "onnx", "pydantic", "PyYAML"])
def test_with_another_release_of_a_library_all_is_read_anew(suite, monkeypatch, library):
    before, version = cache._folder.__wrapped__(), cache.metadata.version
    monkeypatch.setattr(cache.metadata, "version", lambda n: version(n) + "1" * (n == library))
    assert cache._folder.__wrapped__() != before


def test_with_another_python_all_is_read_anew(suite, monkeypatch):
    before = cache._folder.__wrapped__()
    monkeypatch.setattr(cache.platform, "python_version", lambda: "3.99.0")
    assert cache._folder.__wrapped__() != before


@pytest.mark.parametrize("name", ["code.py", "opset/schemas.toml"])
def test_with_another_file_of_the_package_all_is_read_anew(suite, monkeypatch, tmp_path, name):
    package = tmp_path / "package"
    file = package / name
    file.parent.mkdir(parents=True)
    file.write_text("x = 1\n")
    monkeypatch.setattr(cache.opcheck, "__file__", str(package / "__init__.py"))
    before = cache._folder.__wrapped__()
    file.write_text("x = 2\n")
    assert cache._folder.__wrapped__() != before


@pytest.mark.parametrize("harm", [b"", b"\0" * 40, None])
def test_what_is_damaged_is_read_anew_and_replaced(suite, reads, harm):
    names()
    (path,) = cached(suite)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] if harm is None else harm)
    assert names() == ["one", "two"]
    assert path.read_bytes() == whole
    assert len(reads) == 2


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made",)


def test_nothing_is_called_that_is_no_part_of_cases(suite, reads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names()
    (path,) = cached(suite)
    data = pickle.dumps(Evil())
    path.write_bytes(sha256(data).digest() + data)
    assert names() == ["one", "two"]
    assert not (tmp_path / "made").exists()


def test_files_with_errors_and_files_of_users_are_not_kept(suite):
    mine = suite.parent / "mine.yaml"
    mine.write_text(TEXT)
    load._load([mine])
    (suite / "constant.yaml").write_text(TEXT.replace("opset", "opst"))
    with pytest.raises(CaseFileError):
        names()
    assert cached(suite) == []


def test_where_nothing_can_be_kept_all_is_read(suite, reads, monkeypatch):
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
    assert names() == names() == ["one", "two"]
    assert len(reads) == 2


def test_the_folders_of_a_few_other_versions_are_left(suite):
    home = suite.parent / "home" / "opcheck"
    for number in range(9):
        (home / str(number)).mkdir(parents=True)
        os.utime(home / str(number), (number, number))
    (home / "note").touch()  # which cannot be removed as a folder is
    os.utime(home / "note", (0, 0))
    names()
    left = {path.name for path in home.iterdir()}
    assert left > {"6", "7", "8", "note"}
    assert len(left) == 5


def test_a_pipe_in_the_place_of_a_file_is_as_good_as_none(suite):
    first = names()
    (file,) = cached(suite)
    file.unlink()
    os.mkfifo(file)
    load._shipped.cache_clear()
    assert names() == first
