import sys
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from opcheck.errors import UsageError
from opcheck.model import Case
from opcheck.suite import Selection, load_all, select, shard
from opcheck.suite.select import choose, keyword_matcher
from tests.expecting import error_of
from tests.report.made import CASE
from tests.suite.conftest import Cases
from tests.wording import Wording

CASES = """
op: Hardmax
attrs: {axis: 0}
inputs: {input: [1, 2]}
cases:
- {name: ties, opset: 13, dtype: float32, level: smoke}
- {name: nan, matrix: {opset: [11, 13], dtype: [float16, float32]}}
- {name: large, opset: 1, dtype: float64, level: deep}
- name: mixed
  opset: 13
  inputs: {input: {value: [1, 2], dtype: bfloat16}}
"""
SIZES = st.lists(st.integers(0, 1 << 22), max_size=60)


@pytest.fixture
def suite(cases: Cases) -> tuple[Case, ...]:
    return cases(CASES)


def names(found: tuple[Case, ...]) -> list[str]:
    return [case.id.removeprefix("Hardmax/") for case in found]


def test_each_level_holds_the_ones_before_it(suite: tuple[Case, ...]) -> None:
    by_level = [select(suite, Selection(level=level)) for level in ("smoke", "core", "deep")]
    assert names(by_level[0]) == ["ties"]
    assert set(by_level[0]) < set(by_level[1]) < set(by_level[2])
    # In their order.
    assert by_level[2] == suite


def test_a_case_asked_for_by_id_is_selected_whatever_its_level(suite: tuple[Case, ...]) -> None:
    wanted = ("Hardmax/large", "Hardmax/nan@opset=13,dtype=float16")
    assert {case.id for case in select(suite, Selection(ids=wanted, level="smoke"))} == set(wanted)


def test_an_id_is_matched_as_a_whole(suite: tuple[Case, ...]) -> None:
    assert select(suite, Selection(ids=("Hardmax/nan", "hardmax/large"))) == ()


def test_a_pattern_selects_the_ids_that_match_it(suite: tuple[Case, ...]) -> None:
    for pattern, count in ("Hardmax/*", 7), ("H*/na?@*dtype=float16", 2), ("Hardmax/[tn]*", 0):
        assert len(select(suite, Selection(ids=(pattern,)))) == count
    assert Selection(ids=("H*/ties",)).operators == []


def test_what_begins_like_an_unknown_id_is_told(suite: tuple[Case, ...]) -> None:
    for wanted, end in (("nan@", "@opset=13,dtype=float16' and 1 more?"), ("qqqqqqqq", "more?")):
        caught = error_of(UsageError, choose, suite, Selection(ids=(f"Hardmax/{wanted}",)))
        assert str(caught.hint).startswith("did you mean 'Hardmax/")
        assert str(caught.hint).endswith(end)


@pytest.mark.parametrize(
    "asked",
    [
        {"ids": ("Hardmax/tie",)},
        {"ids": ("Relu/a",)},
        {"ids": ("Hardmax/tes*",)},
        {"ids": ("Hardmx/qqqqqqqqqqqqqqqq",)},
        {"ops": ("Hardmx",)},
        {"ops": ("x",)},
        {"ops": ("hardmax", "Relu")},
        {"opsets": (13, 12)},
        {"dtypes": ("x",)},
    ],
)
def test_what_is_not_there_cannot_be_chosen(suite, asked, wording):
    caught = error_of(UsageError, choose, suite, Selection(level="deep", **asked))
    assert caught == wording


@pytest.mark.parametrize(
    "asked", [{"opsets": (0,)}, {"opsets": (13, 999)}, {"dtypes": ("x",)}, {"keywords": "a and"}]
)
def test_what_no_case_can_have_is_told_before_any_file_is_read(monkeypatch, asked) -> None:
    monkeypatch.setattr(sys.modules[load_all.__module__], "load", pytest.fail)
    with pytest.raises(UsageError):
        load_all(selection=Selection(**asked))


def test_operators_are_matched_without_regard_to_case(suite: tuple[Case, ...]) -> None:
    assert len(select(suite, Selection(ops=("hardMAX", "Relu"), level="deep"))) == len(suite)
    assert select(suite, Selection(ops=("Hard",))) == ()


@pytest.mark.parametrize("pattern", ["hardmax", "Hard*", "*MAX", "hardm?x"])
def test_operators_are_named_or_matched_by_a_pattern(suite: tuple[Case, ...], pattern: str) -> None:
    assert choose(suite, Selection(ops=(pattern,))) == select(suite, Selection())
    assert select(suite, Selection(ops=("Softmax", f"{pattern}y"))) == ()


def test_only_the_shipped_files_of_a_pattern_are_read() -> None:
    assert Selection(ops=("reducel?", "Hardmax")).operators == ["Hardmax", "ReduceL1", "ReduceL2"]


def test_a_pattern_of_no_operator_is_an_error(suite: tuple[Case, ...]) -> None:
    with pytest.raises(UsageError):
        choose(suite, Selection(ops=("Hard*", "Soft*")))


