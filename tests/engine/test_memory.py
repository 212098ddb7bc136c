"""Native mode needs next to no memory beside its input and its output."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opcheck.engine.registry import operators

pytest.importorskip("resource", reason="only POSIX tells a process's high-water mark")

#: Less than the input's size, so that no whole copy of it can hide.
MEBI, MOST = 64, 16 << 20


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", [name for _, name in operators()])
def test_beside_input_and_output_it_takes_16_mebibytes_at_most(
    name: str, dtype: str, layout: str
) -> None:
    script = [sys.executable, "-m", "tests.engine.high_water", name, dtype, layout, str(MEBI)]
    ran = subprocess.run(script, capture_output=True, text=True, check=True)
    assert int(ran.stdout) <= MOST
