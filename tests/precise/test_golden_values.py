"""What golden files hold, against an implementation that was written from the text alone."""

import math
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from opcheck.dtypes import DTYPES, limits, of
from opcheck.engine import Node, rounding
from opcheck.engine.rounding import correctly_rounded
from opcheck.execution.expected import question
from opcheck.model import OpVersion, Rejected
from opcheck.numbers.precise import objects
from tests import brute
from tests.asking import elements, shipped_cases
from tests.precise.by_the_text import FORMATS, by_rows, lp_pool, nearest, norm, rows_of, softmax

pytestmark = pytest.mark.reads_all_suites

NAMES = sorted(FORMATS)
INF, NAN = math.inf, math.nan
#: The most elements of a node and of its kernel; larger ones would take too long.
SIZES = [(150, 500), (600, 2000)]


def answer(op: OpVersion, x: Any, attrs: Any) -> Any:
    return correctly_rounded(Node(op, (x,), attrs))[0][0]


def rows(op: OpVersion, x: Any, attrs: Any) -> Any:
    return rows_of(op.since, x.shape, attrs)


#: The operators that were written once more, from the text alone.
BY_THE_TEXT = {
    "Hardmax": lambda op, x, attrs: brute.hardmax(x, rows(op, x, attrs)),
    "Softmax": lambda op, x, attrs: by_rows(x, rows(op, x, attrs), str(of(x))),
    "LpPool": lambda op, x, attrs: lp_pool(x, attrs, str(of(x))),
    "DML_ACTIVATION_HARDMAX1": lambda op, x, attrs: brute.hardmax(
        x, brute.along(x.shape, attrs["Axes"])
    ),
}


def assert_same(got: Any, want: Any, where: str = "") -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape), where
    assert np.array_equal(got, want, equal_nan=True), where
    assert not np.signbit(got[~np.isnan(got)]).any(), where


@pytest.mark.gate
@pytest.mark.parametrize(("small", "wide"), SIZES)
def test_all_that_the_text_decides_in_the_shipped_suites(small: int, wide: int) -> None:
    asked: Counter[str] = Counter()
    for case in (case for case in shipped_cases() if case.rule != "open"):
        if isinstance(case.expect, Rejected) or case.op.name not in BY_THE_TEXT:
            continue
        if elements(case) > small:
            continue
        made = question(case)
        (x,) = made.task.operands(made.inputs)
        kernel = math.prod(case.attrs.get("kernel_shape", [1]))  # type: ignore[arg-type]
        if kernel > wide or (np.isnan(x).any() and "ard" in case.op.name):
            continue
        want = BY_THE_TEXT[case.op.name](case.op, x, case.attrs)
        assert_same(answer(case.op, x, case.attrs), want, case.id)
        asked[case.op.name] += 1
    assert (len(asked), min(asked.values()) > 30) == (4, True), asked


