"""Arguments that mutants are harmless, as the files `*.equivalent.yaml` state them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opcheck.engine.mutants import Mutant
from opcheck.engine.operators import every
from opcheck.errors import CaseFileError
from opcheck.execution import mutate
from opcheck.execution.mutate import arguments, why_harmless
from opcheck.model import OpVersion

HARDMAX = OpVersion("", "Hardmax", 13)
MUTANT = Mutant("axis_in_32_bits", "axis was cut to 32 bits", lambda node: node.right)
PAIR = replace(MUTANT, name="pair", within=("flattened", MUTANT.name))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only file, to be written by the test."""
    path = tmp_path / "onnx" / "some.equivalent.yaml"
    path.parent.mkdir()
    monkeypatch.setattr(mutate, "shipped_files", lambda *_: [path])
    for cached in (mutate._files, arguments):
        cached.cache_clear()
    yield path
    for cached in (mutate._files, arguments):
        cached.cache_clear()


def test_the_shipped_arguments_are_about_mutants_that_there_are() -> None:
    """In the versions and types that they name; each of them is found by its operator."""
    found = [
        one
        for operator in every()
        for since in operator.formulas
        for one in arguments(OpVersion(operator.domain, operator.name, since))
    ]
    stated = [one for _, _, fields in mutate._files() for one in fields.equivalent]
    assert {*map(id, found)} == {*map(id, stated)}


@pytest.mark.parametrize(
    ("limits", "holds"),
    [
        ("", True),
        (", versions: [11, 13]", True),
        (", dtypes: [float32]", True),
        (", versions: [13], dtypes: [float32]", True),
        (", op: [Hardmax]", True),
        (", versions: [11]", False),
        (", dtypes: [float16]", False),
        (", versions: [13], dtypes: [float16]", False),
        (", op: Softmax", False),
    ],
)
def test_an_argument_holds_where_it_says(file: Path, limits: str, holds: bool) -> None:
    entry = f"{{mutants: [axis_in_32_bits], why: few axes{limits}}}"
    file.write_text(f"op: [Hardmax, Softmax]\nequivalent:\n- {entry}\n")
    why = "few axes" if holds else None
    assert [why_harmless(one, HARDMAX, "float32") for one in (MUTANT, PAIR)] == [why, why]
    assert why_harmless(replace(MUTANT, name="another"), HARDMAX, "float32") is None


@pytest.mark.parametrize(
    "text",
    [
        "mutants: [last_of_tie], why: a",
        "mutants: [], why: a",
        "mutants: [last_of_ties], why: ''",
        "mutants: [last_of_ties]",
        "mutants: [last_of_ties], why: a, version: [13]",
        "mutants: [last_of_ties], why: a, versions: [12]",
        "mutants: [last_of_ties], why: a, dtypes: [float23]",
        "mutants: [last_of_ties], why: a, op: Hardmx",
        "mutants: [axis_in_32_bits], why: a, versions: [11], dtypes: [bfloat16]",
    ],
)
def test_an_argument_about_nothing_is_refused_with_its_place(file, text, wording):
    file.write_text(f"op: Hardmax\nequivalent:\n- {{{text}}}\n")
    with pytest.raises(CaseFileError, match=r"^cases/onnx/some.equivalent.yaml:3:") as error:
        arguments(HARDMAX)
    assert str(error.value) == wording
