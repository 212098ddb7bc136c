"""Every shipped file lies next to the others of its family, under the name of the module."""

from pathlib import Path

import pytest

from opcheck import opset
from opcheck.engine.operators import find
from opcheck.reading import Kind, kind_of, operators_in, shipped_files, shipped_folder
from opcheck.suite.discovery import is_case_file
from tests.shell import ROOT

DOMAINS = {"onnx": "", "ml": opset.ML, "training": opset.TRAINING, "dml": opset.DML}

#: Operators in files of another family than their own.
ELSEWHERE = {
    # Its cases share their tensors and rows with those of Transpose and Flatten.
    ("shapes.layout", "Identity"),
}
#: What lies at the top of the repository besides files.
FOLDERS = set(".ci .github benchmarks cases docs examples opcheck reports tests".split())

#: Cases of level huge are of operators of all families.
OF_FAMILIES = [kind for kind in Kind if kind is not Kind.HUGE]
FILES = [(kind, file) for kind in OF_FAMILIES for file in shipped_files(kind)]
of_every_file = pytest.mark.parametrize(
    ("kind", "file"), FILES, ids=[f"{file.parent.name}/{file.name}" for _, file in FILES]
)


def stem(kind: Kind, file: Path) -> str:
    return file.name.removesuffix(kind)


@of_every_file
def test_a_file_has_the_name_of_the_module_that_declares_its_operators(kind, file):
    own = stem(kind, file)
    for name in operators_in(file):
        operator = find(DOMAINS[file.parent.name], name)
        assert operator is not None, name
        module = operator.module.rpartition(".")[2]
        is_elsewhere = (own, name) in ELSEWHERE
        assert (own.partition(".")[0] == module) is not is_elsewhere, name


def test_every_exception_is_one():
    held = {(stem(kind, file), name) for kind, file in FILES for name in operators_in(file)}
    assert held >= ELSEWHERE


def test_every_yaml_file_is_in_the_folder_of_a_domain_and_of_a_known_kind():
    every = sorted(shipped_folder("cases").rglob("*.y*ml"))
    assert sorted(file for kind in Kind for file in shipped_files(kind)) == every
    assert {file.relative_to(shipped_folder("cases")).parent.as_posix() for file in every} == {
        *DOMAINS
    }


def test_nothing_else_lies_at_the_top():
    if not (ROOT / ".git").exists():
        pytest.skip("an unpacked release")
    made = {".git", ".venv", ".hypothesis", "dist", "build"}
    found = {path.name for path in ROOT.iterdir() if path.is_dir()} - made
    assert {name for name in found if not name.endswith("_cache")} - {"__pycache__"} == FOLDERS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("softmax.yaml", Kind.CASES),
        ("softmax.hardmax.yml", Kind.CASES),
        ("softmax.hardmax.clauses.yaml", Kind.CLAUSES),
        ("Softmax.Equivalent.YML", Kind.EQUIVALENT),
        ("clauses.yaml", Kind.CASES),
        ("my_clauses.yaml", Kind.CASES),
        ("softmax.clauses", Kind.CASES),
        ("softmax.clauses.part.yaml", Kind.CASES),
    ],
)
def test_the_end_of_a_name_tells_cases_from_what_lies_next_to_them(name, kind):
    assert kind_of(Path("cases", name)) is kind
    assert is_case_file(Path("cases", name)) is (kind is Kind.CASES)
