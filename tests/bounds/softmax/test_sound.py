"""No implementation of Softmax that is right is accused, whatever its arithmetic."""

from collections.abc import Iterable, Sequence
from functools import cache
from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from opcheck.compare import compare
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.model import AttrValue, Case, Computed, Task, Values, Verdict
from opcheck.suite import load
from tests.asking import elements
from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array
from tests.bounds.softmax import algorithms, honest, rows
from tests.bounds.softmax.judging import told, want, want_of_batch
from tests.examples import examples
from tests.inline import result_of
from tests.miniatures import Fake, Run
from tests.shell import ROOT

pytestmark = pytest.mark.starts_early

LENGTHS = {
    "float32": (1, 2, 3, 4, 5, 8, 17, 33, 64, 257, 1000),
    "float64": (1, 2, 4, 8, 17, 64, 257, 1000),
    "float16": (1, 2, 3, 8, 33, 257),
    "bfloat16": (1, 2, 3, 8, 33, 257),
}
SUITE = ROOT / "cases" / "onnx" / "softmax.yaml"


@cache
def cases() -> tuple[Case, ...]:
    """The shipped cases that are judged by the bound."""
    wanted = Computed | Values
    return tuple(c for c in load([SUITE]) if isinstance(c.expect, wanted) and c.tolerance is None)


def by_rows(x: Array, since: int, axis: AttrValue | None) -> Array:
    """`x` as the matrix (n, N) of what Softmax since this version normalises together."""
    if axis is None:
        axis = 1 if since < 13 else -1
    assert isinstance(axis, int)
    if since < 13:
        front = axis + x.ndim if axis < 0 else axis
        return x.reshape(prod(x.shape[:front]), prod(x.shape[front:]))
    last = np.moveaxis(x, axis, -1)
    return last.reshape(prod(last.shape[:-1]), last.shape[-1])


def regular(rows: Array) -> Array:
    """Which rows have a finite maximum; the others are NaN throughout."""
    return np.isfinite(rows.astype(np.float64).max(axis=1, initial=-np.inf))


def backend_in(name: str) -> Fake:
    """A backend that computes every version of Softmax in the arithmetic called `name`."""

    def prepared(task: Task) -> Run:
        def run(inputs: Sequence[Array]) -> list[Array]:
            (x,) = task.operands(inputs)
            axis = task.attrs.get("axis")
            rows = by_rows(x, task.op.since, axis)
            # inf/inf, 0/0 and NaN make a whole row NaN.
            y = np.full_like(rows, np.nan)
            if regular(rows).any():
                y[regular(rows)] = honest.answer(name, rows[regular(rows)])
            if task.op.since < 13:
                return [y.reshape(x.shape)]
            last = -1 if axis is None else axis
            assert isinstance(last, int)
            return [np.moveaxis(y.reshape(np.moveaxis(x, last, -1).shape), -1, last)]

        return run

    return Fake(prepared)


def assert_passes(x: Array, names: Iterable[str] = honest.NAMES) -> None:
    """Each of these implementations passes on the rows `x`."""
    right = want(x)
    for name in names:
        assert not told(compare(right, honest.answer(name, x))), name


@pytest.mark.sampled(17, evenly=True)
@pytest.mark.parametrize("name", honest.NAMES)
def test_an_honest_implementation_is_accused_on_no_kind_of_row(name: str) -> None:
    for dtype in rows.FLOATS:
        for columns in LENGTHS[dtype]:
            x = rows.batch(dtype, columns)
            found = compare(want_of_batch(dtype, columns), honest.answer(name, x))
            assert not told(found), f"{dtype}, {columns} columns"
            assert found.used <= 1
            assert found.unjudged == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nor_on_rows_that_one_element_dominates(dtype: str) -> None:
    # What they have in common is next to nothing beside what each element may lose by itself.
    assert_passes(rows.rounded(rows.LETTERS["X"](np.random.default_rng(4), 64, 100), dtype))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("dtype", "columns"),
    [("float64", 4099), ("bfloat16", 2500), ("float32", 10_000), ("float16", 2500)],
)
def test_nor_on_long_rows(dtype: str, columns: int) -> None:
    names = (name for name in honest.NAMES if honest.longest(name) >= columns)
    assert_passes(rows.long(dtype, columns), names)


