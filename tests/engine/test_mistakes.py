"""What every mistake owes its readers: a name, a sentence, and arguments about what exists."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from itertools import product

import numpy as np
import pytest

from opcheck import dtypes
from opcheck.engine.generic import MISTAKES as GENERIC
from opcheck.engine.habits import HABITS
from opcheck.engine.mistakes import Mistake, Node, mistakes_of
from opcheck.engine.registry import operators
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

#: Every version that the engine knows, with its types.
DTYPES = {
    OpVersion(operator.domain, operator.name, since): kernel.dtypes
    for operator in operators().values()
    for since, kernel in operator.kernels.items()
}
OPS = {op.name: op for op in DTYPES}
HARDMAX = OpVersion("", "Hardmax", 13)

#: What a clause in the past tense has.
PAST = (
    r"\b(\w+ed|was|were|had|won|came|became|got|gave|held|stood|lay|began|left|ran|kept|went|hung"
    r"|meant|lost|took|broke|put|cut|made)\b"
)


def own(op: OpVersion) -> list[Mistake]:
    """What is wrongly read of this operator only."""
    return [mistake for mistake in mistakes_of(op) if mistake not in GENERIC]


#: Every mistake once, with the versions in which it is made.
MADE = [(OPS[name], mistake) for name in OPS for mistake in own(OPS[name])]
ALL = {id(mistake): mistake for op in DTYPES for mistake in mistakes_of(op)}.values()


@pytest.mark.parametrize("op", DTYPES, ids=str)
def test_names_and_texts_tell_the_mistakes_of_an_operator_apart(op):
    wrong = (*mistakes_of(op), *HABITS)
    for told in ([one.name for one in wrong], [one.text for one in wrong]):
        assert [text for text, count in Counter(told).items() if count > 1] == []


def test_names_can_be_typed():
    names = [one.name for one in (*ALL, *HABITS)]
    assert [name for name in names if not re.fullmatch(r"[a-z][a-z0-9_.-]*", name)] == []


def test_texts_fit_after_as_if():
    """A clause in the past tense, neither a sentence of its own nor more than a line or two."""
    texts = [one.text for one in (*ALL, *HABITS)]
    assert [t for t in texts if not re.search(PAST, t)] == []
    assert [t for t in texts if t[0].isspace() or t[-1] in ".;:, " or not 10 < len(t) < 130] == []
    # Names of things are spelt as they are; no other word begins with a capital.
    names = r"NaN|SAME|VALID|FLT_EPSILON|LogSoftmax|Softmax"
    assert [t for t in texts if t[0].isupper() and not re.match(names, t)] == []


def places(ops: list[OpVersion]) -> set[str]:
    """What `harmless` of a mistake may speak of, if it is made in these versions."""
    found = set()
    for op in ops:
        wheres = op.name, str(op.since), str(op)
        found |= {*wheres, *DTYPES[op], *(f"{w} {d}" for w, d in product(wheres, DTYPES[op]))}
    return found


@pytest.mark.parametrize("name", OPS)
def test_arguments_speak_of_versions_and_types_of_the_operator(name):
    known = places([op for op in DTYPES if op.name == name])
    # Some tables are shared by operators, and name them.
    others = {key for key in places(list(DTYPES)) if not key[0].isdigit()} - {*dtypes.DTYPES}
    wrong = {m.name: set(m.harmless) - known - others for m in own(OPS[name])}
    assert {name: keys for name, keys in wrong.items() if keys} == {}


def test_so_do_those_of_what_is_wrong_anywhere():
    known = places(list(DTYPES))
    wrong = {m.name: set(m.harmless) - known for m in GENERIC}
    assert {name: keys for name, keys in wrong.items() if keys} == {}
    # A number says nothing of which operator is meant.
    assert not {key for m in GENERIC for key in m.harmless if key[0].isdigit()}


def test_an_argument_is_found_for_the_place_that_it_speaks_of():
    keys = ("Hardmax", "13", "Hardmax-13", "float32", "Hardmax float32", "13 float32")
    for key in (*keys, "Hardmax-13 float32"):
        mistake = Mistake("m", "it was so", lambda node: node.right, {key: "why"})
        assert mistake.why_harmless(HARDMAX, "float32") == "why"
    others = ("Softmax", "11", "Hardmax-1", "Hardmax-11", "float16", "Softmax float32")
    for key in (*others, "13 float16", "Hardmax-11 float32"):
        mistake = Mistake("m", "it was so", lambda node: node.right, {key: "why"})
        assert mistake.why_harmless(HARDMAX, "float32") is None


# ── what is wrong anywhere ────────────────────────────────────────────────────────────────────


def generic(name: str, values: object, dtype: str = "float32", **attrs: int) -> list[object]:
    """What comes of a mistake that Hardmax makes, with the input's elements for the right ones."""
    [mistake] = [one for one in GENERIC if one.name == name]
    node = Node(HARDMAX, (np.array(values, dtypes.DTYPES[dtype].numpy),), attrs)
    return [out.tolist() for out in mistake.answer(node)]


