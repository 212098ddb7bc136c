import math
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from opcheck.errors import Problem
from opcheck.reading import Problems
from opcheck.reading.validation import aliases, check, shown
from tests.reading.trees import read
from tests.wording import Wording


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Inner(Strict):
    size: int = Field(0, ge=0)
    name: str = Field("x", alias="as", pattern="^[a-z]+$", min_length=1)


def checked_even(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number


class Model(Strict):
    must: int
    word: Literal["first", "second"] = "first"
    ratio: float = Field(0.0, allow_inf_nan=False)
    flag: bool = False
    numbers: list[int] = Field([1], min_length=1, max_length=3)
    inner: Inner | None = None
    inners: list[Inner] = []
    either: (
        Annotated[
            Annotated[Inner, Tag("<inner>")] | Annotated[int, Tag("<number>")],
            Discriminator(lambda value: "<inner>" if isinstance(value, dict) else "<number>"),
        ]
        | None
    ) = None
    by_name: dict[str, Inner] = {}
    part: float = Field(1.0, gt=0, le=86_400)
    even: Annotated[int, AfterValidator(checked_even)] = 0


def told(text: str) -> list[Problem]:
    problems = Problems()
    assert check(Model, read(text), "f.yaml", problems)[0] is None
    return list(problems)


def test_a_node_of_the_form_becomes_an_instance() -> None:
    problems = Problems()
    found, _ = check(Model, read("{must: 1, inner: {as: a}}"), "f.yaml", problems)
    assert found is not None
    assert found.inner is not None
    assert (found.must, found.inner.name) == (1, "a")
    assert not problems


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("must: x", "1:7"),
        ("must: 1.0", "1:7"),
        ("must: true", "1:7"),
        ("must:", "1:6"),
        ("must: [1]", "1:7"),
        ("{}", "1:1"),
        ("[1]", "1:1"),
        ("7", "1:1"),
        ("{must: 1, word: frist}", "1:17"),
        ("{must: 1, word: 3}", "1:17"),
        ("{must: 1, ratio: x}", "1:18"),
        ("{must: 1, ratio: .nan}", "1:18"),
        ("{must: 1, part: 0}", "1:17"),
        ("{must: 1, part: 1e9}", "1:17"),
        ("{must: 1, flag: 1}", "1:17"),
        ("{must: 1, numbers: 3}", "1:20"),
        ("{must: 1, numbers: []}", "1:20"),
        ("{must: 1, numbers: [1, 2, 3, 4]}", "1:20"),
        ("{must: 1, numbers: [1, x]}", "1:24"),
        ("{must: 1, inner: 3}", "1:18"),
        ("{must: 1, inner: {size: -1}}", "1:25"),
        ("{must: 1, inner: {as: A}}", "1:23"),
        ("{must: 1, inner: {as: ''}}", "1:23"),
        ("{must: 1, inner: {as: 3}}", "1:23"),
        ("{must: 1, inners: [{size: 0}, {size: x}]}", "1:38"),
        ("{must: 1, inners: [7]}", "1:20"),
        ("{must: 1, either: {size: x}}", "1:26"),
        ("{must: 1, either: x}", "1:19"),
        ("{must: 1, even: 3}", "1:17"),
        ("{must: 1, numebrs: []}", "1:11"),
        ("{must: 1, zzz: 2}", "1:11"),
        ("{must: 1, by_name: {'a b': {size: x}}}", "1:35"),
    ],
)
def test_a_fault_is_told_at_its_place(text, place, wording):
    (problem,) = told(text)
    assert (f"{problem.line}:{problem.column}", problem.message) == (place, wording)
    assert problem.hint == wording


def test_every_fault_is_told() -> None:
    problems = told("{must: x, ratio: y, numbers: [a, b]}")
    assert [problem.column for problem in problems] == [8, 18, 31, 34]


def test_a_key_that_is_misspelt_is_not_missed_too() -> None:
    (problem,) = told("{msut: 1}")
    assert problem.message == "unknown key 'msut'"
    found = {problem.message for problem in told("{other: 1}")}
    assert found == {"unknown key 'other'", "'must' is missing"}


@pytest.mark.parametrize("key", ["<inner>", "<x>", "[key]"])
def test_a_key_that_looks_like_a_tag_is_a_key(key: str) -> None:
    (problem,) = told(f"{{must: 1, '{key}': 2}}")
    assert (problem.column, problem.message) == (11, f"unknown key {key!r}")
    (problem,) = told(f"{{must: 1, inner: {{'{key}': 2}}}}")
    assert (problem.column, problem.message) == (19, f"unknown key {key!r}")
    (problem,) = told(f"{{must: 1, by_name: {{'{key}': {{size: x}}}}}}")
    assert problem.column == 32 + len(key)


def test_messages_upset_no_terminal_and_fill_no_page() -> None:
    for text in (
        '{must: "\\e[31m"}',
        '{must: 1, "\\e[31m": 2}',
        '{must: 1, by_name: {"\\e[31m": {size: x}}}',
        f"{{must: {'x' * 10_000}}}",
        f"{{must: 1, ? {'x' * 10_000} : 2}}",
        f"{{must: 1, by_name: {{? {'x' * 10_000} : {{size: x}}}}}}",
        f"{{must: 1, word: {'1' * 1000}}}",
    ):
        (problem,) = told(text)
        assert problem.message.isprintable()
        assert len(str(problem)) < 250


def test_the_paths_at_fault_are_told_without_tags() -> None:
    text = "{must: x, either: {size: y, zzz: 1}, inners: [{}, {size: z}]}"
    found, paths = check(Model, read(text), "f.yaml", Problems())
    assert found is None
    assert paths == [("must",), ("inners", 1, "size"), ("either", "size"), ("either", "zzz")]
    assert check(Model, read("must: 1"), "f.yaml", Problems())[1] == []


def test_keys_are_spelt_as_files_spell_them() -> None:
    assert aliases(Inner) == ["size", "as"]


def test_the_caller_may_know_which_keys_belong_where(wording: Wording) -> None:
    problems = Problems()
    check(Model, read("{must: 1, inner: {ass: a}}"), "f.yaml", problems, {"inner": aliases(Inner)})
    assert [problem.hint for problem in problems] == [wording]


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (-1.5, "-1.5"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (math.nan, ".nan"),
        ("inf", "'inf'"),
        ("a\x1b[31m", r"'a\x1b[31m'"),
        ([1], "a list"),
        ((1,), "a list"),
        ({}, "a mapping"),
        (10**50, f"1{'0' * 29}… (51 characters)"),
    ],
)
def test_a_value_is_shown_as_yaml_spells_it(value: Any, want: str) -> None:
    assert shown(value) == want
