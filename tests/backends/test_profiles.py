import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from opcheck.backends.address import Address, Profile, memory, profiles, resolve
from opcheck.errors import CaseFileError, UsageError
from tests.expecting import error_of
from tests.wording import Wording

FULL = """
    [backends.ort-quick]
    address = "onnxruntime:CPUExecutionProvider"
    options = { threads = 2, level = "all", flag = true }
    accumulate = ["stored", "float16"]
    refuses = false
    environment = { ORT_LOG = "1" }
    timeout = 5
    memory_limit = "2GiB"
"""
NUMPY = "[backends.{0}]\naddress = 'numpy'"
IN_PROJECT = "[tool.opcheck.backends.{0}]\naddress = 'numpy'"
MINE = {"mine": Profile("mine", Address("numpy"), timeout=3.0)}


def written(folder: Path, text: str, name: str = "opcheck.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(dedent(text), encoding="utf-8")
    return folder


def problems_of(folder: Path) -> list[str]:
    *lines, total = error_of(CaseFileError, profiles, folder).lines()
    assert total.endswith("; nothing was run")
    return lines


def refusal(folder: Path, text: str, name: str = "opcheck.toml") -> list[str]:
    return problems_of(written(folder, text, name))


def test_a_profile_is_an_address_and_how_its_process_is_treated(tmp_path: Path) -> None:
    (profile,) = profiles(written(tmp_path, FULL)).values()
    options = (("flag", "true"), ("level", "all"), ("threads", "2"))
    address = Address("onnxruntime", "CPUExecutionProvider", options, ("float16", "stored"), False)
    assert profile == Profile("ort-quick", address, {"ORT_LOG": "1"}, 5.0, 2 << 30)


def test_it_needs_nothing_but_an_address(tmp_path: Path) -> None:
    text = "[backends.mine]\naddress = 'py:my.module:Class?threads=1&accumulate=float16'"
    profile = profiles(written(tmp_path, text))["mine"]
    address = Address("py", "my.module:Class", (("threads", "1"),), ("float16",))
    assert profile == Profile("mine", address)
    assert (profile.environment, profile.timeout, profile.memory_limit) == ({}, None, None)


def test_what_stands_beside_the_address_comes_before_what_is_in_it(tmp_path: Path) -> None:
    text = """
        [backends.mine]
        address = "onnxruntime?threads=1&b=2&accumulate=float16"
        accumulate = ["bfloat16"]
        [backends.mine.options]
        threads = 4
        a = 0.5
    """
    address = profiles(written(tmp_path, text))["mine"].address
    assert str(address) == "onnxruntime?a=0.5&b=2&threads=4&accumulate=bfloat16,float16"


def test_the_nearest_file_upwards_counts_and_no_other(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert profiles(deep) == {}
    written(tmp_path, NUMPY.format("farthest"))
    assert [*profiles(deep)] == ["farthest"]
    written(tmp_path / "a", IN_PROJECT.format("nearer"), "pyproject.toml")
    assert [*profiles(deep)] == ["nearer"]
    written(tmp_path / "a", NUMPY.format("preferred"))
    assert [*profiles(deep)] == ["preferred"]
    written(deep, IN_PROJECT.format("nearest"), "pyproject.toml")
    assert [*profiles(deep)] == ["nearest"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project]\nname = 'opcheck-user'"),
        ("pyproject.toml", "[tool.opcheck]"),
        ("pyproject.toml", "tool = 3 # opcheck"),
        ("pyproject.toml", "this is [no TOML"),
        ("opcheck.toml", ""),
    ],
)
def test_a_file_that_says_nothing_about_opcheck_is_passed_over(name, text, tmp_path):
    written(tmp_path, NUMPY.format("mine"))
    assert [*profiles(written(tmp_path / "project", text, name))] == ["mine"]


def test_a_folder_may_be_given_as_the_user_would(tmp_path, monkeypatch):
    written(tmp_path, NUMPY.format("mine"))
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert [*profiles(Path())] == ["mine"]


def test_no_file_costs_no_reader(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from opcheck.backends.address import profiles\n"
        f"assert profiles(Path({str(tmp_path)!r})) == {{}}\n"
        "print({'pydantic', 'tomllib', 'yaml', 'onnxruntime'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_everything_wrong_is_said_at_once_with_its_line(tmp_path: Path, wording: Wording) -> None:
    found = refusal(
        tmp_path,
        """\
        [backends.one]
        adress = "numpy"
        timeout = -1

        [backends.numpy]
        address = "numpi"

        [backends.two]
        address = "numpy"
        memory_limit = "2 elephants"
        accumulate = "float16"
        refusse = false
        environment = { A = 1 }
        [backends.two.options]
        threads = [1]
        """,
    )
    assert found == wording


def test_addresses_are_read_like_those_of_the_command_line(
    tmp_path: Path, wording: Wording
) -> None:
    found = refusal(
        tmp_path,
        """\
        [backends.numpy]
        address = "numpy"
        [backends.far]
        address = "numpi"
        [backends.poor]
        address = "numpy"
        accumulate = ["float15"]
        [backends.amp]
        address = "numpy"
        options = { a = "b&c=d" }
        [backends.twice]
        address = "numpy"
        options = { refuses = false }
        """,
    )
    assert [line.partition(" (")[0] for line in found] == [
        wording,
        "opcheck.toml:4:1: backends.far: unknown backend 'numpi'",
        wording,
        wording,
        wording,
    ]
    assert found[1] == wording


@pytest.mark.parametrize(
    "text",
    [
        "[backend.x]\naddress = 'numpy'",
        "backends = 3",
        "[backends]\nx = 'numpy'",
        "[backends.x]",
        "backends.x.address = 3",
        "[backends]\n  [ backends . 'x y' ]\n  address = 3",
        "[backends.x\naddress = 3",
        "[backends.x]\naddress =",
        "[backends.x]\ntimeout = nan\naddress='numpy'",
        "[backends.x]\ntimeout = true\naddress='numpy'",
        "[backends.x]\nmemory_limit = 0\naddress='numpy'",
        "[backends.x]\nmemory_limit = 1.5\naddress='numpy'",
    ],
)
def test_a_problem_is_told_with_its_line(text: str, tmp_path: Path, wording: Wording) -> None:
    (found,) = refusal(tmp_path, text)
    assert found == wording


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("timeout = 1" + "_0" * 4300, "opcheck.toml:2:11: "),
        ("timeout = " + "9" * 4000, "opcheck.toml:2:1: backends.x.timeout: "),
        ("memory_limit = " + "9" * 4000, "opcheck.toml:2:1: backends.x.memory_limit: "),
    ],
)
def test_a_number_of_many_digits_is_a_problem(line: str, place: str, tmp_path: Path) -> None:
    (found,) = refusal(tmp_path, f"[backends.x]\n{line}\naddress = 'numpy'")
    assert found.startswith(place)


