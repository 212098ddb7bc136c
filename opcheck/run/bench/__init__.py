"""Timings: each case on all backends in the same rounds, of those alone that answer it rightly."""

from opcheck.run.bench.rounds import Plan
from opcheck.run.bench.session import Entrant, Session
