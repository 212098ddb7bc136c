"""Native mode needs next to no memory beside its input and its output."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import pytest
from opcheck.engine.registry import operators

from opcheck.dtypes import DTYPES
from tests.engine.test_registry import NEEDED

pytest.importorskip("resource", reason="only POSIX tells a process's high-water mark")

#: Less than the input's size, so that no whole copy of it can hide.
SIZE, MOST = 64 << 20, 16 << 20

#: Tensors that have a way of their own: the operator, the shape, of which as much as it takes to
#: have that size is left open, and the attributes.
OWN: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "one long row": ("Softmax", [1, -1], {"axis": 1}),
    "one long row of zeros and a one": ("Hardmax", [1, -1], {"axis": 1}),
    "tall": ("Softmax", [-1, 16], {"axis": 0}),
    "tall, zeros and ones": ("Hardmax", [-1, 16], {"axis": 0}),
    "others between": ("DML_ACTIVATION_HARDMAX1", [-1, 2, 2048], {"Axes": [0, 2]}),
    "others between and inside": ("DML_ACTIVATION_HARDMAX1", [-1, 2, 2048, 2], {"Axes": [0, 2]}),
    "whole maps": ("LpPool", [-1, 1024, 32, 32], {"kernel_shape": [32, 32]}),
    "large whole maps": ("LpPool", [1, -1, 2048, 2048], {"kernel_shape": [2048, 2048]}),
    "maps": ("LpPool", [1, -1, 512, 512], {"kernel_shape": [3, 3], "strides": [2, 2]}),
}


def beside(name: str, dtype: str, shape: list[int], *rest: object) -> int:
    """The bytes beside input and output, in a fresh process."""
    stated = math.prod(n for n in shape if n > 0) * DTYPES[dtype].numpy.itemsize
    whole = [n if n > 0 else SIZE // stated for n in shape]
    script = [sys.executable, "-m", "tests.engine.high_water", name, dtype]
    script += map(json.dumps, (whole, *rest))
    ran = subprocess.run(script, capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", [name for _, name in operators()])
def test_beside_input_and_output_it_takes_16_mebibytes_at_most(
    name: str, dtype: str, order: tuple[int, ...]
) -> None:
    assert beside(name, dtype, [2, -1, 1000], NEEDED.get(name, {}), order) <= MOST


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("tensor", OWN)
def test_whichever_way_it_takes(tensor: str, dtype: str) -> None:
    name, shape, attrs = OWN[tensor]
    assert beside(name, dtype, shape, attrs) <= MOST
