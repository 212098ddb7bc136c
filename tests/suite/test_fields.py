import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from opcheck.dtypes import DTYPES
from opcheck.reading import Kind, shipped_files
from opcheck.suite.fields import json_schema
from tests.reading.trees import read

VALIDATOR = Draft202012Validator(json_schema())
SHIPPED = shipped_files(Kind.CASES)
README = Path(__file__).parents[2] / "cases" / "README.md"


def sound(**fields: Any) -> dict[str, Any]:
    return {"op": "Hardmax", "cases": [{"name": "a", **fields}]}


def of_input(tensor: Any) -> dict[str, Any]:
    return sound(inputs={"X": tensor})


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_there_are_shipped_files() -> None:
    assert len(SHIPPED) >= 2


@pytest.mark.gate
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_file_has_the_form(path: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(read(path).plain())] == []


def test_the_example_of_the_format_s_page_has_the_form() -> None:
    (example,) = re.findall("```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    VALIDATOR.validate(read(example).plain())


@pytest.mark.parametrize(
    "file",
    [
        sound(),
        sound(opset=13, dtype="bfloat16", attrs={"axis": {"int": 1}, "pads": [0, 1], "mode": None}),
        sound(attrs=None, inputs=None, expect=None, tolerance=None, matrix=None, rows=None),
        sound(inputs={"X": 1, "Y": [[1.5]], "Z": None, "W": True, "V": []}),
        *map(
            of_input,
            [
                {"value": [1], "dtype": "int8", "initializer": True},
                {"file": "x.npy"},
                {"shape": [2], "normal": [0, 1], "seed": 1},
                {"shape": [], "specials": True, "put": [{"at": [], "value": 1}]},
            ],
        ),
        *(
            sound(expect=right)
            for right in [
                {"output": [1], "other": {"shape": [1], "constant": 0}},
                {"golden": "folder"},
                {"rejected": "why", "legal": {"attrs.axis": 1}},
                {"any_of": [{"as": "a"}, {"as": "b", "golden": "c"}]},
                {
                    "any_of": [
                        {"as": "a", "output": [1]},
                        {"as": "b", "rejected": "c", "legal": {"dtype": "float32"}},
                    ]
                },
            ]
        ),
        sound(tolerance={"ulp": 1, "signed_zeros": True}),
        sound(tolerance={"float16": {"ulp": 1}, "float32": {"rtol": 0.5, "atol": 1}}),
        sound(matrix={"opset": "all", "dtype": ["float16"], "attrs.axis": [None, 1]}),
        sound(rows=[{}, {"label": "x", "attrs": {"axis": 0}}, {"label": 3}]),
        sound(timeout=90),
        sound(empty="all of it is masked", rows=[{"empty": None}]),
        sound(timeout=0.5, rows=[{"timeout": None}, {"timeout": 86400}]),
        {"op": "Hardmax", "domain": "", "level": "deep", "rule": "should", **sound()},
        {"op": "Hardmax", "timeout": 120, **sound()},
    ],
)
def test_this_has_the_form(file: Any) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(file)] == []


@pytest.mark.parametrize(
    "file",
    [
        [],
        {},
        {"op": "Hardmax"},
        {"cases": [{"name": "a"}]},
        {"op": "Hardmax", "cases": []},
        {"op": "", "cases": [{"name": "a"}]},
        {"op": "Hardmax", "cases": [{}]},
        {**sound(), "opsett": 3},
        sound(name="Not snake"),
        *(sound(levle="core"), sound(level="cor"), sound(dtype="flot32")),
        *(sound(opset=wrong) for wrong in (0, "13", 1.5)),
        *(sound(attrs={"axis": wrong}) for wrong in ({"a": 1}, {"int": 1, "float": 1})),
        {**sound(), "bench": []},
        *map(
            of_input,
            [
                {"shap": [2], "constant": 0},
                {"shape": [-1], "constant": 0},
                {"shape": [1], "arange": [0]},
                {"shape": [1], "choice": []},
                {"shape": [1], "constant": 0, "seed": -1},
                {"shape": [1], "constant": 0, "put": [{"at": [0]}]},
            ],
        ),
        *(
            sound(expect=wrong)
            for wrong in [
                {},
                {"rejected": "x"},
                {"rejected": "x", "legal": {}},
                {"any_of": [{"as": "a"}]},
                {"any_of": [{"as": "a"}, {"output": [1]}]},
            ]
        ),
        *(
            sound(tolerance=wrong)
            for wrong in ({"ulp": -1}, {"rtol": -0.5}, {"flot16": {"ulp": 1}}, 3)
        ),
        *(sound(empty=wrong) for wrong in ("", True)),
        *(sound(timeout=wrong) for wrong in (0, -1, 86401, "90", "90 s", True, [90])),
        *(sound(matrix={"dtype": wrong}) for wrong in ("float32", [])),
        *(sound(rows=wrong) for wrong in ([], [{"matrix": {"opset": [1]}}], [{"label": 1.5}])),
    ],
)
def test_this_has_not_the_form(file: Any) -> None:
    assert not VALIDATOR.is_valid(file)


def test_what_an_editor_shows_is_described() -> None:
    schema = json_schema()
    described = schema["$defs"]["CaseEntry"]["properties"]
    names = ("opset", "dtype", "inputs", "expect", "tolerance", "rule", "level", "clause")
    for name in (*names, "timeout"):
        assert described[name]["description"]
    assert str(schema).count(str(list(DTYPES))) >= 2
