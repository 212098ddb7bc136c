"""Small golden folders."""

import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from opcheck.execution.golden import write
from opcheck.suite import golden_files
from tests.asking import cases_in

#: A literal, random numbers, an undecided text, and a model to be refused with its legal twin.
FOUR = """
    op: Softmax
    opset: 13
    dtype: float32
    cases:
    - name: written_out
      attrs: {axis: 1}
      inputs: {input: [[0, 0], [1, 1]]}
      expect: {output: [[0.5, 0.5], [0.5, 0.5]]}
    - name: random
      attrs: {axis: -1}
      inputs: {input: {shape: [2, 5], normal: [0, 2]}}
    - name: undecided
      rule: open
      attrs: {axis: -1}
      inputs: {input: [0, 1]}
      expect:
        any_of:
        - {as: by_the_formula}
        - {as: by_the_body, output: [.nan, .nan]}
      tolerance: {ulp: 1}
    - name: out_of_range
      attrs: {axis: 7}
      inputs: {input: [[3, 3, 1], [3, 0, 3]]}
      expect: {rejected: "axis is outside [-2, 1]", legal: {attrs.axis: 1}}
"""
WRITTEN_OUT = "must/test_Softmax%2Fwritten_out"
RANDOM = "must/test_Softmax%2Frandom"


def golden(folder: Path, text: str = FOUR, **settings: Any) -> golden_files.Manifest:
    """The cases of a file, written to `folder`/golden."""
    return write(folder / "golden", cases_in(folder, text), "all", **settings)


def findings(folder: Path) -> dict[str, str]:
    """What is wrong, by path."""
    return golden_files.damage(folder, "")[1]


def rewrite(folder: Path, change: Callable[[Any], None]) -> None:
    """Change the manifest, and have everything vouch for what is there now."""
    data = json.loads((folder / golden_files.MANIFEST).read_bytes())
    change(data)
    for case in data["cases"]:
        for test in case["tests"]:
            for name in test["files"]:
                path = folder / test["folder"] / name
                if path.is_file():
                    test["files"][name] = sha256(path.read_bytes()).hexdigest()
    written = f"{json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True)}\n".encode()
    (folder / golden_files.MANIFEST).write_bytes(written)
    with suppress(golden_files.NotReadable):  # it may contradict itself
        manifest, _ = golden_files.read_manifest(folder)
        (folder / golden_files.SUMS).write_bytes(
            golden_files.sums(manifest, sha256(written).hexdigest())
        )
