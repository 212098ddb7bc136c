"""Tests of models, written in ONNX's test-data layout, as ONNX's own tool writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from opcheck.graph.folders import MODEL
from opcheck.graph.onnx_tolerance import DATA
from opcheck.graph.test_data import ModelTest
from opcheck.graph.values import value_bytes

_FILE = re.compile(
    rf"[\w-]+/test_\w+/({re.escape(MODEL)}|{re.escape(DATA)}|test_data_set_\d+/(in|out)put_\d+\.pb)"
)


def write_test(folder: Path, test: ModelTest) -> None:
    """Write a test into `folder`, which is made; raises OSError."""
    folder.mkdir(parents=True)
    (folder / MODEL).write_bytes(test.model.SerializeToString(deterministic=True))
    tolerance = {"atol": test.atol, "rtol": test.rtol}
    (folder / DATA).write_text(f"{json.dumps(tolerance)}\n")
    for data in test.data_sets:
        data_set = folder / f"test_data_set_{data.number}"
        data_set.mkdir()
        for what, declared, values in (
            ("input", test.fed, data.inputs),
            ("output", test.model.graph.output, data.outputs),
        ):
            for number, (info, value) in enumerate(zip(declared, values, strict=True)):
                written = value_bytes(value, info.type, info.name)
                (data_set / f"{what}_{number}.pb").write_bytes(written)


def foreign(folder: Path) -> Iterator[str]:
    """What is in a folder that `write_test` has not written into one below it."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_dir() or _FILE.fullmatch(name)):
            yield name
