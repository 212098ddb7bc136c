"""Timings: each case on all backends in the same rounds, of those alone that answer it rightly."""

from opcheck.execution.bench.rounds import Plan
from opcheck.execution.bench.session import Benchmark
