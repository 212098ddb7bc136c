"""Whether `opcheck bench` measures a time that is known: backends that spin until it is over.

    python benchmarks/known_times.py

Prints the median that was measured over the true time; 1.03 is 3 % too long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from opcheck.report.timings import read

ROOT = Path(__file__).parent.parent
SECONDS = (200e-6, 2e-3, 20e-3)
MODULE = """\
import time

import numpy as np


class Spin:
    def __init__(self, seconds):
        self.seconds = float(seconds)

    def prepare(self, task):
        return self

    def run(self, inputs):
        end = time.process_time() + self.seconds
        [x] = inputs
        answer = np.zeros_like(x)
        np.put_along_axis(answer, x.argmax(-1, keepdims=True), 1, -1)
        while time.process_time() < end:
            pass
        return [answer]
"""
CASE = """\
op: Hardmax
opset: 13
dtype: float32
bench:
- name: rows
  attrs: {axis: -1}
  inputs: {input: {shape: [4, 25], normal: [0, 1]}}
"""


def main() -> None:
    """Time and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spin.py").write_text(MODULE)
        (folder / "rows.yaml").write_text(CASE)
        addresses = {f"py:spin:Spin?seconds={seconds}": seconds for seconds in SECONDS}
        command = [sys.executable, "-m", "opcheck", "bench", "rows.yaml", "--save", "out.jsonl"]
        command += [word for address in addresses for word in ("-b", address)]
        subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
        [row] = read(folder / "out.jsonl").rows
        for timing in row.timings:
            found = median(sample.seconds for sample in timing.samples)
            true = addresses[timing.backend]
            print(f"{true:g} s: measured / true = {found / true:.4f}")


if __name__ == "__main__":
    main()
