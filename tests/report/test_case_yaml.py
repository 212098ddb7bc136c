"""Cases that are written out, and read again."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opcheck.dtypes import DTYPES, content
from opcheck.model import (
    Alternative,
    AnyOf,
    Computed,
    Fill,
    Given,
    Golden,
    OpVersion,
    Put,
    Rejected,
    Source,
    TensorSpec,
    Typed,
    Values,
    Verdict,
)
from opcheck.model.case import FromFile
from opcheck.report import formatting, listing
from opcheck.report.case_yaml import combinations, name_of, written
from opcheck.suite import materialize, unrounded
from tests.asking import cases_in, elements, shipped_cases
from tests.report.made import CASE, Page, result


def tensor(values, dtype="float32", **fields):
    array = np.array(values, np.float64)
    return TensorSpec("input", DTYPES[dtype], array.shape, Given(array), **fields)


def lines(*, places=((13, "float32"),), **fields):
    return written(replace(CASE, expect=Computed(), **fields), "made", places)


def read(folder, case, places, name="made"):
    """`case`, written as `name` and read again."""
    head = f"op: {case.op.name}\ndomain: {case.op.domain or chr(34) * 2}\ncases:\n"
    return cases_in(folder, head + "\n".join(written(case, name, places)))


def data(spec):
    return spec.name, spec.shape, spec.initializer, content(materialize(spec))


def values_of(case):
    """Attributes as a model has them: floats in float32."""
    return {name: attribute(value) for name, value in case.attrs.items()}


def attribute(value):
    if isinstance(value, tuple):
        return [*map(attribute, value)]
    value = np.float32(value) if isinstance(value, float) else value
    return content(value) if isinstance(value, np.ndarray | np.floating) else value


def expected(case):
    match case.expect:
        case Values(outputs):
            return [(spec.name, spec.shape, content(unrounded(spec))) for spec in outputs]
        case Rejected(reason, legal):
            return reason, values_of(legal), [data(spec) for spec in legal.inputs]
        case _:
            return Computed


def is_small(case):
    return (
        case.dtype
        and not isinstance(case.expect, AnyOf | Golden)
        and not any(isinstance(spec.content, FromFile) for spec in case.inputs)
        and elements(case) < 100
    )


def kinds(spec):
    """What is peculiar about the numbers that a tensor has written out."""
    values = getattr(spec.content, "values", None)
    if values is None or values.dtype.kind != "f":
        return str(getattr(values, "dtype", ""))
    with np.errstate(invalid="ignore"):
        found = np.signbit(values) & (values == 0), np.isnan(values), np.isinf(values), values % 1
    return *map(np.any, found), np.any(np.abs(values) > 1 << 24)


def form(case):
    """What the words that are written depend on, whichever operator they are about."""
    outputs = getattr(case.expect, "outputs", ())
    attrs = {
        (type(v), type(v[0]) if isinstance(v, tuple) and v else 0) for v in case.attrs.values()
    }
    return (
        (case.dtype, type(case.expect), bool(case.op.domain), frozenset(attrs)),
        frozenset(
            (type(x.content), x.initializer, len(x.shape) > 1, kinds(x)) for x in case.inputs
        ),
        frozenset((one.dtype, kinds(one)) for one in outputs if isinstance(one, TensorSpec)),
    )


def test_a_small_shipped_case_of_each_form_comes_back_as_it_was(tmp_path):
    forms = {form(case): case for case in filter(is_small, shipped_cases())}
    assert len(forms) > 100
    for case in forms.values():
        if isinstance(case.expect, Rejected) and not is_one_change(case):
            continue
        [again] = read(tmp_path, case, [(case.opset, case.dtype.name)])
        assert (again.op, again.opset, again.dtype) == (case.op, case.opset, case.dtype)
        assert values_of(again) == values_of(case)
        assert [*map(data, again.inputs)] == [*map(data, case.inputs)], case.id
        assert expected(again) == expected(case), case.id


def is_one_change(case):
    """Whether its legal twin has another attribute, or another shape, as those written here."""
    legal = case.expect.legal
    shapes = [spec.shape for spec in case.inputs] != [spec.shape for spec in legal.inputs]
    types = case.dtype == legal.dtype and case.opset == legal.opset
    alone = len(case.inputs) == len(legal.inputs) == 1
    return types and alone and (values_of(case) != values_of(legal) or shapes)


def test_a_case_is_a_few_lines():
    expect = Values((TensorSpec("output", DTYPES["float32"], (2,), Given(np.array([1.0, 0]))),))
    found = written(
        replace(CASE, inputs=(tensor([3.0, 3]),), expect=expect), "made", [(13, "float16")]
    )
    assert found == [
        "- name: made",
        "  opset: 13",
        "  dtype: float16",
        "  attrs: {axis: 0}",
        "  inputs: {input: [3, 3]}",
        "  expect: {output: [1, 0]}",
    ]


def test_several_opsets_and_types_are_a_matrix(tmp_path):
    places = [(11, "float16"), (11, "float64"), (13, "float16"), (13, "float64")]
    assert lines(places=places)[1] == "  matrix: {opset: [11, 13], dtype: [float16, float64]}"
    assert lines(places=places[:2])[1:3] == ["  matrix: {dtype: [float16, float64]}", "  opset: 11"]
    found = read(tmp_path, replace(CASE, expect=Computed()), places)
    assert sorted((case.opset, case.dtype.name) for case in found) == sorted(places)


def test_places_are_split_into_whole_combinations():
    places = [(13, "a"), (1, "a"), (11, "a"), (1, "b"), (11, "b")]
    assert list(combinations(places)) == [[(1, "a"), (1, "b"), (11, "a"), (11, "b")], [(13, "a")]]


def test_a_default_that_changed_between_versions_is_left_out_in_so_many_words():
    assert lines(attrs={})[3] == "  attrs: {axis: null}"
    relu = OpVersion("", "Relu", 13)
    assert lines(op=relu, attrs={})[3] == "  attrs: {}"


@pytest.mark.parametrize(
    ("values", "dtype", "said"),
    [
        ([0.1, 1e-8, -0.0], "float32", "[0.1, 1e-08, -0.0]"),
        ([0.1, 65504, 2.0**-24], "float16", "[0.1, 65504, 6e-08]"),
        ([math.inf, -math.inf, math.nan], "float32", "[.inf, -.inf, .nan]"),
        ([1 / 3], "float64", "[0.3333333333333333]"),
        ([[1, 2], [3, 4]], "float32", "[[1, 2], [3, 4]]"), (5, "float32", "5"),
    ],
)  # fmt: skip
def test_numbers_take_as_few_digits_as_their_type_needs(values, dtype, said):
    spec = tensor(np.array(values, DTYPES[dtype].numpy).astype(np.float64), dtype)
    assert f"  inputs: {{input: {said}}}" in lines(inputs=(spec,), places=[(13, dtype)])


def test_numbers_for_several_types_are_told_apart_in_the_widest(tmp_path):
    spec = tensor(np.array([0.1], np.float32).astype(np.float64))
    places = [(13, dtype) for dtype in ("float16", "float32", "float64")]
    assert "  inputs: {input: [0.10000000149011612]}" in lines(inputs=(spec,), places=places)
    found = read(tmp_path, replace(CASE, inputs=(spec,), expect=Computed()), places)
    for case in found:
        value = materialize(case.inputs[0])
        assert value == np.array([0.1], np.float32).astype(value.dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_no_number_is_rounded_beyond_its_type(dtype, tmp_path):
    spec = TensorSpec("input", DTYPES[dtype], (13,), Fill("specials", ()))
    spec = replace(spec, content=Given(materialize(spec).astype(np.float64)))
    case = replace(CASE, inputs=(spec,), expect=Computed(), dtype=DTYPES[dtype])
    [again] = read(tmp_path, case, [(13, dtype)])
    assert data(again.inputs[0]) == data(spec)


def test_fills_stay_fills(tmp_path):
    fill = TensorSpec("input", DTYPES["float32"], (3, 4), Fill("normal", (0.0, 1.0), 7))
    put = replace(fill, content=Fill("constant", (0.5,)), put=(Put((2, 3), 2.0),))
    assert "  inputs: {input: {shape: [3, 4], normal: [0, 1], seed: 7}}" in lines(inputs=(fill,))
    said = "{shape: [3, 4], constant: 0.5, put: [{at: [2, 3], value: 2}]}"
    assert f"  inputs: {{input: {said}}}" in lines(inputs=(put,))
    for spec in (fill, put):
        case = replace(CASE, inputs=(spec,), expect=Computed())
        [again] = read(tmp_path, case, [(13, "float32")])
        assert data(again.inputs[0]) == data(spec)


def test_an_initializer_is_one_and_an_empty_tensor_has_a_shape(tmp_path):
    constant = tensor([1.0, 2], initializer=True)
    empty = tensor(np.zeros((0, 3)))
    assert "  inputs: {input: {value: [1, 2], initializer: true}}" in lines(inputs=(constant,))
    assert "  inputs: {input: {shape: [0, 3], constant: 0}}" in lines(inputs=(empty,))
    for spec in (constant, empty):
        case = replace(CASE, inputs=(spec,), expect=Computed())
        assert data(read(tmp_path, case, [(13, "float32")])[0].inputs[0]) == data(spec)


def test_what_is_long_takes_several_lines(tmp_path):
    spec = tensor(np.arange(130.0).reshape(2, 65), initializer=True)
    case = replace(CASE, inputs=(spec,), expect=Computed())
    found = written(case, "made", [(13, "float32")])
    assert max(map(len, found)) <= 100
    [again] = read(tmp_path, case, [(13, "float32")])
    assert data(again.inputs[0]) == data(spec)
    reason = 'it says "no" ' * 20
    refused = replace(CASE, expect=Rejected(reason, replace(CASE, attrs={"axis": 1})))
    assert written(refused, "made", [(13, "float32")])[-1] == "    legal: {attrs.axis: 1}"
    [again] = read(tmp_path, refused, [(13, "float32")])
    assert again.expect.reason == reason.replace('"', "'")


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"axis": -1}, "{axis: -1}"),
        ({"kernel_shape": (1, 2), "p": 1.5}, "{kernel_shape: [1, 2], p: 1.5}"),
        ({"auto_pad": "SAME_UPPER"}, '{auto_pad: "SAME_UPPER"}'),
        ({"auto_pad": "same, upper"}, '{auto_pad: "same, upper"}'),
        ({"auto_pad": ""}, '{auto_pad: ""}'), ({"kernel_shape": ()}, "{kernel_shape: []}"),
        ({"axis": Typed("floats", (1.5,))}, "{axis: {floats: [1.5]}}"),
        ({"x": np.array([5, 6], np.int8)}, "{x: {value: [5, 6], dtype: int8}}"),
    ],
)  # fmt: skip
def test_attributes_are_written_as_they_are_read(attrs, said):
    op = OpVersion("", "Hardmax" if "axis" in attrs else "LpPool", 1)
    assert f"  attrs: {said}" in lines(op=op, opset=1, attrs=attrs)


def test_any_words_make_a_name():
    assert name_of("proposal_too_large_by_0.001") == "proposal_too_large_by_0_001"
    assert name_of("A × 1e-05!") == "a_1e_05"


def test_what_is_meant_to_be_empty_is_said_to_be(tmp_path):
    case = replace(CASE, expect=Computed(), empty='all of it is "masked"')
    assert lines(empty=case.empty)[-1] == "  empty: \"all of it is 'masked'\""
    [again] = read(tmp_path, case, [(13, "float32")])
    assert again.empty == "all of it is 'masked'"
    assert lines()[-1].lstrip().startswith("input")


REFUSED = Rejected("axis out of range", CASE)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        (Values(()), "literal"), (Computed(), "computed"),
        (Golden(Path("data/test_set_0")), "golden test_set_0"), (REFUSED, "rejected"),
        (AnyOf((Alternative("no", REFUSED), Alternative("first", Values(())))), "any of no, first"),
    ],
)  # fmt: skip
def test_an_expectation_in_a_word_or_two(expect, said):
    assert listing.expectation(expect) == said


def test_cases_stand_under_their_files(snapshot):
    long = replace(CASE, id="Hardmax/x@" + "y" * 100, name="x", expect=Computed())
    cases = [CASE, long, replace(CASE, source=Source("other.yaml", 1, 1), rule="should")]
    page = Page(60)
    listing.show(page.console, cases)
    snapshot("listing", page.text)


def test_no_case_is_a_list_too():
    page = Page(60)
    listing.show(page.console, [])
    assert page.lines == ["0 cases of 0 names, 0 with literal expectations"]


def test_a_file_name_cannot_steer_the_terminal():
    page = Page(60)
    listing.show(page.console, [replace(CASE, source=Source("\x1b[2Jx.yaml", 1, 1))])
    assert "\x1b" not in page.text


def test_a_record_is_json():
    found = json.loads(json.dumps(listing.record(CASE)))
    assert found["case"] == CASE.id
    assert found["source"] == "my/ties.yaml:7:3"
    assert found["expect"] == "literal"
    assert found["question"].startswith("Hardmax-13 at opset 13, axis=0, input float32[2, 2]")


@pytest.mark.parametrize(
    ("verdict", "flag"),
    [
        (Verdict.FAIL, None), (Verdict.CRASH, None), (Verdict.WARN, "--strict"),
        (Verdict.UNSUPPORTED, "--require-supported"),
    ],
)  # fmt: skip
def test_what_is_red_by_an_option_alone_is_repeated_with_it(verdict, flag):
    command = formatting.repeat(result(verdict))
    assert [word for word in command.split() if word in ("--strict", "--require-supported")] == (
        [flag] if flag else []
    )


@pytest.mark.parametrize(("file", "said"), [("-d.yaml", "./-d.yaml"), ("a-d.yaml", "a-d.yaml")])
def test_a_file_is_repeated_as_a_file_and_not_as_an_option(file, said):
    assert formatting.repeat(result(source=Source(file, 1, 1))).startswith(
        f"opcheck run {said} --case "
    )