def test_a_file_of_a_project_is_checked_likewise(tmp_path: Path, wording: Wording) -> None:
    text = "[project]\nname = 'x'\n[tool.opcheck.backend.y]\naddress = 'numpy'"
    (found,) = refusal(tmp_path, text, "pyproject.toml")
    assert found == wording
    below = tmp_path / "below"
    below.mkdir()
    assert problems_of(below) == [f"{tmp_path / found}"]


@pytest.mark.parametrize(
    ("encoding", "end", "place"),
    [
        ("utf-16", "\n", "1:1"),
        ("utf-16-le", "\n", "1:1"),
        ("latin-1", "\n", "1:5"),
        ("utf-8", "\r", "1:8"),
        ("utf-8", "\r\n", None),
        ("utf-8-sig", "\r\n", None),
    ],
)
@pytest.mark.parametrize("name", ["opcheck.toml", "pyproject.toml"])
def test_a_file_in_another_encoding_is_told_by_its_name(
    tmp_path, name, encoding, end, place, wording
):
    table = "tool.opcheck.backends" if name == "pyproject.toml" else "backends"
    text = f"# größe\n[{table}.mine]\naddress = 'numpy'\n".replace("\n", end)
    (tmp_path / name).write_bytes(text.encode(encoding))
    if place:
        [problem] = problems_of(tmp_path)
        assert problem.startswith(f"{name}:{place}: ")
        assert problem == wording
    else:
        assert [*profiles(tmp_path)] == ["mine"]


def test_a_profile_is_meant_by_its_name_and_all_else_is_an_address() -> None:
    assert resolve("mine", MINE) is MINE["mine"]
    assert resolve("onnxruntime?threads=2", MINE) == Profile(
        "onnxruntime?threads=2", Address("onnxruntime", options=(("threads", "2"),))
    )


@pytest.mark.parametrize("text", ["mine:0", "mine?threads=2"])
def test_a_profile_takes_nothing_more(text: str, wording: Wording) -> None:
    assert error_of(UsageError, resolve, text, MINE).message == (wording)


def test_a_misspelt_profile_is_answered_with_the_right_one(wording: Wording) -> None:
    error = error_of(UsageError, resolve, "mien", MINE)
    assert error.message == "unknown backend 'mien'"
    assert str(error.hint) == wording
    assert ", mine, " in str(error.hint)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("1000000", 1_000_000),
        ("12B", 12),
        ("3kB", 3000),
        ("3KiB", 3 << 10),
        ("512MB", 512_000_000),
        ("512 MiB", 512 << 20),
        ("2GiB", 2 << 30),
        ("2gib", 2 << 30),
        ("2G", 2 << 30),
        ("1.5GiB", 3 << 29),
        (" 4TiB ", 4 << 40),
    ],
)
def test_a_size_of_memory_is_read_in_any_unit(text: str, size: int) -> None:
    assert memory(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "0", "0GiB", "-1", "GiB", "2GiBs", "2 elephants", "1e9", "inf", "2,5GB", "٣", "0.1B"],
)
def test_what_is_no_size_is_answered_with_examples(text: str, wording: Wording) -> None:
    assert error_of(UsageError, memory, text).message == (wording)


def test_what_no_process_can_be_started_with_is_an_error_with_its_place(tmp_path: Path) -> None:
    text = r"""
        [backends.a]
        address = "onnxruntime\u0000"
        options = { x = "\u0000" }
        [backends.a.environment]
        A = "\u0000"
        "B\u0000" = ""
        "C=1" = ""
        "" = ""
    """
    found = refusal(tmp_path, text)
    assert [line.partition(": ")[0] for line in found] == [
        f"opcheck.toml:{line}:1" for line in (3, 4, 6, 7, 8, 9)
    ]


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a." * 20_000 + "b = 1"])
def test_a_file_of_deep_nesting_is_an_error(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text)


def test_a_name_that_is_not_in_one_line_is_an_error(tmp_path: Path) -> None:
    (found,) = refusal(tmp_path, '[backends."a\\nexit 0"]\naddress = "numpy"\n')
    assert found.startswith("opcheck.toml:1:")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere"), Path.mkdir])
def test_what_is_no_file_in_the_place_of_the_settings_is_an_error(tmp_path: Path, make) -> None:
    written(tmp_path, NUMPY.format("farther"))
    folder = tmp_path / "a"
    folder.mkdir()
    make(folder / "opcheck.toml")
    (found,) = problems_of(folder)
    assert found.startswith("opcheck.toml:1:1: ")
