"""`opcheck merge` on runs of small files and fakes."""

import re
from pathlib import Path

import pytest

from opcheck.report import store


def test_runs_of_several_backends_are_that_of_all(run, keep, wording):
    whole = keep("whole", "right", "last_of_ties", "declines")
    parts = keep("a", "right"), keep("b", "last_of_ties", "declines")
    found = run("merge", *parts, "-o", "joined")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == wording
    shown = [run("report", name) for name in (whole, "joined")]
    assert shown[0].stdout == shown[1].stdout
    assert shown[0].exit_code == shown[1].exit_code == 1
    assert run("diff", whole, "joined").exit_code == 0


MINE = """
import os

class Mine:
    def prepare(self, task): return self
    def run(self, inputs):
        if len(inputs[0]) == 6:
            print("the last words", flush=True)
            os._exit(9)
        return [inputs[0] * 0]
"""


def comparable(name):
    """A run without times, and without diagnoses, for which a shard has less evidence."""
    text = re.sub(r'"(seconds|started)":("[^"]*"|[\d.e-]+)', r'"\1":0', Path(name).read_text())
    return re.sub(r'"diagnoses":\[.*?\],"printed"', '"printed"', text)


def test_shards_of_processes_are_the_run_of_one_to_the_byte_but_for_times(run, keep, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    backends = "py:mine", "numpy"
    keep("whole", *backends)
    parts = [keep(f"part-{n}", *backends, words=["--shard", f"{n}/3"]) for n in (3, 1, 2)]
    run("merge", *parts, "-o", "joined", code=0)
    whole = store.read(Path("whole"))
    assert {result.verdict for result in whole.records} == {"fail", "crash", "warn", "pass"}
    assert {store.read(Path(part)).header.cases for part in parts} == {1, 2}
    assert comparable("joined").splitlines() == comparable("whole").splitlines()


def test_a_missing_shard_is_told_and_the_whole_is_incomplete(run, keep, wording):
    whole = keep("whole", "right")
    first, missing, last = (keep(f"{n}", "right", words=["--shard", f"{n}/3"]) for n in (1, 2, 3))
    found = run("merge", first, last, "-o", "joined", code=4)
    assert found.stderr == wording
    assert found.stdout == wording
    assert run("report", "joined", "-q").exit_code == 4
    run("merge", "joined", missing, "-o", "complete", code=0)
    assert run("report", "complete").stdout == run("report", whole).stdout


def test_the_whole_may_go_to_standard_output(run, keep, wording):
    parts = keep("a", "right"), keep("b", "narrow")
    found = run("merge", *parts, "-o", "-", code=0)
    assert found.stderr == wording
    run("merge", *parts, "-o", "joined")
    assert Path("joined").read_text() == found.stdout


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize(
    "words",
    [
        ["a"],
        ["-o", "x"],
        ["a", "a", "-o", "x"],
        ["a", "strict", "-o", "x"],
        ["a", "some", "-o", "x"],
        ["a", "cases.yaml", "-o", "x"],
        ["a", "b", "-o", "b"],
        ["a", "b", "-o", "none/x"],
        ["a", "b", "-o", "."],
    ],
    ids=" ".join,
)
def test_what_cannot_be_joined_is_told_and_nothing_is_written(run, keep, words, wording):
    keep("a", "right")
    keep("b", "narrow")
    keep("strict", "narrow", words=["--strict"])
    keep("some", "narrow", words=["-k", "ties"])
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    found = run("merge", *words, code=2)
    assert found.stderr == wording
    assert found.stdout == ""
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize("other", ["a", "./a", "link"])
def test_a_run_that_is_given_twice_is_refused(run, keep, other):
    first = keep("a", "right")
    Path("link").symlink_to(first)
    found = run("merge", first, other, "-o", "joined", code=2)
    assert len(found.stderr.splitlines()) == 1
    assert not Path("joined").exists()
