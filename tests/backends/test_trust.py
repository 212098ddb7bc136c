"""Which code that a settings file names may run."""

import json
import os
from pathlib import Path

import pytest

from opcheck.backends import trust
from opcheck.backends.address import names_code, parse, profiles, resolve
from opcheck.errors import CaseFileError, UsageError
from tests.expecting import error_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder for settings, still empty."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home" / "opcheck" / "trusted.json"


CODE = """\
[backends.npu]
address = "cmd:./npu"
[backends.variable]
address = "onnxruntime"
environment = { LD_PRELOAD = "./steal.so" }
[backends.harmless]
address = "onnxruntime?threads=2"
"""


def written(folder: Path, text: str = CODE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "opcheck.toml").write_text(text)
    os.chdir(folder)
    return folder


def refused(folder: Path, name: str) -> list[str]:
    """The lines of the error about a profile of a folder."""
    return error_of(trust.UntrustedCode, profiles(folder)[name].require_trust).lines()


def test_code_of_a_file_that_nobody_accepted_is_refused_with_its_place(tmp_path: Path) -> None:
    (message, hint) = refused(written(tmp_path), "npu")
    assert message.startswith("opcheck.toml:2:1: backends.npu.address names code (cmd:./npu)")
    for way in ("--config opcheck.toml", "opcheck trust"):
        assert way in hint


def test_a_variable_counts_as_code_and_its_value_may_be_a_secret(tmp_path: Path) -> None:
    message = refused(written(tmp_path), "variable")[0]
    assert message.startswith("opcheck.toml:5:1: backends.variable.environment.LD_PRELOAD names")
    assert "steal" not in message


def test_a_profile_without_code_needs_no_trust(tmp_path: Path) -> None:
    profiles(written(tmp_path))["harmless"].require_trust()


def test_a_file_that_the_invocation_names_is_trusted(tmp_path: Path) -> None:
    file = written(tmp_path) / "opcheck.toml"
    with trust.configured(file):
        profiles(Path("/"))["npu"].require_trust()
    assert trust.config() is None


def test_an_accepted_file_is_trusted_until_it_is_edited_or_forgotten(tmp_path: Path) -> None:
    folder = written(tmp_path)
    profile = profiles(folder)["npu"]
    assert profile.file
    trust.accept(profile.file)
    profile.require_trust()
    written(folder, CODE + "\n")
    refused(folder, "npu")
    written(folder)
    profiles(folder)["npu"].require_trust()
    assert trust.forget(profile.file.path)
    assert not trust.forget(profile.file.path)
    refused(folder, "npu")


def test_the_same_content_elsewhere_is_not_trusted(tmp_path: Path) -> None:
    mine = profiles(written(tmp_path / "mine"))["npu"]
    assert mine.file
    trust.accept(mine.file)
    refused(written(tmp_path / "theirs"), "npu")


def test_a_link_to_an_accepted_file_is_not_trusted(tmp_path: Path) -> None:
    mine = profiles(written(tmp_path / "mine"))["npu"]
    assert mine.file
    trust.accept(mine.file)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "opcheck.toml").symlink_to("../mine/opcheck.toml")
    os.chdir(theirs)
    refused(theirs, "npu")


def test_an_accepted_file_is_trusted_in_its_own_folder_only(tmp_path: Path) -> None:
    mine = profiles(written(tmp_path / "mine"))["npu"]
    assert mine.file
    trust.accept(mine.file)
    below = tmp_path / "mine" / "theirs"
    below.mkdir()
    os.chdir(below)
    error_of(trust.UntrustedCode, profiles(below)["npu"].require_trust)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', "\0", "[" * 100_000])
def test_a_damaged_list_is_an_error_and_trusts_nobody(tmp_path: Path, home: Path, text) -> None:
    home.parent.mkdir(parents=True)
    home.write_text(text)
    profile = profiles(written(tmp_path))["npu"]
    assert str(home) in error_of(UsageError, profile.require_trust).message


def test_the_list_is_json_of_paths_and_digests(tmp_path: Path, home: Path) -> None:
    profile = profiles(written(tmp_path))["npu"]
    assert profile.file
    trust.accept(profile.file)
    assert json.loads(home.read_text()) == {
        str((tmp_path / "opcheck.toml").resolve()): profile.file.digest
    }
    assert [one.name for one in home.parent.iterdir()] == ["trusted.json"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "[other]\na = 1\n"])
def test_a_named_file_without_settings_is_an_error(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text) / "opcheck.toml"
    with trust.configured(file):
        error_of(CaseFileError, profiles, tmp_path)


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with trust.configured(tmp_path / "missing.toml"):
        error_of(CaseFileError, profiles, tmp_path)


@pytest.mark.parametrize(
    ("address", "is_code"),
    [
        ("cmd:./a", True),
        ("py:module", True),
        ("onnx:module", True),
        ("numpy", False),
        ("onnxruntime:CPUExecutionProvider?threads=2", False),
        ("saved:folder", False),
        ("offered", False),
        ("offered:./library.so", True),
        ("offered?library=./library.so", True),
        ("offered?accumulate=float16", False),
    ],
)
def test_an_address_names_code_if_it_chooses_more_than_an_installed_backend(
    monkeypatch: pytest.MonkeyPatch, address: str, is_code: bool
) -> None:
    monkeypatch.setattr("opcheck.backends.address.entry_points", lambda: {"offered": None})
    assert names_code(parse(address)) is is_code


def test_a_profile_named_like_an_installed_backend_does_not_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = profiles(written(tmp_path))
    assert resolve("npu", known).name == "npu"
    monkeypatch.setattr("opcheck.backends.address.entry_points", lambda: {"npu": None})
    error_of(trust.UntrustedCode, resolve, "npu", known)
