"""A gate with a ledger of known failures, as a vendor of a backend lives with it."""

from __future__ import annotations

import re

import pytest

CASES = """\
op: Hardmax
matrix: {opset: [11, 13], dtype: [float16, float32, float64]}
attrs: {axis: 1}
cases:
- {name: ties, inputs: {input: [[3, 3, 1]]}, expect: {output: [[1, 0, 0]]}}
- {name: two_ties, inputs: {input: [[1, 3, 3]]}, expect: {output: [[0, 1, 0]]}}
- {name: all_tie, inputs: {input: [[3, 3]]}, expect: {output: [[1, 0]]}}
- {name: none, inputs: {input: [[3, 2, 1]]}, expect: {output: [[1, 0, 0]]}}
- name: out_of_range
  attrs: {axis: 2}
  inputs: {input: [[1, 2]]}
  expect: {rejected: "axis 2 is outside [-2, 1]", legal: {attrs.axis: 1}}
"""
MORE = """\
op: Softmax
opset: 13
dtype: float32
attrs: {axis: 1}
cases:
- {name: zeros, inputs: {input: [[0, 0]]}, expect: {output: [[0.5, 0.5]]}}
- {name: one, inputs: {input: [[4]]}, expect: {output: [[1]]}}
"""
#: A backend whose maxima are the last, and which takes any axis.
BACKEND = """\
import numpy as np
from opcheck.errors import NotSupported


class Acme:
    version = "1.5"

    def prepare(self, task):
        x = task.inputs[0]
        if task.op.name == "Hardmax" and (x.dtype.name, task.op.since) == ("float64", 11):
            raise NotSupported("no kernel for float64 before version 13")
        return Ready(task, {"Hardmax": hardmax, "Softmax": softmax}[task.op.name])


class Ready:
    def __init__(self, task, kernel):
        self.task, self.kernel = task, kernel

    def run(self, inputs):
        (x,) = self.task.operands(inputs)
        return [self.kernel(x, self.task.attrs["axis"] % x.ndim)]


def hardmax(x, axis):
    ones = np.zeros_like(x)
    largest = x.shape[axis] - 1 - np.flip(x, axis).argmax(axis)
    np.put_along_axis(ones, np.expand_dims(largest, axis), 1, axis)
    return ones


def softmax(x, axis):
    powers = np.exp(x)
    return powers / powers.sum(axis, keepdims=True)
"""


@pytest.fixture
def acme(run, tmp_path, monkeypatch):
    """Runs `opcheck run` on the cases with the backend, which can be changed; code and output."""
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "my.yaml").write_text(CASES)
    (tmp_path / "more.yaml").write_text(MORE)
    (tmp_path / "opcheck.toml").write_text('[backends.acme]\naddress = "py:acme_backend"\n')

    def acme(*words, old="", new="", **environment):
        assert old in BACKEND
        (tmp_path / "acme_backend.py").write_text(BACKEND.replace(old, new, 1))
        found = run("run", "my.yaml", "more.yaml", "-b", "acme", *words, **environment)
        return found.exit_code, found.stdout, found.stderr

    return acme


def test_a_vendor_s_day(acme, tmp_path):
    mine = tmp_path / "mine.yaml"
    gate = ("--known", "mine.yaml")

    # A first run, with some twenty failures, is written down.
    code, out, err = acme("-q", "--update-known", "mine.yaml")
    assert code == 1
    assert out.endswith("exit 1: does not conform: 20 fail\n")
    assert err == "opcheck: mine.yaml: 25 results listed\n"
    first = mine.read_text()
    assert "cause: Looks as if the last of equal maxima won." in first
    assert len(re.findall("^- verdict", first, re.MULTILINE)) <= 5

    # The gate is green.
    code, out, err = acme(*gate)
    assert (code, err) == (0, "")
    assert out.endswith("exit 0: conforms: 27 results, nothing unexpected; 25 known\n")

    # It breaks in a new way where it was broken already, and nowhere else.
    broken = {"old": "return ones", "new": "return ones if x.shape[axis] == 3 else ones * 3"}
    code, out, _ = acme(*gate, "-k", "all_tie", **broken)
    assert code == 1
    assert re.search(
        r"ledger  listed in mine.yaml:\d+ as fail \(values\) that looks like last_of_ties, "
        r"but it fails otherwise: fail \(values\)",
        out,
    )

    # One listed failure is mended: red until its line is deleted.
    mended = {"old": "return ones", "new": "return ones if x.shape[1] == 3 else first(x, axis)"}
    mended["new"] += (
        "\n\n\ndef first(x, axis):\n    return np.eye(2, dtype=x.dtype)[x.argmax(axis)]"
    )
    code, out, _ = acme(*gate, **mended)
    assert code == 1
    assert "unexpected pass" in out.splitlines()[-1]
    said = re.findall(r"mine.yaml:(\d+) .* delete `(.*?)`", out)
    assert said
    lines = mine.read_text().splitlines(keepends=True)
    for number, text in said:
        assert lines[int(number) - 1].strip() == text
    acme("-q", "--update-known", "mine.yaml", "--prune-known", **mended)
    assert acme(*gate, **mended)[0] == 0
    mine.write_text(first)

    # It drops an operator.
    dropped = {
        "old": "        x = task",
        "new": '        if task.op.name == "Softmax":\n'
        '            raise NotSupported("no Softmax")\n        x = task',
    }
    code, out, _ = acme(*gate, **dropped)
    assert code == 1
    assert out.endswith("exit 1: does not conform: 2 unsupported\n")
    assert "no ledger lists it as unsupported, and a backend that drops a case does not pass" in out
