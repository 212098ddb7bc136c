"""What the engine costs beside other engines and beside copying the same bytes.

    python benchmarks/engine.py [-k WORDS] [--rounds N] [--save FILE.json]

The cases are in benchmarks/engine. Everything that is installed takes part, in one process and one
thread each: the engine in native mode and in exact mode, ONNX Runtime, PyTorch, OpenVINO,
onnx.reference, SciPy, and a plain copy of the input. They run in turns, in random order, and of
each the shortest time counts: noise only adds. Who answers a case wrongly gets no time for it; a
poorer accuracy than is expected, which opcheck warns of, is told beside the name.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

# Before anything that starts threads of its own, and whatever the caller has set.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from opcheck import backends
from opcheck.compare import compare_outputs
from opcheck.errors import OpcheckError
from opcheck.model import Case, Question
from opcheck.run.oracle import computed
from opcheck.run.question import question
from opcheck.suite import load

FOLDER = Path(__file__).parent / "engine"
ENGINE, BASE = "numpy", "onnxruntime"
ENGINES = (ENGINE, "numpy?mode=exact", BASE, "torch", "openvino", "reference")
#: Loops of a sample last about this long, in seconds.
SAMPLE = 2e-3
#: Whoever has taken so many seconds for a case is asked no more.
ENOUGH = 1.0

Run = Callable[[], Any]


def contenders(asked: Question) -> Iterator[tuple[str, Run]]:
    """Who takes part in a case, and how it is asked."""
    inputs = [*asked.inputs]
    for address in ENGINES:
        try:
            prepared = backends.connect(address).prepare(asked.task)
            prepared.run([*inputs])
        # Not installed, not implemented, or one of its defects: all are its own affair here.
        except Exception as error:
            told = error if isinstance(error, OpcheckError) else type(error).__name__
            print(f"    {address}: {str(told).splitlines()[0][:100]}")
            continue
        yield address, partial(prepared.run, inputs)
    yield from _pieces(asked)


def _pieces(asked: Question) -> Iterator[tuple[str, Run]]:
    """What one would write with other libraries, where it means the same."""
    attrs: Any = asked.task.attrs
    (x,) = asked.inputs
    if asked.task.op.name == "Softmax":
        try:
            from scipy.special import softmax
        except ImportError:
            return
        if x.dtype.itemsize > 2:
            yield "scipy", lambda: [softmax(x, axis=attrs["axis"])]
    if asked.task.op.name == "LpPool" and x.dtype == np.float32 and attrs["p"] == 2:
        try:
            import torch
        except ImportError:
            return
        rank, kernel = x.ndim - 2, [*attrs["kernel_shape"]]
        pads = [*attrs.get("pads", [0] * 2 * rank)][:rank]
        if "dilations" in attrs:
            return
        pool = getattr(torch.nn.functional, f"avg_pool{rank}d")
        tensor = torch.from_numpy(x)
        stride, count = [*attrs.get("strides", [1] * rank)], float(np.prod(kernel))

        def pooled() -> Any:
            with torch.no_grad():
                return [(pool(tensor * tensor, kernel, stride, pads) * count).sqrt_().numpy()]

        yield "torch x*x, avg_pool, sqrt", pooled


def accuracy(case: Case, asked: Question, run: Run) -> str | None:
    """The arithmetic, poorer than expected, that the answer shows, or ""; None if it is wrong."""
    compared = compare_outputs(computed(case, asked, asked.inputs), [*map(np.asarray, run())])
    if any(one.problem not in (None, "precision") for one in compared):
        return None
    return ", ".join(one.tier or "" for one in compared if one.problem)


def measured(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Seconds of a call, one for each round, of everybody in turns."""
    samples = {name: [_seconds(run, 1)] for name, run in runs.items()}
    loops = {name: max(1, int(SAMPLE / once)) for name, (once,) in samples.items()}
    chance = random.Random(0)
    for _ in range(rounds):
        order = [name for name in runs if sum(samples[name]) * loops[name] < ENOUGH]
        chance.shuffle(order)
        for name in order:
            samples[name].append(_seconds(runs[name], loops[name]))
    return samples


def _seconds(run: Run, loops: int) -> float:
    start = time.perf_counter()
    for _ in range(loops):
        run()
    return (time.perf_counter() - start) / loops


def measure(case: Case, rounds: int) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The samples of all whose answer is not wrong, and of copying the input; their accuracy."""
    asked = question(case)
    found = dict(contenders(asked))
    poorer = {name: accuracy(case, asked, run) for name, run in found.items()}
    told = {name: poor for name, poor in poorer.items() if poor is not None}
    for name in found.keys() - told.keys():
        print(f"    {name}: answers wrongly, and gets no time")
    (x,) = asked.inputs
    target = np.empty_like(x)
    runs = {name: found[name] for name in told} | {"copy": lambda: np.copyto(target, x)}
    return measured(runs, rounds), told


def show(name: str, samples: dict[str, list[float]], poorer: dict[str, str]) -> None:
    """Print a line for each contender: the accuracy if it is poor, the time, and its ratios."""
    best = {who: min(times) for who, times in samples.items()}
    base, copy = best.get(BASE), best["copy"]
    print(name)
    for who, seconds in sorted(best.items(), key=lambda item: item[1]):
        told = f"{who} ({poorer[who]})" if poorer.get(who) else who
        beside = f"{seconds / base:8.4f} × {BASE}" if base else " " * (11 + len(BASE))
        print(f"    {told:<26} {seconds * 1e6:12,.1f} µs  {beside}  {copy / seconds:7.1%} of copy")


def summary(results: dict[str, dict[str, list[float]]]) -> None:
    """Print what exact mode costs."""
    ratios = [
        min(samples["numpy?mode=exact"]) / min(samples[ENGINE])
        for name, samples in results.items()
        if "float32" in name and ENGINE in samples
    ]
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"exact / native, float32: geometric mean {mean:.2f}, largest {max(ratios):.2f}")


def main() -> None:
    """Measure, print, and save if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="only cases with this in their name")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--save", type=Path, metavar="FILE.json")
    options = parser.parse_args()
    results = {}
    for case in load([FOLDER]):
        name = f"{case.id} {case.dtype} {'×'.join(map(str, case.inputs[0].shape))}"
        if options.k in name:
            results[name], poorer = measure(case, options.rounds)
            show(name, results[name], poorer)
    summary(results)
    if options.save:
        machine = {"machine": platform.platform(), "processor": platform.processor()}
        versions = {"python": platform.python_version(), "numpy": np.__version__}
        saved = {**machine, **versions, "seconds": results}
        options.save.write_text(json.dumps(saved, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
