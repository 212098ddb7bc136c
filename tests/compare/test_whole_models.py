"""Outputs of whole models are judged by how far their errors scatter."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from opcheck.compare import Want
from opcheck.compare.bounded import _sizes, off_by, scattering
from opcheck.dtypes import DTYPES
from opcheck.engine import Room, Tier
from tests.compare.test_bounded import FLOAT32, FLOAT64, Fake, arithmetic, judged

U, INT32 = 2.0**-30, DTYPES["int32"]
ALL, ONE = np.ones(16), np.eye(16)[3]


@dataclass
class Model(Fake):
    """Expected are errors of `off` of each value, beside `shift`; allowed are those of `reach`."""

    reach: float = 0.4
    off: float = U
    shift: Any = 0.0
    place: int = 0
    plain: Any = None
    dtype: Any = FLOAT64

    @property
    def evaluation(self) -> Any:
        plain = self.values if self.plain is None else self.plain
        return SimpleNamespace(plain=[plain])

    def room(self, tier: Tier) -> Room:
        return Room(np.abs(self.values) * self.reach, None, np.zeros(self.values.shape, bool))

    def deviations(self, cut: float = 0.0) -> Any:
        yield self.shift, np.abs(self.values) * (self.off + cut / 4)


def cut_to(bits: int, times: float) -> Any:
    """Errors of so many times what is expected of numbers of these `bits`."""
    return ALL * times * 2.0**-bits / 4 / U


SPLIT = np.repeat([1.0, 1024.0, 2000.0], [8, 4, 4])
#: Errors, in parts of what is expected, of values from 1 to 2 or these, and what is another.
ERRORS: dict[str, tuple[Any, ...]] = {
    "as expected": (ALL,),
    "nearly 60 times": (59.9 * ALL,),
    "more": (60.1 * ALL,),
    "one of them": (601 * ONE,),
    "one of 7": (1e4 * ALL[:7] * ONE[:7],),
    "one of 8": (1e4 * ONE[:8],),
    "one, 29 times": (20 * ALL + 560 * ONE,),
    "one, 31 times": (20 * ALL + 600 * ONE,),
    **{
        f"{bits} bits, {n} times": (cut_to(bits, n),)
        for bits in (8, 11, 16, 24)
        for n in (9.5, 10.5)
    },
    "a tenth": (ALL / U / 10,),
    "a seventh": (ALL / U / 7,),
    "a half": (ALL / U * 0.45,),
    "vague": (ALL, None, {"reach": 0.6}),
    "vague and wrong": (ALL / U / 100, None, {"reach": 0.6}),
    **{f"vague, {n} scatters": (ALL, None, {"reach": 0.6, "off": 1 / n}) for n in (119, 121)},
    "far, as expected": (ALL / U / 8, None, {"reach": 0.6, "shift": np.linspace(1, 2, 16) / 8}),
    "zeros": (ALL, np.repeat([0.0, 1.0], 8)),
    "all zeros": (ALL, 0 * ALL),
    "larger ones": (1e9 * ALL, SPLIT),
    "small ones": (1e9 * (SPLIT < 2), SPLIT),
    "infinite": (np.where(ONE, np.inf, 1),),
    "nan": (np.where(ONE, np.nan, 1),),
    "infinite in the engine": (np.where(ONE, np.nan, 1), None, {"plain": np.where(ONE, np.nan, 1)}),
    "the engine is no better": (1e9 * ALL, None, {"plain": 2 * ALL}),
}


def test_what_is_said_of_errors_of_a_model(snapshot: Any) -> None:
    lines = []
    for name, (errors, *more) in ERRORS.items():
        y, how = [*more, None, {}][:2] if more else (None, {})
        y = np.linspace(1, 2, len(errors)) if y is None else y
        bound = Model((Tier("plain", arithmetic(2.0**-52)),), **(how or {}))
        found = judged(y, y * (1 + errors * U), bound, FLOAT64, whole=True, of_random_data=True)
        lines += [f"{name}: {found.problem}, wrong {found.wrong}, unjudged {found.unjudged}"]
        lines += [f"    {found.remark}"]
    snapshot("models", "\n".join(lines) + "\n")


def test_whole_numbers_of_a_model_are_open_where_several_are_allowed() -> None:
    for reach, unjudged in ((0.1, 0), (0.25, 1)):
        bound = Model((Tier("plain", arithmetic()),), reach=reach)
        assert judged([4, 0], [4, 0], bound, INT32, whole=True).unjudged == unjudged


ONES, FINE = np.ones(100), 2.0**-40


@pytest.mark.parametrize(
    ("error", "off", "times", "narrower"),
    [
        (60 * U, U, "", ""),
        (61 * U, U, "61", ""),
        (0.9 * 2.0**-10, FINE, "966,367,642", "bfloat16"),
        (2.0**-10, FINE, "1e+09", "bfloat16"),
        (2.0**-13, FINE, "134,217,728", "float16 or TF32"),
        (2.0**-18, FINE, "4,194,304", "two bfloat16"),
        (2.9 * 2.0**-26, FINE, "47,514", "float32"),
        (3.1 * 2.0**-26, FINE, "50,790", ""),
        (0.36 * 2.0**-26, FINE, "5,898", "float32"),
        (0.3 * 2.0**-26, FINE, "4,915", ""),
    ],
)
def test_scatter_on_random_data_tells_of_what_is_narrower(error, off, times, narrower, wording):
    bound = Model((Tier("plain", arithmetic(2.0**-52)),), off=off, values=ONES)
    want: Any = Want("y", FLOAT64, ONES, bound=bound)  # type: ignore[arg-type]
    found = scattering(want, 1 + error * ONES)
    assert found
    assert (found.message, found.explained) == (wording, True)
    assert bool(found.message) == bool(times)
    assert times in found.message
    assert found.message.endswith(narrower)
    # Too few say nothing, and zeros are not counted.
    for fewer in (np.ones(99), np.minimum(np.arange(100), 1.0), np.zeros(100)):
        few: Any = Want("y", FLOAT64, fewer, bound=replace(bound, values=fewer))  # type: ignore
        assert scattering(few, fewer + error) is None


@pytest.mark.parametrize(("steps", "is_explained"), [(17, True), (18, False)])
def test_the_last_rounding_may_be_all_that_scatters(steps: int, is_explained: bool) -> None:
    """A step is 2√3 times the deviation of a rounding."""
    bound = Model((Tier("plain", arithmetic(2.0**-52)),), off=FINE, values=ONES, dtype=FLOAT32)
    want: Any = Want("y", FLOAT32, ONES, bound=bound)  # type: ignore[arg-type]
    found = scattering(want, (ONES * (1 + steps * 2.0**-23)).astype(np.float32))
    assert found
    assert (found.ratio == 1.0 and not found.message) is is_explained


@pytest.mark.parametrize(
    ("errors", "is_explained"),
    [
        (61 * ALL, True),
        (601 * ONE, False),
        (ALL / U / 7, False),
        (60 * ALL, True),
    ],
)
def test_a_narrower_type_explains_errors_of_all_elements(errors: Any, is_explained: bool) -> None:
    bound = Model((Tier("plain", arithmetic(2.0**-52)),), values=ALL)
    want: Any = Want("y", FLOAT64, ALL, bound=bound, whole=True)  # type: ignore[arg-type]
    found = scattering(want, 1 + errors * U)
    assert found
    assert found.explained is is_explained
    # Of what is left out nothing is said.
    of_others = scattering(want, 1 + errors * U * ONE, ONE == 0)
    assert of_others
    assert (of_others.ratio, of_others.message) == (0.0, "")


@pytest.mark.parametrize(
    ("y", "x", "off"),
    [
        ([1, 1], [1, 1], 0),
        ([3, 4], [3, 4.5], 0.1),
        ([np.inf, 4], [np.inf, 4], 0),
        ([np.nan, 4], [np.nan, 4], 0),
        ([np.inf, 4], [np.inf, 4.5], 0.125),
        ([0, 0], [1, 1], np.inf),
        ([1, 1], [np.inf, 1], np.inf),
        ([1, 1], [1, np.nan], np.inf),
        # One element in eight, from an eighth of their size on: each is as large as all are.
        ([3, 4], [3, 4.6], 0.6 / 12.5**0.5 * 7 / 8),
    ],
)
def test_how_much_an_output_is_off_by(y: Any, x: Any, off: float) -> None:
    assert off_by(np.array(y, float), np.array(x, float)) == pytest.approx(off, rel=1e-12)


@pytest.mark.parametrize(
    ("y", "sizes"),
    [
        ([1, 1024], [((1 + 2**20) / 2) ** 0.5] * 2),
        ([1, 1025], [1, ((1 + 1025**2) / 2) ** 0.5]),
        ([-3, np.inf, np.nan, 0], [3] * 4),
        ([0, 0], [0, 0]),
        ([1e-9, *[2] * 7], [3.5**0.5] * 8),
        ([1e-9, *[2] * 6], [1e-9, *[(24 / 7) ** 0.5] * 6]),
    ],
)
def test_the_size_of_elements_is_that_of_the_smaller_ones(y: Any, sizes: Any) -> None:
    assert _sizes(np.array(y, float)) == pytest.approx(sizes, rel=1e-12)