SOFTMAX = OpVersion("", "Softmax", 13)
EDGE = -745.1332191019411  # of float64, next to 1075·ln 2, where half the smallest subnormal lies
ROWS: list[Any] = [
    [3.0] * 7,
    [1000.0, 1001.0, 998.0, -1000.0],
    [0.0, -INF, -1.0],
    [-INF, -INF],
    [1.0, NAN, 2.0],
    [0.0, 0.0, -700.0],
    [0.0, np.nextafter(EDGE, -INF), EDGE, np.nextafter(EDGE, INF)],
    [0.0, *np.linspace(-746, -700, 24), *np.linspace(-105, -85, 30), *np.linspace(-18, -8, 40)],
    [3e38, -3e38, 1.0],
    [1.7e308, -1.7e308, 1.0],
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("row", ROWS)
def test_rows_that_are_hard_to_round(row: Any, name: str) -> None:
    # What is too large for a type is its largest number.
    finite = np.clip(row, *limits(DTYPES[name]))
    x = np.where(np.isinf(row), row, finite)[None].astype(DTYPES[name].numpy)
    assert_same(answer(SOFTMAX, x, {}), by_rows(x, [list(range(x.size))], name))


def pooled(row: Any, name: str, p: float) -> float:
    """The norm of one window; a p that is no whole number is of version 1."""
    x = np.array([[row]]).astype(DTYPES[name].numpy)
    op = OpVersion("", "LpPool", 22 if p == int(p) else 1)
    exponent = int(p) if op.since == 22 else p
    return float(answer(op, x, {"kernel_shape": (len(row),), "p": exponent}).item())


def made_ties() -> Iterator[tuple[str, list[float], float, float, float]]:
    """Windows whose norm is a midpoint, with p, what it rounds to, and what with a speck more."""
    for name, (precision, *_) in FORMATS.items():
        s = 2.0 ** (1 - precision)
        yield name, [1, s / 2], 1, 1, 1 + s
        yield name, [1, s / 2, s], 1, 1 + 2 * s, 1 + 2 * s
        if precision % 2:
            # 1 + s + s²/4 is the square of 1 + s/2, and the sum of three squares.
            yield name, [1, math.sqrt(s), s / 2], 2, 1, 1 + s
    # 1³ + 6³ + 8³ = 9³; of k, 6k, 8k and 9k only the last has one bit too many.
    cubes = {"bfloat16": 29, "float16": 229, "float32": 1864137, "float64": 1000799917193445}
    for name, k in cubes.items():
        even = 9 * k + (-1 if (9 * k - 1) % 4 == 0 else 1)
        yield name, [k, 6 * k, -8 * k], 3, even, 9 * k + 1
    # 7 · 4^(5/2) + 19 · 1^(5/2) = 9^(5/2).
    yield "float16", [4.0 * 229] * 7 + [229.0] * 19, 2.5, 2060, 2062


@pytest.mark.parametrize(("name", "row", "p", "even", "above"), [*made_ties()])
def test_ties_go_to_the_even_number_and_a_speck_beside_them_decides(name, row, p, even, above):
    """The speck is the smallest subnormal; in float64 its cube is 3400 bits away."""
    assert pooled(row, name, p) == even
    assert pooled([*row, 2.0 ** FORMATS[name][1]], name, p) == above


@pytest.mark.sampled(11, evenly=True)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [1, 2, 3, 7, 2.5, 3.7, 20, 1000])
def test_windows_that_are_hard_to_round(name: str, p: float) -> None:
    if name == "bfloat16" and p != int(p):
        return
    largest, tiny = limits(DTYPES[name])[1], 2.0 ** FORMATS[name][1]
    generator = np.random.default_rng(11)
    spread = np.exp(generator.normal(size=(6, 5)) * 4) * generator.choice([-1, 1], (6, 5))
    rows = [
        [largest, largest, largest / 3],
        [largest / 4, largest / 7, 0],
        [largest, tiny, 1],
        # The second's norm for p = 2 is 131073² + 1/2 − 2^-37 of the smallest subnormal.
        [tiny, 4 * tiny, 9 * tiny],
        [131073**2 * tiny, 131073 * tiny],
        [NAN, INF, 1],
        [1, -INF, 0],
        [0, 0, -7],
        *spread.tolist(),
    ]
    for row in rows:
        held = np.array(row).astype(DTYPES[name].numpy).astype(np.float64).tolist()
        want = nearest(norm(held, p), name)
        got = pooled(held, name, p)
        assert got == want or (math.isnan(got) and math.isnan(want)), (row, got, want)


def test_the_measure_itself_by_numbers_worked_out_by_hand() -> None:
    for y, name, want in (
        (2049, "float16", 2048),
        (2051, "float16", 2052),
        (257, "bfloat16", 256),
        (2.0**-25, "float16", 0),
        (3 * 2.0**-26, "float16", 2.0**-24),
        (65519, "float16", 65504),
        (65520, "float16", INF),
        (-(2.0**200), "float32", -INF),
        (5e-324, "float64", 5e-324),
    ):
        assert nearest(norm([y], 1) * (1 if y > 0 else -1), name) == want
    # 1/(1 + e), whose digits are those of the logistic function at −1.
    assert nearest(softmax([0, 1])[0], "float64") == 0.2689414213699951
    assert nearest(norm([3, 4, 5], 3), "float64") == 6


@pytest.mark.parametrize(
    "drift",
    [
        2.0**-50,
        0.0,
    ],
)
def test_what_is_not_certain_is_an_error_and_no_guess(monkeypatch, drift, wording):
    """Digits that do not settle, and digits that settle on what the error bound rules out."""

    def precisely(node: Node, bits: int) -> Any:
        return [SimpleNamespace(v=objects(np.array([[[3 + bits * drift]]])))]

    monkeypatch.setattr(rounding, "precisely", precisely)
    with pytest.raises(rounding.Unrounded) as raised:
        pooled([1, 2.0**-53], "float64", 1)
    assert raised.value == wording
