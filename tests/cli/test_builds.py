"""A backend that was built anew is told from what it was, whatever its version."""

import sys
from pathlib import Path

import pytest

from opcheck.report import store
from tests.wording import lines_with

pytestmark = pytest.mark.processes

BACKEND = """
import numpy as np

class Mine:
    def prepare(self, *model): return self
    def run(self, inputs):
        return [np.eye(3, dtype=np.float32)[inputs[0].argmax(1)]]
class Onnx:
    prepare = classmethod(lambda cls, model, device: Mine())
"""
PROGRAM = """
import sys
import numpy as np, onnx
from onnx import numpy_helper
_, model, inputs, outputs = sys.argv
x = numpy_helper.to_array(onnx.load_tensor(f"{inputs}/input_0.pb"))
np.save(f"{outputs}/output_0.npy", np.eye(3, dtype=np.float32)[x.argmax(1)])
"""
PROFILE = "[backends.mine]\naddress = 'py:mine:Mine'\nenvironment = {MODE = 'fast'}\n"
TWO = """\
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: 1}
cases:
- {name: ties, inputs: {input: [[3, 3, 1]]}, expect: {output: [[1, 0, 0]]}}
- {name: none, inputs: {input: [[3, 2, 1]]}, expect: {output: [[1, 0, 0]]}}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("address", "file", "differs"),
    [
        ("py:mine:Mine", "mine.py", "mine"),
        ("onnx:mine:Onnx", "mine.py", "mine"),
        (f"cmd:{sys.executable} program.py {{model}} {{inputs}} {{outputs}}", "program.py", None),
        ("saved:out", "out/*/test_data_set_0/output_0.pb", "folder"),
        ("mine", "opcheck.toml", "environment and limits"),
        ("mine", "mine.py", "mine"),
    ],
)
def test_a_backend_that_was_built_anew_is_another_whatever_its_version(
    run, tmp_path, address, file, differs, wording
):
    texts = {"cases.yaml": TWO, "mine.py": BACKEND, "program.py": PROGRAM, "opcheck.toml": PROFILE}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert run("run", "cases.yaml", "-b", "py:mine:Mine", "--save-outputs", "out").exit_code == 0
    (file, *_) = tmp_path.glob(file)
    text = file.read_bytes()
    shards = []
    for number, change in ((1, b""), (2, b""), (2, b"# built anew")):
        file.write_bytes(text.replace(b"fast", b"slow") + change if change else text)
        words = ["--shard", f"{number}/2", "--report", f"json=part-{len(shards)}"]
        run("run", "cases.yaml", "-b", address, *words)
        shards.append(store.read(Path(f"part-{len(shards)}")).header.backends[0].made_of)
    first, again, anew = shards
    assert first == again
    assert dict(first.items() ^ anew.items()).keys() == {differs or file.name}
    assert run("merge", "part-0", "part-1", "-o", "same", code=0).stderr == ""
    told = run("merge", "part-0", "part-2", "-o", "other", code=0).stderr
    assert lines_with(told, "was not made") == wording


DYING = """
import os
from pathlib import Path

class Mine:
    def prepare(self, task):
        Path(__file__).write_text(Path(__file__).read_text() + "# built anew")
        os._exit(1)
"""


def test_a_backend_that_is_built_anew_while_it_is_judged_is_not_judged_on(run, tmp_path, wording):
    (tmp_path / "cases.yaml").write_text(TWO)
    (tmp_path / "mine.py").write_text(DYING)
    found = run("run", "cases.yaml", "-b", "py:mine:Mine", code=4)
    assert lines_with(found.stdout, "started again, its") == wording
