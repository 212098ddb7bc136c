"""What docs/known-failures.md shows is what comes of it."""

import re

import jsonschema
import pytest
import yaml

from opcheck.errors import CaseFileError
from opcheck.known import LISTABLE, LedgerEntry, json_schema, load_user_ledgers
from tests.shell import ROOT

PAGE = (ROOT / "docs" / "known-failures.md").read_text(encoding="utf-8")
(LEDGER,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
OTHERWISE, PASSING, DROPPED, BAD = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
UPDATE, GATE = (
    line.partition("#")[0].split()[1:] for line in re.findall(r"^opcheck .*", PAGE, re.MULTILINE)
)

SCHEMA = jsonschema.Draft202012Validator(json_schema())

HARDMAX = """\
op: Hardmax
matrix: {opset: [11, 13], dtype: [float16, float32]}
attrs: {axis: 1}
cases:
- name: ties
  inputs: {input: [[3, 3, 1], [3, 0, 3]]}
  expect: {output: [[1, 0, 0], [1, 0, 0]]}
- name: no_ties
  inputs: {input: [[3, 2, 1], [2, 0, 3]]}
  expect: {output: [[1, 0, 0], [0, 0, 1]]}
"""
SOFTMAX = """\
op: Softmax
opset: 13
dtype: float32
attrs: {axis: 1}
cases:
- {name: zeros, inputs: {input: [[0, 0]]}, expect: {output: [[0.5, 0.5]]}}
- {name: one, inputs: {input: [[4]]}, expect: {output: [[1]]}}
"""
BACKEND = """\
import numpy as np
from opcheck.errors import NotSupported

class Mine:
    version = "1.0"

    def prepare(self, task):
        self.task = task
        if task.op.name == "Softmax" and {softmax}:
            raise NotSupported("gone")
        if task.op.name == "Hardmax" and task.inputs[0].dtype.name == "float16":
            if task.opset == 11:
                raise NotSupported("no float16 kernel before opset 13")
        return self

    def run(self, inputs):
        (x,) = inputs
        if self.task.op.name == "Softmax":
            return [np.exp(x) / np.exp(x).sum(1, keepdims=True)]
        last = x.shape[1] - 1 - x[:, ::-1].argmax(1)
        if {mended} and x.dtype == np.float32:
            last = x.argmax(1)
        return [np.eye(3, dtype=x.dtype)[last] * {factor}]
"""


@pytest.fixture
def mine(run, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "hardmax.yaml").write_text(HARDMAX)
    (tmp_path / "my" / "softmax.yaml").write_text(SOFTMAX)
    (tmp_path / "opcheck.toml").write_text('[backends.mine]\naddress = "py:my_mine"\n')

    def mine(words, softmax=False, mended=False, factor=1):
        """What comes of a command of the page, on a backend that is changed so."""
        text = BACKEND.format(softmax=softmax, mended=mended, factor=factor)
        (tmp_path / "my_mine.py").write_text(text)
        return run(*[word.replace("my.yaml", "my") for word in words], COLUMNS="100")

    return mine


def assert_shown(shown: str, printed: str) -> None:
    """Every line that the page shows was printed, but for those it leaves out."""
    for line in shown.splitlines():
        assert line in ("", "…") or line in printed.splitlines(), line


@pytest.mark.gate
def test_the_ledger_and_all_that_the_gate_says(mine, tmp_path):
    ledger = tmp_path / "known.yaml"
    assert mine(UPDATE).exit_code == 1
    assert ledger.read_text() == LEDGER
    assert mine(GATE).exit_code == 0
    assert_shown(OTHERWISE, mine(GATE, factor=2).stdout)
    assert_shown(PASSING, mine(GATE, mended=True).stdout)
    assert_shown(DROPPED, mine(GATE, softmax=True).stdout)
    for old, new in (
        ("name: [ties,", "name: [tie,"),
        ("looks: last_of_ties", "looks: last_of_tie"),
        ("{op: Hardmax, name: ties, opset: 13}", "{op: '*', name: ties, opset: 13}"),
    ):
        assert old in LEDGER
        ledger.write_text(ledger.read_text().replace(old, new))
    found = mine(GATE)
    assert (found.exit_code, found.stderr) == (2, BAD)


def test_every_field_and_verdict_is_told():
    table = PAGE[PAGE.index("| field | meaning |") :].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == [
        *("verdict", "failure", "looks", "reason", "versions"),
        *("sometimes", "cause", "link", "id", "where"),
    ]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == {*LedgerEntry.model_fields}
    assert all(f"*{verdict}*" in table for verdict in LISTABLE)


def test_the_ledger_shown_fits_the_schema():
    SCHEMA.validate(yaml.safe_load(LEDGER))
    SCHEMA.validate({"backend": ["mine", "mine:gpu"], "known": None})


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "excused"},
        {"failure": ["values", "slow"]},
        {"where": []},
        {"where": [{"op": "Hardmax", "version": 13}]},
        {"because": "of this"},
        {"cause": ""},
    ],
)
def test_the_schema_of_a_ledger_refuses_what_its_reader_refuses(fields, tmp_path):
    entry = {"verdict": "fail", "cause": "Because.", "where": [{"op": "Hardmax"}]}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"backend": "mine", "known": [entry]}))
    assert load_user_ledgers([path])
    wrong = {"backend": "mine", "known": [{**entry, **fields}]}
    path.write_text(yaml.safe_dump(wrong))
    with pytest.raises(CaseFileError):
        load_user_ledgers([path])
    assert not SCHEMA.is_valid(wrong)
