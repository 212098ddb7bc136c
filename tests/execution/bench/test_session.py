"""Only who is right is timed, before and after."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from opcheck.backends.isolation.pool import Pool, Stopwatch
from opcheck.backends.isolation.process import BackendSettings
from opcheck.execution.bench import (
    QUICK_BYTES,
    Benchmark,
    BenchRequest,
    Entrant,
    Plan,
    entered,
    estimated_seconds,
    planned,
)
from opcheck.execution.workers import Limits
from opcheck.model.timing import Timed, Timing
from opcheck.suite import load_bench
from opcheck.timing import Ratio, ratio
from tests.execution.bench.suite import CASES, SPINNING
from tests.wording import Wording, without_times

pytestmark = [pytest.mark.processes, pytest.mark.starts_early]


@contextmanager
def entrants(addresses: Sequence[str], processes: int = 1) -> Iterator[list[Entrant]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        found = []
        for address in addresses:
            settings = BackendSettings(address, Path(folder), timeout=5.0)
            pool = Pool(settings)
            stack.callback(pool.close)
            watches = tuple(Stopwatch(settings) for _ in range(processes))
            for one in watches:
                stack.callback(one.close)
                one.connected()
            pool.connected()
            found.append((pool, watches))
        yield found


def plan(**fields: Any) -> Plan:
    return replace(Plan("numpy", processes=1, looks=(3,), seconds=5.0, warm=0.05), **fields)


def the_row(file: Path, found: Sequence[Entrant], visits: int = 1, **fields: Any) -> Timed:
    """The one row of the first case of a file, after so many visits."""
    oracles = fields.pop("oracles", {})
    session = Benchmark(load_bench([file])[:1], found, plan(**fields), oracles)
    assert len([*session.visits()]) == visits
    [row] = session.rows()
    return row


def first_case(folder: Path, more: str) -> Path:
    """The file of the first case with more keys in its head."""
    file = folder / "f.yaml"
    head = CASES.replace("axis: -1}", f"axis: -1}}{more}")
    file.write_text(head.partition("- name: two")[0])
    return file


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "f.yaml"
    path.write_text(CASES)
    return path


@pytest.fixture(scope="module")
def timed(file: Path) -> tuple[Timed, ...]:
    names = [
        "numpy",
        f"{SPINNING}Spin?seconds=0.002",
        f"{SPINNING}Ends?how=lies&after=0",
        f"{SPINNING}Ends?how=lies&after=9",
        f"{SPINNING}Ends?how=dies&after=9",
        f"{SPINNING}Ends?how=raises&after=9",
        f"cmd:{sys.executable} examples/one_shot.py {{model}} {{inputs}} {{outputs}}",
    ]
    with entrants(names, 2) as found:
        session = Benchmark(load_bench([file]), found, plan(processes=2, looks=(6,)))
        assert [*session.visits()] == ["Hardmax/one", "Hardmax/two"] * 2
        assert session.to_come == 0
        return session.rows()


def test_each_case_has_a_row_and_each_backend_a_place_in_it(timed: Sequence[Timed]) -> None:
    assert [row.case for row in timed] == ["Hardmax/one", "Hardmax/two"]
    for row in timed:
        assert len(row.timings) == 7
        assert (row.op, row.dtype, row.moved) == ("Hardmax-13", "float32", 800)
        assert len(row.copy) == len(row.yardstick) == 6


def test_who_is_right_has_samples_in_all_rounds_of_one_process_after_the_other(timed):
    for row in timed:
        engine, spin, *_ = row.timings
        for one in (engine, spin):
            places = [(sample.round, sample.worker) for sample in one.samples]
            assert places == [(number, number // 3) for number in range(6)]
            assert len(one.prepared) == 2
        assert min(sample.seconds for sample in spin.samples) >= 0.002


@pytest.mark.parametrize(
    "place",
    [
        2,
        3,
        4,
        5,
        6,
    ],
)
def test_who_is_not_has_none_and_the_row_says_why(timed, place, wording):
    for row in timed:
        assert row.timings[place].samples == ()
        assert row.timings[place].why_not == wording


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("is_precise", "visits"), [(True, [0, 1]), (False, [0, 1] * 2)])
def test_processes_come_again_while_a_ratio_is_not_precise(file, monkeypatch, is_precise, visits):
    monkeypatch.setattr("opcheck.execution.bench.precise", lambda found: is_precise)
    with entrants(["numpy", f"{SPINNING}Spin?seconds=0.001"], 2) as found:
        row = the_row(file, found, len(visits), processes=2, looks=(6, 12))
    workers = groupby(sample.worker for sample in row.timings[1].samples)
    assert [worker for worker, _ in workers] == visits


def test_who_is_alone_is_held_against_the_fixed_work(file, monkeypatch):
    seen: list[Ratio] = []
    monkeypatch.setattr("opcheck.execution.bench.precise", seen.append)
    with entrants(["numpy"]) as found:
        row = the_row(file, found, 2, looks=(3, 6))
    work, alone = Timing("", row.yardstick[:3]), Timing("numpy", row.timings[0].samples[:3])
    assert seen == [ratio(work, alone)]


def test_an_interrupt_ends_all_and_leaves_what_was_measured(file: Path) -> None:
    with entrants(["numpy"]) as found:
        session = Benchmark(load_bench([file]), found, plan())
        assert [*session.visits(stop=lambda: len(session.rows()) == 1)] == ["Hardmax/one"]
        [row] = session.rows()
        assert [len(one.samples) for one in row.timings] == [3]
        nothing = Benchmark(load_bench([file]), found, plan())
        assert [*nothing.visits(stop=lambda: True)] == []
        assert nothing.rows() == ()


def test_an_interrupt_does_not_wait_until_a_case_is_prepared(file, monkeypatch):
    asked: list[Stopwatch] = []
    hold = Stopwatch.hold

    def noted(self: Stopwatch, *words: Any) -> Any:
        asked.append(self)
        return hold(self, *words)

    monkeypatch.setattr(Stopwatch, "hold", noted)
    with entrants(["numpy", f"{SPINNING}Slow"]) as found:
        session = Benchmark(load_bench([file])[:1], found, plan())
        assert [*session.visits(stop=lambda: len(asked) == 2)] == ["Hardmax/one"]
        assert session.rows() == ()


def test_who_prints_while_it_is_timed_is_told(file: Path) -> None:
    with entrants([f"{SPINNING}Prints?seconds=0"]) as found:
        assert the_row(file, found).timings[0].printed.endswith("run\ndone")


_AGREE = "\ntolerance: {ulp: 0}\nexpect: {agree: true}"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("expect", "remembered"),
    [
        ("", ("place", "row", "content", "last", "nothing")),
        (_AGREE, ("place", "content", "nothing")),
    ],
)
def test_an_answer_that_is_looked_up_has_no_time(tmp_path, expect, remembered, wording):
    with entrants(["numpy", *(f"{SPINNING}Remembers?how={how}" for how in remembered)]) as found:
        engine, *others = the_row(first_case(tmp_path, expect), found).timings
    assert len(engine.samples) == 3
    counts = dict(zip(remembered, (len(timing.samples) for timing in others), strict=True))
    assert counts == {how: 3 if how == "nothing" else 0 for how in remembered}
    assert others[-1].why_not == ""
    reasons = zip(remembered, (timing.why_not for timing in others[:-1]), strict=False)
    assert [f"{how}: {without_times(why)}" for how, why in reasons] == wording


def test_integers_are_asked_about_the_other_data_that_they_were_judged_by(tmp_path):
    file = tmp_path / "f.yaml"
    numbers = "{shape: [8], integers: [-50, 50], seed: 1}"
    inputs = f"inputs: {{A: {numbers}, B: {numbers}}}"
    file.write_text(f"op: Add\nopset: 14\ndtype: int32\ncases:\n- {{name: a, {inputs}}}\n")
    with entrants(["numpy"]) as found:
        row = the_row(file, found)
    assert (row.timings[0].why_not, len(row.timings[0].samples)) == ("", 3)


def test_data_too_large_to_be_kept_are_made_anew(file, monkeypatch):
    monkeypatch.setattr("opcheck.execution.bench._KEPT", 399)
    with entrants(["numpy"]) as found:
        session = Benchmark(load_bench([file]), found, plan())
        assert len([*session.visits()]) == 2
        assert [len(row.timings[0].samples) for row in session.rows()] == [3, 3]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("expect", ["{oracle: wise}", "{agree: true}"])
def test_who_is_right_by_another_s_answer_is_timed_and_nobody_else(
    tmp_path, monkeypatch, expect, wording
):
    # Made anew, and so is the oracle asked anew, for each process.
    monkeypatch.setattr("opcheck.execution.bench._KEPT", 0)
    file = first_case(tmp_path, f"\ntolerance: {{ulp: 0}}\nexpect: {expect}")
    lying = f"{SPINNING}Ends?how=lies&after="
    names = ["reference", f"{SPINNING}Spin?seconds=0.001", f"{lying}0", f"{lying}9"]
    with entrants([*names, "numpy"], 2) as (*found, oracle):
        # Among backends that are compared the engine is needed for a majority.
        oracles = {"wise": oracle[0]}
        row = the_row(file, [*found, oracle], 2, processes=2, looks=(6,), oracles=oracles)
    timings = row.timings
    assert [len(one.samples) for one in timings] == [6, 6, 0, 0, 6]
    assert timings[3].why_not == wording
    assert timings[2].why_not == wording
    assert row.moved == 800


def test_without_an_answer_of_the_oracle_nobody_is_timed(tmp_path: Path, wording: Wording) -> None:
    file = first_case(tmp_path, "\ntolerance: {ulp: 0}\nexpect: {oracle: wise}")
    with entrants(["numpy", f"{SPINNING}Ends?how=raises&after=0"]) as (engine, silent):
        row = the_row(file, [engine], oracles={"wise": silent[0]})
    assert row.timings[0].samples == ()
    assert row.timings[0].why_not == wording


def test_processes_that_started_are_closed_if_a_later_one_does_not(file, monkeypatch):
    seen: list[str] = []

    class Second:
        def __init__(self, settings: BackendSettings) -> None:
            seen.append("started")
            if len(seen) == 2:
                raise OSError("no more processes")

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setattr("opcheck.execution.bench.Stopwatch", Second)
    entry = entered(
        BenchRequest(
            addresses=["numpy"],
            cases=load_bench([file]),
            limits=Limits(),
            plan=plan(processes=2),
        )
    )
    with pytest.raises(OSError, match="no more"), entry:
        pass
    assert seen == ["started", "started", "closed"]


def test_ten_shipped_cases_take_less_than_a_minute_in_a_quick_look():
    cases = [case for case in load_bench() if sum(it.nbytes for it in case.inputs) <= QUICK_BYTES]
    plan = planned(None, None, cold=False, quick=True)
    largest = sorted(cases, key=lambda case: -sum(it.nbytes for it in case.inputs))[:10]
    assert estimated_seconds(plan, largest, backends=2) < 60
