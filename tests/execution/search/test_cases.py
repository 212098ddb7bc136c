from dataclasses import replace

import numpy as np
import pytest

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.search.drawing import Candidate
from opcheck.execution.search.search_space import alike, case_of, written_out
from opcheck.model import Computed, Fill, Given, Rejected, TensorSpec, Values, Verdict
from tests import inline
from tests.execution.one import ENGINE


def node(op, values, attrs, dtype="float32"):
    array = np.array(values, np.float64)
    spec = TensorSpec("X" if op == "LpPool" else "input", DTYPES[dtype], array.shape, Given(array))
    return Candidate(attrs, (spec,))


def case(op, values, attrs=None, since=11, dtype="float32"):
    schema = opset.describe("", op, since)
    return case_of(schema, DTYPES[dtype], node(op, values, attrs or {}, dtype))


def passes(found):
    return inline.result_of(CaseEvaluation(found), ENGINE).verdict is Verdict.PASS


def test_a_legal_node_must_give_what_the_engine_computes():
    found = case("Hardmax", [[1, 2]])
    assert isinstance(found.expect, Computed)
    assert (str(found.op), found.opset, found.rule) == ("Hardmax-11", 11, "must")
    assert (found.dtype, found.slots) == (DTYPES["float32"], ("input",))
    assert [output.name for output in found.outputs] == ["output"]
    assert passes(found)


@pytest.mark.parametrize(
    ("op", "values", "attrs", "legal"),
    [
        ("Hardmax", [[1, 2]], {"axis": 2}, {}),
        ("Hardmax", [1, 2], {"axis": -7}, {"axis": 0}),
        ("LpPool", [[[1]]], {"kernel_shape": (1,), "pads": (-1, 0)}, {"kernel_shape": (1,)}),
    ],
)
def test_an_illegal_node_must_be_refused_and_one_attribute_makes_it_legal(op, values, attrs, legal):
    found = case(op, values, attrs)
    assert isinstance(found.expect, Rejected)
    assert not found.expect.reason.startswith(op)
    assert found.expect.legal.attrs == legal
    assert found.expect.legal.id == f"{found.id}~legal"
    assert passes(found)


def test_an_attribute_that_is_needed_is_changed():
    found = case("LpPool", [[[1]]], {"kernel_shape": (0,)})
    assert isinstance(found.expect, Rejected)
    assert set(found.expect.legal.attrs) == {"kernel_shape"}
    assert passes(found)


def test_or_one_axis_more_or_less_makes_it_legal():
    found = case("LpPool", [[1, 2]], {"kernel_shape": (1,)})
    assert isinstance(found.expect, Rejected)
    assert found.expect.legal.inputs[0].shape == (1, 1, 2)
    assert passes(found)
    fewer = case("LpPool", [[[[1, 2]]]], {"kernel_shape": (1,), "pads": (0, 0)})
    assert isinstance(fewer.expect, Rejected)
    assert fewer.expect.legal.inputs[0].shape == (1, 1, 2)


def test_what_takes_more_than_that_is_no_case():
    assert case("LpPool", 5, {"kernel_shape": (1,)}) is None


def stated(found):
    assert isinstance(found.expect, Values)
    [output] = found.expect.outputs
    assert isinstance(output.content, Given)
    return output.content.values


def test_an_answer_is_written_out_unrounded():
    found = written_out(case("LpPool", [[[1, 1]]], {"kernel_shape": (2,)}, dtype="float16"))
    assert stated(found).tolist() == [[[2**0.5]]]
    assert passes(found)


def test_an_answer_that_is_beyond_its_type_is_infinite():
    found = written_out(
        case("LpPool", [[[65504, 65504, 1]]], {"kernel_shape": (2,)}, 11, "float16")
    )
    assert stated(found).tolist() == [[[np.inf, 65504]]]
    assert passes(found)


def test_a_large_answer_a_refusal_and_none_are_left_as_they_are():
    large, empty = case("Hardmax", np.zeros((300, 1))), case("Hardmax", np.zeros((0, 2)))
    refused = case("Hardmax", [[1, 2]], {"axis": 2})
    for found in (large, empty, refused):
        assert written_out(found) is found


def test_cases_are_alike_if_only_opset_and_type_differ():
    one = written_out(case("Hardmax", [[1, 2]]))
    assert alike(one, written_out(case("Hardmax", [[1, 2]], dtype="float16", since=1)))
    assert not alike(one, written_out(case("Hardmax", [[2, 1]])))
    assert not alike(one, written_out(case("Hardmax", [[1, 2]], {"axis": 0})))
    assert not alike(one, case("Hardmax", [[1, 2]]))
    refused = case("Hardmax", [[1, 2]], {"axis": 2})
    assert alike(refused, case("Hardmax", [[1, 2]], {"axis": 2}, 13))
    assert isinstance(refused.expect, Rejected)
    other = replace(refused.expect, legal=case("Hardmax", [[1, 2]], {"axis": 0}))
    assert not alike(refused, replace(refused, expect=other))


def test_data_filled_by_rule_makes_a_case_too():
    spec = TensorSpec("input", DTYPES["float32"], (70_000,), Fill("normal", (0.0, 1.0)))
    schema = opset.describe("", "Hardmax", 13)
    found = case_of(schema, DTYPES["float32"], Candidate({}, (spec,)))
    assert passes(found)


def test_what_is_found_may_be_empty_and_says_so():
    full, zeros = ([[0.0] * 300 + [1.0] * (299 + n)] for n in (2, 0))
    found = [case("LpPool", [row], {"kernel_shape": (1,)}) for row in (full, zeros)]
    said = "300 of 599 elements come out as 0, infinity or NaN"
    assert [one.empty for one in found] == ["", said]
    assert [written_out(one).empty for one in found] == [one.empty for one in found]
    short = case("LpPool", [[[0.0, 0.0]]], {"kernel_shape": (1,)})
    assert short.empty
    assert written_out(short).empty == ""
    assert all(CaseEvaluation(one).accepted_answers for one in (*found, short, written_out(short)))
