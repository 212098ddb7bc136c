"""With each failure it is known better what a backend does wrong."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.diagnose import Suspects, suspects
from opcheck.engine import Node
from opcheck.engine.mutants import mutants_of
from opcheck.model import Case, Diagnosis, OpVersion
from tests.asking import cases_in
from tests.diagnose.wrong import HARDMAX, SOFTMAX, mutant, node, refuse, wrong

FIRST = node(HARDMAX, [[3, 3]], {"axis": 1})
LAST = [np.array([[0, 1]], np.float32)]
WIDE = node(SOFTMAX, [[9.1, 10.123, 9.77, 10.91]], {"axis": 1}, np.float64)
ROWS = np.linspace(-3, 5, 60).reshape(4, 15)
CHANCE = np.random.default_rng(5)


def names(found: object) -> list[str | None]:
    return [one.mistake for one in found]  # type: ignore[attr-defined]


def test_the_mistakes_that_give_the_same_are_named() -> None:
    found = Suspects(lambda case: None).diagnose(wrong(FIRST, LAST))
    assert found[0].text.startswith("as if ")
    assert "last_of_ties" in names(found)


def test_what_explained_more_before_is_named_first() -> None:
    suspects = Suspects(lambda case: None)
    ambiguous = names(suspects.diagnose(wrong(FIRST, LAST)))
    other = next(name for name in reversed(ambiguous) if name != "last_of_ties")
    assert ambiguous.index("last_of_ties") < ambiguous.index(other)
    seen = next(one for one in mutants_of(HARDMAX) if one.name == other)
    for _ in range(3):
        clear = node(HARDMAX, [[3, 3, 0, 3, 3, 1, 0, 2]], {"axis": 1})
        suspects.diagnose(wrong(clear, seen.answer(clear)))
    assert names(suspects.diagnose(wrong(FIRST, LAST)))[0] != "last_of_ties"


def test_a_mistake_in_what_is_drawn_is_known_by_its_distribution() -> None:
    drawn = Node(OpVersion("", "RandomNormal", 22), (), {"shape": [20, 200], "scale": 4.0})
    got = [np.random.default_rng(3).normal(0, 2, (20, 200)).astype(np.float32)]
    found = Suspects(lambda case: None).diagnose(wrong(drawn, got))
    assert names(found) == ["scale_is_a_variance"]


def test_nothing_is_said_where_nothing_fits() -> None:
    row = node(HARDMAX, [[5, 1, 3, 2, 4]], {"axis": 1})
    got = [np.array([[7, -2, 0.5, 3, 11]], np.float32)]
    assert Suspects(lambda case: None).diagnose(wrong(row, got)) == ()


def test_an_accepted_invalid_model_was_not_checked() -> None:
    invalid = node(HARDMAX, [[3, 3]], {"axis": 7})
    got = [np.array([[0.25, 9]], np.float32)]
    found = Suspects(lambda case: None).diagnose(wrong(invalid, got))
    assert names(found) == ["not_checked"]


def passes(folder: Path) -> Case:
    head = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\n"
    case = "cases:\n- {name: ties, inputs: {input: [[3, 3]]}, expect: {output: [[1, 0]]}}\n"
    (one,) = cases_in(folder, head + case)
    return one


def test_what_a_pass_speaks_against_is_not_named(tmp_path, monkeypatch):
    longer = node(HARDMAX, [[3, 3, 0, 1]], {"axis": 1})
    got = [np.array([[0, 1, 0, 0]], np.float32)]
    always = mutant(lambda one: [one.right[0][:, ::-1] if one is FIRST else got[0]], "always")
    long = mutant(lambda one: one.right if one is FIRST else got, "where_long")
    monkeypatch.setattr(suspects, "mutants_of", lambda op: (always, long))
    free = Suspects(lambda case: None)
    assert names(free.diagnose(wrong(longer, got))) == ["always", "where_long"]
    held = Suspects(lambda case: wrong(FIRST, None))
    held.passed(passes(tmp_path))
    assert names(held.diagnose(wrong(longer, got))) == ["where_long"]


def test_a_refusal_that_a_pass_speaks_against_is_not_named(tmp_path: Path) -> None:
    free = Suspects(lambda case: None)
    assert "refuses_float32" in names(free.diagnose(wrong(FIRST, None)))
    held = Suspects(lambda case: wrong(FIRST, None))
    held.passed(passes(tmp_path))
    assert "refuses_float32" not in names(held.diagnose(wrong(FIRST, None)))


def test_a_broken_mistake_of_ours_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = mutant(lambda _: [][0], "broken")
    monkeypatch.setattr(suspects, "mutants_of", lambda op: (broken, mutant(refuse)))
    found = Suspects(lambda case: None).diagnose(wrong(FIRST, None))
    said = "a mistake of opcheck's own could not be tried: broken: IndexError"
    assert names(found) == ["made_up", None]
    assert found[1].text.startswith(said)


@pytest.mark.parametrize(
    ("through", "name"),
    [(np.float32, "float32"), (np.float16, "float16"), (ml_dtypes.bfloat16, "bfloat16")],
)
def test_the_widest_narrower_type_in_which_it_would_be_right_is_named(through, name):
    got = node(SOFTMAX, WIDE.inputs[0], {"axis": 1}, through).right[0].astype(np.float64)
    found = Suspects(lambda case: None).diagnose(wrong(WIDE, [got]))
    text = f"as if it was computed in {name}, within whose error it lies"
    assert Diagnosis(f"computed_in_{name}", text) in found


def test_an_input_that_lost_digits_is_seen_too() -> None:
    apart = node(HARDMAX, [[1, 1 + 1e-12]], {"axis": 1}, np.float64)
    found = Suspects(lambda case: None).diagnose(wrong(apart, [np.array([[1.0, 0.0]])]))
    assert "computed_in_float32" in names(found)


def test_a_mistake_made_in_a_narrower_type_is_recognised() -> None:
    made_in = node(SOFTMAX, WIDE.inputs[0], {"axis": 1}, np.float32)
    got = (2 * made_in.right[0]).astype(np.float64)
    found = Suspects(lambda case: None).diagnose(wrong(WIDE, [got]))
    # Nothing leaves the range of float32 here.
    assert names(found) == ["doubled+computed_in_float32", "doubled+saturated_in_float32"]


def test_what_left_the_range_of_a_narrower_type_is_recognised_and_hides_nothing_wrong() -> None:
    rows = np.array([[-3e25, 4e25, 1e25], [-3.0, 4.0, 9.0]])
    given = Node(OpVersion("", "LayerNormalization", 17), (rows, np.ones(3)), {})
    y, mean, inverse = (np.float32(part).astype(np.float64) for part in given.right)
    y[0] = inverse[0] = 0
    for factor, is_named in ((1, True), (1.5, False)):
        got = [y * [[1, 1, 1], [factor, 1, 1]], mean, inverse]
        found = Suspects(lambda case: None).diagnose(wrong(given, got))
        assert ("computed_in_float32" in names(found)) is is_named


def test_what_is_wrong_in_any_type_is_not_blamed_on_it() -> None:
    found = Suspects(lambda case: None).diagnose(wrong(WIDE, [WIDE.right[0][:, ::-1]]))
    assert not [name for name in names(found) if str(name).startswith("computed_in")]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda out: out * (1 + 0.02 * CHANCE.standard_normal(out.shape)),
        lambda out: out * 1.37,
        lambda out: np.where(np.arange(out.size).reshape(out.shape) == 22, 0.7, out),
        lambda out: CHANCE.uniform(0, 1, out.shape),
    ],
    ids=["noise", "scale", "one_element", "random"],
)
def test_what_no_mistake_gives_is_blamed_on_none(dtype: Any, spoil: Any) -> None:
    rows = node(SOFTMAX, ROWS, {"axis": 1}, dtype)
    got = spoil(rows.right[0].astype(np.float64)).astype(dtype)
    found = Suspects(lambda case: None).diagnose(wrong(rows, [got]))
    assert not [name for name in names(found) if name]


def test_nan_throughout_is_nothing_but_that() -> None:
    rows = node(SOFTMAX, ROWS, {"axis": 1})
    suspects = Suspects(lambda case: None)
    for _ in range(3):
        found = suspects.diagnose(wrong(rows, [np.full_like(rows.right[0], np.nan)]))
    assert names(found)[0] == "nan_everywhere"
