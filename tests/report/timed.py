"""Benchmarks made by hand: what came out of them is told by the test that made them."""

import random
from collections.abc import Sequence
from typing import Any

from opcheck.model.timing import Bench, Machine, Sample, Timed, Timing
from opcheck.report.timings import Stored

MACHINE = Machine(
    processor="Acme Fast CPU @ 3.00GHz",
    cores=8,
    governor="powersave",
    platform="Linux-6.1-x86_64",
    load=0.75,
    memory=16 << 30,
)


def bench(*backends: str, **fields: Any) -> Bench:
    """A benchmark of backends of version 1.5, held against the first."""
    settings: dict[str, Any] = {
        "opcheck": "0.1",
        "python": "3.11.7",
        "packages": {"numpy": "2.4.0", "onnx": "1.23.2"},
        "backends": dict.fromkeys(backends, "1.5"),
        "machine": MACHINE,
        "threads": 1,
        "threads_of": dict.fromkeys(backends, fields.get("threads", 1)),
        "workers": 3,
        "included": {},
        "cold": False,
        "baseline": backends[0],
        "started": "2026-11-20T20:15:30+01:00",
    }
    return Bench(**(settings | fields))


def samples(
    middle: float, *, noise: float = 0.01, rounds: int = 30, workers: int = 3, seed: int = 1
) -> tuple[Sample, ...]:
    """Samples about `middle` seconds, of sixteen calls each."""
    chance = random.Random(seed)
    factors = [1 + noise * abs(chance.gauss(0, 1)) for _ in range(rounds)]
    numbered = enumerate(factors)
    return tuple(Sample(number, number % workers, 16, middle * by) for number, by in numbered)


def timing(backend: str, middle: float, *, prepared: float = 0.012, **more: Any) -> Timing:
    """A timing of about `middle` seconds; `more` is as for `samples`."""
    return Timing(backend, samples(middle, **more), (prepared, prepared, prepared))


def row(case: str, timings: Sequence[Timing], **fields: Any) -> Timed:
    """A case of 25.7 MB that are copied in 387 µs."""
    settings: dict[str, Any] = {
        "case": case,
        "op": "Softmax-13",
        "dtype": "float32",
        "shapes": "[64, 50257]",
        "moved": 25_731_584,
        "timings": tuple(timings),
        "copy": samples(387e-6, seed=7),
        "yardstick": samples(1e-3, seed=8),
    }
    return Timed(**(settings | fields))


def stored(*, complete: bool = True) -> Stored:
    """Two cases: three backends of which one fails the second case."""
    about = bench("old", "new", "other", included={"other": "a pipe"})
    everybody = [timing("old", 1e-3), timing("new", 8e-4, seed=2), timing("other", 2e-3, seed=3)]
    two = [timing("old", 1e-3), timing("new", 1e-3, seed=4), Timing("other", why_not="fail: so")]
    return Stored(about, (row("Softmax/a", everybody), row("Softmax/b", two)), complete)
