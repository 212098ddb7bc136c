"""How many cells of an operator there are, and which of them are judged."""

import json
import sys

import pytest

from opcheck import opset
from opcheck.errors import UsageError
from opcheck.suite.load import shipped_coverage
from tests.expecting import error_of

load = sys.modules["opcheck.suite.load"]


@pytest.mark.parametrize(
    ("op", "want"),
    [
        # The types that ONNX's schemas list for the first input, which all have cases.
        ("abs", [(1, 3, 3), (6, 11, 11), (13, 12, 12)]),
        ("Tile", [(1, 3, 0), (6, 15, 15), (13, 16, 16)]),
        # Of a sequence first, though cases have its tensors last; deprecated since version 11.
        ("SequenceInsert", [(11, 15, 15)]),
        ("Scatter", [(9, 15, 15)]),
        # An optional of a tensor or a sequence; then also the two themselves.
        ("OptionalHasElement", [(15, 30, 30), (18, 60, 60), (28, 112, 86)]),
        (
            "Constant",
            [
                (1, 3, 3),
                (9, 15, 15),
                (11, 15, 15),
                (12, 15, 15),
                (13, 16, 16),
                (19, 20, 20),
                (21, 22, 22),
                (23, 23, 23),
                (24, 24, 24),
                (25, 26, 26),
            ],
        ),
    ],
)
def test_each_version_that_is_not_deprecated_has_its_types(op, want):
    found = [one for one in shipped_coverage([op]) if one.op.since <= 28]
    assert [(one.op.since, len(one.types), len(one.judged)) for one in found] == want
    assert all(one.computed == one.judged for one in found)


def test_what_the_table_does_not_know_is_not_judged(tmp_path, monkeypatch, wording):
    table = {"": {"Abs": {"1": "float16 string", "why": "Later."}}}
    (tmp_path / "judged.json").write_text(json.dumps(table))
    monkeypatch.setattr(load, "shipped_suites", lambda: tmp_path)
    found = [*shipped_coverage(["Acos", "Abs", "abs"])]
    judged = [(one.op.name, one.op.since, {*one.judged}, one.why) for one in found]
    assert judged[:2] == [("Abs", 1, {"tensor(float16)"}, "Later."), ("Abs", 6, set(), "Later.")]
    assert judged[3] == ("Acos", 7, set(), "")
    every = {one.op.name for one in shipped_coverage()}
    assert every == {opset.plain(n) for d in opset.domains() for n in opset.operators(d)}
    caught = error_of(UsageError, lambda: [*shipped_coverage(["Tyle"])])
    assert (caught.message, caught.hint) == ("no operator 'Tyle'", wording)
