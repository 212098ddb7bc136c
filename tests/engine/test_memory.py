"""Kernels of rows need next to no memory beside their input and their output.

Rows that fill more than a block, or long rows beside one another, may need copies.

    python -m tests.engine.test_memory

prints the bytes beside for each line that it reads, a list in JSON: OPERATOR, DTYPE, SHAPE, and
perhaps ATTRS and ORDER, that of the dimensions in memory, the outermost first. Only a process that
has computed nothing can tell, so each line has a fork.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.engine import Node
from opcheck.engine.native import natively
from opcheck.engine.operators import every
from opcheck.model import OpVersion

resource: Any = pytest.importorskip(
    "resource", reason="only POSIX tells a process's high-water mark"
)

#: Less than half the input's size, so that no copy of a half can hide.
SIZE, MOST = 40 << 20, 16 << 20


@pytest.fixture(scope="module")
def beside() -> Iterator[Callable[..., int]]:
    """The bytes beside input and output."""

    def beside(name: str, dtype: str, shape: list[int], *rest: object) -> int:
        stated = math.prod(n for n in shape if n > 0) * DTYPES[dtype].numpy.itemsize
        whole = [n if n > 0 else SIZE // stated for n in shape]
        print(json.dumps([name, dtype, whole, *rest]), file=process.stdin, flush=True)
        assert process.stdout
        return int(process.stdout.readline())

    words = [sys.executable, "-m", "tests.engine.test_memory"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:
        yield beside


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["Hardmax", "Softmax"])
def test_beside_input_and_output_it_takes_16_mebibytes_at_most(beside, name, dtype, order):
    assert beside(name, dtype, [2, -1, 1000], {}, order) <= MOST


def high_water() -> int:
    """The most bytes that this process has had in memory."""
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def measured(name, dtype, shape, attrs=None, order=None):
    """The bytes beside input and output, of this process."""
    [op] = [one for one in every() if one.name == name]
    order = order or range(len(shape))
    memory = np.empty([shape[n] for n in order], DTYPES[dtype].numpy)
    filled = memory.reshape(-1)
    some = np.random.default_rng(0).normal(0, 3, 100_003).astype(memory.dtype)
    for start in range(0, filled.size, some.size):
        filled[start : start + some.size] = some[: filled.size - start]
    node = Node(
        OpVersion(op.domain, name, max(op.formulas)),
        (memory.transpose(np.argsort(order)),),
        attrs or {},
    )
    # Zeros are no memory until they are written, and room that an output does not take would hide
    # as much that something else does.
    with mock.patch.object(np, "zeros", lambda shape, dtype: np.full(shape, 0, dtype)):
        before = high_water()
        outputs = natively(node)
    return high_water() - before - sum(out.nbytes for out in outputs)


if __name__ == "__main__":
    for line in sys.stdin:
        if os.fork() == 0:
            print(measured(*json.loads(line)), flush=True)
            os._exit(0)
        os.wait()