def test_parts_of_a_selection_narrow_each_other(suite: tuple[Case, ...]) -> None:
    found = select(suite, Selection(opsets=(13,), dtypes=("float16",), keywords="nan"))
    assert names(found) == ["nan@opset=13,dtype=float16"]
    assert select(suite, Selection(opsets=(1,), keywords="nan", level="deep")) == ()


def test_an_operator_without_a_selected_case_is_an_error_next_to_others(suite, cases, wording):
    case = "{name: a, opset: 11, inputs: {input: [1]}}"
    other = cases(f"{{op: Softmax, dtype: float32, cases: [{case}]}}")
    with pytest.raises(UsageError) as raised:
        choose((*suite, *other), Selection(ops=("hardmax", "Softmax"), opsets=(13,)))
    assert raised.value == wording
    assert raised.value.hint == "opsets: 11"
    found = choose((*suite, *other), Selection(ops=("hardmax", "Softmax"), keywords="ties"))
    assert names(found) == ["ties"]


def test_a_case_without_dtype_has_those_of_its_inputs(suite: tuple[Case, ...]) -> None:
    assert names(select(suite, Selection(dtypes=("bfloat16",)))) == ["mixed"]


def test_a_selection_says_what_it_asks_for(wording: Wording) -> None:
    assert str(Selection()) == "level core"
    assert [*Selection(("a/b", "c/d")).operators] == ["a", "c"]
    assert [*Selection(("a/b",), ops=("e",)).operators] == ["e"]
    full = Selection(("a/b",), "x or y", ("Hardmax",), (11, 13), ("float16",), "deep")
    assert str(full) == wording


# -k
@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("TIES", True),
        ("first_of_ties@opset=13", True),
        ("(ties)and(13)", True),
        ("nan", False),
        ("order", False),
        ("#axis_0", True),
        ("not not ties", True),
    ],
)
def test_keywords_are_words_and_or_not_and_parentheses(expression: str, want: bool) -> None:
    assert keyword_matcher(expression)("hardmax/first_of_ties@opset=13#axis_0") is want


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (" ", "a word is missing at the end"),
        ("ties and", "a word is missing at the end"),
        ("or ties", "a word is missing before 'or'"),
        ("ties and or nan", "a word is missing before 'or'"),
        ("not", "a word is missing at the end"),
        ("AND", "a word is missing before 'and'"),
        ("()", "a word is missing before ')'"),
        ("(ties", "a ) is missing"),
        ("ties)", "')' is one too many"),
        ("ties nan", "'nan' is one too many"),
        ("ties not nan", "'not' is one too many"),
    ],
)
def test_what_is_no_expression_is_refused(expression: str, message: str) -> None:
    caught = error_of(UsageError, keyword_matcher, expression)
    assert caught.message == f"keywords {expression!r}: {message}"
    assert caught.hint is not None


def test_parentheses_without_end_are_refused_and_not_a_crash() -> None:
    for expression in ("(" * 100_000, "not " * 100_000, "not " * 100 + "a"):
        with pytest.raises(UsageError, match="more than 100 words"):
            keyword_matcher(expression)
    assert keyword_matcher("not " * 99 + "a")("b")


words = st.sampled_from(["a", "b", "ab", "c"])
expressions = st.recursive(
    words,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join)
        | inner.map("not {}".format)
        | inner.map("({})".format)
    ),
    max_leaves=8,
)


@given(expressions, st.text("abc", max_size=4))
def test_keywords_mean_what_python_means_by_them(expression: str, name: str) -> None:
    spelt = expression.replace("(", " ( ").replace(")", " ) ").split()
    python = " ".join(
        word if word in ("and", "or", "not", "(", ")") else str(word in name) for word in spelt
    )
    assert keyword_matcher(expression)(name) == eval(python)


def cases_of(sizes: list[int]) -> tuple[Case, ...]:
    """Cases of one input with so many elements each."""
    (spec,) = CASE.inputs
    return tuple(
        replace(CASE, id=f"case {number}", inputs=(replace(spec, shape=(size,)),))
        for number, size in enumerate(sizes)
    )


def cost(case: Case) -> int:
    return 8192 + case.inputs[0].shape[0]


@given(SIZES, st.integers(1, 9))
def test_every_case_is_in_one_shard_and_in_its_place(sizes, total):
    cases = cases_of(sizes)
    shards = [shard(cases, number, total) for number in range(1, total + 1)]
    order = {case.id: place for place, case in enumerate(cases)}
    places = [[order[case.id] for case in one] for one in shards]
    assert sorted(place for one in places for place in one) == [*range(len(cases))]
    assert all(one == sorted(one) for one in places)


def test_cases_without_elements_take_their_time_too() -> None:
    assert [len(shard(cases_of([0] * 4), number, 2)) for number in (1, 2)] == [2, 2]


@given(SIZES.filter(len), st.integers(1, 9))
def test_no_shard_has_more_than_its_share_and_one_case(sizes: list[int], total: int) -> None:
    cases = cases_of(sizes)
    loads = [sum(map(cost, shard(cases, n, total))) for n in range(1, total + 1)]
    assert max(loads) <= sum(map(cost, cases)) / total + max(map(cost, cases))
    assert max(loads) - min(loads) <= max(map(cost, cases))
