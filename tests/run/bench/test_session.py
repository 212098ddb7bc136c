"""Only who is right is timed, before and after."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.slot import Settings
from opcheck.backends.isolation.stopwatch import Stopwatch
from opcheck.model.timing import Timed
from opcheck.run.bench import Entrant, Plan, time_cases
from opcheck.suite import load_bench

BENCH = """\
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: -1}
bench:
- name: one
  inputs: {input: {shape: [4, 25], normal: [0, 1]}}
- name: two
  inputs: {input: {shape: [2, 50], normal: [0, 1]}}
"""
SPINNING = "py:tests.backends.isolation.spinning:"


@contextmanager
def entrants(addresses: Sequence[str]) -> Iterator[list[Entrant]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        found = []
        for address in addresses:
            settings = Settings(address, Path(folder), timeout=5.0)
            pool = Pool(settings)
            stack.callback(pool.close)
            watches = tuple(Stopwatch(settings) for _ in range(3))
            for one in watches:
                stack.callback(one.close)
                one.connected()
            pool.connected()
            found.append(Entrant(pool, watches))
        yield found


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> list[Timed]:
    file = tmp_path_factory.mktemp("bench") / "f.yaml"
    file.write_text(BENCH)
    names = [
        "numpy",
        f"{SPINNING}Spin?seconds=0.002",
        f"{SPINNING}Ends?how=lies&after=0",
        f"{SPINNING}Ends?how=lies&after=9",
        f"{SPINNING}Ends?how=dies&after=9",
    ]
    plan = Plan("numpy", looks=(9,), seconds=5.0, warm=0.05)
    with entrants(names) as found:
        return list(time_cases(load_bench([file]), found, plan))


def test_each_case_has_a_row_and_each_backend_a_place_in_it(timed: list[Timed]) -> None:
    assert [row.case for row in timed] == ["Hardmax/one", "Hardmax/two"]
    for row in timed:
        assert len(row.timings) == 5
        assert (row.op, row.dtype, row.moved) == ("Hardmax-13", "float32", 800)
        assert len(row.copy) == len(row.yardstick) == 9


def test_who_is_right_has_samples_in_all_rounds(timed: list[Timed]) -> None:
    for row in timed:
        engine, spin, *_ = row.timings
        for one in (engine, spin):
            assert [sample.round for sample in one.samples] == list(range(9))
            assert {sample.worker for sample in one.samples} == {0, 1, 2}
            assert len(one.prepared) == 3
        assert min(sample.seconds for sample in spin.samples) >= 0.002


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (2, "fail: "),
        (3, "its answer was wrong in the end: "),
        (4, "exited with status 3"),
    ],
)
def test_who_is_not_has_none_and_the_row_says_why(
    timed: list[Timed], place: int, said: str
) -> None:
    for row in timed:
        assert row.timings[place].samples == ()
        assert said in row.timings[place].why_not