@pytest.mark.gate
@pytest.mark.parametrize(("columns", "kinds"), [(100_000, 6), (1_000_000, 2)])
def test_nor_on_very_long_ones(columns: int, kinds: int) -> None:
    names = "sequential sum", "sum in 8 lanes", "exp 4 ULP by value"
    assert_passes(rows.long("float32", columns, kinds), names)


LARGE = [("sequential sum", "core"), ("early flush to zero", "core")]


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("exp2 4 ULP, reversed, reciprocal", "smoke"),
        ("exp(d − ln s), log 4 ULP", "smoke"),
        *(pytest.param(*one, marks=pytest.mark.gate) for one in LARGE),
    ],
)
def test_nor_by_the_suite_itself(name: str, level: str) -> None:
    backend = backend_in(name)
    for case in cases():
        if case.level == level and elements(case) <= 5000:
            result = result_of(CaseEvaluation(case), backend)
            assert result.verdict is Verdict.PASS, (case.id, result.reason)


@st.composite
def any_rows(draw: st.DrawFn, dtype: str) -> Array:
    """Rows of finite numbers, large and small, some of them near each other, and of masks."""
    count, columns = draw(st.integers(1, 8)), draw(st.integers(1, 24))
    numbers = st.integers(-1000, 1000).map(lambda n: n / 1000) | st.floats(-1, 1)
    x = draw(arrays(np.float64, (count, columns), elements=numbers))
    x *= draw(_each_row(count, [1e-6, 1e-3, 1.0, 1.0, 30.0, 100.0, 1e4, 1e38]))
    x += draw(_each_row(count, [0.0, 0.0, 0.0, 1.0, -300.0, 1e4, 1e30]))
    masked = draw(arrays(np.bool_, (count, columns), elements=st.sampled_from([False, True])))
    masked &= draw(_each_row(count, [False, False, True]))
    masked[:, draw(st.integers(0, columns - 1))] = False
    x[masked] = -np.inf
    return rows.rounded(x, dtype)


def _each_row(count: int, values: list[float]) -> st.SearchStrategy[Array]:
    return arrays(type(values[0]), (count, 1), elements=st.sampled_from(values))


@pytest.mark.parametrize("dtype", rows.FLOATS)
@examples(6)
@given(data=st.data())
def test_nor_on_any_row_whatever(dtype: str, data: st.DataObject) -> None:
    assert_passes(data.draw(any_rows(dtype)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_running_sum_that_stagnates_comes_close_to_what_is_allowed(dtype: str) -> None:
    # So no smaller constant would do.
    kind = "stagnation" if dtype == "float32" else "stagnation in float64"
    x = rows.filled([rows.AWKWARD[kind]], dtype, 1000, 1)
    assert 0.9 < compare(want(x), honest.answer("sequential sum", x)).used <= 1


def test_there_are_many_and_they_differ() -> None:
    x = rows.batch("float32", 257)
    assert len({honest.answer(name, x).tobytes() for name in honest.NAMES}) > 40


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nor_where_two_halves_are_summed_apart_and_one_climbs_slowly(dtype: str) -> None:
    x = np.full((1, 400), -np.inf)
    x[0, 0], x[0, 200:] = 0, 1e-5 * np.arange(-200, 0)
    x = rows.rounded(x, dtype)
    for signs in (ar.upwards, ar.downwards):
        got = algorithms.online(x, lanes=2, exp=ar.off_exp(signs), chunked=True)
        assert not told(compare(want(x), got))
