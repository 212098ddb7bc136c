"""Outputs of whole models are judged by how far their errors scatter."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.engine import Room, Tier
from tests.compare.test_bounded import FLOAT64, Fake, arithmetic, judged

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

    @property
    def evaluation(self) -> Any:
        plain = self.values if self.plain is None else self.plain
        return SimpleNamespace(node=SimpleNamespace(plain=[plain]))

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
    "as expected": (ALL,), "nearly 60 times": (59.9 * ALL,), "more": (60.1 * ALL,),
    "one of them": (601 * ONE,), "one of 7": (1e4 * ALL[:7] * ONE[:7],),
    "one of 8": (1e4 * ONE[:8],), "one, 29 times": (20 * ALL + 560 * ONE,),
    "one, 31 times": (20 * ALL + 600 * ONE,),
    **{f"{bits} bits, {n} times": (cut_to(bits, n),) for bits in (8, 11, 16, 24) for n in (9, 11)},
    "a tenth": (ALL / U / 10,), "a seventh": (ALL / U / 7,), "a half": (ALL / U * 0.45,),
    "vague": (ALL, None, {"reach": 0.6}), "vague and wrong": (ALL / U / 100, None, {"reach": 0.6}),
    **{f"vague, {n} scatters": (ALL, None, {"reach": 0.6, "off": 1 / n}) for n in (119, 121)},
    "far, as expected": (ALL / U / 8, None, {"reach": 0.6, "shift": np.linspace(1, 2, 16) / 8}),
    "zeros": (ALL, np.repeat([0.0, 1.0], 8)), "all zeros": (ALL, 0 * ALL),
    "larger ones": (1e9 * ALL, SPLIT), "small ones": (1e9 * (SPLIT < 2), SPLIT),
    "infinite": (np.where(ONE, np.inf, 1),), "nan": (np.where(ONE, np.nan, 1),),
    "infinite in the engine": (np.where(ONE, np.nan, 1), None, {"plain": np.where(ONE, np.nan, 1)}),
    "the engine is no better": (1e9 * ALL, None, {"plain": 2 * ALL}),
}  # fmt: skip


def test_what_is_said_of_errors_of_a_model(snapshot: Any) -> None:
    lines = []
    for name, (errors, *more) in ERRORS.items():
        y, how = [*more, None, {}][:2] if more else (None, {})
        y = np.linspace(1, 2, len(errors)) if y is None else y
        bound = Model((Tier("plain", arithmetic(2.0**-52)),), **(how or {}))
        found = judged(y, y * (1 + errors * U), bound, FLOAT64, whole=True, drawn=True)
        lines += [f"{name}: {found.problem}, wrong {found.wrong}, unjudged {found.unjudged}"]
        lines += [f"    {found.remark}"]
    snapshot("models", "\n".join(lines) + "\n")


def test_whole_numbers_of_a_model_are_open_where_several_are_allowed() -> None:
    for reach, unjudged in ((0.1, 0), (0.25, 1)):
        bound = Model((Tier("plain", arithmetic()),), reach=reach)
        assert judged([4, 0], [4, 0], bound, INT32, whole=True).unjudged == unjudged
