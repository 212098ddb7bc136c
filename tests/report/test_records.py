"""The results of a run while it lasts: they take little memory, and are those that they were."""

import pickle
import tracemalloc
from dataclasses import replace

import pytest

from opcheck import model
from opcheck.analysis import status
from opcheck.model import Records, Verdict
from opcheck.report import store, summary
from tests.report.made import CASE, page_of, record
from tests.report.runs import every_verdict, run_of


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_packed_results_are_those_that_they_were(monkeypatch, verbose):
    monkeypatch.setattr("opcheck.model.result._BLOCK", 4)
    close = model.ComparisonRecord("output", None, tier="float32", used=0.25)
    more = [record(comparisons=(replace(close, used=used),)) for used in (0.25, 0.5, 0.125)]
    both = run_of(*more, *every_verdict() * 3, *every_verdict("other") * 3)
    kept = Records()
    for one in both.records:
        kept.append(one)
    packed = replace(both, records=kept)
    assert [*store.lines(packed)] == [*store.lines(both)]
    assert status(both.header, kept.light) == status(both.header, both.records)
    pages = [page_of(summary.show, run, verbose=verbose).text for run in (packed, both)]
    assert pages[0] == pages[1]


def test_a_pass_takes_next_to_no_memory():
    plain = pickle.dumps(record(Verdict.PASS))
    kept = Records()
    tracemalloc.start()
    try:
        for place in range(2048):
            if place == 1024:  # what the first ones leave behind is there
                before = tracemalloc.get_traced_memory()[0]
            kept.append(replace(pickle.loads(plain), place=place, case=f"Hardmax/c{place}"))
        assert tracemalloc.get_traced_memory()[0] - before < 1024 * 100
    finally:
        tracemalloc.stop()


def test_a_case_that_was_sent_takes_no_more_memory():
    pickle.dumps(CASE)  # which made a dict for each object that had none yet
    spec = CASE.inputs[0]
    parts = CASE, CASE.source, CASE.expect, CASE.outputs[0], spec, spec.content
    assert not [one for one in parts if hasattr(one, "__dict__")]
    assert not hasattr(model.Fill("normal", ()), "__dict__")
