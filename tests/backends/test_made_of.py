"""What a backend is made of: the code that its process has loaded, whatever its version says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opcheck.backends.connect import digest
from tests.cli.conftest import environment

pytestmark = pytest.mark.processes

ASK = """
import importlib, json, sys
from opcheck.backends.connect import loaded, made_of
sys.path[:0] = sys.argv[2:]
before = loaded()
importlib.import_module(sys.argv[1])
print(json.dumps(made_of(loaded() - before)))
"""


def made_of(module: str, *path: Path, cwd: Path) -> dict[str, str]:
    """What a process is made of that has imported a module."""
    words = [sys.executable, "-P", "-c", ASK, module, *map(str, path)]
    found = subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, check=True)
    return dict(json.loads(found.stdout))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A package with a helper, a part that is loaded late, data, and a module beside it."""
    for name, text in {
        "acme/__init__.py": "import json, wave, beside\nfrom acme import near",
        "acme/near.py": "A = 1",
        "acme/deep/late.py": "B = 1",
        "acme/kernel.so": "not loaded yet",
        "acme/cache.bin": "of no matter",
        "acme/__pycache__/x.py": "of no matter",
        "beside.py": "C = 1",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_it_is_named_by_packages_and_neither_python_nor_opcheck_is_among_them(library):
    assert {*made_of("acme", library, cwd=library)} == {"acme", "beside"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("acme/near.py", "acme"),
        ("acme/deep/late.py", "acme"),
        ("acme/kernel.so", "acme"),
        ("beside.py", "beside"),
        ("acme/cache.bin", None),
        ("acme/__pycache__/x.py", None),
    ],
)
def test_another_build_is_told_from_this_one_by_its_code(library, file, name):
    before = made_of("acme", library, cwd=library)
    assert made_of("acme", library, cwd=library) == before
    path = library / file
    path.write_text(path.read_text().replace("1", "2") + " ")
    unlike = {one for one, _ in before.items() ^ made_of("acme", library, cwd=library).items()}
    assert unlike == ({name} if name else set())


def test_it_is_the_same_wherever_it_lies(library, tmp_path_factory):
    other = tmp_path_factory.mktemp("elsewhere") / "site-packages"
    (library / "acme" / "kernel.so").unlink()
    library.rename(other)
    (other / "acme" / "deep" / "late.py").unlink()
    there = made_of("acme", other, cwd=other.parent)
    (other / "acme").rename(other.parent / "acme")
    (other / "beside.py").rename(other.parent / "beside.py")
    assert made_of("acme", other.parent, cwd=other.parent) == there


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_library_that_is_loaded_by_its_path_counts(tmp_path):
    source = tmp_path / "mine.c"
    for answer in (1, 2):
        source.write_text(f"int answer(void) {{ return {answer}; }}")
        words = ["cc", "-shared", "-o", tmp_path / "libmine.so", source]
        try:
            subprocess.run(words, check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("no C compiler")
        (tmp_path / "acme.py").write_text("import ctypes; ctypes.CDLL('./libmine.so')")
        found = made_of("acme", tmp_path, cwd=tmp_path)
        if answer == 1:
            first = found
    assert {*found} == {"acme", "libmine"}
    assert found["acme"] == first["acme"]
    assert found["libmine"] != first["libmine"]


def test_a_folder_of_outputs_is_told_by_names_and_contents(tmp_path):
    files = [tmp_path / name for name in ("a.pb", "b.pb")]
    for path, text in zip(files, "ab", strict=True):
        path.write_text(text)
    found = {digest(files), digest(files[:1]), digest([])}
    assert digest([*files[::-1]]) in found
    for path, text in zip(files, "ba", strict=True):
        path.write_text(text)
    assert len(found | {digest(files)}) == 4
