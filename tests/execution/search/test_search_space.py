import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.engine.mutants import Mutant
from opcheck.errors import InvalidNode
from opcheck.execution.search.drawing import Candidate
from opcheck.execution.search.search_space import SearchSpace
from opcheck.model import Computed, Fill, Given, OpVersion, TensorSpec
from opcheck.model.result import Cell
from tests.execution.one import one

POOL = OpVersion("", "LpPool", 22)


def search_space(op, dtype, cases=(), tries=0):
    return SearchSpace(Cell(op, dtype), cases, tries)


def node(name, values, dtype="float32", **attrs):
    array = np.array(values, np.float64)
    return Candidate(attrs, (TensorSpec(name, DTYPES[dtype], array.shape, Given(array)),))


def refusing(*types):
    def answer(node):
        if node.dtype in types:
            raise InvalidNode("no")
        return node.right

    return Mutant("refuses", "some types were not supported", answer)


def test_a_case_serves_where_its_node_kills_and_the_same_must_come_out():
    first, other = search_space(POOL, "float16"), search_space(POOL, "float32")
    mutant = refusing("float16", "float32")
    small = node("X", [[[3, 4]]], "float16", kernel_shape=(2,))
    large = node("X", [[[60_000, 60_000]]], "float16", kernel_shape=(2,))
    assert other.serves(small, mutant, first.case(small, mutant))
    # It is infinite in float16 alone.
    assert not other.serves(large, mutant, first.case(large, mutant))


def test_a_case_does_not_serve_where_it_kills_nothing():
    first, other = search_space(POOL, "float16"), search_space(POOL, "float32")
    small = node("X", [[[3, 4]]], "float16", kernel_shape=(2,))
    mutant = refusing("float16")
    assert first.kills(small, mutant)
    assert not other.serves(small, mutant, first.case(small, mutant))
    # Nor where nothing is written out that could differ.
    long = node("X", [[[1] * 300]], "float16", kernel_shape=(1,))
    assert isinstance(first.case(long, mutant).expect, Computed)
    assert not other.serves(long, mutant, first.case(long, mutant))


def test_the_suite_s_own_cases_are_tried_first_with_all_that_is_put_into_them(tmp_path):
    case = one(
        tmp_path, "{name: a, inputs: {input: {value: [[0]], put: [{at: [0, 0], value: 7}]}}}"
    )
    sevens = Mutant(
        "sevens",
        "7 was too much",
        lambda node: [np.where(node.inputs[0] == 7, np.float32(0), node.right[0])],
    )
    found = search_space(case.op, "float32", [case]).found(sevens)
    assert found is not None
    [spec] = found.inputs
    assert (spec.content.values.reshape(-1).tolist(), spec.put) == ([7], ())


def test_small_nodes_are_kept_for_the_next_mistake_and_large_ones_made_anew(monkeypatch):
    here = search_space(OpVersion("", "Hardmax", 13), "float32", tries=600)
    nothing = Mutant("nothing", "nothing was wrong", lambda node: node.right)
    tried = []
    real = here._try

    def counting(candidate):
        tried.append(candidate)
        return real(candidate)

    monkeypatch.setattr(here, "_try", counting)
    assert here.found(nothing) is None
    assert len(tried) == 600
    tried.clear()
    assert here.found(nothing) is None
    assert tried
    assert all(isinstance(one.inputs[0].content, Fill) for one in tried)
    assert min(one.size for one in tried) > 1000
    assert max(one.candidate.size for one in here._tried) <= 1000