#: Maxima at [0, 1], [1, 2] and so on: no two axes, rows or columns are alike.
MATRIX = [[1, 3, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("column_major", [[0, 0, 1], [0, 0, 1]]),
        ("read_column_major", [[0, 1, 0], [1, 0, 0]]),
        ("transposed", [[0, 0], [1, 0], [0, 1]]),
        ("batches_and_channels_exchanged", [[0, 0, 1], [0, 0, 1]]),
        ("last_two_axes_exchanged", [[0, 0, 1], [0, 0, 1]]),
        ("channels_last", [[0, 1, 0], [0, 0, 1]]),
        ("axes_of_rank_5_exchanged", [[0, 1, 0], [0, 0, 1]]),
        ("shifted", [[1, 0, 1], [0, 0, 0]]),
        ("last_element_missing", [[0, 1, 0], [0, 0, 0]]),
        ("first_batch_only", [[0, 1, 0], [0, 0, 0]]),
        ("first_batch_for_all", [[0, 1, 0], [0, 1, 0]]),
        ("tail_of_4_repeats", [[0, 1, 0], [0, 0, 1]]),
        ("flattened", [0, 1, 0, 0, 0, 1]),
    ],
)
def test_answers_are_misplaced_as_it_says(name, answer):
    assert generic(name, MATRIX) == [answer]


def test_rows_are_left_over_where_there_is_enough_to_share():
    for rows, computed in ((23, 20), (20, 20), (3, 0)):
        [made] = generic("rows_left_over_by_four_threads", np.zeros((rows, 800)))
        assert [sum(row) for row in made] == [1] * computed + [0] * (rows - computed)
    [made] = generic("rows_left_over_by_four_threads", np.zeros((23, 80)))
    assert [sum(row) for row in made] == [1] * 23


def test_three_axes_can_be_taken_for_each_other():
    cube = [[[2, 1], [1, 2], [1, 2]]]
    right = generic("axes_of_rank_5_exchanged", cube)
    assert right == [[[[1, 0], [0, 1], [0, 1]]]]
    assert generic("channels_last", cube) == [[[[1, 0, 0], [0, 1, 1]]]]
    assert generic("written_channels_last", cube) == [[[[1, 0], [0, 0], [1, 1]]]]
    assert generic("last_two_axes_exchanged", cube) == generic("written_channels_last", cube)
    assert generic("batches_and_channels_exchanged", cube) == right
    # Read as [2, 1], [1, 2], [1, 2] with three channels: [2, 2], [1, 1], [1, 2].
    assert generic("read_channels_last", cube) == [[[[1, 0], [1, 0], [0, 1]]]]


def test_the_layout_of_a_vector_cannot_be_mistaken():
    layout = [m.name for m in GENERIC if "axes" in m.name or "channels" in m.name]
    for name in ("column_major", "read_column_major", "transposed", *layout):
        assert generic(name, [1, 3, 2]) == [[0, 1, 0]], name
    assert generic("vector_becomes_a_row", [1, 3, 2]) == [[[0, 1, 0]]]


def test_an_attribute_to_blame_is_left_out():
    assert generic("invalid_attribute_ignored", MATRIX, axis=2) == [[[0, 1, 0], [0, 0, 1]]]
    with pytest.raises(InvalidNode):
        generic("invalid_attribute_ignored", MATRIX, "int32")


def test_values_on_the_way_through_a_narrower_type_lose_something():
    def through(name, value, dtype):
        [mistake] = [one for one in GENERIC if one.name == f"input_in_{name}"]
        seen = []
        node = Node(HARDMAX, (np.array([value], dtypes.DTYPES[dtype].numpy),), {})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "opcheck.engine.mistakes.evaluate", lambda op, inputs, attrs: seen.extend(inputs)
            )
            mistake.answer(node)
        return float(seen[0][0])

    assert through("float32", 1 + 2**-30, "float64") == 1
    assert through("float16", 1 + 2**-12, "float32") == 1
    assert through("bfloat16", 1 + 2**-10, "float16") == 1
    assert through("float16", 2.0**17, "bfloat16") == np.inf
    assert through("float32", 1 + 2**-10, "float16") == 1 + 2**-10
    assert through("float32", 1 + 2**-20, "float32") == 1 + 2**-20


FLOATS = ("bfloat16", "float16", "float32", "float64")


@pytest.mark.parametrize("name", [m.name for m in GENERIC if m.name.startswith("too_large")])
@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_argued_to_round_back_does_so(name, dtype):
    """Any number of a type of 16 bits, and some of the others."""
    [mistake] = [one for one in GENERIC if one.name == name]
    kind = dtypes.DTYPES[dtype].numpy
    if dtype in ("bfloat16", "float16"):
        values = np.arange(1 << 16).astype(np.uint16).view(kind)
    else:
        values = np.geomspace(1e-30, 1e30, 10_001).astype(kind)
    with np.errstate(invalid="ignore"):
        values = values[np.isfinite(values)]
    op = OpVersion("", "Softmax", 13)
    node = Node(op, (values,), {})
    node.__dict__["right"] = (values,)
    [changed] = mistake.answer(node)
    same = changed.tobytes() == values.tobytes()
    assert same == (mistake.why_harmless(op, dtype) is not None)


@pytest.mark.parametrize("mistake", GENERIC, ids=lambda mistake: mistake.name)
def test_no_warning_comes_of_values_at_the_ends_of_the_range(mistake):
    for op, dtype in product((OpVersion("", "Softmax", 13), OpVersion("", "LpPool", 22)), FLOATS):
        largest = float(dtypes.limits(dtypes.DTYPES[dtype])[1])
        values = [largest, -largest, np.inf, -np.inf, np.nan, 1e-45, 0, 1]
        data = np.array([[values]]).astype(dtypes.DTYPES[dtype].numpy)
        attrs = {"kernel_shape": (1,)} if op.name == "LpPool" else {}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                mistake.answer(Node(op, (data,), attrs))
            except InvalidNode:
                assert "refuses" in mistake.name
