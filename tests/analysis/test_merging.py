"""Stored runs of one suite, joined: nothing lost, nothing twice, nothing taken for complete."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from opcheck.analysis import merge, outcome
from opcheck.errors import Exit, UsageError
from opcheck.model import BackendInfo, Ending, Run, Suite, Verdict
from tests.report.made import record
from tests.report.runs import run_of
from tests.wording import Wording

BACKENDS = ("acme", "bolt", "core")
CASES = 6
WHOLE = run_of(
    *(
        record(Verdict.FAIL if backend == "bolt" else Verdict.PASS, backend, seconds=place)
        for place in range(CASES)
        for backend in BACKENDS
    ),
    backends=BACKENDS,
)


def part(backends=BACKENDS, shard=None, places=None, whole=WHOLE, **fields):
    """The part of a run that some backends did, of the cases of a shard."""
    if places is None:
        places = range(CASES) if shard is None else range(CASES)[shard[0] - 1 :: shard[1]]
    chosen = tuple(r for r in whole.records if r.backend in backends and r.place in places)
    infos = {info.address: info for info in whole.header.backends}
    header = replace(
        whole.header,
        backends=tuple(infos[name] for name in backends),
        cases=CASES if shard is None else len(range(CASES)[shard[0] - 1 :: shard[1]]),
        shard=shard,
        **fields,
    )
    return Run(header, chosen, Ending(len(chosen) == header.results, 0, "", 2.0))


def joined(*runs: Run, **options: Any) -> tuple[Run, tuple[str, ...]]:
    return merge([(f"run {n}", run) for n, run in enumerate(runs)], **options)


def refusal(*runs: Run) -> list[str]:
    with pytest.raises(UsageError) as caught:
        joined(*runs)
    assert caught.value.exit_code is Exit.USAGE
    return str(caught.value).splitlines()


def test_backends_of_one_suite_are_joined_in_the_order_of_the_cases(wording: Wording) -> None:
    whole, lacks = joined(part(["acme"]), part(["bolt"]), part(["core"]))
    assert lacks == ()
    assert whole.header == WHOLE.header
    assert whole.records == WHOLE.records
    assert whole.complete
    assert whole.ending is not None
    assert (whole.ending.exit_code, whole.ending.seconds) == (1, 6.0)
    assert whole.ending.meaning == wording


def test_shards_are_joined_whatever_their_order_and_one_run_is_a_whole() -> None:
    for parts in ([part(shard=(number, 4)) for number in (3, 1, 4, 2)], [WHOLE]):
        whole, lacks = joined(*parts)
        assert (whole.header, whole.records, lacks) == (WHOLE.header, WHOLE.records, ())


@given(st.data())
def test_whatever_is_parted_can_be_joined(data: st.DataObject) -> None:
    parts = []
    for name in BACKENDS:
        total = data.draw(st.integers(1, 4))
        parts += [part([name], (number, total)) for number in range(1, total + 1)]
    # Shards are counted alike, or they are not shards of one whole.
    totals = {run.header.shard[1] for run in parts if run.header.shard}
    parts = data.draw(st.permutations(parts))
    if len(totals) > 1:
        assert "are counted differently" in refusal(*parts)[0]
        return
    whole, lacks = joined(*parts)
    assert lacks == ()
    assert sorted(whole.records, key=lambda r: (r.place, r.backend)) == list(WHOLE.records)
    lost = data.draw(st.integers(0, len(parts) - 1))
    if len(parts) > 1:
        rest = [*parts[:lost], *parts[lost + 1 :]]
        left, lacks = joined(*rest)
        names = {info.address for run in rest for info in run.header.backends}
        (gone,) = parts[lost].header.backends
        assert left.complete is (gone.address not in names or not parts[lost].records)
        assert bool(lacks) is not left.complete


def test_a_missing_shard_is_named(wording: Wording) -> None:
    whole, lacks = joined(part(shard=(1, 4)), part(shard=(3, 4)))
    assert lacks[0] == "acme: 3 of 6 results"
    assert [line.split()[:2] for line in lacks[1:3]] == [["shard", "2"], ["shard", "4"]]
    assert not whole.complete
    assert outcome(whole)[0] is Exit.UNUSABLE
    assert whole.ending is not None
    assert whole.ending.meaning == wording


def test_a_shard_that_one_backend_lacks_is_named(wording: Wording) -> None:
    whole, lacks = joined(part(shard=(1, 2)), part(["acme", "bolt"], shard=(2, 2)))
    assert lacks == ("core: 3 of 6 results", wording)
    assert not whole.complete


def test_a_shard_that_lacks_a_single_result_is_not_whole() -> None:
    whole, lacks = joined(part(["acme"], (1, 2), [0, 4]), part(["acme"], (2, 2)))
    assert lacks == ("acme: 5 of 6 results", "  run 0 has 2 of 3")
    assert not whole.complete
    assert outcome(whole)[0] is Exit.UNUSABLE


def test_a_part_that_was_interrupted_makes_the_whole_incomplete() -> None:
    whole, lacks = joined(part(["acme"]), part(["bolt"], places=[0, 1]))
    assert lacks == ("bolt: 2 of 6 results", "  run 1 has 2 of 6")
    assert not whole.complete
    kept = {"acme": CASES, "bolt": 2, "core": 0}
    assert whole.records == tuple(r for r in WHOLE.records if r.place < kept[r.backend])


def test_a_part_that_was_killed_makes_the_whole_incomplete_even_if_nothing_lacks(
    wording: Wording,
) -> None:
    whole, lacks = joined(part(["acme"]), replace(part(["bolt"]), ending=None))
    assert lacks == (wording,)
    assert whole.ending is not None
    assert not whole.complete


def test_the_rest_of_a_run_that_was_interrupted_completes_it() -> None:
    first, rest = part(places=[0, 1, 2]), part(places=[3, 4, 5])
    whole, lacks = joined(first, rest)
    assert (whole.records, lacks, whole.complete) == (WHOLE.records, (), True)


def test_a_result_that_stands_in_two_runs_is_refused(wording: Wording) -> None:
    [said] = refusal(part(["acme"]), part(["acme", "bolt"]))
    assert said == (wording)
    assert len(refusal(WHOLE, WHOLE)) == 1


def test_another_suite_is_refused(wording: Wording) -> None:
    [said] = refusal(part(["acme"]), part(["bolt"], suite=Suite("other", CASES)))
    assert said == wording


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"strict": True}, "warnings"),
        ({"known": False}, "known defects"),
        ({"ledgers": {"mine.yaml": "5eed"}}, "known failures"),
        ({"require_supported": True}, "unsupported"),
        ({"seed": 7}, "seed"),
        ({"options": {"timeout": "5 s"}}, "timeout"),
    ],
)
def test_other_rules_are_refused(fields: dict[str, Any], said: str, wording: Wording) -> None:
    [message] = refusal(part(["acme"]), part(["bolt"], **fields))
    assert message.endswith(said)
    assert message == wording


def of_opcheck(version: str, run: Run) -> Run:
    about = replace(run.header.environment, opcheck=version)
    return replace(run, header=replace(run.header, environment=about))


def test_another_opcheck_is_refused(wording: Wording) -> None:
    parts = part(["acme"]), of_opcheck("0.2", part(["bolt"]))
    assert refusal(*parts) == [wording]


def test_two_versions_of_one_backend_are_refused(wording: Wording) -> None:
    one, other = part(shard=(1, 2)), part(shard=(2, 2))
    infos = [replace(info, version="1.6") for info in other.header.backends]
    newer = replace(other, header=replace(other.header, backends=tuple(infos)))
    assert refusal(one, newer)[0] == wording
    infos = [replace(info, threads=4) for info in other.header.backends]
    threaded = replace(other, header=replace(other.header, backends=tuple(infos)))
    assert refusal(one, threaded)[0] == wording


def test_shards_that_are_counted_differently_are_refused(wording: Wording) -> None:
    assert refusal(part(shard=(1, 2)), part(shard=(2, 3)))[0] == wording


def test_a_case_that_is_another_in_one_run_is_refused(wording: Wording) -> None:
    run = part(["bolt"])
    records = tuple(replace(one, digest="another") for one in run.records)
    [first, *_] = refusal(part(["acme"]), replace(run, records=records))
    assert first == wording


def test_a_case_at_another_place_in_one_run_is_refused() -> None:
    """The order of the whole would depend on which part is first."""
    run = part(["bolt"])
    first, second, *others = run.records
    swapped = (replace(first, place=second.place), replace(second, place=first.place), *others)
    [line] = refusal(part(["acme"]), replace(run, records=swapped))
    assert first.case in line
    assert second.case in line


def test_everything_that_is_wrong_is_told() -> None:
    wrong = of_opcheck("0.2", part(["acme"], strict=True, suite=Suite("other", CASES)))
    assert len(refusal(WHOLE, wrong)) == 4


def test_machines_that_differ_are_all_told() -> None:
    def on(platform: str, numpy: str, run: Run) -> Run:
        about = replace(run.header.environment, platform=platform, packages={"numpy": numpy})
        return replace(run, header=replace(run.header, environment=about))

    whole, _ = joined(
        on("here", "2.0", part(["acme"])),
        on("there", "2.0", part(["bolt"])),
        on("here", "2.1", part(["core"])),
    )
    assert whole.header.environment.platform == "here, there"
    assert whole.header.environment.packages == {"numpy": "2.0, 2.1"}


def test_the_whole_began_when_its_first_part_did() -> None:
    later = part(["bolt"], started="2031-02-03T05:00:00+02:00", named=True)
    whole, _ = joined(part(["acme"], started="2031-02-03T04:00:00+00:00"), later)
    assert whole.header.started == "2031-02-03T05:00:00+02:00"
    assert whole.header.named


def test_what_died_in_a_part_died_in_the_whole(wording: Wording) -> None:
    ending = Ending(True, 1, "", 1.0, ("acme: it died",), ("acme: it left",))
    whole, _ = joined(replace(part(["acme"]), ending=ending), part(["core"]))
    assert whole.ending is not None
    assert (whole.ending.accidents, whole.ending.partings) == (ending.accidents, ending.partings)
    assert outcome(whole) == (Exit.NONCONFORMING, wording)


def test_a_backend_that_supports_nothing_in_one_shard_may_in_another() -> None:
    verdicts = [Verdict.UNSUPPORTED if place % 2 else Verdict.PASS for place in range(CASES)]
    run = run_of(*(record(verdict) for verdict in verdicts))
    shards = [part(["acme"], (number, 2), whole=run, named=True) for number in (1, 2)]
    assert [outcome(shard)[0] for shard in shards] == [Exit.CONFORMS, Exit.NOTHING_JUDGED]
    assert outcome(joined(*shards)[0])[0] is Exit.CONFORMS


def test_results_are_in_the_order_of_the_selection_and_of_the_backends() -> None:
    whole, _ = joined(part(["core"], (2, 2)), part(["core"], (1, 2)), part(["acme"]))
    places: list[tuple[int, str]] = [(one.place, one.backend) for one in whole.records]
    assert places == [(place, name) for place in range(CASES) for name in ("core", "acme")]


def test_oracles_are_joined_and_two_versions_of_one_are_refused(wording: Wording) -> None:
    wise, other = (BackendInfo(name, name, "1.0") for name in ("wise", "other"))
    one = part(shard=(1, 2), oracles=(wise,))
    whole, _ = joined(one, part(shard=(2, 2), oracles=(other, wise)))
    assert whole.header.oracles == (wise, other)
    newer = part(shard=(2, 2), oracles=(replace(wise, version="2.0"),))
    assert refusal(one, newer) == [wording]


def test_backends_that_are_compared_with_each_other_cannot_be_joined_behindhand(wording):
    who = {"acme": ("bolt",), "bolt": ("acme",), "core": ("disk",), "disk": ("core",)}
    alone = (record(Verdict.PASS, name) for name in who)
    compared = (record(Verdict.PASS, name, against=others) for name, others in who.items())
    whole = run_of(*alone, *compared, backends=tuple(who))
    one, other = (
        replace(
            whole,
            header=replace(whole.header, backends=infos),
            records=tuple(r for r in whole.records if r.backend in {i.address for i in infos}),
        )
        for infos in (whole.header.backends[:2], whole.header.backends[2:])
    )
    (told,) = refusal(one, other)
    assert told == wording
    assert joined(whole)[0].complete
