"""A run that is killed half-way through, and goes on: in processes of their own."""

import sys
import time

import pytest

from opcheck.report import store
from tests.cli.test_resume import without_times

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals")

BACKEND = "py:tests.cli.fakes:LAST_OF_TIES"
CASES = """\
op: Hardmax
opset: 13
dtype: float32
cases:
- name: few_values
  matrix: {{attrs.axis: [0, 1], inputs.input.seed: {ties}}}
  inputs: {{input: {{shape: [3, 4], choice: [1, 2]}}}}
- name: many
  matrix: {{attrs.axis: [0, 1], inputs.input.seed: {none}}}
  inputs: {{input: {{shape: [3, 4], permutation: [0, 1]}}}}
"""


def test_killed_at_half_and_resumed_it_leaves_the_stream_of_one_that_ran_through(start, tmp_path):
    text = CASES.format(ties=[*range(10)], none=[*range(90)])
    (tmp_path / "cases.yaml").write_text(text)
    words = ["run", "cases.yaml", "-q", "-b", BACKEND]
    through = start(*words, "--report", "json=whole.jsonl", cwd=tmp_path)
    assert through.communicate(timeout=120)[1] == ""
    assert through.returncode == 1

    killed, part = start(*words, "--report", "json=part.jsonl", cwd=tmp_path), "part.jsonl"
    until = time.monotonic() + 120
    while not (tmp_path / part).exists() or (tmp_path / part).read_bytes().count(b"\n") < 101:
        assert time.monotonic() < until, "it wrote nothing"
        time.sleep(0.005)
    killed.kill()
    killed.communicate(timeout=30)
    there = len(store.read(tmp_path / part).records)
    assert 100 <= there < 200

    resumed = start(*words, "--resume", part, cwd=tmp_path)
    _, err = resumed.communicate(timeout=120)
    assert resumed.returncode == 1
    assert err == f"opcheck: part.jsonl has {there} of 200 results; {200 - there} to come\n"
    assert without_times(tmp_path / part) == without_times(tmp_path / "whole.jsonl")
