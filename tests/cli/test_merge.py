"""`opcheck merge` on runs of small files and fakes."""

import json
import re
from pathlib import Path

import pytest

from opcheck.report import store


def shard(name, number, total):
    """A part of a stored run, as a run of that shard would have stored it."""
    lines = Path(name).read_text().splitlines()
    head, *results = (json.loads(line) for line in lines[:-1])
    mine = [one for one in results if one["place"] % total == number - 1]
    head |= {"shard": [number, total], "cases": len({one["place"] for one in mine})}
    totals: dict[str, dict[str, int]] = {}
    for one in mine:
        of_backend = totals.setdefault(one["backend"], {})
        of_backend[one["verdict"]] = of_backend.get(one["verdict"], 0) + 1
    footer = json.loads(lines[-1]) | {"totals": totals}
    part = f"{name}-{number}"
    Path(part).write_text("\n".join(map(json.dumps, [head, *mine, footer])) + "\n")
    return part


def test_runs_of_several_backends_are_that_of_all(run, keep):
    whole = keep("whole", "right", "last_of_ties", "declines")
    parts = keep("a", "right"), keep("b", "last_of_ties", "declines")
    found = run("merge", *parts, "-o", "joined")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == "exit 0: joined: 15 results, 5 cases, 3 backends\n"
    shown = [run("report", name) for name in (whole, "joined")]
    assert shown[0].stdout == shown[1].stdout
    assert shown[0].exit_code == shown[1].exit_code == 1
    assert run("diff", whole, "joined").exit_code == 0


def test_shards_are_the_whole(run, keep):
    whole = keep("whole", "right", "last_of_ties")
    parts = [shard(whole, number, 3) for number in (2, 3, 1)]
    assert run("merge", *parts, "-o", "joined").exit_code == 0
    one, other = (store.read(Path(name)) for name in (whole, "joined"))
    assert (one.header, one.records) == (other.header, other.records)
    assert run("report", "joined").stdout == run("report", whole).stdout


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


def test_a_missing_shard_is_told_and_the_whole_is_incomplete(run, keep):
    whole = keep("whole", "right")
    found = run("merge", shard(whole, 1, 3), shard(whole, 3, 3), "-o", "joined", code=4)
    said = ["opcheck: right: 3 of 5 results", "opcheck: shard 2 of 3 is missing"]
    assert found.stderr.splitlines() == said
    assert found.stdout == "exit 4: incomplete: 3 results, 5 cases, 1 backend\n"
    assert run("report", "joined", "-q").exit_code == 4
    run("merge", "joined", shard(whole, 2, 3), "-o", "complete", code=0)
    assert run("report", "complete").stdout == run("report", whole).stdout


def test_a_run_that_was_cut_short_leaves_the_whole_incomplete(run, keep, tmp_path):
    parts = keep("a", "right"), keep("b", "last_of_ties")
    lines = (tmp_path / "b").read_text().splitlines(keepends=True)
    (tmp_path / "b").write_text("".join(lines[:3]) + lines[3][:50])
    found = run("merge", *parts, "-o", "joined", code=4)
    assert "b was cut short" in found.stderr
    assert "b has 2 of 5" in found.stderr
    assert "INCOMPLETE: 7 of 10 results" in run("report", "joined", "-q").stdout


def test_the_whole_may_go_to_standard_output(run, keep):
    parts = keep("a", "right"), keep("b", "narrow")
    found = run("merge", *parts, "-o", "-", code=0)
    assert found.stderr == "exit 0: joined: 10 results, 5 cases, 2 backends\n"
    run("merge", *parts, "-o", "joined")
    assert Path("joined").read_text() == found.stdout


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize(("words", "said"), [
    (["a"], "Missing option '-o'"), (["-o", "x"], "Missing argument 'RUN...'"),
    (["a", "a", "-o", "x"], "results that stand in both a and a: 'right' on 'Hardmax/ties'"),
    (["a", "strict", "-o", "x"], "a and strict were judged by different rules: warnings"),
    (["a", "some", "-o", "x"], "a and some are of different suites, of 5 and 2 cases"),
    (["a", "cases.yaml", "-o", "x"], "cases.yaml:1:1: this is no stored run"),
    (["a", "b", "-o", "b"], "-o b: the same command names this file twice"),
    (["a", "b", "-o", "none/x"], "-o none/x: there is no folder none"),
    (["a", "b", "-o", "."], "-o .: this is a folder"),
])  # fmt: skip
def test_what_cannot_be_joined_is_told_and_nothing_is_written(run, keep, words, said):
    keep("a", "right")
    keep("b", "narrow")
    keep("strict", "narrow", words=["--strict"])
    keep("some", "narrow", words=["-k", "ties"])
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    found = run("merge", *words, code=2)
    assert said in found.stderr
    assert found.stdout == ""
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
