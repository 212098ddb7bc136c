"""What it costs that backends work in processes of their own.

    python benchmarks/isolation.py

Everything is measured in turns, in one run; the start of the workers is not counted. First the
whole pipeline on small cases, beside the same pipeline in one process: the processes share the
work, so on idle cores the ratio may be below 1. Then one large case. Then a large message there and
back, through the file that both processes have open, beside the connection alone, and beside
pickles, as a pool of the standard library sends them.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # for the tests' own pipeline

from opcheck import backends
from opcheck.backends.isolation import wire
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.backends.isolation.wire import Channel
from opcheck.execution.scheduler import Scheduler
from opcheck.model import Case
from opcheck.suite import Selection, load, select
from tests.inline import Inline

ROUNDS = 15
LARGE = """\
op: Hardmax
opset: 13
clause: large
cases:
- name: large
  dtype: float32
  attrs: {axis: -1}
  inputs: {input: {shape: [1000, 4096], normal: [0, 1]}}
"""


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(name: str, one: Callable[[], object], other: Callable[[], object]) -> None:
    """Print how many times longer `one` takes than `other`."""
    one(), other()
    pairs = [(seconds(one), seconds(other)) for _ in range(ROUNDS)]
    ratios = sorted(a / b for a, b in pairs)
    middle = statistics.median(ratios)
    told = f"{middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    print(f"{name:<58} {told:<22} {min(b for _, b in pairs) * 1e3:9.2f} ms", flush=True)


def pipelines(name: str, cases: Sequence[Case], addresses: Sequence[str]) -> None:
    """The pipeline with workers beside the pipeline without."""
    inline = [Inline(backends.connect(address)) for address in addresses]
    with tempfile.TemporaryDirectory() as folder:
        pools = [Pool(BackendSettings(address, Path(folder))) for address in addresses]
        try:
            for pool in pools:
                pool.connected()
            show(
                f"{name}, {' '.join(addresses)}",
                lambda: list(Scheduler(cases, pools)),
                lambda: list(Scheduler(cases, inline)),
            )
        finally:
            for pool in pools:
                pool.close()


@contextmanager
def echo(serve: Callable[[Any, int], None]) -> Iterator[tuple[Any, int]]:
    """The connection to a process that gives back what it gets, and their common file."""
    ours, theirs = Pipe()
    file = os.memfd_create("echo")
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            while True:
                serve(theirs, file)
        except EOFError:
            os._exit(0)
    theirs.close()
    yield ours, file
    ours.close()
    os.waitpid(child, 0)
    os.close(file)


def by_channel(connection: Connection[Any, Any], file: int) -> None:
    """Give one message back."""
    there = Channel(connection, file, at_worker=True)
    there.send(*there.receive())


def by_pickle(connection: Connection[Any, Any], file: int) -> None:
    """Give one array back."""
    connection.send(connection.recv())


def messages(nbytes: int) -> None:
    """The two other ways beside the file."""
    array = np.arange(nbytes, dtype=np.uint8)

    def there_and_back(connection: Connection[Any, Any], file: int) -> Callable[[], object]:
        def work() -> None:
            here = Channel(connection, file, at_worker=False)
            here.send(0, [array])
            _, [back] = here.receive()
            assert len(back) == nbytes

        return work

    def pickled(connection: Connection[Any, Any]) -> Callable[[], object]:
        def work() -> None:
            connection.send(array)
            assert connection.recv().nbytes == nbytes

        return work

    with echo(by_channel) as shared:
        inline, wire.INLINE = wire.INLINE, 1 << 40
        with echo(by_channel) as connected:
            wire.INLINE = inline

            def through_connection() -> None:
                wire.INLINE = 1 << 40
                try:
                    there_and_back(*connected)()
                finally:
                    wire.INLINE = inline

            told = f"{nbytes >> 10:,} KiB there and back"
            show(f"{told}, connection / file", through_connection, there_and_back(*shared))
        with echo(by_pickle) as other:
            show(f"{told}, pickle / file", pickled(other[0]), there_and_back(*shared))


def main() -> None:
    """Measure and print a line for each."""
    print(f"{'':<58} {'ratio (range)':<22} {'denominator':>12}")
    small = select(load([]), Selection(ops=("Hardmax",), level="core"))
    for addresses in (["onnxruntime"], ["numpy"], ["numpy", "onnxruntime", "reference"]):
        pipelines(f"{len(small)} small cases", small, addresses)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.yaml"
        file.write_text(LARGE)
        pipelines("16 MB in, 16 MB out", load([file]), ["onnxruntime"])
    for exponent in (14, 16, 18, 20, 22, 24, 27):
        messages(1 << exponent)


if __name__ == "__main__":
    main()
